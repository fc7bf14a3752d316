"""The stand-in does what ArduPilot's plugin does."""

import json
import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.gazebo.behaviour import BEHAVIOUR, Meet, greeted
from tests.simulation.gazebo.client import MAGIC_32, Client, read, time_ns
from tests.simulation.gazebo.rig import IRIS
from tests.simulation.gazebo.standin import StandIn, number, state_json


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn(IRIS) as running:
        yield running


def at(server: StandIn) -> Client:
    return Client("127.0.0.1", server.port)


@pytest.mark.parametrize("behaviour", BEHAVIOUR, ids=lambda behaviour: behaviour.__name__)
def test_behaviour(server: StandIn, behaviour: Callable[[Meet], None]) -> None:
    behaviour(lambda: at(server))


def test_a_burst_is_drained_to_its_last_and_is_one_step(server: StandIn) -> None:
    with at(server) as client:
        count = greeted(client)
        before_ns = time_ns(client.ask(count + 1))
        client.drain()
        with server.held:
            for ahead in range(2, 9):
                client.send(count + ahead)
        assert time_ns(client.receive()) == before_ns + 1_000_000
        assert time_ns(client.ask(count + 8)) == before_ns + 1_000_000
        assert time_ns(client.ask(count + 9)) == before_ns + 2_000_000


def test_time_runs_freely_until_the_first_packet(server: StandIn) -> None:
    while server.time_ns < 20_000_000:
        pass
    with at(server) as client:
        assert time_ns(client.ask(1)) > 20_000_000


def test_without_lockstep_it_goes_on_for_a_while_and_gives_up() -> None:
    with StandIn(IRIS, lock_step=False) as server, at(server) as client:
        client.send(1)
        said = [read(answer) for _, answer in client.during(0.3)]
    assert len(said) in {6, 7}
    assert all(state["no_lockstep"] for state in said)
    times = [round(state["timestamp"] * 1e3) for state in said]
    assert times == list(range(times[0], times[0] + len(times)))


def test_with_32_channels_it_takes_32_alone() -> None:
    with StandIn(IRIS, channels=32) as server, at(server) as client:
        client.send(1)
        assert client.within(0.05) is None
        client.send(2, magic=MAGIC_32, channels=32)
        assert client.receive()


def test_an_answer_is_written_as_the_plugin_writes_it() -> None:
    assert state_json(
        2.753,
        (0.0, -0.0, 1e-9),
        (1.25e-9, -1.4e-14, -10.567),
        (-2.5e-8, 0.000001, -2.38),
        (1.0, 0.0, 0.0, 0.0),
        (1e21, 123.0, math.nan),
        extras='"rng_1":0.5,',
    ) == (
        b'\n{"timestamp":2.753,"imu":{"gyro":[0.0,-0.0,1e-9],'
        b'"accel_body":[1.25e-9,-1.4e-14,-10.567]},"position":[-2.5e-8,0.000001,-2.38],'
        b'"quaternion":[1.0,0.0,0.0,0.0],"velocity":[1e21,123.0,],"rng_1":0.5,'
        b'"no_time_sync":true,"no_lockstep":false}\n'
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_without_loss(value: float) -> None:
    assert json.loads(number(value)) == value
