"""Points land where they should: sensor to body by the mount, body to world by the estimate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ghost.core.errors import ConfigError
from ghost.core.rotations import from_euler_zyx, rotate
from ghost.hal import (
    DepthImage,
    EstimateHealth,
    LaserScan,
    Mount,
    Obstacles,
    PointCloud,
    Ranging,
    SensorKind,
    SensorSpec,
    Sight,
)
from ghost.perception import obstacle_sensors
from ghost.telemetry.codec import codec_for
from tests.perception.rig import LENS, MS, Rig, camera, cloud, lidar

INF, NAN = math.inf, math.nan
QUARTER_LEFT = tuple(from_euler_zyx(0.0, 0.0, math.pi / 2).tolist())
NOSE_DOWN = tuple(from_euler_zyx(0.0, math.pi / 6, 0.0).tolist())


def scan(stamp_ns: int, ranges_m: list[float], half_turn_rad: float = math.pi / 2) -> LaserScan:
    return LaserScan(stamp_ns, 0, -half_turn_rad, half_turn_rad, np.array(ranges_m))


def image(stamp_ns: int, pixels: dict[tuple[int, int], float]) -> DepthImage:
    depth_m = np.full((LENS.height_px, LENS.width_px), INF, np.float32)
    for (row, column), reading_m in pixels.items():
        depth_m[row, column] = reading_m
    return DepthImage(stamp_ns, 0, depth_m)


def only(rig: Rig) -> Obstacles:
    (found,) = rig.found
    return found


def test_a_scan_goes_from_right_to_left() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", scan(0, [1.0, 2.0, 3.0]))
    assert only(rig).points_enu_m == pytest.approx(np.array([[0, -1, 0], [2, 0, 0], [0, 3, 0]]))
    assert (only(rig).sensor, only(rig).sight, only(rig).stamp_ns) == ("lidar", Sight.OK, 0)


def test_a_pixel_right_of_and_above_the_middle_is_right_and_up() -> None:
    rig = Rig(camera())
    rig.state(0)
    rig.sense("camera", image(0, {(0, 7): 4.0}))
    # Column 7 is 3.5 px right of the middle, row 0 is 2.5 px above it; the focal length is 4 px.
    assert only(rig).points_enu_m == pytest.approx(np.array([[4.0, -3.5, 2.5]]))


def test_a_cloud_is_in_the_sensors_axes() -> None:
    rig = Rig(cloud())
    rig.state(0, (10.0, 20.0, 30.0), QUARTER_LEFT)
    rig.sense("cloud", PointCloud(0, 0, np.array([[1, 2, 3], [0.1, 0, 0]], np.float32)))
    assert only(rig).points_enu_m == pytest.approx(np.array([[8.0, 21.0, 33.0]]))


def test_the_mount_and_the_attitude_both_turn_and_move() -> None:
    # It looks left from 0.5 m ahead of the middle, and the vehicle faces north: so it looks west.
    rig = Rig(lidar(Mount((0.5, 0.0, 0.1), QUARTER_LEFT)))
    rig.state(0, (10.0, 20.0, 5.0), QUARTER_LEFT)
    rig.sense("lidar", scan(0, [INF, 2.0, INF]))
    assert only(rig).points_enu_m == pytest.approx(np.array([[8.0, 20.5, 5.1]]))


def test_a_camera_that_looks_down_on_a_tilted_vehicle() -> None:
    mount = Mount((0.1, 0.0, -0.05), NOSE_DOWN)
    attitude = from_euler_zyx(0.2, -0.1, 1.0)
    rig = Rig(camera(mount))
    rig.state(0, (1.0, 2.0, 3.0), attitude)
    rig.sense("camera", image(0, {(3, 2): 6.0}))
    in_sensor = [6.0, 6.0 * 1.5 / 4.0, -6.0 * 0.5 / 4.0]
    in_body = rotate(mount.attitude, in_sensor) + np.array(mount.position_flu_m)
    expected = rotate(attitude, in_body) + np.array([1.0, 2.0, 3.0])
    assert only(rig).points_enu_m[0] == pytest.approx(expected, abs=1e-6)


def test_a_late_sample_is_placed_where_the_vehicle_was_when_it_looked() -> None:
    rig = Rig(lidar())
    for tick in range(11):
        yaw_rad = 0.02 * tick
        rig.state(tick * 20 * MS, (0.1 * tick, 0.0, 5.0), from_euler_zyx(0.0, 0.0, yaw_rad))
    rig.sense("lidar", scan(90 * MS, [INF, 4.0, INF]))
    expected = [0.45 + 4.0 * math.cos(0.09), 4.0 * math.sin(0.09), 5.0]
    assert only(rig).points_enu_m[0] == pytest.approx(expected, abs=1e-5)


def test_a_sample_ahead_of_the_states_waits_for_the_one_that_follows() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", scan(10 * MS, [INF, 4.0, INF]))
    assert rig.found == []
    rig.state(20 * MS, (1.0, 0.0, 0.0))
    assert only(rig).points_enu_m[0] == pytest.approx([4.5, 0.0, 0.0])


@pytest.mark.parametrize("history_ns", [[], [500 * MS, 520 * MS], [0, 400 * MS]])
def test_without_states_around_it_nothing_is_said(history_ns: list[int]) -> None:
    """None at all, none that reaches back, and a hole in them."""
    rig = Rig(lidar())
    for stamp_ns in history_ns:
        rig.state(stamp_ns)
    rig.sense("lidar", scan(200 * MS, [1.0, 2.0, 3.0]))
    assert rig.found == []


def test_a_lost_estimate_places_nothing() -> None:
    rig = Rig(lidar())
    rig.state(0, verdict=EstimateHealth.LOST)
    rig.sense("lidar", scan(0, [1.0, 2.0, 3.0]))
    assert rig.found == []


def test_states_go_out_after_a_second() -> None:
    rig = Rig(lidar())
    for tick in range(60):
        rig.state(tick * 20 * MS)
    rig.sense("lidar", scan(170 * MS, [1.0, 2.0, 3.0]))
    assert rig.found == []
    rig.sense("lidar", scan(190 * MS, [1.0, 2.0, 3.0]))
    assert len(rig.found) == 1


def test_the_deviation_is_of_the_reading_and_of_the_attitude() -> None:
    rig = Rig(lidar(ranging=Ranging(0.2, 12.0, noise_m=0.02, noise_per_m2=0.001)))
    rig.state(0, attitude_variance_rad2=1e-4 / 3)
    rig.sense("lidar", scan(0, [INF, 10.0, INF]))
    assert only(rig).std_m == pytest.approx([math.sqrt(0.12 * 0.12 + 0.1 * 0.1)])


def test_only_readings_in_range_become_points() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", scan(0, [0.2, 12.0, 12.1, 0.1, INF, NAN, 5.0]))
    assert len(only(rig).points_enu_m) == len(only(rig).std_m) == 3


def test_only_a_good_sight_has_points() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", scan(0, [NAN, NAN, 3.0]))
    assert only(rig).sight is Sight.BLINDED
    assert only(rig).points_enu_m.shape == (0, 3)
    assert only(rig).std_m.shape == (0,)


def test_other_sensors_are_left_alone() -> None:
    imu = SensorSpec("imu", SensorKind.IMU, MS)
    assert obstacle_sensors([imu, lidar(), camera(), cloud()]) == (lidar(), camera(), cloud())
    assert obstacle_sensors([imu]) == ()


@pytest.mark.parametrize("kind", [SensorKind.LASER_SCAN, SensorKind.DEPTH_CAMERA])
def test_a_sensor_without_a_ranging_is_refused(kind: SensorKind) -> None:
    with pytest.raises(ConfigError, match="sensor eye: no ranging"):
        Rig(SensorSpec("eye", kind, MS))


def test_a_depth_camera_without_a_lens_is_refused() -> None:
    with pytest.raises(ConfigError, match="sensor eye: no lens"):
        Rig(SensorSpec("eye", SensorKind.DEPTH_CAMERA, MS, ranging=Ranging(0.1, 9.0)))


def test_a_closed_finder_hears_nothing() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.finder.close()
    rig.sense("lidar", scan(0, [1.0, 2.0, 3.0]))
    assert rig.found == []


def test_the_log_can_hold_obstacles() -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", scan(0, [1.0, 2.0, 3.0]))
    rig.sense("lidar", scan(0, [NAN, NAN, NAN]))
    codec = codec_for(Obstacles)
    for found in rig.found:
        assert codec.decode(codec.encode(found)) == found


@given(
    arrays(np.float64, st.integers(0, 600), elements=st.floats(width=32)),
    st.floats(),
    st.floats(),
)
def test_no_scan_raises_and_no_point_is_out_of_range(
    ranges_m: np.ndarray, start_rad: float, end_rad: float
) -> None:
    rig = Rig(lidar())
    rig.state(0)
    rig.sense("lidar", LaserScan(0, 0, start_rad, end_rad, ranges_m))
    away_m = np.sqrt((only(rig).points_enu_m.astype(float) ** 2).sum(axis=1))
    assert ((away_m > 0.2 - 1e-5) & (away_m < 12.0 + 1e-5)).all()


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 700), st.just(3)),
        elements=st.floats(-20.0, 20.0, width=32) | st.floats(width=32),
        fill=st.floats(-20.0, 20.0, width=32),
    )
)
def test_no_cloud_raises_and_no_point_is_out_of_range(points_m: np.ndarray) -> None:
    rig = Rig(cloud())
    rig.state(0)
    rig.sense("cloud", PointCloud(0, 0, points_m))
    away_m = np.sqrt((only(rig).points_enu_m.astype(float) ** 2).sum(axis=1))
    assert ((away_m > 0.2 - 1e-5) & (away_m < 12.0 + 1e-5)).all()


@given(arrays(np.float32, st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_no_image_raises_and_one_of_another_size_says_nothing(depth_m: np.ndarray) -> None:
    rig = Rig(camera())
    rig.state(0)
    rig.sense("camera", DepthImage(0, 0, depth_m))
    if depth_m.shape != (LENS.height_px, LENS.width_px):
        assert only(rig).sight is Sight.BLINDED
