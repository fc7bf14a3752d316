"""Frames out of a stream. What is promised: a good frame of a known message is found, however the
stream is cut, unless bytes before it form a frame themselves that reaches into it: by a checksum
that fits by chance (1 in 65,536), or by an unknown message id, whose checksum nobody can check,
with a frame's first byte or nothing after it. It may be held back until as many bytes came as a
header before it asks for, 280 at most.
"""

import time
import tracemalloc
from itertools import accumulate
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.frame import MAGIC_V1, MAGIC_V2, Frame, Framer
from firmware_bridge.messages import Message, decode, dialect, encode, known_name
from firmware_bridge.signing import Key, Signer
from tests.firmware_bridge.link_rig import heartbeat

LONGEST_BYTES = 280
FLUSH = bytes(LONGEST_BYTES)
SIGNER = Signer(Key(bytes(32)))


class PackAs:
    """What pymavlink's messages ask of their sender to be packed as MAVLink 1."""

    def __init__(self, sequence: int) -> None:
        self.mav = dialect.MAVLink(None, 1, 1)
        self.mav.seq = sequence

    def __call__(self, message: Message) -> bytes:
        packed: bytes = message.pack(self.mav, force_mavlink1=True)
        return packed


def attitude(number: int) -> Message:
    return dialect.MAVLink_attitude_message(number, 0.1, -0.2, 3.0, 0.0, 0.0, 0.0)


def unknown(number: int, size: int) -> bytes:
    """A frame of a message that the dialect lacks."""
    head = bytes((MAGIC_V2, size, 0, 0, number & 0xFF, 1, 1)) + (60_000).to_bytes(3, "little")
    return head + bytes(size) + b"\x12\x34"


@st.composite
def frames(draw: st.DrawFn, *, with_unknown: bool = False) -> bytes:
    number = draw(st.integers(0, 255))
    message = draw(st.sampled_from([heartbeat(), attitude(number)]))
    kinds = ["v1", "v2", "signed", *(["unknown"] if with_unknown else [])]
    match draw(st.sampled_from(kinds)):
        case "v1":
            return PackAs(number)(message)
        case "v2":
            return encode(message, system=1, component=1, sequence=number)
        case "signed":
            return SIGNER.sign(encode(message, system=1, component=1, sequence=number, signed=True))
        case _:
            return unknown(number, draw(st.integers(0, 255)))


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({place % (len(stream) + 1) for place in places})
    return [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True)]


def feed(pieces: list[bytes]) -> tuple[list[Frame], Framer]:
    framer, found = Framer(), []
    for piece in pieces:
        found += framer.feed(piece)
        assert len(framer._rest) < LONGEST_BYTES
    return found, framer


CUTS = st.lists(st.integers(0, 5000), max_size=40)


@given(st.lists(frames(with_unknown=True), max_size=10), CUTS)
def test_frames_cut_anywhere_come_out_whole(sent: list[bytes], places: list[int]) -> None:
    found, framer = feed(cut(b"".join(sent), places))
    assert [frame.raw for frame in found] == sent
    assert framer.counts.frames == len(sent)
    assert (framer.counts.noise_bytes, framer.counts.bad_crc) == (0, 0)


NOISE = st.binary(max_size=40).map(lambda noise: bytes(set(noise) - {MAGIC_V1, MAGIC_V2}))


@given(st.lists(st.tuples(NOISE, frames()), max_size=10), CUTS)
def test_noise_without_a_first_byte_costs_nothing(
    sent: list[tuple[bytes, bytes]], places: list[int]
) -> None:
    found, framer = feed(cut(b"".join(noise + frame for noise, frame in sent), places))
    assert [frame.raw for frame in found] == [frame for _, frame in sent]
    assert framer.counts.noise_bytes == sum(len(noise) for noise, _ in sent)


def by_pymavlink(stream: bytes) -> list[bytes]:
    """The frames of a stream as pymavlink judges them, tried at every byte."""
    found, at = [], 0
    while at < len(stream):
        size = 0
        if stream[at] in (MAGIC_V1, MAGIC_V2) and at + 3 <= len(stream):
            is_v2 = stream[at] == MAGIC_V2
            size = (12 if is_v2 else 8) + stream[at + 1]
            size += 13 if is_v2 and stream[at + 2] == 1 else 0
            if is_v2 and stream[at + 2] > 1:
                size = 0
        raw = stream[at : at + size]
        if size and len(raw) == size and is_known_to_pymavlink(raw):
            found.append(raw)
            at += size
        else:
            at += 1
    return found


def is_known_to_pymavlink(raw: bytes) -> bool:
    try:
        message = dialect.MAVLink(None).decode(bytearray(raw))
    except dialect.MAVError:
        return False
    return not isinstance(message, dialect.MAVLink_unknown)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    raw = bytearray(draw(frames()))
    match draw(st.sampled_from(["cut", "flip", "twice", "noise", "header"])):
        case "cut":
            return bytes(raw[: draw(st.integers(0, len(raw)))])
        case "flip":
            raw[draw(st.integers(0, len(raw) - 1))] ^= 1 << draw(st.integers(0, 7))
            return bytes(raw)
        case "twice":
            return bytes(raw + raw)
        case "noise":
            return draw(st.binary(max_size=60))
        case _:
            return bytes((MAGIC_V1, *draw(st.binary(min_size=1, max_size=9))))


@settings(max_examples=300, deadline=None)
@given(st.lists(frames() | damaged(), max_size=12), CUTS)
def test_what_is_found_among_damage_is_what_pymavlink_finds_byte_by_byte(
    sent: list[bytes], places: list[int]
) -> None:
    stream = b"".join(sent) + FLUSH
    found, framer = feed(cut(stream, places))
    if framer.counts.unknown == 0:
        assert [frame.raw for frame in found] == by_pymavlink(stream)
    counted = framer.counts.noise_bytes + sum(len(frame.raw) for frame in found)
    assert counted == len(stream)


def test_a_frame_that_asks_for_what_nobody_knows_is_not_waited_for() -> None:
    good = encode(heartbeat(), system=1, component=1, sequence=0)
    odd = bytearray(good)
    odd[1], odd[2] = 255, 0x02
    framer = Framer()
    assert framer.feed(bytes(odd[:3])) == []
    assert [frame.raw for frame in framer.feed(good)] == [good]


def test_an_unknown_message_is_passed_on_and_noise_that_looks_like_one_is_not() -> None:
    strange, good = unknown(7, 30), encode(heartbeat(), system=1, component=1, sequence=0)
    framer = Framer()
    (frame, after) = framer.feed(strange + good)
    assert (frame.raw, frame.message_id, frame.sequence) == (strange, 60_000, 7)
    assert decode(frame) is None
    assert known_name(frame.message_id) == "message 60000"
    assert after.raw == good
    assert framer.counts.unknown == 1
    assert [frame.raw for frame in Framer().feed(strange + b"\x00" + good)] == [good]


def test_the_parts_of_a_frame_are_what_its_header_says() -> None:
    raw = SIGNER.sign(encode(attitude(5), system=7, component=9, sequence=200, signed=True))
    (frame,) = Framer().feed(raw)
    assert (frame.system, frame.component, frame.sequence, frame.message_id) == (7, 9, 200, 30)
    assert frame.signature == raw[-13:]
    assert frame.payload == raw[10:-15]
    (old,) = Framer().feed(PackAs(3)(attitude(5)))
    assert (old.system, old.component, old.sequence, old.message_id) == (1, 1, 3, 30)
    assert (old.payload[:4], old.signature) == (frame.payload[:4], b"")


def test_100_000_fuzzed_frames_raise_nothing_keep_nothing_and_hide_no_good_frame() -> None:
    """Every tenth is whole. One that is missing must begin or end inside a false frame."""
    random, framer = Random(1), Framer()  # noqa: S311 - noise
    whole = [
        encode(attitude(number), system=1, component=1, sequence=number & 0xFF)
        for number in range(10_000)
    ]
    basis = [PackAs(1)(heartbeat()), whole[1], SIGNER.sign(whole[2]), unknown(1, 20)]
    pieces = [
        whole[number // 10] if number % 10 == 9 else fuzzed(random, random.choice(basis))
        for number in range(100_000)
    ]
    found: list[Frame] = []
    for piece in pieces:  # in two reads each
        found += framer.feed(piece[:11])
        found += framer.feed(piece[11:])
    found += framer.feed(FLUSH)
    assert sum(decode(frame) is not None for frame in found) >= 9_900
    assert framer.counts.bad_crc > 30_000

    starts = list(accumulate((len(piece) for piece in pieces), initial=0))[9::10]
    covers, end = set[int](), 0  # every byte of a frame that was found, by its place
    stream = b"".join(pieces)
    places = set[int]()
    for frame in found:
        start = stream.index(frame.raw, end)
        end = start + len(frame.raw)
        places.add(start)
        covers.update(range(start, end))
    missing = [
        (start, start + len(raw) - 1)
        for start, raw in zip(starts, whole, strict=True)
        if start not in places
    ]
    assert all(first in covers or last in covers for first, last in missing)
    assert len(missing) < 100


def test_a_stream_of_noise_takes_no_memory_and_no_more_time_than_it_is_long() -> None:
    random, framer = Random(2), Framer()  # noqa: S311 - noise
    worst = bytes((MAGIC_V2, 255, 0)) * 20_000  # a header at every third byte
    for data in (worst, worst[:60]):
        framer.feed(data)
    tracemalloc.start()
    began_s = time.perf_counter()
    for _ in range(100_000):
        framer.feed(random.randbytes(20))
    for _ in range(3):
        framer.feed(worst)
    took_s = time.perf_counter() - began_s
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1_000_000
    assert took_s < 15.0


def test_false_starts_cost_little_and_no_more_each_in_a_longer_stream() -> None:
    for noise in (bytes((MAGIC_V1, 255)), bytes((0, MAGIC_V1)), bytes((MAGIC_V2, 255, 0))):
        short, long = (took_s(noise * (size // len(noise))) for size in (4096, 131_072))
        assert short < 0.02, noise
        assert long < 4 * 32 * short, noise


def took_s(stream: bytes) -> float:
    """At best of a few."""
    times_s = []
    for _ in range(3):
        began_s = time.perf_counter()
        Framer().feed(stream)
        times_s.append(time.perf_counter() - began_s)
    return min(times_s)


@given(st.lists(frames(), max_size=10), NOISE)
def test_a_datagram_gives_what_it_begins_with_and_keeps_nothing(
    sent: list[bytes], noise: bytes
) -> None:
    framer = Framer()
    found = framer.feed_datagram(b"".join(sent) + noise)
    assert [frame.raw for frame in found] == sent
    assert (framer.counts.noise_bytes, framer._rest) == (len(noise), b"")


def test_a_datagram_of_noise_is_looked_at_once() -> None:
    framer = Framer()
    good = encode(heartbeat(), system=1, component=1, sequence=0)
    for datagram in (b"", b"x" + good, good[:-1], bytes((MAGIC_V1, 255)) * 2000, good[:-2] + good):
        assert framer.feed_datagram(datagram) == []
        assert framer.counts.bad_crc <= 2
    assert framer.feed_datagram(good)[0].raw == good


def fuzzed(random: Random, raw: bytes) -> bytes:
    piece = bytearray(raw)
    match random.randrange(4):
        case 0:
            piece = piece[: random.randrange(len(piece))]
        case 1:
            for _ in range(random.randint(1, 4)):
                piece[random.randrange(len(piece))] ^= 1 << random.randrange(8)
        case 2:
            piece = bytearray(random.randbytes(random.randrange(60)))
        case _:
            at = random.randrange(len(piece))
            piece[at:at] = random.randbytes(random.randrange(1, 8))
    return bytes(piece)
