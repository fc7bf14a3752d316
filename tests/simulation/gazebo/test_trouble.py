"""What can go wrong with a Gazebo server, and that it is named; where a run can begin."""

import math
import socket
import threading
from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError, StalledError
from ghost.deploy import build_hal, load_robot
from ghost.simulation.adapter import Start
from ghost.simulation.gazebo.adapter import GazeboAdapter
from ghost.simulation.gazebo.protocol import GazeboError
from tests.simulation.gazebo.client import Client
from tests.simulation.gazebo.rig import (
    IRIS,
    MS,
    PLACE,
    REST,
    REST_FRAMES,
    SECOND,
    answering,
    at_rest_until,
    connected,
    iris,
    said,
    world,
)
from tests.simulation.gazebo.standin import StandIn, state_json

QUICK = ",timeout_ms=300"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_named() -> None:
    where = f"127.0.0.1:{free_port()}"
    with pytest.raises(
        StalledError, match=rf"{where} does not answer within 0.3 s \(Connection refused\)"
    ):
        GazeboAdapter(where + QUICK).connect(world())


def test_a_server_may_come_late() -> None:
    port = free_port()
    late = StandIn(IRIS, port=port)
    timer = threading.Timer(0.25, late.__enter__)
    timer.start()
    try:
        with connected(f"127.0.0.1:{port}") as adapter:
            adapter.step(MS)
    finally:
        timer.join()
        late.__exit__(None, None, None)


def test_a_server_that_hears_and_says_nothing_is_named() -> None:
    with (
        answering(lambda _: None) as address,
        pytest.raises(StalledError, match=f"{address} does not answer .*not a word"),
    ):
        GazeboAdapter(address + QUICK).connect(world())


def test_a_server_without_an_imu_reading_is_told_apart() -> None:
    with (
        StandIn(IRIS, silent_imu=True) as server,
        pytest.raises(StalledError, match="the model's IMU is silent; check its imuName"),
    ):
        GazeboAdapter(server.address + QUICK).connect(world())


def test_a_server_that_falls_silent_in_flight_is_named_with_its_time() -> None:
    with (
        answering(at_rest_until(REST_FRAMES, lambda _: None)) as address,
        connected(address + QUICK) as adapter,
    ):
        complaint = rf"{address} took no step after 1.059 s .*within 0.3 s .*of vehicle 0"
        with pytest.raises(StalledError, match=complaint):
            adapter.step(SECOND)


def test_a_server_that_repeats_itself_has_stalled() -> None:
    with (
        answering(at_rest_until(REST_FRAMES, lambda _: said(REST_FRAMES))) as address,
        connected(address + QUICK) as adapter,
        pytest.raises(StalledError, match="it repeats the state that we have"),
    ):
        adapter.step(SECOND)


def test_a_server_that_was_started_again_ends_the_run_and_the_next_begins_afresh() -> None:
    with StandIn(IRIS) as first:
        adapter = GazeboAdapter(first.address)
        adapter.connect(world())
        adapter.step(500 * MS)
    with StandIn(IRIS, port=first.port):
        with pytest.raises(GazeboError, match="it was started again, or somebody else flies"):
            adapter.step(SECOND)
        adapter.connect(world())
        adapter.step(10 * MS)
        assert adapter.sim_time_ns == 10 * MS
        adapter.disconnect()


def test_somebody_else_at_the_controls_is_noticed() -> None:
    with StandIn(IRIS) as server, connected(server.address) as adapter:
        adapter.step(10 * MS)
        with Client("127.0.0.1", server.port) as other:
            other.ask(9999)
        with pytest.raises(GazeboError, match="expected one step of 1 ms"):
            adapter.step(10 * MS)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"\n{oops\n", "is no JSON"),
        (b"\n{}\n", "has no timestamp"),
        (said(0, velocity=(0.0, math.nan, 0.0)), "is no JSON"),
        (said(0).replace(b"-9.8", b"NaN"), r"imu.accel_body is \[0.0, 0.0, nan\]"),
    ],
)
def test_an_answer_that_makes_no_sense_is_named(answer: bytes, complaint: str) -> None:
    with (
        answering(at_rest_until(REST_FRAMES, lambda _: answer)) as address,
        connected(address) as adapter,
        pytest.raises(GazeboError, match=f"Gazebo at {address}: .*{complaint}"),
    ):
        adapter.step(SECOND)


def test_a_server_without_lockstep_is_refused() -> None:
    with (
        StandIn(IRIS, lock_step=False) as server,
        pytest.raises(ConfigError, match="set <lock_step>1</lock_step>"),
    ):
        GazeboAdapter(server.address).connect(world())


def test_a_host_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"can't be at no\.such\.host\.invalid:9002"):
        GazeboAdapter("no.such.host.invalid").connect(world())


# How a run begins.


def test_a_vehicle_that_was_left_in_the_air_falls_first() -> None:
    aloft = iris(position_enu_m=(1.0, 2.0, 0.6)).start
    with StandIn(IRIS, starts=[aloft]) as server, connected(server.address) as adapter:
        adapter.step(MS)
        truth = adapter.ground_truth(0)
        np.testing.assert_allclose(truth.position_enu_m, (1.0, 2.0, 0.19), atol=0.02)
        np.testing.assert_allclose(truth.velocity_enu_mps, 0.0, atol=0.02)
        assert truth.stamp_ns == MS


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"quaternion": (0.0, 1.0, 0.0, 0.0)}, "vehicle 0 lies tilted by 180 deg"),
        ({"velocity": (0.0, 0.0, 1.0)}, r"not at rest after 10 s .*at \(1\)"),
        ({"gyro": (0.0, 0.0, -2.0)}, r"not at rest after 10 s .*at \(2\)"),
    ],
)
def test_a_vehicle_that_cannot_begin_is_named(changes: dict[str, Any], complaint: str) -> None:
    # Steps of 50 ms, or ten seconds would be long.
    def answer(number: int) -> bytes:
        return state_json(number / 20.0, **(REST | PLACE | changes))

    with (
        answering(answer) as address,
        pytest.raises(GazeboError, match=complaint),
    ):
        GazeboAdapter(address).connect(world(step_ns=50 * MS))


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        ({"position_enu_m": (3.0, 0.0, 0.195)}, r"starts at \(3.0, 0.0, 0.195\) and stands at"),
        ({"velocity_enu_mps": (1.0, 0.0, 0.0)}, "starts moving"),
        ({"rate_flu_rps": (0.0, 0.0, 1.0)}, "starts moving"),
    ],
)
def test_a_start_that_gazebo_does_not_have_is_refused(
    start: dict[str, Any], complaint: str
) -> None:
    with StandIn(IRIS) as server, pytest.raises(ConfigError, match=complaint):
        GazeboAdapter(server.address).connect(world(iris(**start)))


def test_a_start_that_gazebo_has_is_taken() -> None:
    start = {"position_enu_m": (3.0, -4.0, 0.195)}
    with (
        StandIn(IRIS, starts=[iris(**start).start]) as server,
        connected(server.address, iris(**start)) as adapter,
    ):
        place = adapter.ground_truth(0).position_enu_m
        np.testing.assert_allclose(place, (3.0, -4.0, 0.19), atol=0.01)


@pytest.mark.parametrize(
    "start",
    [
        Start(position_enu_m=(0.0, 0.0, 5.0)),
        Start(velocity_enu_mps=(1.0, 0.0, 0.0)),
        Start(rate_flu_rps=(0.0, 0.0, 1.0)),
    ],
)
def test_a_start_that_no_vehicle_in_gazebo_can_have_is_refused_before_the_server_is_asked(
    start: Start,
) -> None:
    assert not GazeboAdapter().capabilities.any_start
    with pytest.raises(ConfigError, match="gazebo has its vehicles where they stand"):
        build_hal(load_robot("iris"), mode="sim", start=start)
    build_hal(load_robot("iris"), mode="sim", start=Start(position_enu_m=(3.0, 0.0, 0.4)))
