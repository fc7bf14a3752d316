"""A backend that hangs fails the check it hangs in, and the suite comes to an end."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
import yaml

from ghost.conformance import CHECKS, Factory, StalledError, Verdict, judge_all, within
from ghost.deploy import find_robots, load_robot
from ghost.simulation.lightweight.adapter import LightweightAdapter

ROOT = Path(__file__).parents[2]
LIMIT_NS = 300_000_000
PATIENT_NS = 60_000_000_000
STUCK = """
from tests.deploy.backends import OwnSim


class Stuck(OwnSim):
    def {name}(self, *_):
        while True:
            try:
                hang()
            except BaseException:
                pass


def hang():
    while True:
        pass
"""


@pytest.fixture
def release() -> Iterator[Event]:
    """Lets go of whatever hangs when the test is over."""
    event = Event()
    yield event
    event.set()


def test_the_check_fails_with_what_stalled_and_the_rest_is_skipped(
    monkeypatch: pytest.MonkeyPatch, release: Event
) -> None:
    class Hanging(LightweightAdapter):
        def step(self, _: int) -> None:
            release.wait()

    for home in ("ghost.deploy.hal", "ghost.conformance.factory"):
        monkeypatch.setattr(f"{home}.load_simulator", lambda _: Hanging())
    factory = Factory(load_robot("x500"))
    assert within(PATIENT_NS, lambda: factory.capabilities)
    first, *others = judge_all(CHECKS, factory, LIMIT_NS)
    assert (first.check, first.verdict) == (CHECKS[0], Verdict.FAIL)
    assert re.fullmatch(
        r"timed out after 0\.3 s in AdapterBackend\.step\(\.\.\.\), at \S+:\d+", first.figure
    )
    assert [other.check for other in others] == list(CHECKS[1:])
    assert {(other.verdict, other.figure) for other in others} == {
        (Verdict.SKIP, "the backend hangs since 'time is what was stepped'")
    }


def test_in_time_a_result_or_an_error_comes_back_as_it_is() -> None:
    assert within(PATIENT_NS, lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        within(PATIENT_NS, lambda: 1 // 0)
    with pytest.raises(TimeoutError, match=r"^its own$"):  # not to be taken for ours
        within(PATIENT_NS, _run_out)


def test_what_stalls_outside_a_backend_is_named_too(release: Event) -> None:
    with pytest.raises(StalledError, match=r"^timed out after 0\.01 s in .*lambda"):
        within(10_000_000, lambda: release.wait() and None)


def test_the_command_ends_though_a_step_never_does(tmp_path: Path) -> None:
    """Not even for an exception."""
    done = conform_stuck(tmp_path, "step", "--only", "time*back")
    assert (done.returncode, done.stderr) == (1, "")
    assert "[FAIL]  timed out after 1 s in Stuck.step(...), at " in done.stdout
    assert done.stdout.endswith("\n0 passed, 1 failed, 0 skipped\n")


def test_the_command_ends_though_the_backend_is_never_ready(tmp_path: Path) -> None:
    done = conform_stuck(tmp_path, "reset")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(
        r"ghost: timed out after 1 s in Stuck\.reset\(\.\.\.\), at \S+stuck\.py:\d+\n", done.stderr
    )


def conform_stuck(folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """`ghost conform` on a robot whose HAL hangs in that method."""
    (folder / "stuck.py").write_text(STUCK.format(name=name), encoding="utf-8")
    plain = yaml.safe_load(find_robots()["x500"].read_text(encoding="utf-8"))
    plain |= {"name": "stuck", "hal": {"sim": "stuck:Stuck", "real": None}}
    (folder / "robots" / "stuck").mkdir(parents=True)
    (folder / "robots" / "stuck" / "robot.yaml").write_text(yaml.safe_dump(plain))
    line = ("ghost.cli", "conform", "stuck", "--robots", "robots", "--timeout", "1", *options)
    return subprocess.run(
        [sys.executable, "-m", *line],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _run_out() -> None:
    raise TimeoutError("its own")
