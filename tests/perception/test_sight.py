"""Each verdict on a sensor, from what it says."""

import math

import numpy as np
import pytest

from ghost.hal import DepthImage, Health, LaserScan, PointCloud, Sight
from ghost.perception.sight import judge
from tests.perception.rig import LENS, RANGING, Rig, camera, cloud, lidar

INF, NAN = math.inf, math.nan


def sight(readings_m: list[float], health: Health = Health.OK, repeats: int = 0) -> Sight:
    return judge(np.array(readings_m), RANGING, health=health, repeats=repeats)


@pytest.mark.parametrize(
    ("readings_m", "expected"),
    [
        ([1.0, INF, INF, INF], Sight.OK),
        ([1.0, INF, NAN, 0.1], Sight.OK),  # half of it is not more than half
        ([0.2, 12.0], Sight.OK),
        ([INF, INF, INF], Sight.OUT_OF_RANGE),
        ([INF, 12.5, NAN], Sight.OUT_OF_RANGE),
        ([], Sight.OUT_OF_RANGE),
        ([1.0, NAN, NAN], Sight.BLINDED),
        ([1.0, 0.1, 0.0, NAN], Sight.BLINDED),
        ([-INF, -1.0, INF], Sight.BLINDED),
    ],
)
def test_the_readings_tell(readings_m: list[float], expected: Sight) -> None:
    assert sight(readings_m) is expected


@pytest.mark.parametrize("health", [Health.DEGRADED, Health.OFFLINE])
def test_a_sensor_that_is_not_well_is_offline_whatever_it_reads(health: Health) -> None:
    assert sight([1.0, 2.0], health) is Sight.OFFLINE


def test_the_same_again_three_times_in_a_row_is_frozen() -> None:
    assert [sight([1.0], repeats=repeats) for repeats in (0, 1, 2, 3, 4)] == [
        *[Sight.OK] * 3,
        *[Sight.FROZEN] * 2,
    ]


def test_an_open_field_is_never_frozen_and_a_covered_eye_stays_blinded() -> None:
    assert sight([INF, INF], repeats=100) is Sight.OUT_OF_RANGE
    assert sight([NAN, NAN], repeats=100) is Sight.BLINDED


def test_only_what_can_be_believed_is_trusted() -> None:
    assert [verdict for verdict in Sight if verdict.trusted] == [Sight.OK, Sight.OUT_OF_RANGE]


def test_the_finder_counts_repetitions_in_a_row() -> None:
    rig = Rig(lidar(), camera(), cloud())
    rig.state(0)
    shape = (LENS.height_px, LENS.width_px)
    for reading_m in (4.0, 4.0, 4.0, 4.0, 4.5, 4.0, 4.0):
        rig.sense("lidar", LaserScan(0, 0, -1.0, 1.0, np.full(5, reading_m)))
        rig.sense("camera", DepthImage(0, 0, np.full(shape, reading_m, np.float32)))
        rig.sense("cloud", PointCloud(0, 0, np.full((5, 3), reading_m, np.float32)))
    for name in ("lidar", "camera", "cloud"):
        seen = [found.sight for found in rig.found if found.sensor == name]
        assert seen == [*[Sight.OK] * 3, Sight.FROZEN, *[Sight.OK] * 3]


def test_a_scan_that_cannot_be_read_is_blinded_and_an_empty_cloud_is_an_open_field() -> None:
    rig = Rig(lidar(), cloud())
    rig.state(0)
    rig.sense("lidar", LaserScan(0, 0, NAN, 1.0, np.ones(3)))
    rig.sense("lidar", LaserScan(0, 0, -1.0, 1.0, np.empty(0)))
    rig.sense("cloud", PointCloud(0, 0, np.empty((0, 3), np.float32)))
    assert [found.sight for found in rig.found] == [
        *(Sight.BLINDED, Sight.BLINDED, Sight.OUT_OF_RANGE),
    ]
