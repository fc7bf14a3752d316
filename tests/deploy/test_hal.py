"""build_hal: the manifest and the mode decide, and nothing else does."""

import ast
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ghost.deploy
from ghost.core.errors import ConfigError
from ghost.deploy import MissingHalError, RobotDescription, build_hal, load_robot
from ghost.deploy.hal import Mode
from ghost.hal import ScenarioSpec
from ghost.simulation.adapter import Fault, FaultKind, Start, Wind
from ghost.simulation.backend import AdapterBackend, Happening
from tests.deploy.backends import OwnReal, OwnSim, Wired
from tests.deploy.rig import ROBOT_NAMES, order, scenario_of, x500_with

HERE = "tests.deploy.backends"
SIMULATED = ("crazyflie", "f450", "hexa", "iris", "x500", "x500_depth", "x500_lidar")
ENVIRONMENT = (
    *("GHOST_MODE", "GHOST_HAL", "GHOST_SIM", "GHOST_REAL", "GHOST_ROBOT", "GHOST_TRANSPORT"),
    *("HAL_MODE", "HAL", "MODE", "SIM", "REAL", "SIMULATION", "SIMULATOR", "DIGITAL_TWIN"),
    *("USE_SIM", "USE_SIM_TIME", "ROBOT_ENV", "TRANSPORT", "PX4_SIM_MODEL", "CI"),
)


def scenario() -> ScenarioSpec:
    return ScenarioSpec("hal", 0, 1_000_000, 10**9)


def position_m(backend: AdapterBackend) -> tuple[float, ...]:
    backend.reset(scenario(), 0)
    return tuple(backend.ground_truth().position_enu_m.tolist())


# Each robot, each mode.


@pytest.mark.parametrize("name", SIMULATED)
def test_a_sim_block_gives_a_simulation(name: str) -> None:
    simulator = "pybullet" if name == "x500_depth" else "lightweight"
    backend = build_hal(load_robot(name), mode="sim", simulator=simulator)
    assert type(backend) is AdapterBackend
    backend.reset(scenario(), 0)
    backend.step(20_000_000)
    assert backend.capabilities.synchronous_step
    backend.shutdown()


@pytest.mark.parametrize(
    ("name", "mode", "way_out"),
    [
        *(
            (name, "sim", "declare hal.sim or a sim block in ")
            for name in ROBOT_NAMES
            if name not in SIMULATED
        ),
        *(
            (name, "real", "declare hal.real in ")
            for name in ("crazyflie", "ground_station", "hexa")
        ),
    ],
)
def test_a_missing_hal_is_an_error_of_its_own(name: str, mode: Mode, way_out: str) -> None:
    robot = load_robot(name)
    with pytest.raises(MissingHalError) as caught:
        build_hal(robot, mode=mode)
    kind = "simulation" if mode == "sim" else "real"
    said = str(caught.value)
    assert said.startswith(f"robot {name} has no {kind} HAL; ")
    assert said.endswith(f"{way_out}{robot.path}")


@pytest.mark.skipif(find_spec("ghost.hardware") is not None, reason="the driver is there")
@pytest.mark.parametrize("name", ["pixhawk_bench", "x500"])
def test_a_driver_that_is_not_there_is_told_and_not_replaced(name: str) -> None:
    robot = load_robot(name)
    with pytest.raises(ConfigError) as caught:
        build_hal(robot, mode="real")
    assert str(caught.value) == (
        f"robot {name} names {robot.hal.real} in {robot.path}, which can't be loaded: "
        "No module named 'ghost.hardware'"
    )


@pytest.mark.parametrize("mode", ["Sim", "simulation", "", None, True])
def test_a_mode_that_nobody_knows_gives_no_hal_at_all(tmp_path: Path, mode: Any) -> None:
    robot = x500_with(tmp_path, hal__real=f"{HERE}:OwnReal")
    with pytest.raises(ConfigError, match=r"expected sim or real$"):
        build_hal(robot, mode=mode)


# HALs of a robot's own.


def test_a_hal_that_is_named_goes_before_the_derived_one(tmp_path: Path) -> None:
    robot = x500_with(tmp_path, hal__sim=f"{HERE}:OwnSim", hal__real=f"{HERE}:OwnReal")
    backend = build_hal(robot, mode="sim", start=Start((1.0, 2.0, 3.0)))
    assert type(backend) is OwnSim
    assert backend.start_place == (1.0, 2.0, 3.0)
    real = build_hal(robot, mode="real", baud=115_200)
    assert type(real) is OwnReal
    assert (real.description, real.transport) == (robot, {"baud": 115_200})


def test_a_real_hal_is_made_without_hardware_and_fails_when_started(tmp_path: Path) -> None:
    backend = build_hal(x500_with(tmp_path, hal__real=f"{HERE}:OwnReal"), mode="real")
    with pytest.raises(OSError, match="no such port"):
        backend.start()


@pytest.mark.parametrize(
    ("entrypoint", "said"),
    [
        ("no_such_module:Hal", "can't be loaded: No module named 'no_such_module'"),
        (f"{HERE}:Missing", "can't be loaded: module 'tests.deploy.backends' has no attribute "),
        (f"{HERE}:OwnSim", "is no HAL for real: it has no start()"),
        (f"{HERE}:NOTHING", "is no HAL for real: it has no start()"),
        ("json:loads", "is no HAL for real: it has no start()"),
    ],
)
def test_what_is_no_real_hal_is_refused(tmp_path: Path, entrypoint: str, said: str) -> None:
    robot = x500_with(tmp_path, hal__real=entrypoint)
    with pytest.raises(ConfigError) as caught:
        build_hal(robot, mode="real")
    start = f"robot x500 names {entrypoint} in {robot.path}, which {said}"
    assert str(caught.value).startswith(start)


def test_a_real_hal_is_no_simulation(tmp_path: Path) -> None:
    robot = x500_with(tmp_path, hal__sim=f"{HERE}:OwnReal")
    with pytest.raises(ConfigError, match=r"is no HAL for sim: it has no reset\(\)$"):
        build_hal(robot, mode="sim")


def test_a_module_that_fails_when_imported_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_driver.py").write_text("raise OSError('libserial.so is missing')\n")
    monkeypatch.syspath_prepend(tmp_path)
    robot = x500_with(tmp_path, hal__real="broken_driver:Hal")
    with pytest.raises(ConfigError, match=r"can't be loaded: libserial\.so is missing$"):
        build_hal(robot, mode="real")


# Arguments.


def test_an_argument_that_is_not_taken_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as derived:
        build_hal(load_robot("x500"), mode="sim", seed=3)
    assert str(derived.value) == (
        "the derived simulation backend takes no argument 'seed'; it takes: simulator, wind, "
        "happenings, start, scenery, view"
    )
    with pytest.raises(ConfigError) as own:
        build_hal(x500_with(tmp_path, hal__sim=f"{HERE}:OwnSim"), mode="sim", wind=Wind())
    assert str(own.value) == f"{HERE}:OwnSim takes no argument 'wind'; it takes: start"


def test_an_argument_that_is_needed_is_asked_for(tmp_path: Path) -> None:
    robot = x500_with(tmp_path, hal__real=f"{HERE}:Wired")
    with pytest.raises(ConfigError, match=r"Wired .*missing a required argument: 'port'$"):
        build_hal(robot, mode="real")
    assert isinstance(build_hal(robot, mode="real", port="/dev/ttyACM0"), Wired)


def test_a_hal_of_its_own_gets_only_what_the_scenario_asks_for(tmp_path: Path) -> None:
    robot = x500_with(tmp_path, hal__sim=f"{HERE}:OwnSim")
    moved = scenario_of(tmp_path, "duration_s: 9\nstart: {position_enu_m: [4, 0, 1]}")
    flight = ghost.deploy.SimulatedFlight(order(tmp_path / "run", robot=robot, scenario=moved))
    assert isinstance(flight.backend, OwnSim)
    assert flight.backend.start_place == (4.0, 0.0, 1.0)
    flight.request_landing()
    flight.request_landing()
    flight.run()
    with pytest.raises(ConfigError, match=r"OwnSim takes no argument 'wind'; it takes: start$"):
        ghost.deploy.SimulatedFlight(order(tmp_path / "gusty", robot=robot, scenario="gusty"))


def test_an_unknown_simulator_is_refused_with_those_installed() -> None:
    with pytest.raises(
        ConfigError, match=r"^no simulator named 'gazeb'; installed are: .*lightweight"
    ):
        build_hal(load_robot("x500"), mode="sim", simulator="gazeb")


# Start and faults, before anything flies.


@pytest.mark.parametrize(("up_m", "stands_m"), [(0.0, 0.2), (0.2, 0.2), (5.0, 5.0)])
def test_a_start_lower_than_the_legs_is_standing(up_m: float, stands_m: float) -> None:
    start = Start((10.0, 5.0, up_m))
    backend = build_hal(load_robot("x500"), mode="sim", start=start)
    assert position_m(backend) == (10.0, 5.0, stands_m)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (
            Fault("gpss", FaultKind.SILENT),
            r"^fault target 'gpss'; expected one of imu, gps, .*, battery, motor/0, motor/1, ",
        ),
        (Fault("motor/4", FaultKind.STRENGTH, (0.5,)), r"^fault target 'motor/4'; expected "),
        (
            Fault("gps", FaultKind.STRENGTH, (0.5,)),
            r"^fault strength can't befall gps; expected silent or frozen or ",
        ),
        (
            Fault("motor/0", FaultKind.SILENT),
            r"^fault silent can't befall motor/0; expected strength or healed$",
        ),
        (Fault("battery", FaultKind.STRENGTH, (0.5,)), r"^fault strength can't befall battery; "),
    ],
)
def test_a_fault_that_can_t_happen_is_refused(fault: Fault, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_hal(load_robot("x500"), mode="sim", happenings=(Happening(10**9, fault),))


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_of_fault_can_happen_to_something(kind: FaultKind) -> None:
    others = {
        FaultKind.STRENGTH: "motor/3",
        FaultKind.CHARGE: "battery",
        FaultKind.BLINDED: "lidar",
    }
    target = others.get(kind, "gps")
    takes_value = kind in {FaultKind.STRENGTH, FaultKind.CHARGE, FaultKind.NOISE, FaultKind.OFFSET}
    fault = Fault(target, kind, (0.5,) if takes_value else ())
    backend = build_hal(load_robot("x500_lidar"), mode="sim", happenings=(Happening(10**7, fault),))
    backend.reset(scenario(), 0)
    backend.step(40_000_000)
    assert backend.clock.failures == 0


# Nothing else decides.


class Watched(dict[str, str]):
    """An environment that remembers what was looked up."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> str:
        self.asked.append(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.append(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.asked.append(str(name))
        return super().__contains__(name)


@pytest.mark.parametrize("value", ["real", "sim", "1", "0", "true", "digital_twin"])
def test_no_environment_variable_picks_the_hal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    robot = x500_with(tmp_path, hal__real=f"{HERE}:OwnReal")
    watched = Watched({**os.environ, **dict.fromkeys(ENVIRONMENT, value)})
    monkeypatch.setattr(os, "environ", watched)
    monkeypatch.setattr(os, "getenv", watched.get)
    assert type(build_hal(robot, mode="sim")) is AdapterBackend
    assert type(build_hal(robot, mode="real")) is OwnReal
    assert watched.asked == []


@pytest.mark.parametrize(
    "line",
    ["hal: real", "mode: real", "digital_twin: true", "transport: {digital_twin: true}", "sim: {}"],
)
def test_no_key_of_a_scenario_picks_the_hal(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown key (hal|mode|digital_twin|transport|sim)"):
        scenario_of(tmp_path, f"duration_s: 9\n{line}")


def test_backends_are_made_in_one_place() -> None:
    """build_hal and what it derives; whoever else wants one asks it."""
    package = Path(ghost.deploy.__file__).parents[1]
    makers = {
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if {"AdapterBackend", "load_adapter", "load_simulator"} & set(_called(path))
    } - {"simulation/whole.py"}  # which finds what is asked for
    assert makers - {"conformance/factory.py"} == {"deploy/hal.py"}  # it reads capabilities


def _called(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def test_the_description_is_all_that_a_robot_is(tmp_path: Path) -> None:
    """The same manifest twice gives the same flight to the bit."""
    robots: list[RobotDescription] = [x500_with(tmp_path / name) for name in ("a", "b")]
    states = []
    for robot in robots:
        backend = build_hal(robot, mode="sim")
        backend.reset(scenario(), 5)
        backend.step(200_000_000)
        states.append(backend.ground_truth())
    assert states[0] == states[1]
