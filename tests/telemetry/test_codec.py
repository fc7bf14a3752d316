from collections.abc import Mapping
from dataclasses import fields, replace
from enum import IntEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from foxglove_schemas_protobuf.CameraCalibration_pb2 import (
    CameraCalibration as FoxgloveCameraCalibration,
)
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.LaserScan_pb2 import LaserScan as FoxgloveLaserScan
from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
from foxglove_schemas_protobuf.PackedElementField_pb2 import PackedElementField
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud as FoxglovePointCloud
from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ghost.core.channels import Channel
from ghost.core.errors import LogError, MessageError
from ghost.hal import channels, commands, samples
from ghost.hal.message import Array, DepthPixels, command, message
from ghost.telemetry.codec import codec_for, protobuf_class_of
from ghost.telemetry.images import depth_in_millimetres
from ghost.telemetry.png import decode_png
from ghost.telemetry.reader import MESSAGE_TYPES

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.dictionaries(
    TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    bool: st.booleans(),
    str: TEXT,
}
# What a Foxglove schema holds in fewer bits than Ghost.
FIELDS: dict[tuple[type, str], st.SearchStrategy[Any]] = {
    (samples.CameraCalibration, "width_px"): st.integers(0, 2**32 - 1),
    (samples.CameraCalibration, "height_px"): st.integers(0, 2**32 - 1),
}
MIXED = "é漢\U0001f681"


def vector(*numbers: float) -> NDArray[np.float64]:
    return np.array(numbers, np.float64)


def arrays(array: Array) -> st.SearchStrategy[Any]:
    sides = [st.integers(0, 4) if side < 0 else st.just(side) for side in array.shape]
    return st.tuples(*sides).flatmap(lambda shape: hnp.arrays(array.dtype, shape))


def values(hint: Any) -> st.SearchStrategy[Any]:
    origin = get_origin(hint)
    if origin is Annotated:
        return arrays(next(extra for extra in get_args(hint) if isinstance(extra, Array)))
    if origin in (Union, UnionType):
        return st.one_of([st.none() if o is NoneType else messages(o) for o in get_args(hint)])
    if origin is Mapping:
        return JSON
    if issubclass(hint, IntEnum):
        return st.sampled_from(hint)
    return SCALARS[hint]


def messages(kind: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    return st.builds(
        kind,
        **{
            entry.name: FIELDS.get((kind, entry.name), values(hints[entry.name]))
            for entry in fields(kind)
        },
    )


def test_every_message_of_a_channel_can_be_read_back() -> None:
    carried = {c.message_type for c in vars(channels).values() if isinstance(c, Channel)}
    assert carried <= set(MESSAGE_TYPES)


@pytest.mark.parametrize("kind", MESSAGE_TYPES, ids=lambda kind: kind.__name__)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_message_survives_the_wire_bit_for_bit(kind: type, data: st.DataObject) -> None:
    sent = data.draw(messages(kind))
    codec = codec_for(kind)
    encoded = codec.encode(sent)
    assert codec.decode(encoded) == sent
    # And it is ordinary protobuf: a reader that knows only the log's schema rewrites it whole.
    foreign = protobuf_class_of(codec.schema.SerializeToString(), codec.name)
    assert codec.decode(foreign.FromString(encoded).SerializeToString()) == sent


def test_floats_on_the_wire_keep_their_sign_and_their_nan() -> None:
    # Message equality takes any two NaN scalars for the same; the log's own schema does not lie.
    sample = samples.BarometerSample(1, 2, pressure_pa=-0.0, temperature_c=float("nan"))
    codec = codec_for(samples.BarometerSample)
    proto = protobuf_class_of(codec.schema.SerializeToString(), codec.name).FromString(
        codec.encode(sample)
    )
    assert proto.pressure_pa.hex() == "-0x0.0p+0"
    assert np.isnan(proto.temperature_c)
    assert (proto.stamp_ns, proto.sequence, proto.health) == (1, 2, samples.Health.OK)


def test_foxglove_reads_a_pose() -> None:
    pose = samples.Pose(2_500_000_001, vector(1, 2, 3), vector(0.5, -0.5, 0.1, 0.7), "map", MIXED)
    read = PoseInFrame.FromString(codec_for(samples.Pose).encode(pose))
    assert (read.timestamp.seconds, read.timestamp.nanos, read.frame_id) == (2, 500_000_001, "map")
    assert xyz(read.pose.position) == (1, 2, 3)
    assert wxyz(read.pose.orientation) == (0.5, -0.5, 0.1, 0.7)


def test_foxglove_reads_a_transform() -> None:
    mount = samples.Transform(0, "body", "lidar", vector(1, 2, 3), vector(0.5, -0.5, 0.1, 0.7))
    read = FrameTransform.FromString(codec_for(samples.Transform).encode(mount))
    assert (read.parent_frame_id, read.child_frame_id) == ("body", "lidar")
    assert xyz(read.translation) == (1, 2, 3)
    assert wxyz(read.rotation) == (0.5, -0.5, 0.1, 0.7)


def test_foxglove_reads_a_gps_fix() -> None:
    covariance = np.arange(9.0).reshape(3, 3)
    fix = samples.GpsSample(5, 1, 52.5, -13.4, 88.0, vector(1, 2, 3), covariance, 0.3, 11)
    read = LocationFix.FromString(codec_for(samples.GpsSample).encode(fix))
    assert (read.latitude, read.longitude, read.altitude) == (52.5, -13.4, 88.0)
    assert list(read.position_covariance) == list(range(9))
    assert read.position_covariance_type == LocationFix.KNOWN
    assert read.frame_id == "gps"


def test_foxglove_reads_images() -> None:
    depth = np.array([[1.5, 2.5, np.nan], [4.5, 5.5, 6.5]], "<f4")
    read = RawImage.FromString(
        codec_for(samples.DepthImage).encode(samples.DepthImage(0, 0, depth))
    )
    assert (read.height, read.width, read.step, read.encoding) == (2, 3, 12, "32FC1")
    assert read.data == depth.tobytes()
    pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    rgb = codec_for(samples.RgbImage).encode(samples.RgbImage(0, 0, pixels))
    picture = CompressedImage.FromString(rgb)
    assert (picture.format, picture.frame_id) == ("png", "rgb_camera")
    assert decode_png(picture.data).tobytes() == bytes(range(18))


def test_foxglove_colours_depth_by_its_millimetres() -> None:
    depth = np.array([[0.0004, 1.2346, np.nan], [np.inf, -np.inf, 3e38]], "<f4")
    view = RawImage.FromString(depth_in_millimetres(samples.DepthImage(7, 0, depth)))
    assert (view.height, view.width, view.step, view.encoding) == (2, 3, 6, "16UC1")
    assert (view.timestamp.nanos, view.frame_id) == (7, "depth_camera")
    assert np.frombuffer(view.data, "<u2").tolist() == [0, 1235, 0, 65535, 0, 65535]


def test_foxglove_reads_a_lens() -> None:
    lens = samples.CameraCalibration(1, "eye", 160, 120, 84.0, 85.0, 79.5, 59.5)
    read = FoxgloveCameraCalibration.FromString(codec_for(samples.CameraCalibration).encode(lens))
    assert (read.frame_id, read.width, read.height) == ("eye", 160, 120)
    assert np.reshape(read.K, (3, 3)).tolist() == [[84, 0, 79.5], [0, 85, 59.5], [0, 0, 1]]
    assert np.array_equal(np.reshape(read.P, (3, 4))[:, :3], np.reshape(read.K, (3, 3)))
    assert np.array_equal(np.reshape(read.R, (3, 3)), np.eye(3))
    assert (read.distortion_model, len(read.D)) == ("", 0)


def test_foxglove_reads_a_scene() -> None:
    box = [1, 2, 3, 0.5, -0.5, 0.1, 0.7, 4, 5, 6, 0.1, 0.2, 0.3]
    cylinder = [7, 8, 9, 1, 0, 0, 0, 2, 2, 10, 0.4, 0.5, 0.6]
    grey, red = [0.6, 0.6, 0.6], [1, 0, 0]
    facets = [[*range(9), *grey], [*range(9, 18), *grey], [*range(18, 27), *red]]
    scene = samples.Scene(2_000_000_001, [box], [cylinder], facets, "map")  # type: ignore[arg-type]  # rows
    (entity,) = SceneUpdate.FromString(codec_for(samples.Scene).encode(scene)).entities
    assert (entity.id, entity.frame_id, entity.frame_locked) == ("scene", "map", True)
    assert (entity.timestamp.seconds, entity.timestamp.nanos) == (2, 1)
    assert not entity.HasField("lifetime")
    for primitive, row in ((entity.cubes[0], box), (entity.cylinders[0], cylinder)):
        assert [*xyz(primitive.pose.position), *wxyz(primitive.pose.orientation)] == row[:7]
        assert [*xyz(primitive.size), *rgba(primitive.color)] == [*row[7:], 1]
    assert (entity.cylinders[0].bottom_scale, entity.cylinders[0].top_scale) == (1, 1)
    assert [[n for point in each.points for n in xyz(point)] for each in entity.triangles] == [
        list(range(18)),
        list(range(18, 27)),
    ]
    assert [rgba(each.color) for each in entity.triangles] == [(*grey, 1), (*red, 1)]
    assert wxyz(entity.triangles[0].pose.orientation) == (1, 0, 0, 0)


def test_foxglove_reads_lidar() -> None:
    scan = samples.LaserScan(0, 0, -1.5, 1.5, vector(1, np.inf, np.nan))
    read = FoxgloveLaserScan.FromString(codec_for(samples.LaserScan).encode(scan))
    assert (read.start_angle, read.end_angle) == (-1.5, 1.5)
    assert np.array_equal(list(read.ranges), [1, np.inf, np.nan], equal_nan=True)
    assert wxyz(read.pose.orientation) == (1, 0, 0, 0)
    points = np.array([[1, 2, 3], [4, 5, 6]], "<f4")
    cloud = FoxglovePointCloud.FromString(
        codec_for(samples.PointCloud).encode(samples.PointCloud(0, 0, points))
    )
    layout = [(field.name, field.offset, field.type) for field in cloud.fields]
    assert layout == [(axis, 4 * i, PackedElementField.FLOAT32) for i, axis in enumerate("xyz")]
    assert (cloud.point_stride, cloud.data) == (12, points.tobytes())
    nothing = samples.PointCloud(0, 0, np.empty((0, 3), "<f4"))
    empty = FoxglovePointCloud.FromString(codec_for(samples.PointCloud).encode(nothing))
    assert (empty.point_stride, empty.data, len(empty.fields)) == (12, b"", 3)


@message
class Loose:
    stamp_ns: int
    what: Any


@pytest.mark.parametrize(
    "hint",
    [
        list[int],
        bytes,
        complex,
        int | None,
        Annotated[int, "not an array"],
        Annotated[NDArray[np.int32], Array("<i4", (3,))],
        DepthPixels,  # two open sides: the flat array on the wire would not tell its shape
    ],
    ids=str,
)
def test_a_field_the_wire_cannot_carry_is_named(hint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Loose.__annotations__, "what", hint)
    with pytest.raises(MessageError, match=r"Loose\.what"):
        codec_for(Loose)


def test_a_command_of_the_wrong_length_is_logged_as_it_was() -> None:
    sent = commands.PositionCommand(1, 2, vector(1, 2, 3, 4, np.nan), 0.0)
    codec = codec_for(commands.PositionCommand)
    assert codec.decode(codec.encode(sent)) == sent


@command
class Note:
    stamp_ns: int
    text: str


@pytest.mark.parametrize(
    "bad",
    [
        commands.MotorCommand(1, 2, "full power"),  # type: ignore[arg-type]  # on purpose
        commands.BodyRateCommand(1, 2, vector(1, 2, 3), "x"),  # type: ignore[arg-type]  # on purpose
        commands.BodyRateCommand(2**63, 2, vector(1, 2, 3), 0.5),
        Note(1, "\ud800"),
        samples.Pose(1, vector(1, 2, 3), vector(1, 0, 0, 0), frame_id="\ud800"),
        samples.Pose("noon", vector(1, 2, 3), vector(1, 0, 0, 0)),  # type: ignore[arg-type]  # on purpose
        samples.CameraCalibration(1, "eye", 2**32, 120, 84.0, 84.0, 79.5, 59.5),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_what_the_wire_cannot_hold_is_a_message_error(bad: Any) -> None:
    with pytest.raises(MessageError, match=type(bad).__name__):
        codec_for(type(bad)).encode(bad)


def test_an_ack_of_nothing_reads_back_as_none() -> None:
    ack = commands.CommandAck(
        1, 2, 3, commands.AckStatus.REJECTED, commands.RejectReason.STALE, "old", None
    )
    codec = codec_for(commands.CommandAck)
    assert codec.decode(codec.encode(ack)).applied is None
    applied = commands.MotorCommand(1, 2, vector())
    assert codec.decode(codec.encode(replace(ack, applied=applied))).applied == applied


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(MESSAGE_TYPES), garbage=st.binary(max_size=60))
def test_garbage_is_a_message_or_a_log_error(kind: type, garbage: bytes) -> None:
    try:
        assert type(codec_for(kind).decode(garbage)) is kind
    except LogError as error:
        assert kind.__name__ in str(error)  # noqa: PT017 - either outcome is right


def xyz(point: Any) -> tuple[float, float, float]:
    return (point.x, point.y, point.z)


def rgba(colour: Any) -> tuple[float, float, float, float]:
    return (colour.r, colour.g, colour.b, colour.a)


def wxyz(rotation: Any) -> tuple[float, float, float, float]:
    return (rotation.w, rotation.x, rotation.y, rotation.z)
