"""Ghost's messages in Foxglove's schemas, where one exists.

Each form says which fields Foxglove's message holds; the codec adds the others to the schema, so
that the log opens in Foxglove as it is and still gives every message back whole.
"""

from typing import Any

import numpy as np
from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.LaserScan_pb2 import LaserScan as FoxgloveLaserScan
from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
from foxglove_schemas_protobuf.Log_pb2 import Log
from foxglove_schemas_protobuf.PackedElementField_pb2 import PackedElementField
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud as FoxglovePointCloud
from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame

from ghost.events import Event, Severity
from ghost.hal import GpsSample, LaserScan, PointCloud, Pose, Scene, Transform
from ghost.telemetry.form import (
    Form,
    put_quaternion,
    put_stamp,
    put_vector,
    quaternion_of,
    stamp_ns_of,
    vector_of,
)
from ghost.telemetry.images import IMAGE_FORMS
from ghost.telemetry.scene import SCENE_FORM


def _encode_pose(pose: Pose, proto: Any) -> None:
    put_stamp(proto.timestamp, pose.stamp_ns)
    proto.frame_id = pose.frame_id
    put_vector(proto.pose.position, pose.position_m)
    put_quaternion(proto.pose.orientation, pose.attitude)


def _decode_pose(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "position_m": vector_of(proto.pose.position),
        "attitude": quaternion_of(proto.pose.orientation),
    }


def _encode_transform(transform: Transform, proto: Any) -> None:
    put_stamp(proto.timestamp, transform.stamp_ns)
    proto.parent_frame_id = transform.parent_frame_id
    proto.child_frame_id = transform.child_frame_id
    put_vector(proto.translation, transform.translation_m)
    put_quaternion(proto.rotation, transform.rotation)


def _decode_transform(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "parent_frame_id": proto.parent_frame_id,
        "child_frame_id": proto.child_frame_id,
        "translation_m": vector_of(proto.translation),
        "rotation": quaternion_of(proto.rotation),
    }


def _encode_gps(gps: GpsSample, proto: Any) -> None:
    put_stamp(proto.timestamp, gps.stamp_ns)
    proto.frame_id = gps.frame_id
    proto.latitude, proto.longitude = gps.latitude_deg, gps.longitude_deg
    proto.altitude = gps.altitude_m
    proto.position_covariance.extend(gps.position_covariance_enu_m2.ravel().tolist())
    proto.position_covariance_type = LocationFix.KNOWN


def _decode_gps(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "latitude_deg": proto.latitude,
        "longitude_deg": proto.longitude,
        "altitude_m": proto.altitude,
        "position_covariance_enu_m2": np.reshape(proto.position_covariance, (3, 3)),
    }


def _encode_scan(scan: LaserScan, proto: Any) -> None:
    put_stamp(proto.timestamp, scan.stamp_ns)
    proto.frame_id = scan.frame_id
    proto.pose.orientation.w = 1.0
    proto.start_angle, proto.end_angle = scan.start_angle_rad, scan.end_angle_rad
    proto.ranges.extend(scan.ranges_m.tolist())


def _decode_scan(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "start_angle_rad": proto.start_angle,
        "end_angle_rad": proto.end_angle,
        "ranges_m": list(proto.ranges),
    }


def _encode_cloud(cloud: PointCloud, proto: Any) -> None:
    put_stamp(proto.timestamp, cloud.stamp_ns)
    proto.frame_id = cloud.frame_id
    proto.pose.orientation.w = 1.0
    proto.point_stride = 3 * cloud.points_m.itemsize
    for index, axis in enumerate("xyz"):
        offset = index * cloud.points_m.itemsize
        proto.fields.add(name=axis, offset=offset, type=PackedElementField.FLOAT32)
    proto.data = cloud.points_m.tobytes()


def _decode_cloud(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
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
    LaserScan: Form(
        FoxgloveLaserScan,
        ("stamp_ns", "frame_id", "start_angle_rad", "end_angle_rad", "ranges_m"),
        _encode_scan,
        _decode_scan,
    ),
    PointCloud: Form(
        FoxglovePointCloud, ("stamp_ns", "frame_id", "points_m"), _encode_cloud, _decode_cloud
    ),
    Scene: SCENE_FORM,
    **IMAGE_FORMS,
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
    put_stamp(log.timestamp, event.stamp_ns)
    log.message = f"{event.kind}: {event.text}" if event.text else event.kind
    return log.SerializeToString()


def pose_transform(pose: Pose) -> bytes:
    """A pose as the transform that places its frame in Foxglove's 3D panel."""
    transform = FrameTransform(parent_frame_id=pose.frame_id, child_frame_id=pose.child_frame_id)
    put_stamp(transform.timestamp, pose.stamp_ns)
    put_vector(transform.translation, pose.position_m)
    put_quaternion(transform.rotation, pose.attitude)
    return transform.SerializeToString()
