"""Signatures: ours, pymavlink's, wrong ones, old ones, none; the key's file and its secrecy."""

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import signing
from firmware_bridge.frame import Frame, Framer
from firmware_bridge.messages import Message, dialect, encode
from firmware_bridge.modes import ARMED_FLAG
from firmware_bridge.signing import Key, Signer, TimeFile, link_signer, make_key, read_key
from firmware_bridge.vehicle import Vehicle
from ghost.core.errors import ConfigError, StalledError
from tests.firmware_bridge.link_rig import MS, Station, free_port, heartbeat, stations, together

SECRET = bytes(range(32))
KEY = Key(SECRET)
DAY = 24 * 3600 * signing.TICKS_PER_S


def ping(number: int = 0) -> Message:
    return dialect.MAVLink_ping_message(0, number, 0, 0)


def signed(signer: Signer, message: Message, sequence: int = 0) -> bytes:
    return signer.sign(encode(message, system=1, component=1, sequence=sequence, signed=True))


def frame_of(raw: bytes) -> Frame:
    (frame,) = Framer().feed(raw)
    return frame


def ticks_of(raw: bytes) -> int:
    return int.from_bytes(raw[-12:-6], "little")


def test_what_one_signs_the_other_accepts_once() -> None:
    sender, receiver = Signer(KEY, link_id=3), Signer(KEY)
    frames = [frame_of(signed(sender, ping(number))) for number in range(100)]
    assert all(receiver.accepts(frame) for frame in frames)
    assert not any(receiver.accepts(frame) for frame in frames)  # said again by somebody else
    assert {frame.signature[0] for frame in frames} == {3}


def test_another_key_is_refused() -> None:
    assert not Signer(KEY).accepts(frame_of(signed(Signer(Key(bytes(32))), ping())))


@given(st.integers(0, 8 * 12 - 1))
def test_one_changed_bit_of_a_signature_is_refused(bit: int) -> None:
    raw = bytearray(signed(Signer(KEY), ping()))
    raw[-13 + bit // 8] ^= 1 << bit % 8
    assert not Signer(KEY).accepts(frame_of(bytes(raw)))


def test_without_a_signature_only_a_radio_is_heard() -> None:
    radio = dialect.MAVLink_radio_status_message(1, 1, 1, 1, 1, 1, 1)
    for message, is_accepted in ((radio, True), (ping(), False), (heartbeat(), False)):
        unsigned = encode(message, system=1, component=1, sequence=0)
        assert Signer(KEY).accepts(frame_of(unsigned)) is is_accepted
        old = message.pack(dialect.MAVLink(None, 1, 1), force_mavlink1=True)
        assert Signer(KEY).accepts(frame_of(old)) is is_accepted


def test_a_heartbeat_with_a_wrong_signature_is_refused() -> None:
    assert not Signer(KEY).accepts(frame_of(signed(Signer(Key(bytes(32))), heartbeat())))


def test_a_stream_that_is_new_may_be_a_minute_behind_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver = Signer(KEY)
    now = receiver.timestamp_ticks
    for behind_s, is_accepted in ((59, True), (61, False)):
        at(monkeypatch, now - behind_s * signing.TICKS_PER_S)
        sender = Signer(KEY, link_id=behind_s)
        assert receiver.accepts(frame_of(signed(sender, ping()))) is is_accepted


def test_each_stream_has_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    receiver = Signer(KEY)
    ahead = Signer(KEY, link_id=1)
    at(monkeypatch, receiver.timestamp_ticks - 30 * signing.TICKS_PER_S)
    behind = Signer(KEY, link_id=2)
    for _ in range(5):
        assert receiver.accepts(frame_of(signed(ahead, ping())))
        assert receiver.accepts(frame_of(signed(behind, ping())))


def test_a_peer_whose_clock_is_ahead_is_followed_but_not_to_the_end_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = Signer(KEY)
    at(monkeypatch, ours.timestamp_ticks + DAY)
    ahead = Signer(KEY)
    monkeypatch.undo()
    assert ours.accepts(frame_of(signed(ahead, ping())))
    assert ahead.accepts(frame_of(signed(ours, ping())))
    at(monkeypatch, (1 << 48) - 10)
    assert not ours.accepts(frame_of(signed(Signer(KEY), ping())))
    monkeypatch.undo()
    signed(ours, ping())


def test_what_was_said_on_one_link_is_not_said_again_on_another(tmp_path: Path) -> None:
    make_key(key := tmp_path / "key")
    first, second = link_signer(key, 0), link_signer(key, 1)
    raw = signed(Signer(read_key(key), link_id=9), ping())
    assert first.accepts(frame_of(raw))
    assert not second.accepts(frame_of(raw))
    make_key(other := tmp_path / "other")  # another key's streams are others
    assert link_signer(other, 0).accepts(
        frame_of(signed(Signer(read_key(other), link_id=9), ping()))
    )


# The time over a restart


def at(monkeypatch: pytest.MonkeyPatch, ticks: int) -> None:
    monkeypatch.setattr(signing, "_ticks_now", lambda: ticks)


def kept(path: Path) -> Signer:
    return Signer(KEY, time_file=TimeFile(path))


def until(is_done: Callable[[], bool]) -> None:
    """The thread that writes takes a moment."""
    end_s = time.monotonic() + 5.0
    while not is_done():
        assert time.monotonic() < end_s
        time.sleep(0.001)


def test_timestamps_go_on_over_restarts_with_the_clock_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, used = tmp_path / "signing.time", [0]
    for now in (400 * DAY, 400 * DAY + 3, 30 * DAY, 0, 5, 401 * DAY, 7):
        at(monkeypatch, now)
        signer = kept(state)
        used += [ticks_of(signed(signer, ping())) for _ in range(5)]
        signer.close()
        assert int(state.read_text()) == used[-1]
    assert used == sorted(set(used))


def test_one_that_runs_long_is_always_written_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "signing.time"
    signer = kept(state)
    for _ in range(30):
        at(monkeypatch, signer.timestamp_ticks + signing.TICKS_PER_S)
        used = ticks_of(signed(signer, ping()))
        until(lambda: int(state.read_text()) > used + signing.TICKS_PER_S)  # noqa: B023


def test_what_was_heard_is_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "signing.time"
    at(monkeypatch, 10 * DAY)
    ahead = Signer(KEY, link_id=1)
    at(monkeypatch, 5 * DAY)
    signer = kept(state)
    assert signer.accepts(frame_of(signed(ahead, ping())))
    last = ticks_of(signed(signer, ping()))
    assert last > 10 * DAY
    signer.close()
    assert ticks_of(signed(kept(state), ping())) > last


def test_many_starts_do_not_run_ahead_of_the_clock(tmp_path: Path) -> None:
    make_key(key := tmp_path / "key")
    for _ in range(20):
        signer = link_signer(key, 0)
        signed(signer, ping())
        assert signer.link_id == 0
        signer.close()
    assert signer.timestamp_ticks - signing._ticks_now() < signing.TICKS_PER_S


def test_a_signer_that_nobody_has_any_more_is_closed(tmp_path: Path) -> None:
    signer = kept(state := tmp_path / "signing.time")
    last = ticks_of(signed(signer, ping()))
    del signer
    assert int(state.read_text()) == last


def test_a_second_program_with_the_same_key_does_not_silence_the_first(tmp_path: Path) -> None:
    make_key(key := tmp_path / "key")
    controller = Signer(read_key(key))
    flight = link_signer(key, 0)
    with another_program(key) as (process, link_id):
        assert (flight.link_id, link_id) == (0, 1)
        doctor = link_signer(key, 0)
        assert doctor.link_id == 2
        for signer in (flight, doctor) * 5:
            assert controller.accepts(frame_of(signed(signer, ping())))
        process.kill()
    after = link_signer(key, 1)  # nobody has to tidy up after a crash
    assert after.link_id == 1
    assert after.timestamp_ticks > signing._ticks_now()
    assert controller.accepts(frame_of(signed(after, ping())))


@contextmanager
def another_program(key: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """It signs with that key until it is killed."""
    program = (
        "import pathlib, sys, time\n"
        "from firmware_bridge.signing import link_signer\n"
        "signer = link_signer(pathlib.Path(sys.argv[1]), 0)\n"
        "print(signer.link_id, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(key)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def test_more_links_than_px4_tells_apart_are_refused(tmp_path: Path) -> None:
    make_key(key := tmp_path / "key")
    signers = [link_signer(key, 0) for _ in range(16)]
    assert [signer.link_id for signer in signers] == list(range(16))
    with pytest.raises(ConfigError, match="none of the link ids 3 to 15 is free"):
        link_signer(key, 3)
    signers[7].close()
    assert link_signer(key, 3).link_id == 7


@pytest.mark.parametrize("content", [b"", bytes(16), b"nonsense", b"9" * 16, b"-5\n"])
def test_a_state_that_a_power_cut_spoilt_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    (state := tmp_path / "signing.time").write_bytes(content)
    signer = kept(state)
    assert "signing.time should hold the newest signing time, and doesn't" in caplog.text
    ahead = signer.timestamp_ticks - signing._ticks_now()
    assert 0 < ahead <= signing.RESERVE_TICKS
    assert Signer(KEY).accepts(frame_of(signed(signer, ping())))
    signer.close()
    assert int(state.read_text()) == signer.timestamp_ticks


def test_a_state_that_cannot_be_written_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot write .*: No such file or directory"):
        TimeFile(tmp_path / "missing" / "signing.time")


def test_a_disk_that_fails_later_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    signer = kept(tmp_path / "signing.time")

    def fail(_number: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    for _ in range(3):
        at(monkeypatch, signer.timestamp_ticks + DAY)
        assert Signer(KEY).accepts(frame_of(signed(signer, ping())))
        until(lambda: "signing.time: Input/output error" in caplog.text)
    signer.close()
    assert caplog.text.count("Input/output error") == 1


def test_a_slow_disk_holds_up_no_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signer = kept(tmp_path / "signing.time")
    is_writing, is_free = threading.Event(), threading.Event()

    def wait(_number: int) -> None:
        is_writing.set()
        assert is_free.wait(5.0)

    monkeypatch.setattr(os, "fdatasync", wait)
    at(monkeypatch, signer.timestamp_ticks + DAY)
    signed(signer, ping())
    assert is_writing.wait(5.0)
    for days in range(2, 5):
        at(monkeypatch, signer.timestamp_ticks + days * DAY)
        signed(signer, ping())
    is_free.set()
    signer.close()


# Keys


def test_a_key_is_made_for_its_owner_alone_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "key"
    before = os.umask(0)
    try:
        made = make_key(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path).secret == made.secret
    assert make_key(tmp_path / "other").secret != made.secret
    with pytest.raises(ConfigError, match=r"cannot make the signing key .*: File exists"):
        make_key(path)
    path.write_bytes(SECRET)
    assert read_key(path).secret == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_key_that_others_may_read_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    make_key(path)
    path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        read_key(path)
    assert str(caught.value) == (
        f"signing key {path} has mode {mode:04o}, so others may read it; chmod 600 {path}"
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "key has 0 bytes; expected 32"),
        (SECRET[:31], "is neither 32 bytes nor 64 hexadecimal digits"),
        (SECRET.hex()[:62].encode(), "key has 31 bytes; expected 32"),
        (b"z" * 64, "is neither 32 bytes nor 64 hexadecimal digits"),
        (b"\xff" * 64, "is neither 32 bytes nor 64 hexadecimal digits"),
    ],
)
def test_a_bad_key_is_refused_without_being_shown(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_key(path)
    assert says in str(caught.value)
    assert not content or content.decode("latin-1")[:8] not in str(caught.value)


def test_a_key_that_is_not_there_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the signing key .*: No such file"):
        read_key(tmp_path / "key")


def test_nothing_prints_a_key(caplog: pytest.LogCaptureFixture) -> None:
    signer = Signer(KEY)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").info("%s %r %s %r %s", KEY, KEY, signer, signer, [KEY])
        signed(signer, ping())
        signer.accepts(frame_of(signed(Signer(Key(bytes(32))), ping())))
    said = caplog.text + f"{KEY} {KEY!r} {signer} {signer!r}"
    assert "Key(secret)" in said
    for form in (SECRET.hex(), repr(SECRET), repr(SECRET)[2:20], str(list(SECRET))[:20]):
        assert form not in said


# Beside pymavlink


def theirs(**fields: int) -> Message:
    mav = dialect.MAVLink(None, 1, 1)
    mav.signing.secret_key = SECRET
    mav.signing.sign_outgoing = True
    mav.signing.timestamp = int((time.time() - signing.EPOCH_2015_S) * signing.TICKS_PER_S)
    for name, value in fields.items():
        setattr(mav.signing, name, value)
    return mav


def test_pymavlink_accepts_what_we_sign_and_refuses_another_key() -> None:
    mav, ours = theirs(), Signer(KEY, link_id=7)
    for number in range(50):
        message = mav.decode(bytearray(signed(ours, ping(number), number)))
        assert (message.seq, message.get_signed(), message.get_link_id()) == (number, True, 7)
    with pytest.raises(dialect.MAVError, match="Invalid signature"):
        mav.decode(bytearray(signed(Signer(Key(bytes(32)), link_id=8), ping())))


def test_we_accept_what_pymavlink_signs_and_sign_the_same_bytes() -> None:
    mav, ours = theirs(link_id=9), Signer(KEY)
    for number in range(50):
        mav.seq = number
        raw = ping(number).pack(mav)
        assert ours.accepts(frame_of(raw))
        assert KEY.tag(raw[:-6]) == raw[-6:]
        unsigned = encode(ping(number), system=1, component=1, sequence=number, signed=True)
        assert raw[:-13] == unsigned
    assert not ours.accepts(frame_of(raw))


# On links


@contextmanager
def signed_pair(here: Signer | None, there: Signer | None) -> Iterator[tuple[Station, Station]]:
    with stations((255, 190), (1, 1)) as (ground, vehicle):
        port = free_port()
        ground.add(f"udpin://127.0.0.1:{port}", here)
        vehicle.add(f"udpout://127.0.0.1:{port}", there)
        yield ground, vehicle


def test_signed_links_understand_each_other() -> None:
    with signed_pair(Signer(KEY), Signer(KEY)) as (ground, vehicle):
        vehicle.hub.send(ping())
        together(ground, vehicle, lambda: len(ground.heard) == 1)
        ground.hub.send(ping())
        together(ground, vehicle, lambda: len(vehicle.heard) == 1)
        assert [len(raw) for raw in ground.heard] == [len(raw) for raw in vehicle.heard]
        assert frame_of(ground.heard[0]).signature


@pytest.mark.parametrize("there", [None, Signer(Key(bytes(32)))])
def test_what_is_not_signed_rightly_is_refused_and_counted(there: Signer | None) -> None:
    with signed_pair(Signer(KEY), there) as (ground, vehicle):
        for _ in range(3):
            vehicle.hub.send(ping())
        link = ground.hub.links[0]
        ground.until(lambda: link.counts.refused == 3)
        assert ground.heard == []
        assert (link.counts.framer.frames, link.counts.lost) == (3, 0)


def test_a_replayed_frame_is_refused_and_counted() -> None:
    with signed_pair(Signer(KEY), None) as (ground, vehicle):
        raw = signed(Signer(KEY), ping())
        for _ in range(3):
            vehicle.hub.links[0].send(raw, 0)
        link = ground.hub.links[0]
        ground.until(lambda: link.counts.refused == 2)
        assert ground.heard == [raw]


def test_an_unsigned_heartbeat_changes_nothing_and_is_counted() -> None:
    with signed_pair(Signer(KEY), Signer(KEY)) as (ground, vehicle):
        found = Vehicle(ground.hub)
        vehicle.hub.send(heartbeat(base_mode=ARMED_FLAG, custom_mode=6 << 16))
        found.find()
        other = ground.add(f"udpin://127.0.0.1:{(port := free_port())}", Signer(KEY))
        vehicle.add(f"udpout://127.0.0.1:{port}")  # a stranger
        vehicle.hub.send(heartbeat(custom_mode=3 << 16), vehicle.hub.links[1])
        ground.until(lambda: other.counts.refused == 1)
        assert (found.mode, found.is_armed) == ("OFFBOARD", True)
        assert found.link is ground.hub.links[0]


def test_one_that_does_not_sign_is_not_found_and_the_refused_frames_are_told() -> None:
    with signed_pair(Signer(KEY), None) as (ground, vehicle):
        for _ in range(3):
            vehicle.hub.send(heartbeat())
        found = Vehicle(ground.hub)
        with pytest.raises(StalledError, match=r"had 3 frames refused: not signed with this key"):
            found.find(100 * MS)
