"""What the network may not say to a flight controller."""

import struct
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

from firmware_bridge.frame import MAGIC_V1, MAGIC_V2, Frame, checksum
from firmware_bridge.messages import dialect, id_of
from firmware_bridge.targets import NAMES, offset_of
from ghost.core.errors import ConfigError

BOOTLOADER = "BOOTLOADER"
"""Commands that leave a board in its bootloader, or write one."""
FTP_WRITE = "FTP_WRITE"
"""FILE_TRANSFER_PROTOCOL, but for what only reads."""
UNKNOWN = "UNKNOWN"
"""Messages that the dialect lacks: nobody here can check their checksum."""
DENIED = (BOOTLOADER, FTP_WRITE, "LOG_ERASE", "SERIAL_CONTROL", "SETUP_SIGNING", UNKNOWN)

_COMMANDS: dict[str, int] = {
    entry.name: number
    for number, entry in dialect.enums["MAV_CMD"].items()
    if not entry.name.endswith("_ENUM_END")
}
_MESSAGES = {name: number for number, name in NAMES.items()}
_KNOWN = (BOOTLOADER, FTP_WRITE, UNKNOWN, *_MESSAGES, *_COMMANDS)

_CARRIERS = (id_of("COMMAND_LONG"), id_of("COMMAND_INT"))
_COMMAND_AT = {number: offset_of(number, "command") or 0 for number in _CARRIERS}
_REBOOT = dialect.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN
_FLASHING = (247, 42650)
"""MAV_CMD_DO_UPGRADE and ArduPilot's MAV_CMD_FLASH_BOOTLOADER, which pymavlink's common lacks."""
_STAY = 3
"""Autopilot, companion or component: reboot, and stay in the bootloader."""

_FTP = id_of("FILE_TRANSFER_PROTOCOL")
_FTP_OPCODE_AT = (offset_of(_FTP, "payload") or 0) + 3
_FTP_READS = frozenset((0, 1, 2, 3, 4, 5, 14, 15, 128, 129))
"""None, terminate, reset, list, open to read, read, checksum, burst read; and the two answers."""

_HEADER_V1_BYTES, _HEADER_V2_BYTES = 6, 10
_LAYOUTS = (
    (MAGIC_V2, _HEADER_V2_BYTES),
    (MAGIC_V1, _HEADER_V1_BYTES),
    # MAVLink's C parser reads on so when a damaged frame of MAVLink 1 ends in this byte.
    (MAGIC_V2, _HEADER_V1_BYTES),
)
_LONGEST_BYTES = _HEADER_V2_BYTES + 255 + 2
_END_OF_FALSE_START = b"\0" + b"\xff" * 6
"""After a magic byte: no payload, then flags that no version 2 has; in version 1 the rest of a
whole frame, of a message that is in no dialect. After anything else: noise.
"""


class Guard:
    """Names are those of messages, of commands (MAV_CMD_...), BOOTLOADER, FTP_WRITE, UNKNOWN."""

    def __init__(self, *, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        allowed = tuple(_known(name) for name in allow)
        added = tuple(_known(name) for name in deny)
        for name in allowed:
            if name in added:
                raise ConfigError(f"{name} is both allowed and denied; expected one of the two")
        names = [name for name in (*DENIED, *added) if name not in allowed]
        self.names = tuple(sorted(dict.fromkeys(names)))
        self._messages = {_MESSAGES[name]: name for name in names if name in _MESSAGES}
        self._commands = {_COMMANDS[name]: name for name in names if name in _COMMANDS}
        self._watched = frozenset((*self._messages, *_CARRIERS, _FTP))

    def judge(self, frame: Frame) -> str:
        """The name under which a frame is denied; empty where it may pass."""
        # A receiver that lost the first bytes of a frame looks for another one inside it.
        return self._judge(frame) or self.judge_hidden(frame.raw[1:])

    def judge_hidden(self, stream: bytes, beyond: int = 0) -> str:
        """The same for whole frames anywhere in the stream that end beyond a place."""
        found = _within(stream, self._watched, beyond)
        return next((name for frame in found if (name := self._judge(frame))), "")

    def _judge(self, frame: Frame) -> str:
        number = frame.message_id
        if number not in NAMES and UNKNOWN in self.names:
            return UNKNOWN
        if number in self._messages:
            return self._messages[number]
        if number in _COMMAND_AT:
            return self._judge_command(frame)
        if number == _FTP and FTP_WRITE in self.names:
            opcode = frame.payload[_FTP_OPCODE_AT : _FTP_OPCODE_AT + 1]
            return FTP_WRITE if opcode and opcode[0] not in _FTP_READS else ""
        return ""

    def _judge_command(self, frame: Frame) -> str:
        payload = frame.payload.ljust(32, b"\0")  # trailing zeros are not sent
        (command,) = struct.unpack_from("<H", payload, _COMMAND_AT[frame.message_id])
        if command in self._commands:
            return self._commands[command]
        if BOOTLOADER in self.names:
            stays = any(
                # PX4 drops the fraction, others round
                _STAY - 0.5 <= parameter < _STAY + 1
                for parameter in struct.unpack_from("<3f", payload)
            )
            if command in _FLASHING or (command == _REBOOT and stays):
                return BOOTLOADER
        return ""


class Seams:
    """What goes to a flight controller, frame after frame, as a receiver out of step may read it.

    MAVLink's C parser begins anew at the last byte of a frame that it takes for damaged, and so of
    any that its dialect lacks, and behind the checksum of one that is signed. What it finds from
    there on may reach into the frames that follow.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._passed = b""

    def judge(self, raw: bytes) -> str:
        """The name under which a frame is denied after those that passed; empty where it passes."""
        stream = self._passed + raw
        name = self._guard.judge_hidden(stream, beyond=len(self._passed))
        if not name:
            self._passed = stream[-_LONGEST_BYTES:]
        return name


def sealed(raw: bytes) -> bytes:
    """With an end to what a receiver may take for the start of a frame: the last byte."""
    return raw + _END_OF_FALSE_START if raw[-1] in (MAGIC_V1, MAGIC_V2) else raw


def _within(stream: bytes, watched: Collection[int], beyond: int) -> Iterator[Frame]:
    """Whole frames among bytes. One look at each place, however they are laid."""
    for magic, header_bytes in _LAYOUTS:
        at = stream.find(magic)
        while 0 <= at <= len(stream) - header_bytes:
            if at + header_bytes + stream[at + 1] + 2 > beyond:
                found = _frame_at(stream, at, header_bytes, watched)
                if found is not None:
                    yield found
            at = stream.find(magic, at + 1)


def _frame_at(raw: bytes, at: int, header_bytes: int, watched: Collection[int]) -> Frame | None:
    if header_bytes == _HEADER_V1_BYTES:
        message_id, system_at = raw[at + 5], at + 3
    else:
        message_id, system_at = int.from_bytes(raw[at + 7 : at + 10], "little"), at + 5
    end = at + header_bytes + raw[at + 1]
    if message_id not in watched or end + 2 > len(raw):
        return None
    extra = dialect.mavlink_map[message_id].crc_extra
    if checksum(raw[at + 1 : end], extra) != int.from_bytes(raw[end : end + 2], "little"):
        return None
    system, component, sequence = raw[system_at], raw[system_at + 1], raw[system_at - 1]
    payload = raw[at + header_bytes : end]
    return Frame(message_id, system, component, sequence, payload, raw[at : end + 2])


def _known(name: str) -> str:
    if name in _KNOWN:
        return name
    near = get_close_matches(name.upper(), _KNOWN, 1)
    hint = f"did you mean {near[0]}?" if near else f"expected one like {', '.join(DENIED)}"
    raise ConfigError(f"no message or command named {name!r}; {hint}")
