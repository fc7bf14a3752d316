from collections.abc import Callable
from io import BytesIO
from typing import Any

import mcap
import numpy as np
import pytest
from foxglove_schemas_protobuf.FrameTransform_pb2 import FrameTransform
from foxglove_schemas_protobuf.Log_pb2 import Log
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from mcap.reader import make_reader
from mcap.records import Channel as McapChannel
from mcap.records import Message, Schema

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal.channels import BAROMETER, DEPTH_CAMERA, GROUNDTRUTH_POSE, IMU
from ghost.hal.samples import BarometerSample, DepthImage, ImuSample, Pose
from ghost.telemetry import LogWriter
from ghost.telemetry.codec import codec_for

Imu = Callable[[int], ImuSample]


class Heard:
    """A second sink on the same bus: what the log has to agree with."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int, int, bytes]] = []

    def write(self, channel: Channel[Any], message: Any, stamp_ns: int, sequence: int) -> None:
        data = codec_for(type(message)).encode(message)
        self.entries.append((channel.name, stamp_ns, sequence, data))


def fly(imu: Imu) -> tuple[bytes, Heard]:
    """A second of flight in which samples answer each other from inside callbacks."""
    clock = SimClock()
    bus = Bus(clock)
    stream, heard = BytesIO(), Heard()
    writer = LogWriter(stream, chunk_bytes=4096)
    bus.attach(writer, name="log")
    bus.attach(heard, name="heard")

    def pressure(sample: ImuSample) -> None:
        bus.publish(BAROMETER, BarometerSample(sample.stamp_ns - 5, 0, 1013.0, 20.0))
        if sample.sequence % 250 == 0:
            bus.publish(EVENTS, Event(clock.now_ns(), Severity.CRITICAL, "ALARM", "pressure", "!"))

    bus.subscribe(IMU, pressure, name="pressure")
    for step in range(1000):
        bus.publish(IMU, imu(step))
        pose = Pose(clock.now_ns(), np.array([step, 2.0, 3.0]), np.array([0.5, 0.1, 0.2, 0.3]))
        bus.publish(GROUNDTRUTH_POSE, pose)
        clock.advance(1_000_000)
    writer.close()
    return stream.getvalue(), heard


def read(log: bytes, topic: str | None = None) -> list[tuple[Schema | None, McapChannel, Message]]:
    found = make_reader(BytesIO(log), validate_crcs=True).iter_messages(log_time_order=False)
    return [entry for entry in found if topic in (None, entry[1].topic)]


def test_the_same_run_writes_the_same_bytes_without_versions(imu: Imu) -> None:
    log, _ = fly(imu)
    assert fly(imu)[0] == log
    header = make_reader(BytesIO(log)).get_header()
    assert (header.library, header.profile) == ("ghost", "")
    assert mcap.__version__.encode() not in log[:64]


def test_every_message_of_the_bus_is_in_the_log_in_order(imu: Imu) -> None:
    log, heard = fly(imu)
    logged = [
        (channel.topic, message.log_time, message.sequence, message.data)
        for _, channel, message in read(log)
        if "ghost.derived_from" not in channel.metadata
    ]
    assert logged == heard.entries
    assert [entry[2] for entry in logged] == list(range(len(logged)))


def test_log_time_is_the_publish_and_publish_time_the_message_s_own(imu: Imu) -> None:
    times = [
        (message.log_time, message.publish_time)
        for _, _, message in read(fly(imu)[0], BAROMETER.name)
    ]
    # The first was measured before the run began, and MCAP has no time before 0.
    assert times == [(step * 1_000_000, max(step * 1_000_000 - 5, 0)) for step in range(1000)]


def test_mcap_s_own_reader_finds_protobuf_schemas_it_can_parse(imu: Imu) -> None:
    summary = make_reader(BytesIO(fly(imu)[0])).get_summary()
    assert summary is not None
    assert {schema.name for schema in summary.schemas.values()} == {
        "ghost.ImuSample",
        "ghost.BarometerSample",
        "ghost.Event",
        "foxglove.Log",
        "foxglove.PoseInFrame",
        "foxglove.FrameTransform",
    }
    for schema in summary.schemas.values():
        assert schema.encoding == "protobuf"
        package, name = schema.name.split(".")
        files = FileDescriptorSet.FromString(schema.data).file
        assert any(
            file.package == package and any(kind.name == name for kind in file.message_type)
            for file in files
        )


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        (Severity.DEBUG, Log.DEBUG),
        (Severity.INFO, Log.INFO),
        (Severity.WARN, Log.WARNING),
        (Severity.ERROR, Log.ERROR),
        (Severity.CRITICAL, Log.FATAL),
    ],
)
def test_an_event_is_also_a_line_for_foxglove(severity: Severity, level: int) -> None:
    stream = BytesIO()
    writer = LogWriter(stream)
    writer.write(EVENTS, Event(1_000_000_002, severity, "LOW", "battery", "3.1 V"), 7, 0)
    writer.close()
    ((schema, _, message),) = read(stream.getvalue(), "/events/text")
    assert schema is not None
    assert schema.name == "foxglove.Log"
    line = Log.FromString(message.data)
    assert (line.level, line.name, line.message) == (level, "battery", "LOW: 3.1 V")
    assert (line.timestamp.seconds, line.timestamp.nanos) == (1, 2)
    assert message.log_time == 7


def test_a_pose_is_also_a_transform_at_most_fifty_times_a_second(imu: Imu) -> None:
    transforms = read(fly(imu)[0], "/groundtruth/pose/tf")
    assert [message.log_time for _, _, message in transforms] == [
        step * 20_000_000 for step in range(50)
    ]
    transform = FrameTransform.FromString(transforms[1][2].data)
    assert (transform.parent_frame_id, transform.child_frame_id) == ("world", "body")
    assert transform.translation.x == 20.0
    assert (transform.rotation.w, transform.rotation.z) == (0.5, 0.3)


def test_a_depth_image_is_also_one_in_millimetres_at_most_five_times_a_second() -> None:
    stream = BytesIO()
    writer = LogWriter(stream)
    for step in range(31):
        stamp_ns = step * 33_000_000
        image = DepthImage(stamp_ns, step, np.full((2, 3), 0.001 * step, "<f4"))
        writer.write(DEPTH_CAMERA, image, stamp_ns, step)
    writer.close()
    assert len(read(stream.getvalue(), DEPTH_CAMERA.name)) == 31
    views = read(stream.getvalue(), "/sensors/depth_camera/mm")
    assert [message.sequence for _, _, message in views] == [0, 7, 14, 21, 28]
    assert all(
        channel.metadata["ghost.derived_from"] == DEPTH_CAMERA.name for _, channel, _ in views
    )
    view = RawImage.FromString(views[1][2].data)
    assert view.data == np.full(6, 7, "<u2").tobytes()
