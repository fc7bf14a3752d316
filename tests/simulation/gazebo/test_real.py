"""A real Gazebo server with ArduPilot's plugin: it behaves as the stand-in does, and we fly in it.

GHOST_GAZEBO names one that runs, such as 127.0.0.1:9002, with an iris on its legs.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.simulation.gazebo.behaviour import BEHAVIOUR, Meet, greeted
from tests.simulation.gazebo.client import Client, read, time_ns
from tests.simulation.gazebo.flight import Square, check, fly
from tests.simulation.gazebo.rig import MS, connected

VARIABLE = "GHOST_GAZEBO"
TURN_S = 100.0


@pytest.fixture
def address() -> Iterator[str]:
    """Tests run in several processes; there is one vehicle."""
    where = os.environ.get(VARIABLE)
    if not where:
        pytest.skip(f"needs Gazebo with ArduPilot's plugin: set {VARIABLE}=127.0.0.1:9002")
    with (Path(tempfile.gettempdir()) / "ghost-gazebo.lock").open("w") as lock:
        end_s = time.monotonic() + TURN_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                assert time.monotonic() < end_s, f"another test has had Gazebo for {TURN_S} s"
                time.sleep(0.1)
        yield where


@pytest.fixture
def meet(address: str) -> Meet:
    host, _, port = address.partition(":")
    return lambda: Client(host, int(port))


@pytest.mark.parametrize("behaviour", BEHAVIOUR, ids=lambda behaviour: behaviour.__name__)
def test_behaviour(meet: Meet, behaviour: Callable[[Meet], None]) -> None:
    behaviour(meet)


def test_a_burst_is_fewer_steps_than_packets(meet: Meet) -> None:
    """How many it can read at once is a matter of luck, unlike with the stand-in."""
    with meet() as client:
        count = greeted(client)
        before_ns = time_ns(client.ask(count + 1))
        client.drain()
        for ahead in range(2, 102):
            client.send(count + ahead)
        answers = [answer for _, answer in client.during(0.2)]
        steps = (time_ns(answers[-1]) - before_ns) // MS
        assert 1 <= steps < 100
        assert client.ask(count + 101) == answers[-1]


def test_a_vehicle_at_rest_feels_gravity_and_says_no_more_than_we_know(meet: Meet) -> None:
    with meet() as client:
        greeted(client)
        state = read(client.ask(30_000))
    assert state["imu"]["accel_body"] == pytest.approx([0.0, 0.0, -9.8], abs=0.05)
    assert len(state["quaternion"]) == 4
    assert state["no_lockstep"] is False


def test_time_is_the_servers_and_a_run_begins_at_rest(address: str) -> None:
    with connected(address, step_ns=2 * MS) as adapter:
        adapter.step(200 * MS)
        truth = adapter.ground_truth(0)
    assert truth.stamp_ns == 200 * MS
    assert float(truth.position_enu_m[2]) == pytest.approx(0.195, abs=0.02)
    np.testing.assert_allclose(truth.velocity_enu_mps, 0.0, atol=0.02)


def test_the_autopilot_hovers_and_flies_a_square(address: str, tmp_path: Path) -> None:
    square = Square(side_m=5.0, height_m=3.0, hold_s=5.0)
    place_m = fly(square, address, tmp_path, step_ms=1).place_m
    check(square, place_m, within_m=0.6)
    aloft = int(np.argmax(place_m[:, 2] > 2.7))
    hover = place_m[aloft + 100 : aloft + 200]  # two seconds of the five
    assert float(np.abs(hover - (0.0, 0.0, 3.0)).max()) < 0.4
