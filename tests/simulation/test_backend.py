"""A simulator and the autopilot as one backend: time, samples, and who may stop the motors."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError, GhostError
from ghost.deploy import build_hal, load_robot
from ghost.hal import Action, GroundTruth, Sample, ScenarioSpec, SensorKind, SensorSpec
from ghost.simulation.adapter import Fault, FaultKind, Wind
from ghost.simulation.backend import AdapterBackend, Happening
from ghost.simulation.embedded import Provider

MS = 1_000_000
SPEC = ScenarioSpec("test", 1, MS, 3600 * 1_000_000_000)


def backend(**settings: Any) -> AdapterBackend:
    made: AdapterBackend = build_hal(load_robot("x500"), mode="sim", **settings)
    return made


def running(**settings: Any) -> AdapterBackend:
    made = backend(**settings)
    made.reset(SPEC, 1)
    return made


def climbing() -> AdapterBackend:
    made = running()
    made.step(2000 * MS)
    assert made.flight_controller.request(Action.ARM).accepted
    assert made.flight_controller.request(Action.TAKEOFF, altitude_m=5.0).accepted
    made.step(3000 * MS)
    return made


@pytest.mark.parametrize(
    "use",
    [
        lambda made: made.step(MS),
        lambda made: made.clock,
        lambda made: made.sensors,
        lambda made: made.actuators,
        lambda made: made.flight_controller,
        lambda made: made.capabilities,
        lambda made: made.ground_truth(),
    ],
)
def test_nothing_works_before_the_first_reset_or_after_the_shutdown(use: Any) -> None:
    made = backend()
    with pytest.raises(GhostError, match="call reset first"):
        use(made)
    made.reset(SPEC, 1)
    use(made)
    made.shutdown()
    with pytest.raises(GhostError, match="call reset first"):
        use(made)


@pytest.mark.parametrize("dt_ns", [-MS, MS // 2, 1e6, True])
def test_time_moves_by_whole_steps(dt_ns: Any) -> None:
    with pytest.raises(ConfigError, match="multiple of the scenario's 1000000 ns"):
        running().step(dt_ns)


def test_the_step_must_divide_the_control_period() -> None:
    robot = load_robot("x500")
    odd = replace(robot, autopilot=replace(robot.autopilot, control_period_ns=6 * MS))
    with pytest.raises(ConfigError, match="control period of 6000000 ns is no multiple"):
        build_hal(odd, mode="sim").reset(replace(SPEC, step_ns=4 * MS), 1)


def heard_and_true(cuts_ms: tuple[int, ...]) -> tuple[list[tuple[int, Sample]], GroundTruth]:
    """What came of three seconds in which much happens, cut up as told."""
    made = running(
        wind=Wind((2.0, 0.0, 0.0), 1.0),
        happenings=(
            Happening(2_501_234_567, Wind((0.0, 8.0, 0.0))),
            Happening(2_701_000_000, Fault("motor/1", FaultKind.STRENGTH, (0.7,))),
            Happening(2_803_000_000, Fault("gps", FaultKind.SILENT)),
        ),
    )
    heard: list[tuple[int, Sample]] = []
    for provider in made.sensors.values():
        provider.subscribe(lambda sample: heard.append((made.clock.now_ns(), sample)))
    made.step(2000 * MS)
    made.flight_controller.request(Action.ARM)
    made.flight_controller.request(Action.TAKEOFF, altitude_m=5.0)
    while made.clock.now_ns() < 3000 * MS:
        for cut_ms in cuts_ms:
            made.step(cut_ms * MS)
    assert made.clock.failures == 0
    return heard, made.ground_truth()


def test_how_time_is_cut_up_changes_nothing() -> None:
    whole = heard_and_true((1000,))
    assert heard_and_true((1,)) == whole
    assert heard_and_true((3, 17, 5)) == whole
    assert len(whole[0]) > 1000


def test_a_reset_begins_anew_and_a_seed_is_a_flight() -> None:
    made = running()
    made.step(1500 * MS)
    first = made.sensors["imu"].poll()
    made.reset(SPEC, 1)
    assert made.clock.now_ns() == 0
    assert made.sensors["imu"].poll() is None
    made.step(1500 * MS)
    assert made.sensors["imu"].poll() == first
    made.reset(SPEC, 2)
    made.step(1500 * MS)
    assert made.sensors["imu"].poll() != first


def test_what_is_declared_is_there() -> None:
    made = running()
    made.step(2000 * MS)
    declared = {spec.name: spec for spec in made.capabilities.sensors}
    assert {*declared} == {*made.sensors}
    for name, spec in declared.items():
        assert made.sensors[name].spec == spec
        assert made.sensors[name].poll() is not None


def test_a_subscriber_hears_until_it_leaves_and_may_leave_in_the_middle() -> None:
    provider = Provider(SensorSpec("imu", SensorKind.IMU, MS))
    heard: list[tuple[str, Any]] = []
    sample: Any = object()

    def once(got: Any) -> None:
        heard.append(("once", got))
        leave()

    leave = provider.subscribe(once)
    stay = provider.subscribe(lambda got: heard.append(("stays", got)))
    provider.push(sample)
    provider.push(sample)
    assert [who for who, _ in heard] == ["once", "stays", "stays"]
    stay()
    stay()
    provider.push(sample)
    assert len(heard) == 3
    assert provider.poll() is sample


def test_a_kill_at_the_gate_stops_the_motors_too() -> None:
    made = climbing()
    made.actuators.kill()
    made.step(4 * MS)
    assert not made.flight_controller.autopilot.armed
    made.step(500 * MS)
    assert made.ground_truth().rotor_speed_rps.max() < 1.0
    assert not made.flight_controller.request(Action.ARM).accepted


def test_an_answer_is_stamped_when_it_is_given() -> None:
    made = running()
    made.step(2001 * MS)
    assert made.flight_controller.request(Action.LAND).stamp_ns == 2001 * MS


def test_a_disturbance_moves_the_vehicle() -> None:
    made = running()
    made.disturb((0.0, 0.0, 40.0), (0.0, 0.0, 0.0))
    made.step(500 * MS)
    assert made.ground_truth().position_enu_m[2] > 1.0
    np.testing.assert_allclose(made.ground_truth().position_enu_m[:2], 0.0, rtol=0, atol=1e-6)
