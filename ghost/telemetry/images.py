"""What cameras say, in Foxglove's schemas: pictures, depth, and the lens they came through."""

from typing import Any

import numpy as np
from foxglove_schemas_protobuf.CameraCalibration_pb2 import (
    CameraCalibration as FoxgloveCameraCalibration,
)
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage

from ghost.hal import CameraCalibration, DepthImage, RgbImage
from ghost.telemetry.form import Form, put_stamp, stamp_ns_of
from ghost.telemetry.png import decode_png, encode_png

_MOST_MM = 65_535.0


def _encode_rgb(image: RgbImage, proto: Any) -> None:
    put_stamp(proto.timestamp, image.stamp_ns)
    proto.frame_id, proto.format = image.frame_id, "png"
    proto.data = encode_png(image.pixels)


def _decode_rgb(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "pixels": decode_png(proto.data),
    }


def _encode_depth(image: DepthImage, proto: Any) -> None:
    _put_raw(proto, image, "32FC1", image.depth_m)


def _decode_depth(proto: Any) -> dict[str, Any]:
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "depth_m": np.frombuffer(proto.data, "<f4").reshape(proto.height, proto.width),
    }


def _put_raw(proto: Any, image: DepthImage, encoding: str, pixels: Any) -> None:
    put_stamp(proto.timestamp, image.stamp_ns)
    proto.frame_id, proto.encoding = image.frame_id, encoding
    proto.height, proto.width = pixels.shape
    proto.step = pixels.shape[1] * pixels.itemsize
    proto.data = pixels.tobytes()


def _encode_calibration(calibration: CameraCalibration, proto: Any) -> None:
    fx, fy = calibration.fx_px, calibration.fy_px
    cx, cy = calibration.cx_px, calibration.cy_px
    put_stamp(proto.timestamp, calibration.stamp_ns)
    proto.frame_id = calibration.frame_id
    proto.width, proto.height = calibration.width_px, calibration.height_px
    # A pinhole: no distortion model, nothing to rectify.
    proto.K.extend([fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0])
    proto.R.extend([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    proto.P.extend([fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0])


def _decode_calibration(proto: Any) -> dict[str, Any]:
    fx, _, cx, _, fy, cy, *_ = proto.K
    return {
        "stamp_ns": stamp_ns_of(proto.timestamp),
        "frame_id": proto.frame_id,
        "width_px": proto.width,
        "height_px": proto.height,
        "fx_px": fx,
        "fy_px": fy,
        "cx_px": cx,
        "cy_px": cy,
    }


def depth_in_millimetres(image: DepthImage) -> bytes:
    """A depth image for Foxglove's image panel: black where unknown, farthest where out of range.

    The panel colours 16UC1 between two values of its settings. A 32FC1 image it shows as brightness
    from 0 to 1, so that all beyond a metre is white, and a 16-bit PNG with 8 bits.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        depth_mm = np.clip(np.rint(image.depth_m * 1000.0), 0.0, _MOST_MM)
    proto = RawImage()
    _put_raw(proto, image, "16UC1", np.nan_to_num(depth_mm, nan=0.0).astype("<u2"))
    return proto.SerializeToString()


IMAGE_FORMS: dict[type, Form] = {
    RgbImage: Form(CompressedImage, ("stamp_ns", "frame_id", "pixels"), _encode_rgb, _decode_rgb),
    DepthImage: Form(RawImage, ("stamp_ns", "frame_id", "depth_m"), _encode_depth, _decode_depth),
    CameraCalibration: Form(
        FoxgloveCameraCalibration,
        (
            *("stamp_ns", "frame_id", "width_px", "height_px"),
            *("fx_px", "fy_px", "cx_px", "cy_px"),
        ),
        _encode_calibration,
        _decode_calibration,
    ),
}
