"""What a robot demands of its flight controller's parameters, with a scripted one."""

import struct
from collections.abc import Callable

import pytest

from firmware_bridge.hub import Received
from firmware_bridge.modes import ARMED_FLAG
from firmware_bridge.parameter_values import INT32, REAL32, Value
from firmware_bridge.vehicle import Vehicle
from ghost.deploy import demands
from ghost.deploy.demands import Demand, examine_demands
from tests.firmware_bridge.peer import MS, ParameterStore, Peer, flight


def store() -> ParameterStore:
    values = {
        "ACTION": (struct.pack("<i", 3), INT32),
        "SPEED": (struct.pack("<i", 5), INT32),
        "TIME": (struct.pack("<f", 0.1), REAL32),
    }
    return ParameterStore(values)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demands, "SETTLE_NS", 20 * MS)


def examined(
    *scripts: Callable[[Peer], object], wanted: dict[str, Value], apply: bool
) -> tuple[Demand, ...]:
    with flight(*scripts) as vehicle:
        return examine_demands(vehicle, wanted, apply=apply)


def told(found: tuple[Demand, ...]) -> list[tuple[bool, str]]:
    return [(one.is_met, str(one)) for one in found]


def test_what_is_so_already_is_met() -> None:
    found = examined(store(), wanted={"TIME": 0.1, "ACTION": 3}, apply=False)
    assert told(found) == [(True, "0.1"), (True, "3")]


def test_what_is_otherwise_is_not_met_and_not_touched() -> None:
    kept = store()
    found = examined(kept, wanted={"SPEED": 9}, apply=False)
    assert told(found) == [(False, "5; expected 9: set it, or give --apply-params")]
    assert kept.values == store().values


def test_it_is_set_where_asked_for() -> None:
    kept = store()
    found = examined(kept, wanted={"SPEED": 9, "ACTION": 3}, apply=True)
    assert told(found) == [(True, "9, was 5"), (True, "3")]
    assert kept.values["SPEED"] == (struct.pack("<i", 9), INT32)


def test_nothing_is_set_while_it_is_armed() -> None:
    kept = store()

    def arm(peer: Peer) -> None:
        peer.beat["base_mode"] = ARMED_FLAG

    found = examined(kept, arm, wanted={"SPEED": 9, "ACTION": 3}, apply=True)
    armed = "it is armed, and parameters are set only while disarmed"
    assert told(found) == [(False, armed), (True, "3")]
    assert kept.values == store().values


def test_where_one_can_t_be_met_none_is_set() -> None:
    kept = store()
    found = examined(kept, wanted={"SPEEED": 9, "SPEED": 9}, apply=True)
    assert told(found)[1] == (False, "5; expected 9: set it, or give --apply-params")
    assert kept.values == store().values
    assert not found[0].is_met
    assert str(found[0]).startswith("the flight controller has no parameter SPEEED")


def test_what_it_refuses_is_not_met() -> None:
    kept = store()
    kept.read_only = ("SPEED",)
    found = examined(kept, wanted={"SPEED": 9}, apply=True)
    assert told(found) == [(False, "parameter SPEED was refused: READ_ONLY")]


def test_what_it_takes_and_then_limits_is_not_met() -> None:
    kept = store()

    def limit(peer: Peer) -> None:
        def on_set(_received: Received) -> None:
            kept.values["SPEED"] = (struct.pack("<i", 12), INT32)

        peer.on("PARAM_SET", on_set)

    found = examined(kept, limit, wanted={"SPEED": 90, "ACTION": 3}, apply=True)
    said = "parameter SPEED was set to 90, and the flight controller then made it 12"
    assert told(found) == [(False, said), (True, "3")]
    assert (found[0].found, found[0].was) == (12, 5)


def test_a_fraction_is_no_integer() -> None:
    kept = store()
    found = examined(kept, wanted={"SPEED": 1.5}, apply=True)
    assert told(found) == [(False, "parameter SPEED cannot be 1.5; expected an integer")]
    assert kept.values == store().values


def test_no_demands_are_no_questions() -> None:
    assert examine_demands(Vehicle.__new__(Vehicle), {}, apply=True) == ()
