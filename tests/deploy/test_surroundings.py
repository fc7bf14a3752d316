"""A session among solid things: the alarm when one is hit, what the log tells of them, and what is
refused where there are none.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.core.rotations import rotate
from ghost.deploy import Order, Result, SimulatedFlight, load_robot
from ghost.events import Event, EventKind, Severity
from ghost.hal import Action, CameraCalibration, FlightMode, Scene, Transform
from ghost.telemetry import LogReader
from tests.deploy.rig import order, scenario_of

ROOT = Path(__file__).parents[2]
HOP = "name: hop\nframe: home\nsteps: [takeoff: {altitude_m: 1}, land: {}]"
INTO_IT = """
name: into it
frame: home
steps: [takeoff: {altitude_m: 3}, goto: {position_enu_m: [20, 0, 3], speed_mps: 3}, land: {}]
"""
WALL = """
duration_s: 60
obstacles:
  - wall: {from_m: [6, -10], to_m: [6, 10], height_m: 8, name: the wall}
  - pole: {at_m: [0, 8], height_m: 4}
"""


def among(folder: Path, *, mission: str = HOP, robot: str = "x500", **changes: Any) -> Order:
    scenario = scenario_of(folder, WALL)
    flown = order(folder / "run", robot=robot, mission=mission, scenario=scenario)
    return replace(flown, **{"simulator": "pybullet", **changes})


# The alarm.


class Watched(SimulatedFlight):
    """Writes down when the safety subscriber was called, and whether a step was under way."""

    def __init__(self, flown: Order) -> None:
        self.alarms: list[tuple[Event, int, bool, FlightMode]] = []
        self._is_stepping = False
        super().__init__(flown)
        step = self.backend.step

        def watched(dt_ns: int) -> None:
            self._is_stepping = True
            step(dt_ns)
            self._is_stepping = False

        self.backend.step = watched  # type: ignore[method-assign]  # a listening post

    def _on_alarm(self, event: Event) -> None:
        super()._on_alarm(event)
        controller: Any = self.backend.flight_controller
        now_ns = self.clock.now_ns()
        self.alarms.append((event, now_ns, self._is_stepping, controller.autopilot.mode))


def test_who_hits_something_is_told_to_land_before_the_step_is_over(tmp_path: Path) -> None:
    flight = Watched(among(tmp_path, mission=INTO_IT))
    flown = flight.run()
    event, at_ns, is_stepping, mode = flight.alarms[0]
    assert (event.kind, event.severity) == (EventKind.COLLISION, Severity.CRITICAL)
    assert event.payload["other"] == "the wall"
    assert event.payload["speed_mps"] == pytest.approx(3.0, abs=0.3)
    assert is_stepping
    assert mode is FlightMode.LAND
    assert 0 <= at_ns - event.stamp_ns < 4_000_000, "in the tick of the physics step it came in"
    log = LogReader(tmp_path / "run")
    first = next(iter(log.messages(["/sensors/contact"]))).message
    assert (first.stamp_ns, first.other) == (event.stamp_ns, "the wall")
    asked = [record.message.action for record in log.messages(["/cmd/action"])]
    assert asked[-1] is Action.LAND, "the mission gives up as well"
    assert flown.outcome.result is Result.ABORTED
    assert "hit the wall at" in flown.outcome.reason
    assert flown.simulated_ns < 30e9, "and it comes down"


def test_a_flight_that_touches_nothing_but_the_ground_has_no_alarm(tmp_path: Path) -> None:
    flight = Watched(among(tmp_path))
    assert flight.run().succeeded
    assert flight.alarms == []


# The log.


def told_once(log: LogReader, channel: str) -> Any:
    (record,) = log.messages([channel])
    assert record.stamp_ns == 0
    return record.message


def test_the_log_tells_once_what_stands_there_and_how_sensors_look_at_it(tmp_path: Path) -> None:
    flight = SimulatedFlight(among(tmp_path, robot="x500_depth"))
    flight.request_landing()
    flight.run()
    log = LogReader(tmp_path / "run")
    scene: Scene = told_once(log, "/groundtruth/scene")
    assert scene.boxes[:, :3].tolist() == [[6.0, 0.0, 4.0]]
    assert scene.cylinders[:, :3].tolist() == [[0.0, 8.0, 2.0]]
    transforms: list[Transform] = [record.message for record in log.messages(["/tf"])]
    assert [one.child_frame_id for one in transforms] == ["depth_camera", "rgb_camera"]
    for one in transforms:
        assert (one.parent_frame_id, one.stamp_ns) == ("body", 0)
        np.testing.assert_array_equal(one.translation_m, (0.25, 0.0, 0.0))
        axes = [rotate(one.rotation, axis) for axis in np.eye(3)]
        right, down, ahead = (0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)
        np.testing.assert_allclose(axes, (right, down, ahead), rtol=0, atol=1e-12)
    lens: CameraCalibration = told_once(log, "/sensors/depth_camera/calibration")
    assert (lens.frame_id, lens.width_px, lens.height_px) == ("depth_camera", 160, 120)
    assert (lens.fx_px, lens.fy_px, lens.cx_px, lens.cy_px) == (84.0, 84.0, 79.5, 59.5)
    told_once(log, "/sensors/rgb_camera/calibration")


def test_a_lidar_s_place_is_told_in_its_own_axes(tmp_path: Path) -> None:
    flight = SimulatedFlight(among(tmp_path, robot="x500_lidar"))
    flight.request_landing()
    flight.run()
    place: Transform = told_once(LogReader(tmp_path / "run"), "/tf")
    assert place.child_frame_id == "lidar"
    np.testing.assert_array_equal(place.translation_m, (0.0, 0.0, 0.12))
    np.testing.assert_array_equal(place.rotation, (1.0, 0.0, 0.0, 0.0))


# What is refused.

ABLE = "choose one that has, such as --simulator pybullet"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            (
                "world empty has 2 solid things, and simulator lightweight has nothing but flat "
                f"ground; {ABLE}"
            ),
        ),
        (
            {"robot": load_robot("x500_depth")},
            f"sensor depth_camera is a camera, and simulator lightweight has no pictures; {ABLE}",
        ),
        ({"view": True}, f"simulator lightweight has no window for --view; {ABLE}"),
    ],
    ids=["solids", "camera", "view"],
)
def test_a_simulator_without_eyes_or_room_says_so(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    flown = among(tmp_path, simulator="lightweight")
    if changes:
        flown = replace(flown, scenario=order(tmp_path).scenario, **changes)
    with pytest.raises(ConfigError) as caught:
        SimulatedFlight(flown)
    assert str(caught.value) == said
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
@pytest.mark.parametrize("display", ["", ":4093"], ids=["none", "nobody answers"])
def test_without_a_display_a_view_is_refused_with_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, display: str
) -> None:
    monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(ConfigError, match=r"no display to open a window on; .*`ghost render`"):
        SimulatedFlight(among(tmp_path, view=True))
    assert not (tmp_path / "run").exists()


def test_without_pybullet_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['pybullet'] = None; from ghost.cli import main; sys.exit(main())"
    )
    flight = ("deploy", "sim", "x500", "--simulator", "pybullet", "--out", str(tmp_path / "run"))
    done = subprocess.run(
        [sys.executable, "-c", without, *flight],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ghost: simulator pybullet can't be loaded: ")
    assert "pip install 'ghost-drone[sim]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
