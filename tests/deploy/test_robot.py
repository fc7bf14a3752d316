"""robot.yaml is read strictly: a mistake is named with its path, and nothing else comes through."""

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.deploy import build_hal, find_robots, load_scenario, read_robot
from ghost.hal import SensorKind
from tests.deploy.rig import LEAVE_OUT, ROBOT_NAMES, X500, changed, write_robot, x500_with

ROTORS = "airframe.rotors"
FLAT = [
    {**rotor, "position_flu_m": [0.0, y, 0.0]}
    for rotor, y in zip(X500["airframe"]["rotors"], (-0.2, 0.2, -0.1, 0.1), strict=True)
]


def refusal(folder: Path, plain: Any, *, name: str = "x500") -> str:
    """What is wrong with it, without the path of the file in front."""
    path = write_robot(folder, plain, name=name)
    with pytest.raises(ConfigError) as caught:
        read_robot(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


# What comes through.


@pytest.mark.parametrize("name", ROBOT_NAMES)
def test_every_shipped_robot_is_read(name: str) -> None:
    robot = read_robot(find_robots()[name])
    assert robot.name == name
    assert robot.plain["name"] == name


def test_units_of_the_file_become_those_of_ghost(tmp_path: Path) -> None:
    robot = x500_with(
        tmp_path,
        envelope__max_tilt_deg=90.0,
        envelope__lookahead_ms=1.5,
        envelope__geofence_enu_m=[[0, 0], [10, 0], [0, 10]],
        autopilot={"return_height_m": 7},
    )
    assert robot.airframe is not None
    assert robot.airframe.rotors[0].time_constant_ns == 20_000_000
    assert [rotor.direction for rotor in robot.airframe.rotors] == [1, 1, -1, -1]
    gps = robot.sensors[1]
    assert (gps.name, gps.kind, gps.period_ns) == ("gps", SensorKind.GPS, 100_000_000)
    assert gps.latency_ns == 120_000_000
    assert robot.envelope.max_tilt_rad == pytest.approx(1.570796327)
    assert robot.envelope.lookahead_ns == 1_500_000
    assert robot.envelope.geofence_enu_m == ((0.0, 0.0), (10.0, 0.0), (0.0, 10.0))
    assert robot.autopilot.return_height_m == 7.0


def test_a_rotor_may_differ_from_the_others(tmp_path: Path) -> None:
    robot = x500_with(tmp_path, airframe__rotors__1__max_thrust_n=7.0)
    assert robot.airframe is not None
    assert [rotor.max_thrust_n for rotor in robot.airframe.rotors] == [8.55, 7.0, 8.55, 8.55]


def test_a_robot_may_have_neither_hal(tmp_path: Path) -> None:
    plain = {"name": "box", "description": "a box", "hal": {"sim": None, "real": None}}
    robot = read_robot(write_robot(tmp_path, plain))
    assert (robot.sim, robot.airframe, robot.sensors) == (None, None, ())


# What doesn't.


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("envelop", {}, "unknown key envelop; did you mean envelope?"),
        ("airframe.mass_g", 2000, "unknown key airframe.mass_g; did you mean mass_kg?"),
        (
            "airframe.rotors.2.direction",
            "cw",
            (
                "unknown key airframe.rotors[2].direction; expected position_flu_m, turns, "
                "axis_flu, max_thrust_n, torque_per_thrust_m, max_speed_rps, max_power_w, "
                "time_constant_ms"
            ),
        ),
        (
            "sensors.gps.latency_s",
            0.1,
            "unknown key sensors.gps.latency_s; did you mean latency_ms?",
        ),
        ("hal.simulation", None, "unknown key hal.simulation; expected sim, real"),
        ("airframe.mass_kg", -2.0, "airframe.mass_kg is -2.0; expected 0.001 to 10000"),
        ("airframe.mass_kg", "2 kg", "airframe.mass_kg is '2 kg'; expected a number"),
        ("airframe.mass_kg", float("nan"), "airframe.mass_kg is nan; expected 0.001 to 10000"),
        ("airframe.mass_kg", True, "airframe.mass_kg is True; expected a number"),
        ("airframe.mass_kg", None, "airframe.mass_kg is None; expected a number"),
        ("airframe.mass_kg", LEAVE_OUT, "airframe.mass_kg is missing"),
        (
            "airframe.mass_kg",
            4.0,
            "airframe: all rotors lift 34.20 N and the vehicle weighs 39.23 N; it can't take off",
        ),
        (
            "airframe.inertia_kgm2",
            [0.01, 0.01, 0.04],
            (
                "airframe: inertia_kgm2 is (0.01, 0.01, 0.04); no body has one axis above the "
                "other two together"
            ),
        ),
        (
            "airframe.inertia_kgm2",
            [0.02, -0.02, 0.04],
            "airframe: inertia_kgm2 is (0.02, -0.02, 0.04); expected three above 0",
        ),
        ("airframe.inertia_kgm2", [0.02], "airframe.inertia_kgm2 has 1 entries; expected 3"),
        (
            "airframe.rotor.torque_per_thrust_m",
            0.0,
            "airframe: the rotors can't control yaw; check their places and directions",
        ),
        (
            ROTORS,
            FLAT,
            "airframe: the rotors can't control pitch; check their places and directions",
        ),
        (
            ROTORS,
            X500["airframe"]["rotors"][:3],
            "airframe: the rotors can't control yaw; check their places and directions",
        ),
        (ROTORS, X500["airframe"]["rotors"][:2], f"{ROTORS} has 2 entries; expected 3 to 16"),
        (f"{ROTORS}.0.turns", "left", f"{ROTORS}[0].turns is 'left'; expected ccw or cw"),
        (
            f"{ROTORS}.0.axis_flu",
            [0.0, 0.0, 2.0],
            "airframe: axis_flu (0.0, 0.0, 2.0) has length 2; expected 1",
        ),
        ("airframe.legs_flu_m", [], "airframe.legs_flu_m has 0 entries; expected 1 to 16"),
        (
            "airframe.battery.knee_v",
            17.0,
            "airframe: battery voltages are 13.2, 17.0, 16.8; expected empty_v < knee_v < full_v",
        ),
        ("airframe", LEAVE_OUT, "sim needs an airframe to simulate; add one, or remove sim"),
        (
            "sensors.imu",
            LEAVE_OUT,
            "sim needs a sensor of kind imu; without one nothing can fly",
        ),
        (
            "sensors.gps.kind",
            "gsp",
            (
                "sensors.gps.kind is 'gsp'; expected imu or gps or magnetometer or barometer or "
                "rangefinder or battery or rotor_speed or laser_scan or point_cloud or "
                "depth_camera or rgb_camera"
            ),
        ),
        (
            "sensors.imu.rate_hz",
            30,
            (
                "sensors.imu.rate_hz gives a period of 33333333.333 ns; expected whole ns, as of "
                "25 or 50"
            ),
        ),
        ("sensors.imu.rate_hz", 0, "sensors.imu.rate_hz is 0; expected 0.01 to 10000"),
        (
            "sensors.rangefinder.min_m",
            20.0,
            "sensors.rangefinder: min_m is 20 and max_m 12; expected 0 <= min_m < max_m",
        ),
        (
            "sensors.status",
            {"kind": "battery", "rate_hz": 1},
            "sensors.status has the name of what the vehicle says of itself; choose another",
        ),
        (
            "sensors.barometer",
            {"kind": "battery", "rate_hz": 1},
            (
                "sensors.barometer is of kind battery, and /sensors/barometer carries "
                "BarometerSample; choose another name"
            ),
        ),
        ("sensors", {1: {"kind": "imu"}}, "a name in sensors is 1; expected a text"),
        ("sensors", [], "sensors is []; expected a name and its settings for each"),
        ("envelope.min_altitude_m", 200, "envelope: altitude band 200.0 to 120.0 m is empty"),
        (
            "envelope.geofence_enu_m",
            [[0, 0], [1, 1], [2, 2]],
            "envelope: geofence [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] encloses no area",
        ),
        (
            "autopilot",
            {"takeoff_speed_mps": 0},
            "autopilot: autopilot takeoff_speed_mps is 0.0; expected above 0",
        ),
        (
            "flight_controller",
            {"on_stop": "hover"},
            "flight_controller.on_stop is 'hover'; expected land or return",
        ),
        (
            "flight_controller",
            {"parameters": {"com_of_loss_t": 1}},
            (
                "flight_controller.parameters has 'com_of_loss_t'; expected a name such as "
                "COM_OF_LOSS_T"
            ),
        ),
        (
            "flight_controller",
            {"parameters": {"COM_OF_LOSS_T": True}},
            "flight_controller.parameters.COM_OF_LOSS_T is True; expected a number",
        ),
        (
            "flight_controller",
            {"parameters": {"COM_OF_LOSS_T": float("nan")}},
            "flight_controller.parameters.COM_OF_LOSS_T is nan; expected a number",
        ),
        (
            "flight_controller",
            {"parameters": ["COM_OF_LOSS_T"]},
            (
                "flight_controller.parameters is ['COM_OF_LOSS_T']; expected a value for each "
                "parameter"
            ),
        ),
        ("name", "x501", "name is 'x501', but its folder is 'x500'"),
        ("description", " ", "description is ' '; expected a text"),
        ("hal", LEAVE_OUT, "hal is missing"),
        ("hal.real", LEAVE_OUT, "hal.real is missing"),
        ("hal", None, "hal is None; expected keys and values"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, path: str, value: Any, said: str) -> None:
    assert refusal(tmp_path, changed(X500, {path: value})) == said


@pytest.mark.parametrize(
    "entrypoint",
    [
        "ghost.hardware.px4",
        "ghost.hardware.px4:",
        ":Px4Backend",
        "a.b:C:D",
        "a/b.py:C",
        "a b:C",
        "a..b:C",
        "a:C()",
    ],
)
def test_an_entrypoint_is_a_module_and_a_class(tmp_path: Path, entrypoint: str) -> None:
    said = refusal(tmp_path, changed(X500, {"hal.real": entrypoint}))
    assert said == f"hal.real is {entrypoint!r}; expected module:Class, or null"


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    text = yaml.safe_dump(X500).replace("mass_kg: 2.0", "mass_kg: 2.0\n  mass_kg: 1.0")
    assert refusal(tmp_path, text).startswith("key 'mass_kg' stands twice, again in line ")


@pytest.mark.parametrize("text", ["", "just words", "[1, 2]", "12"])
def test_a_document_without_keys_is_refused(tmp_path: Path, text: str) -> None:
    said = refusal(tmp_path, text)
    assert said.startswith("the document is ")
    assert said.endswith("; expected keys and values")


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"^cannot read .*robot\.yaml: No such file or directory$"
    ):
        read_robot(tmp_path / "robot.yaml")


# Whatever is done to a file: a robot that can be simulated, or a ConfigError.

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["cw", "imu", "gps", "a.b:C", "1e3", "2026-13-01"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ("name", "kind", "rate_hz", "status", "battery", "mass_g", "rotor", "wander", "latency_ms")


def mutated(plain: Any, dice: random.Random, value: Any) -> Any:
    """One value, anywhere in the tree, replaced, left out, scaled, renamed or added."""
    places = [plain]
    for place in places:
        inside = place.values() if isinstance(place, dict) else place
        places += [entry for entry in inside if isinstance(entry, dict | list) and entry]
    place = dice.choice(places)
    key: Any = dice.choice(list(place)) if isinstance(place, dict) else dice.randrange(len(place))
    deed = dice.randrange(5)
    if deed == 0:
        del place[key]
    elif deed == 1 and type(place[key]) in {int, float}:
        place[key] *= dice.choice((-1, 0, 1e-9, 1e-3, 0.5, 3, 1e3, 1e9, 1e300))
    elif deed == 2 and isinstance(place, dict):
        place[dice.choice(NAMES)] = place.pop(key)
    elif deed == 3 and isinstance(place, dict):
        place[dice.choice(NAMES)] = value
    else:
        place[key] = value
    return plain


def said_of(path: Path) -> str:
    """What a ConfigError says, if there is one. Whatever is read must hold for the simulator and
    the autopilot as well.
    """
    try:
        robot = read_robot(path)
        if robot.sim is not None and robot.hal.sim is None:
            backend = build_hal(robot, mode="sim")
            backend.reset(load_scenario("calm").spec, 1)
            backend.step(40_000_000)
            backend.shutdown()
    except ConfigError as error:
        return str(error)
    return ""


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(["x500", "crazyflie"]),
    seed=st.integers(0, 2**32),
    values=st.lists(VALUES, min_size=1, max_size=3),
)
def test_a_changed_file_is_a_robot_or_a_config_error(
    tmp_path: Path, name: str, seed: int, values: list[Any]
) -> None:
    plain = copy.deepcopy(yaml.safe_load(find_robots()[name].read_text(encoding="utf-8")))
    dice = random.Random(seed)  # noqa: S311 - a test's dice
    for value in values:
        plain = mutated(plain, dice, value)
    assert "\n" not in said_of(write_robot(tmp_path, plain, name=name))


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    at=st.floats(0.0, 1.0),
    length=st.integers(0, 12),
    insert=st.text(alphabet=" \t\n:-#{}[],&*!|>'\"%@`?0123456789abe.~\x00\ufeff", max_size=6),
)
@example(at=0.0, length=0, insert="? [a]: b\n")
@example(at=0.0, length=0, insert=f"0x{'f' * 5000}: 1\n")
@example(at=0.0, length=2000, insert=f"sensors: {{0x{'f' * 5000}: 1}}")
@example(at=0.0, length=0, insert="&a [*a]: 1\n")
@example(at=0.0, length=2000, insert="[" * 1100)
def test_a_spoilt_text_is_a_robot_or_a_config_error(
    tmp_path: Path, at: float, length: int, insert: str
) -> None:
    text = find_robots()["x500"].read_text(encoding="utf-8")
    start = round(at * len(text))
    path = write_robot(tmp_path, text[:start] + insert + text[start + length :], name="x500")
    assert "\n" not in said_of(path)
