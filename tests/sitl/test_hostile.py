"""Nothing that a client says stops the vehicle, or moves it out of its envelope."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_bridge.frame import Framer
from firmware_bridge.messages import dialect, encode
from ghost.deploy import Swarm
from ghost.sitl.voice import Voice

COMMANDS = (
    *(16, 20, 21, 22, 92, 176, 178, 179, 185, 192, 224, 246, 300, 400, 410, 510, 511, 512, 520),
    *(31_000,),
)
NAMES = (
    *("COMMAND_INT", "COMMAND_LONG", "MISSION_CLEAR_ALL", "MISSION_COUNT", "MISSION_ITEM_INT"),
    *("MISSION_REQUEST_INT", "MISSION_REQUEST_LIST", "MISSION_SET_CURRENT", "PARAM_REQUEST_LIST"),
    *("PARAM_REQUEST_READ", "PARAM_SET", "SET_ATTITUDE_TARGET", "SET_MODE", "TIMESYNC"),
    *("SET_POSITION_TARGET_LOCAL_NED",),
)
KINDS = {kind.msgname: kind for kind in dialect.mavlink_map.values() if kind.msgname in NAMES}
INTEGERS = {
    "uint8_t": (0, 2**8 - 1),
    "uint16_t": (0, 2**16 - 1),
    "uint32_t": (0, 2**32 - 1),
    "int16_t": (-(2**15), 2**15 - 1),
    "int32_t": (-(2**31), 2**31 - 1),
    "int64_t": (-(2**63), 2**63 - 1),
}
PARAMETERS = (b"MIS_TAKEOFF_ALT", b"NAV_ACC_RAD", b"SYS_AUTOSTART", b"", b"\xff\xfe")
NUMBERS = st.one_of(
    st.sampled_from(
        (0.0, 1.0, 2.0, 4.0, 6.0, 21196.0, 148.0, 490.0, math.nan, math.inf, -math.inf)
    ),
    st.floats(width=32),
)


CONTROL_S = 0.004


@dataclass
class Rig:
    swarm: Swarm
    voice: Voice

    def step(self, count: int) -> None:
        for _ in range(count):
            self.swarm.step(CONTROL_S)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with Swarm() as swarm:
        drone = swarm.spawn("x500", links=["udpin://127.0.0.1:0"])
        swarm.start()
        assert drone.voice is not None
        rig = Rig(swarm, drone.voice)
        while rig.voice.vehicle.blocked:
            rig.step(1)
        yield rig


def field(name: str, kind: str, length: int) -> st.SearchStrategy[Any]:
    if name == "target_system":
        return st.sampled_from((0, 1, 1, 1, 9))
    if name == "target_component":
        return st.sampled_from((0, 1, 1))
    if name == "command":
        return st.sampled_from(COMMANDS)
    if name == "param_id":
        return st.sampled_from(PARAMETERS)
    one = NUMBERS if kind == "float" else small_or_any(*INTEGERS[kind])
    return one if length == 0 else st.lists(one, min_size=length, max_size=length)


def small_or_any(least: int, most: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(0, 6), st.integers(least, most))


@st.composite
def messages(draw: st.DrawFn) -> Any:
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    lengths = dict(zip(kind.ordered_fieldnames, kind.array_lengths, strict=True))
    values = [
        draw(field(name, form, lengths[name]))
        for name, form in zip(kind.fieldnames, kind.fieldtypes, strict=True)
    ]
    return kind(*values)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(heard=st.lists(messages(), min_size=1, max_size=6))
def test_any_message_is_survived(rig: Rig, heard: list[Any]) -> None:
    hub, vehicle, face = rig.voice.hub, rig.voice.vehicle, rig.voice.face
    if vehicle.killed:
        vehicle.revive()
    if not vehicle.armed and not face.pilot.arm():
        face.pilot.choose("TAKEOFF")
        rig.step(500)
    for message in heard:
        raw = encode(message, system=245, component=190, sequence=0)
        for frame in Framer().feed(raw):
            hub._deliver(frame, hub.links[0], hub.now_ns())
        rig.step(5)
    east_m, north_m, up_m = vehicle.position_enu_m.tolist()
    assert math.isfinite(east_m + north_m + up_m)
    face.heartbeat()
