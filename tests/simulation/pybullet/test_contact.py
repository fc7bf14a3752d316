"""What a vehicle runs into, stands on and starts in."""

from typing import Any

import numpy as np
import pytest

from ghost.core.errors import ConfigError
from ghost.hal import ImuSample
from ghost.hal.airframe import GRAVITY_MPS2, Airframe
from ghost.simulation.adapter import Start, VehicleSetup
from ghost.simulation.models.sensors import ImuModel
from ghost.simulation.pybullet.client import pybullet
from ghost.simulation.pybullet.contacts import Contacts
from ghost.simulation.pybullet.physics import standing_m
from ghost.simulation.pybullet.shapes import rotor_radius_m
from ghost.simulation.scenery import NOTHING, Box, Cylinder, Mesh, Scenery, Solid
from tests.simulation.airframes import QUAD, shipped
from tests.simulation.pybullet.rig import (
    MS,
    SECOND,
    connected,
    contacts,
    hang,
    quad,
    spend,
)

WALL = Solid("north wall", Box((0.2, 20.0, 20.0)), (3.0, 0.0, 0.0))
FACE_M = 2.9
REACH_M = QUAD.rotors[0].position_flu_m[0] + rotor_radius_m(QUAD)
ROOF = Solid("roof", Box((20.0, 20.0, 1.0)), (0.0, 0.0, 0.5))
PAD = Solid("pad 1", Cylinder(0.8, 0.3), (0.0, 0.0, 0.15), landable=True)
IMU = ImuModel(name="imu", period_ns=4 * MS, accel_noise=0.0, accel_bias_mps2=0.0, accel_walk=0.0)


def among(*solids: Solid) -> Scenery:
    return Scenery(solids=solids)


# Collisions.


def test_a_collision_is_told_with_what_how_hard_where_and_when() -> None:
    start = quad(position_enu_m=(0.0, 0.0, 5.0), velocity_enu_mps=(3.0, 0.0, 0.0))
    adapter = connected(start, scenery=among(WALL))
    hang(adapter)
    (told,) = contacts(spend(adapter, SECOND))
    assert (told.other, told.sequence) == ("north wall", 0)
    assert told.speed_mps == pytest.approx(3.0, abs=1e-6)
    assert told.position_enu_m[0] == pytest.approx(FACE_M, abs=0.005)
    assert told.stamp_ns % MS == 0
    assert told.stamp_ns / 1e9 == pytest.approx((FACE_M - REACH_M) / 3.0, abs=0.001)


def test_what_bounces_scrapes_and_comes_to_rest_is_one_collision() -> None:
    """Thrown onto a roof, where it tumbles from leg to leg, slides, and stays."""
    start = quad(
        position_enu_m=(0.0, 0.0, 1.6),
        velocity_enu_mps=(3.0, 1.0, 0.0),
        rate_flu_rps=(2.0, 1.0, 0.0),
    )
    adapter = connected(start, scenery=among(ROOF))
    client, body = bullet(adapter)
    heard, is_touching = [], []
    for _ in range(2000):
        heard += spend(adapter, MS, cycle_ns=MS)
        points = client.getContactPoints(body)
        is_touching.append(any(point[9] > 0.0 for point in points))
    touches = np.flatnonzero(np.diff(is_touching)).size
    assert touches >= 5, "it came, left and came again"
    assert sum(is_touching) > 1000
    (told,) = contacts(heard)
    assert told.other == "roof"


def bullet(adapter: Any) -> tuple[Any, int]:
    physics = adapter._flight.physics
    return physics._client, physics._bodies[0]


@pytest.mark.parametrize(
    ("scenery", "top_m", "name"),
    [(NOTHING, 0.0, "ground"), (among(PAD), 0.3, "pad 1")],
    ids=["ground", "pad"],
)
def test_a_landing_is_no_collision_and_a_fall_is_one(
    scenery: Scenery, top_m: float, name: str
) -> None:
    """From 0.2 m it comes down with 2 m/s, from 3 m with 7.7 m/s."""
    told = []
    for height_m in (0.2, 3.0):
        start = quad(position_enu_m=(0.0, 0.0, top_m + standing_m(QUAD) + height_m))
        adapter = connected(start, scenery=scenery)
        told.append(contacts(spend(adapter, 3 * SECOND)))
        height_left_m = adapter.ground_truth(0).position_enu_m[2]
        assert height_left_m == pytest.approx(top_m + standing_m(QUAD), abs=0.001)
    soft, ((hard,)) = told[0], told[1]
    assert soft == []
    assert hard.other == name
    assert hard.speed_mps == pytest.approx((2.0 * GRAVITY_MPS2 * 3.0) ** 0.5, rel=0.01)


def test_of_several_points_the_one_that_is_hit_hardest_tells() -> None:
    """Onto the rim of a pad, whose side is grazed."""
    falling = np.array([0.0, 0.0, -5.0])
    touches = Contacts(7, {3: "pad 1", 7: "vehicle 0"}, {3}, {7: falling})
    side, top = (
        (0, 7, 3, -1, -1, (0.0, 0.0, 0.3), (0.0, 0.0, 0.3), normal, -0.001, 9.0)
        for normal in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    )
    touches.note((side, top), MS)
    touches.note((side, top), 2 * MS)
    assert [(told.stamp_ns, told.speed_mps) for told in touches.take()] == [(MS, 5.0)]


def test_a_mesh_that_is_too_large_for_one_body_is_still_one_thing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ghost.simulation.pybullet.shapes._MOST_FACES", 1)
    corners = ((-5.0, -5.0, 1.0), (5.0, -5.0, 1.0), (5.0, 5.0, 1.0), (-5.0, 5.0, 1.0))
    sheet = Solid("sheet", Mesh(corners, ((0, 1, 2), (0, 2, 3))), (0.0, 0.0, 0.0))
    adapter = connected(quad(position_enu_m=(0.0, 0.0, 1.3)), scenery=among(sheet))
    (told,) = contacts(spend(adapter, SECOND))
    assert told.other == "sheet"
    assert adapter.ground_truth(0).position_enu_m[2] == pytest.approx(1.1, abs=0.005)


def test_what_is_not_meant_to_be_landed_on_is_hit_however_softly() -> None:
    start = quad(position_enu_m=(0.0, 0.0, 1.0 + standing_m(QUAD) + 0.01))
    (told,) = contacts(spend(connected(start, scenery=among(ROOF)), SECOND))
    assert told.other == "roof"
    assert told.speed_mps == pytest.approx(0.44, abs=0.05)


def test_after_a_while_apart_the_same_wall_is_hit_anew() -> None:
    start = quad(position_enu_m=(2.0, 0.0, 5.0), velocity_enu_mps=(3.0, 0.0, 0.0))
    adapter = connected(start, scenery=among(WALL))
    hang(adapter)
    first = contacts(spend(adapter, SECOND // 2))
    adapter.disturb(0, (-10.0, 0.0, GRAVITY_MPS2), (0.0, 0.0, 0.0))
    spend(adapter, SECOND // 2)
    adapter.disturb(0, (20.0, 0.0, GRAVITY_MPS2), (0.0, 0.0, 0.0))
    again = contacts(spend(adapter, SECOND))
    assert [(told.other, told.sequence) for told in (*first, *again[:1])] == [
        ("north wall", 0),
        ("north wall", 1),
    ]


def test_two_vehicles_that_collide_each_tell_of_the_other_and_how_fast_they_closed() -> None:
    moving = quad(position_enu_m=(-1.0, 0.0, 5.0), velocity_enu_mps=(2.0, 0.0, 0.0))
    adapter = connected(moving, quad(position_enu_m=(1.0, 0.0, 5.0)))
    hang(adapter, 0)
    hang(adapter, 1)
    ours = contacts(spend(adapter, SECOND))
    theirs = contacts([sample for _, sample in adapter.receive_sensors(1)])
    assert [told.other for told in ours] == ["vehicle 1"]
    assert [told.other for told in theirs] == ["vehicle 0"]
    assert ours[0].stamp_ns == theirs[0].stamp_ns
    assert ours[0].speed_mps == theirs[0].speed_mps == pytest.approx(2.0, abs=1e-6)


# Standing.


@pytest.mark.parametrize("step_ns", [MS, 4 * MS], ids=["1 ms", "4 ms"])
@pytest.mark.parametrize(
    ("scenery", "top_m"), [(NOTHING, 0.0), (among(PAD), 0.3)], ids=["ground", "pad"]
)
@pytest.mark.parametrize("airframe", [shipped(name) for name in ("x500", "hexa", "crazyflie")])
def test_it_stands_still_on_its_legs_and_feels_the_ground_push_up(
    airframe: Airframe, scenery: Scenery, top_m: float, step_ns: int
) -> None:
    """Without a place of its own, on the pad where there is one."""
    turned = Start(attitude=(0.8, 0.0, 0.0, 0.6))
    adapter = connected(VehicleSetup(airframe, (IMU,), turned), scenery=scenery, step_ns=step_ns)
    before = adapter.ground_truth(0).position_enu_m
    heard = spend(adapter, 5 * SECOND)
    assert contacts(heard) == []
    after = adapter.ground_truth(0).position_enu_m
    np.testing.assert_allclose(after, before, rtol=0, atol=0.001)
    legs_m = min(leg[2] for leg in airframe.legs_flu_m)
    np.testing.assert_allclose(after, (0.0, 0.0, top_m - legs_m), rtol=0, atol=0.002)
    felt = [sample.accel_flu_mps2 for sample in heard if isinstance(sample, ImuSample)]
    mean = np.mean(felt[50:], axis=0)
    np.testing.assert_allclose(mean, (0.0, 0.0, GRAVITY_MPS2), rtol=0, atol=0.001)


# Starting.


@pytest.mark.parametrize(
    ("solid", "depth_m"),
    [
        (Solid("crate", Box((1.0, 1.0, 1.0)), (0.6, 0.0, 5.0)), REACH_M - 0.1),
        (Solid("pole", Cylinder(0.3, 2.0), (0.4, 0.0, 5.0)), REACH_M - 0.1),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_to_start_in_a_solid_is_refused_with_its_name_and_how_deep(
    solid: Solid, depth_m: float
) -> None:
    clients = count_clients()
    said = (
        rf"starts at \(0, 0, 5\), {depth_m:.2f} m deep in {solid.name}; move start\.position_enu_m"
    )
    with pytest.raises(ConfigError, match=said):
        connected(quad(position_enu_m=(0.0, 0.0, 5.0)), scenery=among(solid))
    assert count_clients() == clients, "and nothing is left open"


def count_clients() -> int:
    return sum(pybullet.getConnectionInfo(number)["isConnected"] for number in range(64))


def test_to_start_beside_a_solid_is_fine() -> None:
    beside = Solid("crate", Box((1.0, 1.0, 1.0)), (0.5 + REACH_M + 0.01, 0.0, 5.0))
    adapter = connected(quad(position_enu_m=(0.0, 0.0, 5.0)), scenery=among(beside))
    hang(adapter)
    assert contacts(spend(adapter, SECOND)) == []
