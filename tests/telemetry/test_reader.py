import csv
import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foxglove_schemas_protobuf.Log_pb2 import Log
from mcap.writer import Writer

from ghost.core.channels import Channel
from ghost.core.clock import SimClock
from ghost.core.errors import LogError
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal import message
from ghost.hal.channels import (
    BAROMETER,
    CMD_ACK,
    GPS,
    GROUNDTRUTH_POSE,
    IMU,
    LASER_SCAN,
    POINT_CLOUD,
    RGB_CAMERA,
)
from ghost.hal.commands import (
    AckStatus,
    CommandAck,
    RejectReason,
    VelocityCommand,
)
from ghost.hal.message import Points
from ghost.hal.samples import (
    BarometerSample,
    GpsSample,
    Health,
    ImuSample,
    LaserScan,
    PointCloud,
    Pose,
    RgbImage,
)
from ghost.telemetry import LogReader, LogWriter, Manifest, channel_sha256, export_csv, log_path
from ghost.telemetry.codec import codec_for
from ghost.telemetry.png import encode_png
from ghost.telemetry.schema import extended_schema

Imu = Callable[[int], ImuSample]
RecordRun = Callable[[Path, int], Manifest]
Sent = tuple[Channel[Any], Any]


def some_messages() -> list[Sent]:
    return [
        (IMU, ImuSample(-5, 0, np.array([0.1, -0.0, np.nan]), np.array([1e-300, np.inf, 3.0]))),
        (EVENTS, Event(1, Severity.ERROR, "LOW", "battery", "3.1 V", {"cell": [1, 2], "ü": None})),
        (GROUNDTRUTH_POSE, Pose(2, np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5, 0.5]))),
        (
            GPS,
            GpsSample(
                3, 1, 47.1, 8.2, 400.0, np.ones(3), np.arange(9.0).reshape(3, 3), 0.2, satellites=9
            ),
        ),
        (LASER_SCAN, LaserScan(4, 2, -1.5, 1.5, np.array([1.0, np.inf]), health=Health.DEGRADED)),
        (RGB_CAMERA, RgbImage(5, 3, np.arange(12, dtype=np.uint8).reshape(2, 2, 3))),
        (POINT_CLOUD, PointCloud(6, 4, np.array([[0.1, 0.2, 0.3]], dtype=np.float32))),
        (
            CMD_ACK,
            CommandAck(
                stamp_ns=7,
                command_stamp_ns=6,
                command_sequence=1,
                status=AckStatus.SATURATED,
                reason=RejectReason.NONE,
                detail="too fast",
                applied=VelocityCommand(6, 1, np.ones(3), 0.5),
            ),
        ),
        (BAROMETER, BarometerSample(8, 5, 101_325.0, 20.0, extensions={"raw": 17})),
        (IMU, ImuSample(9, 1, np.ones(3), np.zeros(3))),
        (EVENTS, Event(10, Severity.INFO, "FINE", "battery")),
    ]


def write(path: Path, sent: Sequence[Sent], *, step_ns: int = 1_000) -> Path:
    clock = SimClock()
    bus = Bus(clock)
    with path.open("wb") as stream:
        writer = LogWriter(stream)
        bus.attach(writer, name="log")
        for channel, payload in sent:
            bus.publish(channel, payload)
            clock.advance(step_ns)
        writer.close()
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.mcap", some_messages())


def write_foreign(
    path: Path,
    *,
    topic: str = "/chat",
    schema: tuple[str, str, bytes] | None = ("Chat", "jsonschema", b'{"type": "object"}'),
    encoding: str = "json",
    data: bytes = b'{"text": "hello"}',
    metadata: dict[str, str] | None = None,
    **options: Any,
) -> Path:
    """An MCAP file that somebody else wrote."""
    with path.open("wb") as stream:
        writer = Writer(stream, **options)
        writer.start()
        schema_id = 0 if schema is None else writer.register_schema(*schema)
        channel = writer.register_channel(topic, encoding, schema_id, metadata or {})
        writer.add_message(channel, 5, data, 5, 0)
        writer.finish()  # type: ignore[no-untyped-call]  # mcap leaves it untyped
    return path


def protobuf_schema(message_type: type) -> tuple[str, str, bytes]:
    codec = codec_for(message_type)
    return codec.name, "protobuf", codec.schema.SerializeToString()


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(LogError) as caught:
        act()
    line = str(caught.value)
    assert "\n" not in line
    return line


# Messages.


def test_messages_come_back_typed_equal_and_in_order(log: Path) -> None:
    records = list(LogReader(log).messages())
    assert [(record.channel, record.message) for record in records] == some_messages()
    assert [record.stamp_ns for record in records] == [step * 1_000 for step in range(11)]
    assert [record.sequence for record in records] == list(range(11))
    assert all(type(record.message) is record.channel.message_type for record in records)


def test_the_messages_read_are_sealed_like_any_other(log: Path) -> None:
    record = next(LogReader(log).messages([IMU.name]))
    with pytest.raises(ValueError, match="read-only"):
        record.message.accel_flu_mps2[0] = 1.0


@pytest.mark.parametrize(
    ("chosen", "sequences"),
    [
        ([IMU.name], [0, 9]),
        ([EVENTS.name, IMU.name], [0, 1, 9, 10]),
        ([BAROMETER.name, GPS.name, CMD_ACK.name], [3, 7, 8]),
        ([], []),
        (None, list(range(11))),
    ],
)
def test_a_filter_leaves_order_and_numbers_alone(
    log: Path, chosen: list[str] | None, sequences: list[int]
) -> None:
    assert [record.sequence for record in LogReader(log).messages(chosen)] == sequences


def test_a_reader_can_be_read_again_and_by_two_at_once(log: Path) -> None:
    reader = LogReader(log)
    pairs = zip(reader.messages(), reader.messages(), strict=True)
    assert all(one == other for one, other in pairs)
    assert len(list(reader.messages())) == 11


def test_raw_records_hold_every_channel_with_both_times(log: Path) -> None:
    raw = list(LogReader(log).raw())
    assert [entry.channel for entry in raw[:4]] == [
        "/sensors/imu",
        "/events",
        "/events/text",
        "/groundtruth/pose",
    ]
    assert [(entry.stamp_ns, entry.publish_ns) for entry in raw[:2]] == [(0, 0), (1_000, 1)]
    assert raw[0].data == codec_for(ImuSample).encode(some_messages()[0][1])
    assert [entry.channel for entry in LogReader(log).raw(["/events/text"])] == 2 * ["/events/text"]


def test_the_summary_tells_channels_and_times(log: Path) -> None:
    reader = LogReader(log)
    assert (reader.start_ns, reader.end_ns) == (0, 10_000)
    imu, text = reader.channels["/sensors/imu"], reader.channels["/events/text"]
    assert (imu.schema, imu.count, imu.derived_from) == ("ghost.ImuSample", 2, None)
    assert (text.schema, text.count, text.derived_from) == ("foxglove.Log", 2, "/events")


def test_a_run_folder_and_its_file_are_the_same_log(log: Path) -> None:
    assert log_path(log.parent) == log_path(log) == log_path(str(log)) == log
    assert list(LogReader(str(log.parent)).messages()) == list(LogReader(log).messages())


def test_an_empty_log_holds_nothing(tmp_path: Path) -> None:
    reader = LogReader(write(tmp_path / "log.mcap", []))
    assert (reader.channels, list(reader.messages()), list(reader.raw())) == ({}, [], [])
    assert refusal(lambda: reader.messages([IMU.name])).endswith(
        "has no channel /sensors/imu; it has none"
    )


# Types that Ghost doesn't know.


@message
class Wind:
    stamp_ns: int
    gusts_mps: Points


def test_a_type_of_one_s_own_is_read_when_given(tmp_path: Path) -> None:
    channel = Channel("/weather/wind", Wind)
    gusts = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = write(tmp_path / "log.mcap", [(channel, Wind(1, gusts))])
    (record,) = LogReader(path, types=[Wind]).messages()
    assert (record.channel, record.message) == (channel, Wind(1, gusts))
    assert refusal(LogReader(path).messages) == (
        f"{path}: /weather/wind carries Wind, which this reader doesn't know; "
        "pass the class as LogReader(path, types=[...])"
    )


def test_an_unknown_type_is_no_obstacle_to_the_other_channels(tmp_path: Path, imu: Imu) -> None:
    wind = Wind(1, np.zeros((1, 3), np.float32))
    path = write(tmp_path / "log.mcap", [(Channel("/wind", Wind), wind), (IMU, imu(3))])
    assert [record.message for record in LogReader(path).messages([IMU.name])] == [imu(3)]


def test_a_channel_whose_schema_is_of_another_type_is_named(tmp_path: Path) -> None:
    path = write_foreign(
        tmp_path / "log.mcap",
        topic=IMU.name,
        schema=protobuf_schema(BarometerSample),
        encoding="protobuf",
        data=codec_for(BarometerSample).encode(BarometerSample(1, 0, 2.0, 3.0)),
        metadata={"ghost.type": "ImuSample"},
    )
    assert refusal(lambda: list(LogReader(path).messages())) == (
        f"{path}: /sensors/imu: the schema is ghost.BarometerSample; expected ghost.ImuSample"
    )


def test_a_type_that_has_changed_since_is_named(tmp_path: Path) -> None:
    name, encoding, schema = protobuf_schema(BarometerSample)
    path = write_foreign(
        tmp_path / "log.mcap",
        topic=BAROMETER.name,
        schema=(name, encoding, schema.replace(b"pressure_pa", b"pressure_hp")),
        encoding="protobuf",
        data=codec_for(BarometerSample).encode(BarometerSample(1, 0, 2.0, 3.0)),
        metadata={"ghost.type": "BarometerSample"},
    )
    line = refusal(lambda: list(LogReader(path).messages()))
    assert line.startswith(f"{path}: /sensors/barometer: not a BarometerSample as this Ghost")
    assert "pressure_pa" in line


@pytest.mark.parametrize("data", [b"", b"\xff\xff\xff", b'{"text": "hello"}'])
def test_bytes_that_are_no_such_message_are_named(tmp_path: Path, data: bytes) -> None:
    path = write_foreign(
        tmp_path / "log.mcap",
        topic=IMU.name,
        schema=protobuf_schema(ImuSample),
        encoding="protobuf",
        data=data,
        metadata={"ghost.type": "ImuSample"},
    )
    line = refusal(lambda: list(LogReader(path).messages()))
    assert line.startswith(f"{path}: /sensors/imu: not a ImuSample as this Ghost knows it: ")


@pytest.mark.parametrize("schema", [b"not a descriptor", b"", b"\x0a\x03\x0a\x01x"])
def test_a_schema_that_is_not_protobuf_is_named(tmp_path: Path, schema: bytes) -> None:
    path = write_foreign(
        tmp_path / "log.mcap",
        topic=IMU.name,
        schema=("ghost.ImuSample", "protobuf", schema),
        metadata={"ghost.type": "ImuSample"},
    )
    expected = f"{path}: /sensors/imu: schema ghost.ImuSample in the log is not readable protobuf: "
    assert refusal(lambda: list(LogReader(path).messages())).startswith(expected)
    assert refusal(lambda: export_csv(LogReader(path), tmp_path / "csv")).startswith(expected)


# Files that are no such log.


def test_a_foreign_mcap_is_listed_and_hashed_but_not_read(tmp_path: Path) -> None:
    path = write_foreign(tmp_path / "chat.mcap")
    reader = LogReader(path)
    assert (reader.channels["/chat"].schema, reader.channels["/chat"].count) == ("Chat", 1)
    assert refusal(reader.messages) == (
        f"{path}: /chat was not written by Ghost; if it is protobuf, `ghost log export` reads it"
    )
    assert refusal(lambda: export_csv(reader, tmp_path / "csv")) == (
        f"{path}: /chat: the schema is jsonschema; Ghost reads protobuf alone"
    )
    assert len(channel_sha256(reader, "/chat")) == 64


def test_a_foreign_channel_without_a_schema_is_no_damage(tmp_path: Path) -> None:
    path = write_foreign(tmp_path / "chat.mcap", schema=None)
    reader = LogReader(path)
    assert reader.channels["/chat"].schema == ""
    assert [raw.data for raw in reader.raw()] == [b'{"text": "hello"}']
    assert refusal(lambda: export_csv(reader, tmp_path / "csv")) == (
        f"{path}: /chat: the schema is missing; Ghost reads protobuf alone"
    )


def test_a_file_without_repeated_schemas_is_read(tmp_path: Path) -> None:
    path = write_foreign(tmp_path / "chat.mcap", repeat_schemas=False)
    assert LogReader(path).channels["/chat"].schema == ""


def test_a_file_without_a_summary_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = write_foreign(
        tmp_path / "chat.mcap",
        use_statistics=False,
        use_summary_offsets=False,
        repeat_channels=False,
        repeat_schemas=False,
        use_chunking=False,
    )
    assert refusal(lambda: LogReader(path)) == (
        f"{path} was written without a summary; `mcap recover` adds one"
    )


@pytest.mark.parametrize("content", [b"", b"\x89MCAP", b"stamp,value\n1,2\n", b"\x00" * 100])
def test_what_is_not_mcap_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.mcap"
    path.write_bytes(content)
    assert refusal(lambda: LogReader(path)) == f"{path} is not an MCAP file"


def test_a_log_that_was_cut_off_is_refused_with_the_way_to_repair_it(log: Path) -> None:
    whole = log.read_bytes()
    for size in range(8, len(whole), 97):
        log.write_bytes(whole[:size])
        line = refusal(lambda: LogReader(log))
        assert line.startswith(f"{log} was cut off or damaged (")
        assert line.endswith("); run `ghost log recover`")


def test_damage_within_is_noticed_where_it_is_read(log: Path) -> None:
    content = bytearray(log.read_bytes())
    content[200] ^= 0xFF
    log.write_bytes(content)
    line = refusal(lambda: list(LogReader(log).messages()))
    assert line.startswith(f"{log} is damaged (")
    assert line.endswith("); run `ghost log recover`")


def test_a_place_without_a_log_is_refused(tmp_path: Path) -> None:
    way_out = "; give a run folder or an .mcap file"
    log = tmp_path / "log.mcap"
    assert refusal(lambda: LogReader(tmp_path)) == f"no flight log at {log}{way_out}"
    assert (
        refusal(lambda: LogReader(tmp_path / "x")) == f"no flight log at {tmp_path / 'x'}{way_out}"
    )
    log.mkdir()
    assert refusal(lambda: LogReader(tmp_path)) == f"no flight log at {log}{way_out}"


def test_an_unknown_channel_is_refused_at_once_with_the_known_ones(log: Path) -> None:
    reader = LogReader(log)
    line = refusal(lambda: reader.messages(["/sensors/inu"]))
    assert line == refusal(lambda: reader.raw(["/sensors/inu"]))
    assert line.startswith(f"{log} has no channel /sensors/inu; it has /sensors/imu, /events, ")


# One channel's hash.


def test_a_channel_s_hash_is_that_of_its_times_and_messages(log: Path) -> None:
    expected = hashlib.sha256()
    for stamp_ns, sample in ((0, some_messages()[0][1]), (9_000, some_messages()[9][1])):
        data = codec_for(ImuSample).encode(sample)
        expected.update(struct.pack("<QI", stamp_ns, len(data)) + data)
    assert channel_sha256(LogReader(log), IMU.name) == expected.hexdigest()


def test_a_channel_s_hash_ignores_the_others_and_nothing_of_its_own(tmp_path: Path) -> None:
    def hash_of(name: str, sent: list[Sent], step_ns: int = 1_000) -> str:
        path = write(tmp_path / f"{name}.mcap", sent, step_ns=step_ns)
        return channel_sha256(LogReader(path), IMU.name)

    sent = some_messages()
    only = hash_of("all", sent[:1])
    assert hash_of("others", sent[:9]) == only
    assert hash_of("later", [*sent[1:2], sent[0]]) != only
    assert hash_of("more", [sent[0], sent[9]]) != only
    assert hash_of("slower", [sent[0], sent[9]], 2_000) != hash_of("faster", [sent[0], sent[9]])


def test_the_hash_of_an_unknown_channel_is_refused(log: Path) -> None:
    assert "has no channel /nope" in refusal(lambda: channel_sha256(LogReader(log), "/nope"))


# CSV.


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def export(log: Path, *channels: str) -> dict[str, list[dict[str, str]]]:
    written = export_csv(LogReader(log), log.parent / "csv", channels or None)
    return {name: rows_of(path) for name, path in written.items()}


def test_arrays_become_columns_that_read_back_exactly(log: Path) -> None:
    rows = export(log, IMU.name)[IMU.name]
    assert list(rows[0]) == [
        "log_time_ns",
        "stamp_ns",
        "sequence",
        *(f"accel_flu_mps2[{axis}]" for axis in range(3)),
        *(f"gyro_flu_rps[{axis}]" for axis in range(3)),
        "temperature_c",
        "health",
        "extensions_json",
    ]
    assert [(row["log_time_ns"], row["stamp_ns"], row["sequence"]) for row in rows] == [
        ("0", "-5", "0"),
        ("9000", "9", "1"),
    ]
    for row, sample in zip(rows, (some_messages()[0][1], some_messages()[9][1]), strict=True):
        for name in ("accel_flu_mps2", "gyro_flu_rps"):
            values = np.array([float(row[f"{name}[{axis}]"]) for axis in range(3)])
            assert values.tobytes() == getattr(sample, name).tobytes()
    assert (rows[0]["temperature_c"], rows[0]["health"]) == ("25.0", "HEALTH_OK")


def test_events_keep_their_payload_as_json(log: Path) -> None:
    first, second = export(log, EVENTS.name)[EVENTS.name]
    assert json.loads(first.pop("payload_json")) == {"cell": [1, 2], "ü": None}
    assert first == {
        "log_time_ns": "1000",
        "stamp_ns": "1",
        "severity": "SEVERITY_ERROR",
        "kind": "LOW",
        "source": "battery",
        "text": "3.1 V",
        "correlation_id": "",
    }
    assert (second["kind"], second["text"], second["payload_json"]) == ("FINE", "", "")


def test_inner_messages_become_dotted_columns(log: Path) -> None:
    tables = export(log)
    (pose,) = tables[GROUNDTRUTH_POSE.name]
    assert (pose["pose.position.y"], pose["pose.orientation.w"]) == ("2.0", "0.5")
    assert pose["child_frame_id"] == "body"
    (ack,) = tables[CMD_ACK.name]
    assert ack["applied_velocity_command.velocity_enu_mps[2]"] == "1.0"
    assert (ack["detail"], ack["status"]) == ("too fast", "ACKSTATUS_SATURATED")
    (gps,) = tables[GPS.name]
    assert [gps[f"position_covariance[{index}]"] for index in range(9)] == [
        f"{index}.0" for index in range(9)
    ]


def test_images_and_clouds_are_given_by_size(log: Path) -> None:
    tables = export(log, RGB_CAMERA.name, POINT_CLOUD.name)
    picture = encode_png(np.arange(12, dtype=np.uint8).reshape(2, 2, 3))
    expected = [f"{len(picture)} bytes", "12 bytes"]
    assert [table[0]["data"] for table in tables.values()] == expected


def test_every_channel_is_a_file_named_after_it(log: Path) -> None:
    written = export_csv(LogReader(log), log.parent / "deep" / "csv")
    assert list(written) == list(LogReader(log).channels)
    assert written["/groundtruth/pose/tf"].name == "groundtruth_pose_tf.csv"
    assert sorted(path.name for path in (log.parent / "deep" / "csv").iterdir()) == sorted(
        path.name for path in written.values()
    )
    assert len(rows_of(written["/events/text"])) == 2


def test_chosen_channels_alone_are_written(log: Path) -> None:
    export(log, BAROMETER.name, IMU.name)
    assert sorted(path.name for path in (log.parent / "csv").iterdir()) == [
        "sensors_barometer.csv",
        "sensors_imu.csv",
    ]


def test_an_unknown_channel_is_refused_before_anything_is_written(log: Path) -> None:
    reader = LogReader(log)
    line = refusal(lambda: export_csv(reader, log.parent / "csv", [IMU.name, "/sensors/inu"]))
    assert "has no channel /sensors/inu; it has /sensors/imu, " in line
    assert not (log.parent / "csv").exists()


def test_a_second_export_takes_the_place_of_the_first(log: Path) -> None:
    assert export(log) == export(log)


def test_two_channels_of_one_file_name_are_refused(tmp_path: Path, imu: Imu) -> None:
    sent = [(IMU, imu(0)), (Channel("/sensors_imu", ImuSample), imu(1))]
    log = write(tmp_path / "log.mcap", sent)
    line = refusal(lambda: export(log))
    assert line == (
        f"/sensors_imu and another channel would both be {tmp_path / 'csv' / 'sensors_imu.csv'}; "
        "export one at a time"
    )
    assert export(log, "/sensors_imu")["/sensors_imu"][0]["sequence"] == "1"


def test_columns_are_those_of_the_first_message(tmp_path: Path) -> None:
    scans = [LaserScan(0, n, 0.0, 1.0, np.full(n, 7.0)) for n in (2, 3, 1)]
    log = write(tmp_path / "log.mcap", [(LASER_SCAN, scan) for scan in scans])
    rows = export(log)[LASER_SCAN.name]
    assert [(row["ranges[0]"], row["ranges[1]"]) for row in rows] == [
        ("7.0", "7.0"),
        ("7.0", "7.0"),
        ("7.0", ""),
    ]
    assert "ranges[2]" not in rows[0]


def test_any_protobuf_mcap_can_be_exported(tmp_path: Path) -> None:
    log = write_foreign(
        tmp_path / "log.mcap",
        topic="console",
        schema=(
            "foxglove.Log",
            "protobuf",
            extended_schema(Log.DESCRIPTOR, []).SerializeToString(),
        ),
        encoding="protobuf",
        data=Log(message='a "quoted",\nbroken line', level=Log.ERROR).SerializeToString(),
    )
    (row,) = export(log)["console"]
    assert (row["log_time_ns"], row["level"], row["message"]) == (
        "5",
        "ERROR",
        'a "quoted",\nbroken line',
    )


def test_bytes_that_their_schema_can_t_read_are_named(tmp_path: Path) -> None:
    log = write_foreign(
        tmp_path / "log.mcap",
        schema=protobuf_schema(ImuSample),
        encoding="protobuf",
        data=b"\xff\xff\xff",
    )
    assert refusal(lambda: export(log)) == (
        f"{log}: /chat holds a message that is not ghost.ImuSample"
    )


def test_a_log_in_memory_and_one_on_disk_are_the_same(tmp_path: Path, imu: Imu) -> None:
    stream = BytesIO()
    writer = LogWriter(stream)
    writer.write(IMU, imu(1), 0, 0)
    writer.close()
    assert write(tmp_path / "log.mcap", [(IMU, imu(1))]).read_bytes() == stream.getvalue()
