"""MAVLink 2 signing: a shared key, and timestamps that never go back, not even over a restart."""

import fcntl
import hashlib
import hmac
import logging
import os
import stat
import threading
import time
import weakref
from pathlib import Path

from firmware_bridge.frame import Frame
from ghost.core.errors import ConfigError

KEY_BYTES = 32
EPOCH_2015_S = 1_420_070_400
TICKS_PER_S = 100_000
"""Timestamps count 10 microseconds since 2015."""
OLDEST_NEW_TICKS = 60 * TICKS_PER_S
"""How far a stream that is heard for the first time may lie behind."""
LATEST_TICKS = 1 << 47
"""The year 2059. Nothing later is believed: to follow it would use up the timestamps."""
RESERVE_TICKS = 5 * TICKS_PER_S
"""How far ahead of its use time is written down, so that this isn't done with each frame."""
LEAST_RESERVE_TICKS = 2 * TICKS_PER_S
"""What is left of it when it is written again, for a disk that takes its time."""
LINK_IDS = 16
"""From 0 on. PX4 tells no more streams apart, and refuses further ones."""
UNSIGNED_IDS = frozenset((109,))
"""RADIO_STATUS: a radio has no key. PX4 also hears HEARTBEAT, ADSB_VEHICLE and COLLISION unsigned;
we don't, as a heartbeat says what mode the vehicle is in and which link leads to it.
"""

_TAG_BYTES = 6
_STATE_BYTES = 16
_LOG = logging.getLogger(__name__)

Heard = dict[tuple[int, int, int], int]
"""The newest ticks of each stream: link id, system, component. All links of a key share one: what
was said on one link is not said again on another.
"""
_HEARD: dict[bytes, Heard] = {}


class Key:
    """32 secret bytes. Nothing prints them."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise ConfigError(f"a signing key has {len(secret)} bytes; expected {KEY_BYTES}")
        self._secret = secret

    @property
    def secret(self) -> bytes:
        """For the flight controller's set-up, and for nothing else."""
        return self._secret

    def tag(self, signed: bytes) -> bytes:
        return hashlib.sha256(self._secret + signed).digest()[:_TAG_BYTES]

    def __repr__(self) -> str:
        return "Key(secret)"


def read_key(path: Path) -> Key:
    """From a file of 32 bytes, or 64 hexadecimal digits, that nobody else may read."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the signing key {path}: {error.strerror}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            f"signing key {path} has mode {stat.S_IMODE(mode):04o}, so others may read it; "
            f"chmod 600 {path}"
        )
    if len(content) != KEY_BYTES:
        try:
            content = bytes.fromhex(content.decode("ascii").strip())
        except ValueError:
            raise ConfigError(
                f"signing key {path} is neither {KEY_BYTES} bytes nor {2 * KEY_BYTES} hexadecimal "
                "digits"
            ) from None
    if len(content) != KEY_BYTES:
        raise ConfigError(f"signing key {path} has {len(content)} bytes; expected {KEY_BYTES}")
    return Key(content)


def make_key(path: Path) -> Key:
    """A new one, in a new file."""
    secret = os.urandom(KEY_BYTES)  # determinism: allow GD203 a key that repeats is no secret
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot make the signing key {path}: {error.strerror}") from None
    with os.fdopen(number, "w", encoding="ascii") as file:
        file.write(secret.hex() + "\n")
        file.flush()
        os.fsync(number)  # before a flight controller has it, and hears nobody else
    return Key(secret)


def heard_with(key: Key) -> Heard:
    return _HEARD.setdefault(key.tag(b""), {})


def link_signer(path: Path, link_id: int) -> "Signer":
    """For one of several links that share a key file, of this process or another. The first link
    id from link_id on that nobody uses is its own until it is closed.
    """
    key = read_key(path)
    for number in range(link_id, LINK_IDS):
        try:
            time_file = TimeFile(path.with_name(f"{path.name}.link{number}"))
        except BlockingIOError:
            continue
        return Signer(key, link_id=number, time_file=time_file, heard=heard_with(key))
    raise ConfigError(
        f"signing key {path} is in use on too many links: none of the link ids {link_id} to "
        f"{LINK_IDS - 1} is free; end a program that uses it"
    )


class TimeFile:
    """A file with a time which no earlier run of a link has signed with: a clock that was set back
    doesn't repeat signatures. It belongs to this object until it is closed; while another has it,
    BlockingIOError.

    While in use it holds a time some seconds ahead, written by a thread of its own: no frame waits
    for the disk. Closed, it holds the time that was really used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        is_new = not path.exists()
        try:
            self._number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from None
        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.first_ticks = self._read(is_new=is_new)
            self._used_ticks = max(self.first_ticks, _ticks_now())
            self._reserved_ticks = self._used_ticks + RESERVE_TICKS
            self._write(self._reserved_ticks)
        except BlockingIOError:
            os.close(self._number)
            raise
        except OSError as error:
            os.close(self._number)
            raise ConfigError(f"cannot write {path}: {error.strerror}") from None
        self._has_failed = False
        self._is_closed = False
        self._is_due = threading.Event()
        self._writing = threading.RLock()  # the garbage collector may close in any thread
        threading.Thread(target=self._keep, name=f"keep {path.name}", daemon=True).start()

    def use(self, ticks: int) -> None:
        self._used_ticks = ticks
        if ticks + LEAST_RESERVE_TICKS > self._reserved_ticks:
            self._reserved_ticks = ticks + RESERVE_TICKS
            self._is_due.set()

    def close(self) -> None:
        with self._writing:
            if self._is_closed:
                return
            self._try_to_write(self._used_ticks)
            self._is_closed = True
            os.close(self._number)
            self._number = -1
        self._is_due.set()

    def _keep(self) -> None:
        while True:
            self._is_due.wait()
            self._is_due.clear()
            with self._writing:
                if self._is_closed:
                    return
                self._try_to_write(self._reserved_ticks)

    def _try_to_write(self, ticks: int) -> None:
        """A broken disk is no reason to fall silent in flight."""
        try:
            self._write(ticks)
        except OSError as error:
            if not self._has_failed:
                _LOG.warning("cannot write %s: %s", self._path, error.strerror)
            self._has_failed = True
        else:
            self._has_failed = False

    def _write(self, ticks: int) -> None:
        """In place: the lock stays, a full disk has room for it, and so few bytes are not torn."""
        content = f"{ticks:0{_STATE_BYTES - 1}}\n".encode("ascii")
        os.pwrite(self._number, content, 0)
        os.fdatasync(self._number)

    def _read(self, *, is_new: bool) -> int:
        """What a power cut has spoilt keeps nobody from flying: receivers refuse a time that was
        used before.
        """
        content = os.pread(self._number, _STATE_BYTES, 0)
        if is_new and not content:
            return 0
        try:
            ticks = int(content)
        except ValueError:
            ticks = -1
        if 0 <= ticks <= LATEST_TICKS:
            return ticks
        _LOG.warning(
            "%s should hold the newest signing time, and doesn't; the clock of this computer is "
            "believed instead",
            self._path,
        )
        return _ticks_now() + RESERVE_TICKS


class Signer:
    """Signs what one link sends and judges what it hears."""

    def __init__(
        self,
        key: Key,
        *,
        link_id: int = 0,
        time_file: TimeFile | None = None,
        heard: Heard | None = None,
        least_ticks: int = 0,
    ) -> None:
        self._key = key
        self._link_id = link_id
        self._time_file = time_file
        self._heard = heard if heard is not None else {}
        first_ticks = time_file.first_ticks if time_file is not None else 0
        self._ticks = max(_ticks_now(), first_ticks, min(least_ticks, LATEST_TICKS))
        if time_file is not None:
            self._finish = weakref.finalize(self, time_file.close)

    def sign(self, unsigned: bytes) -> bytes:
        """A frame whose header says signed, with its signature."""
        self._ticks = max(self._ticks + 1, _ticks_now())
        if self._time_file is not None:
            self._time_file.use(self._ticks)
        head = bytes((self._link_id,)) + self._ticks.to_bytes(6, "little")
        return unsigned + head + self._key.tag(unsigned + head)

    def accepts(self, frame: Frame) -> bool:
        if not frame.signature:
            return frame.message_id in UNSIGNED_IDS
        if not hmac.compare_digest(self._key.tag(frame.raw[:-_TAG_BYTES]), frame.raw[-_TAG_BYTES:]):
            return False
        ticks = int.from_bytes(frame.signature[1:7], "little")
        if ticks > LATEST_TICKS:
            return False
        stream = (frame.signature[0], frame.system, frame.component)
        before = self._heard.get(stream)
        if before is None:
            if ticks + OLDEST_NEW_TICKS < self._ticks:
                return False
        elif ticks <= before:
            return False
        self._heard[stream] = ticks
        self._ticks = max(self._ticks, ticks)
        return True

    def close(self) -> None:
        """Its link id is free again. A signer that nobody has any more closes itself."""
        if self._time_file is not None:
            self._finish()

    @property
    def key(self) -> Key:
        return self._key

    @property
    def link_id(self) -> int:
        return self._link_id

    @property
    def timestamp_ticks(self) -> int:
        return self._ticks


def _ticks_now() -> int:
    return int((time.time() - EPOCH_2015_S) * TICKS_PER_S)
