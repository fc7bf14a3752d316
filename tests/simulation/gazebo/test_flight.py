"""The embedded autopilot flies an iris through the adapter, without Gazebo."""

from pathlib import Path

from tests.simulation.gazebo.flight import Square, check, fly
from tests.simulation.gazebo.rig import IRIS, MS
from tests.simulation.gazebo.standin import StandIn


def test_a_square_is_flown_over_real_sockets(tmp_path: Path) -> None:
    """With frames of 4 ms, which is quicker, an IMU a frame behind and one that stutters."""
    with StandIn(IRIS, step_ns=4 * MS, imu_repeats=7, extras='"rng_1":0.5,') as server:
        square = Square(side_m=3.0, height_m=2.0, hold_s=0.5)
        flown = fly(square, server.address, tmp_path, step_ms=4)
    check(square, flown.place_m, within_m=0.6)
