"""What the network may not say to a flight controller."""

import struct
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from firmware_bridge.frame import MAGIC_V1, MAGIC_V2, Frame, checksum
from firmware_bridge.messages import dialect, id_of
from firmware_bridge.targets import NAMES, offset_of
from ghost.core.errors import ConfigError

BOOTLOADER = "BOOTLOADER"
"""Commands that leave a board in its bootloader, or write one."""
FTP_WRITE = "FTP_WRITE"
"""FILE_TRANSFER_PROTOCOL, but for what only reads."""
DENIED = (BOOTLOADER, FTP_WRITE, "LOG_ERASE", "SERIAL_CONTROL", "SETUP_SIGNING")

_COMMANDS: dict[str, int] = {
    entry.name: number
    for number, entry in dialect.enums["MAV_CMD"].items()
    if not entry.name.endswith("_ENUM_END")
}
_MESSAGES = {name: number for number, name in NAMES.items()}
_KNOWN = (BOOTLOADER, FTP_WRITE, *_MESSAGES, *_COMMANDS)

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


class Guard:
    """Names are those of messages, of commands (MAV_CMD_...), BOOTLOADER and FTP_WRITE."""

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

    def judge(self, frame: Frame) -> str:
        """The name under which a frame is denied; empty where it may pass."""
        denied = self._judge(frame)
        if denied:
            return denied
        # A receiver that lost the first bytes of a frame looks for another one inside it.
        return next((name for one in _within(frame) if (name := self._judge(one))), "")

    def _judge(self, frame: Frame) -> str:
        number = frame.message_id
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


def _within(frame: Frame) -> Iterator[Frame]:
    """Whole frames among the bytes of another. One look at each place, however they are laid."""
    raw = frame.raw
    for magic, header_bytes in ((MAGIC_V2, 10), (MAGIC_V1, 6)):
        at = raw.find(magic, 1)
        while 0 <= at <= len(raw) - header_bytes:
            found = _frame_at(raw, at, header_bytes)
            if found is not None:
                yield found
            at = raw.find(magic, at + 1)


def _frame_at(raw: bytes, at: int, header_bytes: int) -> Frame | None:
    if header_bytes == 6:
        message_id, system_at = raw[at + 5], at + 3
    else:
        message_id, system_at = int.from_bytes(raw[at + 7 : at + 10], "little"), at + 5
    end = at + header_bytes + raw[at + 1]
    if message_id not in NAMES or end + 2 > len(raw):
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
