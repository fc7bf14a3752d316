"""What mypy says to users of the bus: each line below ends with the error it must give, if any."""

import re
from pathlib import Path

import pytest
from mypy import api

import ghost

USE = """\
from typing import Any

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event
from ghost.hal import ImuSample
from ghost.hal.channels import IMU

bus = Bus(SimClock())


class Tape:
    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None: ...


def on_sample(sample: ImuSample) -> None: ...
def on_event(event: Event) -> None: ...
def on_anything(message: object) -> None: ...


def use(sample: ImuSample, event: Event) -> None:
    bus.publish(IMU, sample)
    bus.publish(IMU.under("/vehicle/3"), sample)
    bus.publish(EVENTS, event)
    bus.publish(IMU, event)  # misc
    bus.publish(EVENTS, "fire")  # misc
    bus.publish(IMU, None)  # misc
    bus.publish("/sensors/imu", sample)  # arg-type
    bus.subscribe(IMU, on_sample, name="a").cancel()
    bus.subscribe(IMU, on_anything, name="b")
    bus.subscribe(IMU, lambda sample: print(sample.stamp_ns), name="c")
    bus.subscribe(IMU, lambda sample: print(sample.severity), name="d")  # attr-defined
    bus.subscribe(IMU, on_event, name="e")  # arg-type
    bus.subscribe("/sensors/imu", on_sample, name="f")  # arg-type
    bus.subscribe(IMU, on_sample)  # call-arg
    bus.guard(on_event)
    bus.guard(on_sample)  # arg-type
    bus.attach(Tape(), name="tape")
    bus.attach(on_sample, name="no tape")  # arg-type
    channel: Channel[Event] = IMU  # assignment
"""


def test_mypy_refuses_wrong_use_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use = tmp_path / "use.py"
    use.write_text(USE, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(Path(ghost.__file__).parents[1]))
    # No configuration file: that of Ghost names packages to check.
    said, trouble, _ = api.run(
        ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", str(use)]
    )
    assert trouble == ""
    errors = re.findall(r"^.*use\.py:(\d+): error: .*\[(.+)\]$", said, re.MULTILINE)
    marks = [
        (str(number), line.rpartition("# ")[2])
        for number, line in enumerate(USE.splitlines(), start=1)
        if "# " in line
    ]
    assert errors == marks, said
    assert f"Found {len(marks)} errors in 1 file" in said
