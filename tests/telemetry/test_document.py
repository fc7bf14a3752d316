"""YAML read strictly, and the log in simulation when its disk fails."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, LogError
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.hal import ImuSample
from ghost.hal.channels import IMU
from ghost.telemetry.document import parse_document, read_document
from ghost.telemetry.failure import tell_failure
from ghost.telemetry.synchronous import SynchronousLog

# Documents.


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    )
)
def test_what_yaml_writes_is_read_back(plain: Any) -> None:
    assert parse_document(yaml.safe_dump(plain), "x") == plain


@given(st.text())
def test_any_text_is_data_or_a_config_error_in_one_line(content: str) -> None:
    try:
        parse_document(content, "x.yaml")
    except ConfigError as error:
        line = str(error)
    else:
        line = "x.yaml"
    assert line.startswith("x.yaml")
    assert "\n" not in line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "x: key 'a' stands twice, again in line 3"),
        ("a:\n  b: 1\n  b: 1\n", "x: key 'b' stands twice, again in line 3"),
        ("[{a: 1, 'a': 2}]", "x: key 'a' stands twice, again in line 1"),
        ("a: [", "x is not YAML: while parsing a flow node"),
        ("a: !!python/name:os.system", "x is not YAML: could not determine a constructor"),
        ("2026-13-01", "x is not YAML: month must be in 1..12"),
        ("[" * 1200, "x is not YAML: "),
    ],
)
def test_what_can_t_be_read_is_one_line(content: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(content, "x")
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_the_same_key_may_stand_in_two_places_and_be_merged() -> None:
    merged = parse_document("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\n", "x")
    assert merged == {"a": {"x": 1, "y": 1}, "b": {"x": 1, "y": 2}}


def test_a_file_that_can_t_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(ConfigError, match=r"^cannot read .*a\.yaml: No such file or directory$"):
        read_document(path)
    with pytest.raises(ConfigError, match=r": Is a directory$"):
        read_document(tmp_path)
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(ConfigError, match=r"^cannot read .*a\.yaml: it is not UTF-8$"):
        read_document(path)
    path.write_text("a: 1\n", encoding="utf-8")
    assert read_document(path) == {"a": 1}


# The log in simulation.


class Full(io.BytesIO):
    """A disk with room for so much."""

    def __init__(self, room_bytes: int) -> None:
        super().__init__()
        self.room_bytes = room_bytes

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self.room_bytes:
            raise OSError(28, "No space left on device")
        return super().write(data)


def publish(bus: Bus, clock: SimClock, count: int) -> None:
    noise = np.random.default_rng(1)
    for sequence in range(count):
        vector = noise.normal(size=3)
        bus.publish(IMU, ImuSample(clock.now_ns(), sequence, vector, vector))
        clock.advance(1_000_000)


def test_a_full_disk_is_told_once_and_nobody_is_stopped() -> None:
    clock = SimClock()
    bus = Bus(clock)
    heard: list[Event] = []
    samples: list[ImuSample] = []
    bus.subscribe(EVENTS, heard.append, name="test")
    bus.subscribe(IMU, samples.append, name="test")
    log = SynchronousLog(Full(200_000), bus)
    bus.attach(log, name="log")
    publish(bus, clock, 10_000)
    assert len(samples) == 10_000
    assert [event.kind for event in heard] == [EventKind.LOG_FAILED]
    assert heard[0].severity is Severity.ERROR
    assert heard[0].text == (
        "the flight log stopped: [Errno 28] No space left on device; nothing after this is recorded"
    )
    for _ in range(2):
        with pytest.raises(LogError, match=r"^the flight log stopped early: .*No space left"):
            log.close()


def test_a_disk_that_is_full_at_the_end_is_told_when_closing() -> None:
    clock = SimClock()
    bus = Bus(clock)
    heard: list[Event] = []
    bus.subscribe(EVENTS, heard.append, name="test")
    log = SynchronousLog(Full(1_000), bus)
    bus.attach(log, name="log")
    publish(bus, clock, 10)
    assert heard == []
    with pytest.raises(LogError, match=r"^the flight log stopped early: "):
        log.close()


def test_a_failure_is_stamped_with_the_time_of_the_run() -> None:
    clock = SimClock()
    clock.advance(5)
    bus = Bus(clock)
    heard: list[Event] = []
    bus.subscribe(EVENTS, heard.append, name="test")
    tell_failure(bus, ValueError("odd"))
    assert (heard[0].stamp_ns, heard[0].source) == (5, "log")
    assert "odd" in heard[0].text
