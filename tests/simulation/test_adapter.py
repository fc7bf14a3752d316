"""The lightweight simulator behind the seam: air, pushes, faults, and what it refuses."""

from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ghost.core.errors import ConfigError, GhostError
from ghost.core.random import RandomSource
from ghost.hal import GpsFix, GpsSample, Health, Sample, ScenarioSpec
from ghost.hal.airframe import GRAVITY_MPS2
from ghost.simulation import adapter as registry
from ghost.simulation.adapter import (
    Fault,
    FaultKind,
    SimulatorAdapter,
    Start,
    VehicleSetup,
    Wind,
    World,
    load_adapter,
    simulators,
)
from ghost.simulation.lightweight.adapter import LightweightAdapter
from ghost.simulation.models.sensors import BarometerModel, SensorModel
from tests.simulation.airframes import HEXA, HOVER, QUAD
from tests.simulation.test_sensors import EVERY_KIND, PERIOD_NS, VALUES

FloatArray = NDArray[np.float64]
MS = 1_000_000
CALM = Wind()
ALOFT = Start(position_enu_m=(0.0, 0.0, 500.0))


def world(
    *vehicles: VehicleSetup,
    wind: Wind = CALM,
    step_ns: int = MS,
    seed: int = 1,
) -> World:
    spec = ScenarioSpec("test", seed, step_ns, 3600 * 1_000_000_000)
    return World(spec, vehicles or (VehicleSetup(QUAD, EVERY_KIND),), RandomSource(seed), wind)


def connected(*vehicles: VehicleSetup, **settings: Any) -> LightweightAdapter:
    adapter = LightweightAdapter()
    adapter.connect(world(*vehicles, **settings))
    return adapter


def listen(adapter: LightweightAdapter, count: int, vehicle: int = 0) -> list[tuple[str, Sample]]:
    heard: list[tuple[str, Sample]] = []
    for _ in range(count):
        adapter.step(PERIOD_NS)
        heard += adapter.receive_sensors(vehicle)
    return heard


def of(name: str, heard: list[tuple[str, Sample]]) -> list[Any]:
    return [sample for who, sample in heard if who == name]


# The air.


def test_wind_has_its_mean_and_its_gusts_their_strength() -> None:
    wind = Wind(mean_enu_mps=(5.0, -2.0, 0.5), gust_mps=1.5, gust_ns=100 * MS)
    adapter = connected(VehicleSetup(QUAD, ()), wind=wind, step_ns=4 * MS)
    seen = []
    for _ in range(15_000):
        adapter.step(20 * MS)
        seen.append(adapter.ground_truth(0).wind_enu_mps)
    np.testing.assert_allclose(np.mean(seen, axis=0), (5.0, -2.0, 0.5), rtol=0, atol=0.1)
    np.testing.assert_allclose(np.std(seen, axis=0), (1.5, 1.5, 0.75), rtol=0.05)
    east = np.array(seen)[:, 0] - 5.0
    assert np.corrcoef(east[:-1], east[1:])[0, 1] == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("step_ns", [1 * MS, 3 * MS, 7 * MS, 20 * MS, 30 * MS])
def test_gusts_do_not_ask_how_time_was_cut_up(step_ns: int) -> None:
    flown = []
    for cuts in ((1,) * 120, (120,), (7, 50, 3, 60), (2, 1) * 40):
        adapter = connected(VehicleSetup(QUAD, (), ALOFT), wind=Wind(gust_mps=3.0), step_ns=step_ns)
        for steps in cuts:
            adapter.step(steps * step_ns)
        assert adapter.sim_time_ns == 120 * step_ns
        flown.append(adapter.ground_truth(0))
    assert np.linalg.norm(flown[0].wind_enu_mps) > 0.01
    assert flown[1:] == flown[:-1]


def test_gusts_die_down_when_the_weather_calms() -> None:
    adapter = connected(wind=Wind(gust_mps=5.0, gust_ns=500 * MS))
    adapter.step(1000 * MS)
    assert np.linalg.norm(adapter.ground_truth(0).wind_enu_mps) > 0.3
    adapter.set_wind(Wind((1.0, 2.0, 0.0), gust_ns=500 * MS))
    adapter.step(15_000 * MS)
    wind = adapter.ground_truth(0).wind_enu_mps
    np.testing.assert_allclose(wind, (1.0, 2.0, 0.0), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"gust_mps": -1.0}, "gust_mps"),
        ({"gust_mps": np.nan}, "gust_mps"),
        ({"gust_ns": 0}, "gust_ns"),
    ],
)
def test_impossible_gusts_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Wind(**settings)


# Pushes, and what is true.


def test_a_push_lasts_until_it_is_taken_back() -> None:
    adapter = connected(VehicleSetup(QUAD, (), ALOFT))
    adapter.disturb(0, (2.0, 0.0, GRAVITY_MPS2), (0.0, 0.0, 0.01))
    adapter.step(1000 * MS)
    truth = adapter.ground_truth(0)
    np.testing.assert_allclose(truth.velocity_enu_mps, (2.0, 0.0, 0.0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(truth.acceleration_enu_mps2, (2.0, 0.0, 0.0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(truth.rate_flu_rps, (0.0, 0.0, 0.5), rtol=0, atol=1e-9)
    adapter.disturb(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    adapter.step(1000 * MS)
    truth = adapter.ground_truth(0)
    np.testing.assert_allclose(truth.velocity_enu_mps[:2], (2.0, 0.0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(truth.rate_flu_rps, (0.0, 0.0, 0.5), rtol=0, atol=1e-9)


def test_motors_hold_their_command_and_rotors_turn_with_the_root_of_the_thrust() -> None:
    adapter = connected(VehicleSetup(QUAD, (), ALOFT))
    adapter.send_motors(0, np.full(4, HOVER))
    adapter.step(2000 * MS)
    truth = adapter.ground_truth(0)
    np.testing.assert_allclose(truth.rotor_speed_rps, 100.0 * HOVER, rtol=1e-6)
    assert truth.acceleration_enu_mps2[2] == pytest.approx(0.0, abs=1e-6)


def test_vehicles_of_one_world_are_apart() -> None:
    pair = (VehicleSetup(QUAD, EVERY_KIND), VehicleSetup(HEXA, EVERY_KIND))
    both = connected(*pair, wind=Wind(gust_mps=2.0))
    both.send_motors(1, np.full(6, 0.9))
    alone = connected(pair[0], wind=Wind(gust_mps=2.0))
    for _ in range(20):
        both.step(PERIOD_NS)
        alone.step(PERIOD_NS)
        heard = both.receive_sensors(0)
        assert heard == alone.receive_sensors(0)
        assert [name for name, _ in both.receive_sensors(1)] == [name for name, _ in heard]
    assert both.ground_truth(0) == alone.ground_truth(0)
    assert len(both.ground_truth(0).rotor_speed_rps) == 4
    assert len(both.ground_truth(1).rotor_speed_rps) == 6
    gusts = [both.ground_truth(vehicle).wind_enu_mps for vehicle in (0, 1)]
    assert not (gusts[0] == gusts[1]).any()


def test_a_world_connected_again_begins_afresh() -> None:
    adapter = connected(wind=Wind(gust_mps=2.0))
    first = listen(adapter, 5)
    adapter.inject(0, Fault("imu", FaultKind.SILENT))
    adapter.connect(world(wind=Wind(gust_mps=2.0)))
    assert adapter.sim_time_ns == 0
    assert listen(adapter, 5) == first


# Faults.

KINDS = (FaultKind.SILENT, FaultKind.FROZEN, FaultKind.OFFLINE, FaultKind.OFFSET, FaultKind.NOISE)
NAMES = [model.name for model in EVERY_KIND]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_healed_sensor_goes_on_as_if_nothing_had_been(name: str, kind: FaultKind) -> None:
    values = {FaultKind.OFFSET: (1.0,), FaultKind.NOISE: (5.0,)}.get(kind, ())
    healthy, ill = connected(), connected()
    assert listen(ill, 3) == listen(healthy, 3)
    ill.inject(0, Fault(name, kind, values))
    during, meant = listen(ill, 4), listen(healthy, 4)
    assert of(name, during) != of(name, meant)
    assert [entry for entry in during if entry[0] != name] == [
        entry for entry in meant if entry[0] != name
    ]
    ill.inject(0, Fault(name, FaultKind.HEALED))
    assert listen(ill, 3) == listen(healthy, 3)


@pytest.mark.parametrize("name", NAMES)
def test_a_silent_sensor_says_nothing(name: str) -> None:
    adapter = connected()
    adapter.inject(0, Fault(name, FaultKind.SILENT))
    assert {who for who, _ in listen(adapter, 3)} == {*NAMES} - {name}


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_sensor_repeats_its_last_value_with_new_stamps(name: str) -> None:
    adapter = connected()
    *_, last = of(name, listen(adapter, 3))
    adapter.inject(0, Fault(name, FaultKind.FROZEN))
    frozen = of(name, listen(adapter, 3))
    for later, sample in enumerate(frozen, start=1):
        expected = replace(
            last, stamp_ns=last.stamp_ns + later * PERIOD_NS, sequence=last.sequence + later
        )
        assert sample == expected


@pytest.mark.parametrize("name", NAMES)
def test_an_offline_sensor_says_so(name: str) -> None:
    adapter = connected()
    adapter.inject(0, Fault(name, FaultKind.OFFLINE))
    heard = of(name, listen(adapter, 2))
    assert [sample.health for sample in heard] == [Health.OFFLINE] * 2
    if isinstance(heard[0], GpsSample):
        assert (heard[0].fix, heard[0].satellites) == (GpsFix.NONE, 0)


@pytest.mark.parametrize("name", NAMES)
def test_an_offset_is_added_axis_by_axis(name: str) -> None:
    healthy, ill = connected(), connected()
    ill.inject(0, Fault(name, FaultKind.OFFSET, (3.0, -2.0)))
    (meant,), (read) = of(name, listen(healthy, 1)), of(name, listen(ill, 1))[0]
    added = VALUES[name](read) - VALUES[name](meant)
    expected = [3.0, -2.0, 0.0, 0.0, 0.0, 0.0][: len(added)]
    np.testing.assert_allclose(added, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_noise_is_scaled(name: str) -> None:
    errors = []
    for scale in (0.0, 1.0, 4.0):
        adapter = connected()
        adapter.inject(0, Fault(name, FaultKind.NOISE, (scale,)))
        errors.append(VALUES[name](of(name, listen(adapter, 1))[0]))
    np.testing.assert_allclose(
        errors[2] - errors[0], 4.0 * (errors[1] - errors[0]), rtol=1e-6, atol=1e-8
    )


def test_a_motor_loses_strength_and_gets_it_back() -> None:
    adapter = connected(VehicleSetup(QUAD, (), ALOFT))
    adapter.send_motors(0, np.full(4, HOVER))
    adapter.step(1000 * MS)
    falls = []
    for fault in (
        Fault("motor/2", FaultKind.STRENGTH, (0.0,)),
        Fault("motor/2", FaultKind.HEALED),
    ):
        adapter.inject(0, fault)
        adapter.step(MS)
        falls.append(float(adapter.ground_truth(0).acceleration_enu_mps2[2]))
    assert falls[0] == pytest.approx(-0.25 * GRAVITY_MPS2, rel=1e-3)
    assert falls[1] == pytest.approx(0.0, abs=0.01)


def test_the_pack_can_be_emptied_and_its_gauge_can_fail() -> None:
    adapter = connected()
    adapter.inject(0, Fault("battery", FaultKind.CHARGE, (0.15,)))
    (gauge,) = of("battery", listen(adapter, 1))
    assert gauge.remaining == pytest.approx(0.15, abs=1e-6)
    assert gauge.voltage_v == pytest.approx(14.25, abs=0.2)
    adapter.inject(0, Fault("battery", FaultKind.SILENT))
    assert of("battery", listen(adapter, 1)) == []


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        (Fault("radar", FaultKind.SILENT), "fault target 'radar'; expected one of imu, gps"),
        (Fault("motor/4", FaultKind.STRENGTH, (0.5,)), "motor/0 to motor/3"),
        (Fault("motor/-1", FaultKind.STRENGTH, (0.5,)), "motor/0 to motor/3"),
        (Fault("motor/x", FaultKind.STRENGTH, (0.5,)), "motor/0 to motor/3"),
        (Fault("motor/1", FaultKind.SILENT), "silent is not one of a motor"),
        (Fault("imu", FaultKind.STRENGTH, (0.5,)), "strength is not one of sensor imu"),
        (Fault("imu", FaultKind.CHARGE, (0.5,)), "charge is not one of sensor imu"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(fault: Fault, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        connected().inject(0, fault)


@pytest.mark.parametrize("kind", [FaultKind.NOISE, FaultKind.STRENGTH, FaultKind.CHARGE])
@pytest.mark.parametrize("values", [(), (0.5, 0.5), (-0.1,), (np.nan,)])
def test_a_fault_without_its_one_value_is_refused(
    kind: FaultKind, values: tuple[float, ...]
) -> None:
    with pytest.raises(ConfigError, match="expected one of 0 or more"):
        Fault("imu", kind, values)


# What is refused.


@pytest.mark.parametrize("dt_ns", [0, -MS, MS // 2, 3 * MS // 2])
def test_time_moves_by_whole_steps(dt_ns: int) -> None:
    with pytest.raises(ConfigError, match="multiple of the scenario's 1000000 ns"):
        connected().step(dt_ns)


@pytest.mark.parametrize("key", ["period", "latency"])
def test_a_sensor_must_fit_the_step(key: str) -> None:
    settings = {"period_ns": 10 * MS, "latency_ns": 0} | {f"{key}_ns": 10 * MS + 1}
    model: SensorModel = BarometerModel(name="odd", **settings)
    with pytest.raises(ConfigError, match=f"sensor odd has a {key} of 10000001 ns"):
        connected(VehicleSetup(QUAD, (model,)))


@pytest.mark.parametrize(
    "use",
    [
        lambda adapter: adapter.step(MS),
        lambda adapter: adapter.receive_sensors(0),
        lambda adapter: adapter.send_motors(0, np.zeros(4)),
        lambda adapter: adapter.ground_truth(0),
        lambda adapter: adapter.set_wind(Wind()),
        lambda adapter: adapter.disturb(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        lambda adapter: adapter.inject(0, Fault("imu", FaultKind.SILENT)),
    ],
)
def test_nothing_works_without_a_connection(use: Any) -> None:
    adapter = LightweightAdapter()
    with pytest.raises(GhostError, match="not connected; call connect first"):
        use(adapter)
    adapter.connect(world())
    use(adapter)
    adapter.disconnect()
    adapter.disconnect()
    with pytest.raises(GhostError, match="not connected"):
        use(adapter)


def test_it_says_whether_it_is_connected() -> None:
    adapter = LightweightAdapter()
    said = [adapter.is_connected]
    adapter.connect(world())
    said.append(adapter.is_connected)
    adapter.disconnect()
    assert [*said, adapter.is_connected] == [False, True, False]


# How simulators are found.


def test_the_lightweight_simulator_is_installed_and_what_it_says_it_is() -> None:
    assert "lightweight" in simulators()
    adapter: SimulatorAdapter = load_adapter("lightweight")
    assert adapter.adapter_type == "lightweight"
    assert adapter.capabilities.deterministic
    assert adapter.supports_lockstep
    assert load_adapter("lightweight") is not adapter


def test_an_unknown_simulator_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(ConfigError, match=r"named 'matrix'; installed are: .*lightweight"):
        load_adapter("matrix")


def test_without_any_simulator_the_error_says_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [])  # noqa: ARG005 - its name
    with pytest.raises(ConfigError, match="installed are: none"):
        load_adapter("lightweight")


def test_a_simulator_that_cannot_be_imported_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "ghost.no_such_module:Adapter", registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: [broken])  # noqa: ARG005 - its name
    with pytest.raises(ConfigError, match=r"broken can't be loaded: No module named 'ghost"):
        load_adapter("broken")


def test_an_address_reaches_a_simulator_that_takes_one() -> None:
    assert load_adapter("gazebo@10.0.0.7:9012").name == "Gazebo at 10.0.0.7:9012"
    assert load_adapter("gazebo").name == "Gazebo at 127.0.0.1:9002"
    with pytest.raises(ConfigError, match="port is 'x'"):
        load_adapter("gazebo@10.0.0.7:x")


def test_an_address_for_a_simulator_without_one_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"lightweight takes no address; leave out '@10.0.0.7'"):
        load_adapter("lightweight@10.0.0.7")
    with pytest.raises(ConfigError, match=r"named 'matrix'; installed are"):
        load_adapter("matrix@10.0.0.7")
