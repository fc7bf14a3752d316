"""The Gazebo adapter against a server that speaks as ArduPilot's plugin does."""

import math
import re
import threading
from dataclasses import replace

import numpy as np
import pytest

from ghost.core.errors import ConfigError, GhostError, StalledError
from ghost.core.rotations import from_euler_zyx, to_euler_zyx
from ghost.hal import ImuSample
from ghost.simulation.adapter import Fault, FaultKind, SimulatorAdapter, VehicleSetup, Wind
from ghost.simulation.gazebo.adapter import GazeboAdapter
from ghost.simulation.gazebo.link import Link
from ghost.simulation.gazebo.physics import Models
from ghost.simulation.models.sensors import BarometerModel
from ghost.simulation.scenery import Box, Scenery, Solid
from tests.simulation.airframes import HEXA
from tests.simulation.gazebo.rig import (
    IRIS,
    MS,
    QUIET_IMU,
    REST_FRAMES,
    answering,
    at_rest_until,
    connected,
    iris,
    said,
    world,
)
from tests.simulation.gazebo.standin import StandIn

MAINS_IRIS = replace(IRIS, battery=replace(IRIS.battery, resistance_ohm=0.0, capacity_ah=1e9))
QUICK = ",timeout_ms=300"


def links_of(adapter: GazeboAdapter) -> list[Link]:
    assert adapter._flight is not None
    assert isinstance(adapter._flight.physics, Models)
    return adapter._flight.physics.links


# Frames and units.


def test_what_gazebo_says_in_ned_and_frd_is_enu_and_flu_here() -> None:
    def moving(number: int) -> bytes:
        north_mps = 2.0 + 0.004 * (number - REST_FRAMES)
        return said(
            number,
            gyro=(0.1, 0.2, 0.3),
            accel=(1.0, 2.0, -9.0),
            position=(10.0, 20.0, -30.0),
            quaternion=tuple(from_euler_zyx(0.1, 0.2, 0.3).tolist()),
            velocity=(north_mps, 3.0, -1.0),
        )

    with (
        answering(at_rest_until(REST_FRAMES, moving)) as address,
        connected(address, iris(QUIET_IMU)) as adapter,
    ):
        adapter.step(20 * MS)
        adapter.receive_sensors(0)
        adapter.step(4 * MS)
        ((name, imu),) = adapter.receive_sensors(0)
        truth = adapter.ground_truth(0)
    np.testing.assert_allclose(truth.position_enu_m, (20.0, 10.0, 30.0))
    np.testing.assert_allclose(truth.velocity_enu_mps[0::2], (3.0, 1.0))
    np.testing.assert_allclose(truth.rate_flu_rps, (0.1, -0.2, -0.3))
    np.testing.assert_allclose(truth.acceleration_enu_mps2, (0.0, 4.0, 0.0), atol=1e-9)
    # Yaw is from north to the right there, from east to the left here.
    angles = (0.1, -0.2, math.pi / 2.0 - 0.3)
    np.testing.assert_allclose(to_euler_zyx(truth.attitude), angles, atol=1e-12)
    assert isinstance(imu, ImuSample)
    assert (name, imu.stamp_ns, truth.stamp_ns) == ("imu", 24 * MS, 24 * MS)
    np.testing.assert_allclose(imu.accel_flu_mps2, (1.0, -2.0, 9.0))
    np.testing.assert_allclose(imu.gyro_flu_rps, (0.1, -0.2, -0.3))


def test_an_imu_sample_is_the_mean_of_the_frames_since_the_last() -> None:
    def shaking(number: int) -> bytes:
        return said(number, gyro=(float(number % 4), 0.0, 0.0))

    with (
        answering(at_rest_until(REST_FRAMES, shaking)) as address,
        connected(address, iris(QUIET_IMU)) as adapter,
    ):
        adapter.step(40 * MS)
        adapter.receive_sensors(0)
        adapter.step(4 * MS)
        ((_, imu),) = adapter.receive_sensors(0)
    assert isinstance(imu, ImuSample)
    assert imu.gyro_flu_rps[0] == 1.5


def test_motors_become_pulses_in_their_order() -> None:
    with StandIn(IRIS) as server:
        with connected(server.address, VehicleSetup(MAINS_IRIS, ())) as adapter:
            adapter.send_motors(0, np.array([0.0, 0.25, 0.5, 1.0]))
            adapter.step(MS)
            assert server.plugins[0].pulses_us == (1100, 1300, 1500, 1900, *[0] * 12)
            adapter.send_motors(0, np.array([-1.0, 2.0, 0.5, 1.0]))
            adapter.inject(0, Fault("motor/3", FaultKind.STRENGTH, (0.25,)))
            adapter.step(MS)
            assert server.plugins[0].pulses_us[:4] == (1100, 1900, 1500, 1500)
        with connected(f"{server.address},pwm=1000-2000", VehicleSetup(MAINS_IRIS, ())) as adapter:
            assert server.plugins[0].pulses_us[:4] == (1000,) * 4
            adapter.send_motors(0, np.array([0.0, 0.25, 0.5, 1.0]))
            adapter.step(MS)
            assert server.plugins[0].pulses_us[:4] == (1000, 1250, 1500, 2000)


def test_pulses_sag_with_the_battery() -> None:
    setup = VehicleSetup(MAINS_IRIS, ())
    with StandIn(IRIS) as server, connected(server.address, setup) as adapter:
        adapter.inject(0, Fault("battery", FaultKind.CHARGE, (0.1,)))
        adapter.send_motors(0, np.full(4, 0.5))
        adapter.step(MS)
        adapter.step(MS)
        sagged = 0.5 * 10.5 / 12.6  # halfway down from the knee
        assert server.plugins[0].pulses_us[0] == round(1100 + 800 * sagged)


def test_32_channels_carry_what_16_cannot() -> None:
    many = replace(HEXA, rotors=HEXA.rotors * 3)
    with StandIn(many, channels=32) as server:
        with pytest.raises(ConfigError, match="has 18 rotors, and the plugin 16 channels"):
            GazeboAdapter(server.address).connect(world(VehicleSetup(many, ())))
        with connected(f"{server.address},channels=32", VehicleSetup(many, ())) as adapter:
            adapter.step(MS)
            assert server.plugins[0].pulses_us == (1100,) * 18 + (0,) * 14


# Time.


@pytest.mark.parametrize("frame_ns", [MS, 2 * MS, 4 * MS])
def test_a_step_is_as_many_frames_as_gazebo_needs_for_it(frame_ns: int) -> None:
    with (
        StandIn(IRIS, step_ns=frame_ns) as server,
        connected(server.address, step_ns=4 * MS) as adapter,
    ):
        began_ns = server.time_ns
        adapter.step(40 * MS)
        assert adapter.sim_time_ns == server.time_ns - began_ns == 40 * MS


def test_a_step_that_is_no_multiple_of_gazebos_is_refused() -> None:
    with (
        StandIn(IRIS, step_ns=3 * MS) as server,
        pytest.raises(ConfigError, match=r"step of 4000000 ns is no multiple of .* 3000000 ns"),
    ):
        GazeboAdapter(server.address).connect(world(step_ns=4 * MS))


def test_what_gets_lost_is_asked_for_again_and_no_step_is_missed_or_added() -> None:
    with (
        StandIn(
            IRIS,
            loses_frame=lambda number: number in {0, 5, 80},
            loses_answer=lambda number: number in {1, 10, 90},
        ) as server,
        connected(server.address) as adapter,
    ):
        began_ns = server.time_ns
        adapter.step(50 * MS)
        assert server.time_ns - began_ns == 50 * MS


def test_states_that_were_had_are_passed_over() -> None:
    with StandIn(IRIS) as server, connected(server.address) as adapter:
        began_ns = server.time_ns
        # Silence, in which the server says its state again.
        assert not threading.Event().wait(0.2)
        adapter.step(10 * MS)
        assert server.time_ns - began_ns == 10 * MS


def test_the_frame_count_may_run_over() -> None:
    with (
        StandIn(IRIS, step_ns=4 * MS) as server,
        connected(server.address, step_ns=4 * MS) as adapter,
    ):
        (link,) = links_of(adapter)
        link.frame_count = 65533
        adapter.step(40 * MS)
        assert server.plugins[0].frame_count == 7


# Several vehicles.


def test_vehicles_fly_on_ports_of_their_own_and_in_step() -> None:
    starts = [iris(position_enu_m=(3.0 * east, 0.0, 0.195)).start for east in range(3)]
    setups = [VehicleSetup(IRIS, (), start) for start in starts]
    with (
        StandIn(IRIS, IRIS, IRIS, starts=starts) as server,
        connected(server.address, *setups) as adapter,
    ):
        adapter.send_motors(1, np.full(4, 0.8))
        adapter.step(500 * MS)
        heights = [float(adapter.ground_truth(row).position_enu_m[2]) for row in range(3)]
        easts = [float(adapter.ground_truth(row).position_enu_m[0]) for row in range(3)]
    assert heights[1] > 1.0
    assert max(heights[0], heights[2]) < 0.2
    np.testing.assert_allclose(easts, (0.0, 3.0, 6.0), atol=0.05)


@pytest.mark.parametrize("lossy", [0, 1])
def test_what_one_vehicle_loses_holds_all_up_and_is_made_up_for(lossy: int) -> None:
    with (
        StandIn(IRIS, IRIS) as server,
        connected(server.address, iris(), iris()) as adapter,
    ):
        began_ns, plugin = server.time_ns, server.plugins[lossy]
        lost = plugin.heard + 10
        server.loses_frame = lambda number: number == lost and plugin.heard == lost + 1
        adapter.step(30 * MS)
        assert server.time_ns - began_ns == 30 * MS


def test_a_vehicle_without_a_plugin_is_named() -> None:
    with StandIn(IRIS) as server:
        missing = re.escape(f"127.0.0.1:{server.port + 10}")
        with pytest.raises(StalledError, match=f"{missing} does not answer"):
            GazeboAdapter(server.address + QUICK).connect(world(iris(), iris()))


# What it says of itself, and what it refuses.


def test_it_says_what_it_can_and_refuses_the_rest() -> None:
    with StandIn(IRIS) as server, connected(server.address) as adapter:
        seam: SimulatorAdapter = adapter
        assert (seam.adapter_type, seam.name) == ("gazebo", f"Gazebo at {server.address}")
        assert seam.supports_lockstep
        known = seam.capabilities
        assert not any((known.deterministic, known.wind, known.disturbance, known.contacts))
        with pytest.raises(ConfigError, match="no wind of ours"):
            seam.set_wind(Wind((1.0, 0.0, 0.0)))
        with pytest.raises(ConfigError, match="no wind of ours"):
            seam.set_wind(Wind(gust_mps=1.0))
        seam.set_wind(Wind())
        with pytest.raises(ConfigError, match="can't be pushed"):
            seam.disturb(0, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        seam.disturb(0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        adapter.send_motors(0, np.array([0.5, math.nan, 0.5, 0.5]))
        with pytest.raises(ConfigError, match="motor 1 of vehicle 0 is nan"):
            adapter.step(MS)


def test_it_refuses_wind_and_worlds_before_it_connects() -> None:
    wall = Scenery("yard", (Solid("wall", Box((1.0, 1.0, 1.0)), (5.0, 0.0, 0.5)),))
    with pytest.raises(ConfigError, match="world yard has solid things"):
        GazeboAdapter().connect(world(scenery=wall))
    with pytest.raises(ConfigError, match="no wind of ours"):
        GazeboAdapter().connect(world(wind=Wind((1.0, 0.0, 0.0))))


def test_after_the_end_nothing_is_held() -> None:
    uneven = BarometerModel(name="odd", period_ns=MS + 1)
    with StandIn(IRIS) as server:
        adapter = GazeboAdapter(server.address)
        with pytest.raises(ConfigError, match="sensor odd"):  # and no socket stays open
            adapter.connect(world(iris(uneven)))
        assert not adapter.is_connected
        adapter.connect(world())
        adapter.disconnect()
        adapter.disconnect()
        with pytest.raises(GhostError, match="not connected"):
            adapter.step(MS)
