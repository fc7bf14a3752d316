"""Every message of the dialect, both ways, beside pymavlink's own packer and parser."""

import math
import struct
from random import Random
from typing import Any

import pytest

from firmware_bridge.frame import Framer
from firmware_bridge.messages import (
    Message,
    decode,
    decode_values,
    dialect,
    encode,
    encode_values,
    id_of,
    known_name,
)

KINDS: list[Any] = list(dialect.mavlink_map.values())
INTEGERS = {
    "uint8_t": (0, 2**8 - 1),
    "int8_t": (-(2**7), 2**7 - 1),
    "uint16_t": (0, 2**16 - 1),
    "int16_t": (-(2**15), 2**15 - 1),
    "uint32_t": (0, 2**32 - 1),
    "int32_t": (-(2**31), 2**31 - 1),
    "uint64_t": (0, 2**64 - 1),
    "int64_t": (-(2**63), 2**63 - 1),
}


def one(random: Random, kind: str) -> float:
    if kind == "double":
        return random.choice([0.0, math.inf, random.uniform(-1e9, 1e9)])
    if kind == "float":
        pick = random.choice([0.0, -0.0, math.inf, random.uniform(-1e9, 1e9)])
        number: float = struct.unpack("<f", struct.pack("<f", pick))[0]
        return number
    low, high = INTEGERS[kind]
    return random.choice([0, low, high, random.randint(low, high)])


def random_message(random: Random, kind: Any) -> Message:
    values: list[Any] = []
    for place, field in zip(kind.orders, kind.fieldtypes, strict=True):
        length = kind.array_lengths[place]
        if field == "char":
            text = random.randbytes(random.randint(0, max(length, 1)))
            values.append(text if length else bytes((random.randrange(1, 256),)))
        elif length:
            values.append([one(random, field) for _ in range(length)])
        else:
            values.append(one(random, field))
    return kind(*values)


@pytest.mark.parametrize("force_v1", [False, True])
def test_all_kinds_agree_with_pymavlink_both_ways(force_v1: bool) -> None:
    random, framer = Random(3), Framer()  # noqa: S311 - test data
    checked = 0
    for kind in KINDS:
        if force_v1 and kind.id > 255:
            continue
        for _ in range(10):
            message = random_message(random, kind)
            sequence, system, component = (random.randrange(256) for _ in range(3))
            theirs = dialect.MAVLink(None, system, component)
            theirs.seq = sequence
            packed = message.pack(theirs, force_mavlink1=force_v1)
            if not force_v1:
                ours = encode(message, system=system, component=component, sequence=sequence)
                assert ours == packed, kind.msgname
            (frame,) = framer.feed(packed)
            assert frame.raw == packed
            source = (frame.system, frame.component, frame.sequence)
            assert source == (system, component, sequence)
            parsed = dialect.MAVLink(None).decode(bytearray(packed))
            decoded: Message = decode(frame)
            assert type(decoded) is type(parsed)
            assert repr(decoded.to_dict()) == repr(parsed.to_dict())  # NaN is like NaN
            sender: dict[str, Any] = {
                "system": system,
                "component": component,
                "sequence": sequence,
            }
            if not force_v1:
                assert encode(decoded, **sender) == packed, kind.msgname
                assert encode_values(kind.id, decode_values(frame), **sender) == packed
            checked += 1
    assert checked >= 1400
    assert framer.counts.bad_crc == framer.counts.noise_bytes == framer.counts.unknown == 0


def test_any_payload_of_any_length_is_decoded() -> None:
    """Another dialect may have more extensions, a MAVLink 1 sender fewer."""
    random, framer = Random(4), Framer()  # noqa: S311 - test data
    for kind in KINDS:
        for size in (1, random.randrange(1, 255), 255):
            payload = random.randbytes(size)
            head = bytes((0xFD, size, 0, 0, 0, 1, 1)) + kind.id.to_bytes(3, "little")
            crc = dialect.x25crc(head[1:] + payload + bytes((kind.crc_extra,))).crc
            (frame,) = framer.feed(head + payload + crc.to_bytes(2, "little"))
            message: Message = decode(frame)
            assert message.get_type() == kind.msgname


def test_names_and_numbers() -> None:
    assert (id_of("HEARTBEAT"), known_name(0)) == (0, "HEARTBEAT")
    with pytest.raises(KeyError, match="no MAVLink message named HEARTBEET"):
        id_of("HEARTBEET")
    assert len(KINDS) > 200
