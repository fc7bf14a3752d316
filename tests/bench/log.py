"""The flight log beside mcap with JSON, and our encoder beside protobuf objects."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mcap.writer import Writer

from ghost.core import SimClock
from ghost.events import Bus
from ghost.hal import ImuSample
from ghost.hal.channels import IMU
from ghost.telemetry import LogWriter
from ghost.telemetry.codec import codec_for
from ghost.telemetry.schema import message_class
from tests.bench.table import Row, per_call_us

STEP_NS = 1_000_000
_noise = np.random.Generator(np.random.Philox(7))  # noise compresses as badly as a real sensor's
SAMPLES = [
    ImuSample(index * STEP_NS, index, *_noise.standard_normal((2, 3))) for index in range(10_000)
]


def encoding_rows(calls: int) -> list[Row]:
    codec = codec_for(ImuSample)
    proto = message_class(codec.schema, codec.name)
    sample = SAMPLES[0]
    accel, gyro = sample.accel_flu_mps2.copy(), sample.gyro_flu_rps.copy()

    def encode(count: int) -> None:
        for _ in range(count):
            codec.encode(sample)

    def encode_objects(count: int) -> None:
        for _ in range(count):
            proto(
                stamp_ns=sample.stamp_ns,
                sequence=sample.sequence,
                accel_flu_mps2=sample.accel_flu_mps2.tolist(),
                gyro_flu_rps=sample.gyro_flu_rps.tolist(),
                temperature_c=sample.temperature_c,
                health=sample.health,
            ).SerializeToString()

    def build(count: int) -> None:
        for index in range(count):
            ImuSample(index, index, accel, gyro)

    data = codec.encode(sample)

    def decode(count: int) -> None:
        for _ in range(count):
            codec.decode(data)

    return [
        Row("encode", per_call_us(encode, calls)),
        Row("encode through a protobuf object", per_call_us(encode_objects, calls)),
        Row("build and seal", per_call_us(build, calls)),
        Row("decode and seal", per_call_us(decode, calls // 4)),
    ]


def rows(calls: int, folder: Path) -> list[Row]:
    ghost, peer = folder / "ghost.mcap", folder / "json.mcap"

    def log(count: int) -> None:
        clock = SimClock()
        bus = Bus(clock)
        with ghost.open("wb") as stream:
            writer = LogWriter(stream)
            bus.attach(writer, name="log")
            for index in range(count):
                clock.advance(STEP_NS)
                bus.publish(IMU, SAMPLES[index % len(SAMPLES)])
            writer.close()

    def log_json(count: int) -> None:
        with peer.open("wb") as stream:
            writer = Writer(stream)
            writer.start()
            schema = writer.register_schema("Imu", "jsonschema", b'{"type":"object"}')
            channel = writer.register_channel("/sensors/imu", "json", schema)
            for index in range(count):
                sample = SAMPLES[index % len(SAMPLES)]
                text = json.dumps(
                    {
                        "stamp_ns": sample.stamp_ns,
                        "sequence": sample.sequence,
                        "accel_flu_mps2": sample.accel_flu_mps2.tolist(),
                        "gyro_flu_rps": sample.gyro_flu_rps.tolist(),
                        "temperature_c": sample.temperature_c,
                        "health": int(sample.health),
                    }
                )
                writer.add_message(channel, index * STEP_NS, text.encode(), index * STEP_NS, index)
            writer.finish()  # type: ignore[no-untyped-call]  # mcap leaves it untyped

    return [
        _row(name, loop, calls, path)
        for name, loop, path in (
            ("ghost, bus to file", log, ghost),
            ("mcap + JSON, no bus", log_json, peer),
        )
    ]


def _row(name: str, loop: Callable[[int], None], calls: int, path: Path) -> Row:
    cost_us = per_call_us(loop, calls)
    size = path.stat().st_size / calls
    return Row(name, cost_us, f"{1e6 / cost_us:9,.0f} messages/s, {size:.0f} bytes/message")
