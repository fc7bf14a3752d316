from collections.abc import Mapping
from dataclasses import fields, replace
from enum import IntEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.LaserScan_pb2 import LaserScan as FoxgloveLaserScan
from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
from foxglove_schemas_protobuf.PackedElementField_pb2 import PackedElementField
from foxglove_schemas_protobuf.PointCloud_pb2 import PointCloud as FoxglovePointCloud
from foxglove_schemas_protobuf.PoseInFrame_pb2 import PoseInFrame
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from ghost.core.errors import LogError, MessageError
from ghost.hal import commands, samples
from ghost.hal.message import Array, DepthPixels, command, message
from ghost.telemetry.codec import codec_for, protobuf_class_of
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
    return st.builds(kind, **{entry.name: values(hints[entry.name]) for entry in fields(kind)})


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
    read = RawImage.FromString(codec_for(samples.RgbImage).encode(samples.RgbImage(0, 0, pixels)))
    assert (read.height, read.width, read.step, read.encoding) == (2, 3, 9, "rgb8")
    assert read.data == bytes(range(18))


def test_foxglove_reads_lidar() -> None:
    scan = samples.LaserScan(0, 0, -1.5, 1.5, vector(1, np.inf, 3))
    read = FoxgloveLaserScan.FromString(codec_for(samples.LaserScan).encode(scan))
    assert (read.start_angle, read.end_angle, list(read.ranges)) == (-1.5, 1.5, [1, np.inf, 3])
    assert wxyz(read.pose.orientation) == (1, 0, 0, 0)
    points = np.array([[1, 2, 3], [4, 5, 6]], "<f4")
    cloud = FoxglovePointCloud.FromString(
        codec_for(samples.PointCloud).encode(samples.PointCloud(0, 0, points))
    )
    layout = [(field.name, field.offset, field.type) for field in cloud.fields]
    assert layout == [(axis, 4 * i, PackedElementField.FLOAT32) for i, axis in enumerate("xyz")]
    assert (cloud.point_stride, cloud.data) == (12, points.tobytes())


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


def wxyz(rotation: Any) -> tuple[float, float, float, float]:
    return (rotation.w, rotation.x, rotation.y, rotation.z)
