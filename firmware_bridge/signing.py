"""MAVLink 2 signing: a shared key, and timestamps that never go back, not even over a restart."""

import hashlib
import hmac
import logging
import os
import stat
import time
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
SAVE_AHEAD_TICKS = 10 * TICKS_PER_S
UNSIGNED_IDS = frozenset((0, 109, 246, 247))
"""HEARTBEAT, RADIO_STATUS, ADSB_VEHICLE, COLLISION: PX4 lets these pass without a signature."""

_TAG_BYTES = 6
_LOG = logging.getLogger(__name__)


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
    return Key(secret)


def link_signer(path: Path, link_id: int) -> "Signer":
    """Of one of several links that share a key file; the time that each has used lies beside it."""
    state = path.with_name(f"{path.name}.link{link_id}")
    return Signer(read_key(path), link_id=link_id, state=state)


class Signer:
    """Signs what one link sends and judges what it hears. state is a file of this link's own that
    holds a time which no earlier run has used: a clock that was set back doesn't repeat signatures.
    """

    def __init__(
        self, key: Key, *, link_id: int = 0, state: Path | None = None, least_ticks: int = 0
    ) -> None:
        self._key = key
        self._link_id = link_id
        self._state = state
        self._ticks = max(_ticks_now(), _saved(state), min(least_ticks, LATEST_TICKS))
        self._saved_ticks = 0
        self._heard: dict[tuple[int, int, int], int] = {}
        try:
            self._save()
        except OSError as error:
            raise ConfigError(f"cannot write {state}: {error.strerror}") from None

    def sign(self, unsigned: bytes) -> bytes:
        """A frame whose header says signed, with its signature."""
        self._ticks = max(self._ticks + 1, _ticks_now())
        if self._ticks > self._saved_ticks:
            try:
                self._save()
            except OSError as error:  # a full disk is no reason to fall silent in flight
                _LOG.warning("cannot write %s: %s", self._state, error.strerror)
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

    @property
    def key(self) -> Key:
        return self._key

    @property
    def timestamp_ticks(self) -> int:
        return self._ticks

    def _save(self) -> None:
        """Some way ahead, so that it is written once in ten seconds and not with each frame."""
        self._saved_ticks = self._ticks + SAVE_AHEAD_TICKS
        if self._state is None:
            return
        made = self._state.with_name(f"{self._state.name}.new")
        made.write_text(f"{self._saved_ticks}\n", encoding="ascii")
        made.replace(self._state)


def _saved(state: Path | None) -> int:
    if state is None or not state.exists():
        return 0
    try:
        return int(state.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{state} should hold the newest signing time, and can't be read: {error}; remove it "
            "only if the clock of this computer is right"
        ) from None


def _ticks_now() -> int:
    return int((time.time() - EPOCH_2015_S) * TICKS_PER_S)
