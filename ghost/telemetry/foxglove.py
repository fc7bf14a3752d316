"""Ghost's messages in Foxglove's schemas, where one exists.

Each form says which fields Foxglove's message holds; the codec adds the others to the schema, so
that the log opens in Foxglove as it is and still gives every message back whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.LaserScan_pb2 import LaserScan as FoxgloveLaserScan
from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
from foxglove_schemas_protobuf.Log_pb2 import Log
from foxglove_schemas_protobuf.PackedElementField_pb2 import PackedElementField
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud as FoxglovePointCloud
from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage

from ghost.events import Event, Severity
from ghost.hal import DepthImage, GpsSample, LaserScan, PointCloud, Pose, RgbImage, Transform


@dataclass(frozen=True, slots=True)
class Form:
    """encode fills a protobuf object from a message; decode reads the covered fields back."""

    proto: Any
    covers: tuple[str, ...]
    encode: Callable[[Any, Any], None]
    decode: Callable[[Any], dict[str, Any]]


def _stamp(timestamp: Any, stamp_ns: int) -> None:
    # Floor division keeps nanos in 0 to 999,999,999 for stamps before the run began, too.
    timestamp.seconds, timestamp.nanos = divmod(stamp_ns, 1_000_000_000)


def _stamp_ns(timestamp: Any) -> int:
    return int(timestamp.seconds * 1_000_000_000 + timestamp.nanos)


def _put_vector(target: Any, vector: Any) -> None:
    target.x, target.y, target.z = vector.tolist()


def _put_quaternion(target: Any, quaternion: Any) -> None:
    target.w, target.x, target.y, target.z = quaternion.tolist()


def _vector(source: Any) -> list[float]:
    return [source.x, source.y, source.z]


def _quaternion(source: Any) -> list[float]:
    return [source.w, source.x, source.y, source.z]


def _encode_pose(pose: Pose, proto: Any) -> None:
    _stamp(proto.timestamp, pose.stamp_ns)
    proto.frame_id = pose.frame_id
    _put_vector(proto.pose.position, pose.position_m)
    _put_quaternion(proto.pose.orientation, pose.attitude)


def _decode_pose(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": _stamp_ns(proto.timestamp),
        "frame_id": proto.frame_id,
        "position_m": _vector(proto.pose.position),
        "attitude": _quaternion(proto.pose.orientation),
    }


def _encode_transform(transform: Transform, proto: Any) -> None:
    _stamp(proto.timestamp, transform.stamp_ns)
    proto.parent_frame_id = transform.parent_frame_id
    proto.child_frame_id = transform.child_frame_id
    _put_vector(proto.translation, transform.translation_m)
    _put_quaternion(proto.rotation, transform.rotation)


def _decode_transform(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": _stamp_ns(proto.timestamp),
        "parent_frame_id": proto.parent_frame_id,
        "child_frame_id": proto.child_frame_id,
        "translation_m": _vector(proto.translation),
        "rotation": _quaternion(proto.rotation),
    }


def _encode_gps(gps: GpsSample, proto: Any) -> None:
    _stamp(proto.timestamp, gps.stamp_ns)
    proto.frame_id = gps.frame_id
    proto.latitude, proto.longitude = gps.latitude_deg, gps.longitude_deg
    proto.altitude = gps.altitude_m
    proto.position_covariance.extend(gps.position_covariance_enu_m2.ravel().tolist())
    proto.position_covariance_type = LocationFix.KNOWN


def _decode_gps(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": _stamp_ns(proto.timestamp),
        "frame_id": proto.frame_id,
        "latitude_deg": proto.latitude,
        "longitude_deg": proto.longitude,
        "altitude_m": proto.altitude,
        "position_covariance_enu_m2": np.reshape(proto.position_covariance, (3, 3)),
    }


def _image(pixels: str, encoding: str, dtype: str, channels: int) -> Form:
    def encode(image: Any, proto: Any) -> None:
        array = getattr(image, pixels)
        _stamp(proto.timestamp, image.stamp_ns)
        proto.frame_id, proto.encoding = image.frame_id, encoding
        proto.height, proto.width = array.shape[:2]
        proto.step = array.shape[1] * channels * array.itemsize
        proto.data = array.tobytes()

    def decode(proto: Any) -> dict[str, Any]:
        shape = (proto.height, proto.width, channels)[: 2 if channels == 1 else 3]
        return {
            "stamp_ns": _stamp_ns(proto.timestamp),
            "frame_id": proto.frame_id,
            pixels: np.frombuffer(proto.data, dtype).reshape(shape),
        }

    return Form(RawImage, ("stamp_ns", "frame_id", pixels), encode, decode)


def _encode_scan(scan: LaserScan, proto: Any) -> None:
    _stamp(proto.timestamp, scan.stamp_ns)
    proto.frame_id = scan.frame_id
    proto.pose.orientation.w = 1.0
    proto.start_angle, proto.end_angle = scan.start_angle_rad, scan.end_angle_rad
    proto.ranges.extend(scan.ranges_m.tolist())


def _decode_scan(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": _stamp_ns(proto.timestamp),
        "frame_id": proto.frame_id,
        "start_angle_rad": proto.start_angle,
        "end_angle_rad": proto.end_angle,
        "ranges_m": list(proto.ranges),
    }


def _encode_cloud(cloud: PointCloud, proto: Any) -> None:
    _stamp(proto.timestamp, cloud.stamp_ns)
    proto.frame_id = cloud.frame_id
    proto.pose.orientation.w = 1.0
    proto.point_stride = 3 * cloud.points_m.itemsize
    for index, axis in enumerate("xyz"):
        offset = index * cloud.points_m.itemsize
        proto.fields.add(name=axis, offset=offset, type=PackedElementField.FLOAT32)
    proto.data = cloud.points_m.tobytes()


def _decode_cloud(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": _stamp_ns(proto.timestamp),
        "frame_id": proto.frame_id,
        "points_m": np.frombuffer(proto.data, "<f4").reshape(-1, 3),
    }


FORMS: dict[type, Form] = {
    Pose: Form(
        PoseInFrame, ("stamp_ns", "frame_id", "position_m", "attitude"), _encode_pose, _decode_pose
    ),
    Transform: Form(
        FrameTransform,
        ("stamp_ns", "parent_frame_id", "child_frame_id", "translation_m", "rotation"),
        _encode_transform,
        _decode_transform,
    ),
    GpsSample: Form(
        LocationFix,
        (
            "stamp_ns",
            "frame_id",
            "latitude_deg",
            "longitude_deg",
            "altitude_m",
            "position_covariance_enu_m2",
        ),
        _encode_gps,
        _decode_gps,
    ),
    DepthImage: _image("depth_m", "32FC1", "<f4", 1),
    RgbImage: _image("pixels", "rgb8", "|u1", 3),
    LaserScan: Form(
        FoxgloveLaserScan,
        ("stamp_ns", "frame_id", "start_angle_rad", "end_angle_rad", "ranges_m"),
        _encode_scan,
        _decode_scan,
    ),
    PointCloud: Form(
        FoxglovePointCloud, ("stamp_ns", "frame_id", "points_m"), _encode_cloud, _decode_cloud
    ),
}

_LEVELS = {
    Severity.DEBUG: Log.DEBUG,
    Severity.INFO: Log.INFO,
    Severity.WARN: Log.WARNING,
    Severity.ERROR: Log.ERROR,
    Severity.CRITICAL: Log.FATAL,
}


def event_text(event: Event) -> bytes:
    """An event for Foxglove's log panel."""
    log = Log(level=_LEVELS[event.severity], name=event.source)
    _stamp(log.timestamp, event.stamp_ns)
    log.message = f"{event.kind}: {event.text}" if event.text else event.kind
    return log.SerializeToString()


def pose_transform(pose: Pose) -> bytes:
    """A pose as the transform that places its frame in Foxglove's 3D panel."""
    transform = FrameTransform(parent_frame_id=pose.frame_id, child_frame_id=pose.child_frame_id)
    _stamp(transform.timestamp, pose.stamp_ns)
    _put_vector(transform.translation, pose.position_m)
    _put_quaternion(transform.rotation, pose.attitude)
    return transform.SerializeToString()
