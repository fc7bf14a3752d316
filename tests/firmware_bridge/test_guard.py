"""What the network may not say, and to whom a frame is addressed: both read from raw bytes."""

import math
import re
import time
from pathlib import Path
from typing import Any

import pytest

from firmware_bridge.frame import Frame, Framer
from firmware_bridge.guard import DENIED, Guard, Seams, sealed
from firmware_bridge.messages import Message, decode, dialect, encode
from firmware_bridge.targets import target_of
from ghost.core.errors import ConfigError
from tests.firmware_bridge.router_rig import (
    LACKING,
    SHELL_ID,
    SMUGGLERS,
    STRANGE_ID,
    CParser,
    command,
    smuggled,
)

REBOOT = dialect.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN


def framed(message: Message) -> Frame:
    (frame,) = Framer().feed(encode(message, system=255, component=190, sequence=0))
    return frame


def ftp(opcode: int) -> Message:
    content = [0, 0, 0, opcode, *[0] * 247]
    return dialect.MAVLink_file_transfer_protocol_message(0, 1, 1, content)


def as_int(number: int, first: float) -> Message:
    return dialect.MAVLink_command_int_message(1, 1, 0, number, 0, 0, first, 0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (dialect.MAVLink_serial_control_message(10, 0, 0, 0, 0, [0] * 70), "SERIAL_CONTROL"),
        (dialect.MAVLink_setup_signing_message(1, 1, [0] * 32, 0), "SETUP_SIGNING"),
        (dialect.MAVLink_log_erase_message(1, 1), "LOG_ERASE"),
        (command(REBOOT, 3.0), "BOOTLOADER"),
        (command(REBOOT, 3.9), "BOOTLOADER"),
        (command(REBOOT, 0.0, 3.0), "BOOTLOADER"),
        (as_int(REBOOT, 3.0), "BOOTLOADER"),
        (command(42650, 290876.0), "BOOTLOADER"),
        (command(REBOOT, 1.0), ""),
        (command(REBOOT, math.nan), ""),
        (command(dialect.MAV_CMD_DO_SET_MODE, 1.0, 3.0), ""),
        (dialect.MAVLink_param_set_message(1, 1, b"SYS_HITL", 3.0, 9), ""),
        *((ftp(opcode), "") for opcode in (0, 1, 2, 3, 4, 5, 14, 15, 128)),
        *((ftp(opcode), "FTP_WRITE") for opcode in (6, 7, 8, 9, 10, 11, 12, 13, 16)),
    ],
)
def test_by_default_denied_is_what_could_take_the_vehicle_over(message: Message, name: str) -> None:
    assert Guard().judge(framed(message)) == name
    if name:
        assert Guard(allow=[name]).judge(framed(message)) == ""


def test_messages_and_commands_are_denied_by_name() -> None:
    guard = Guard(deny=["PARAM_SET", "MAV_CMD_COMPONENT_ARM_DISARM"])
    assert guard.names == tuple(sorted((*DENIED, "PARAM_SET", "MAV_CMD_COMPONENT_ARM_DISARM")))
    parameter = dialect.MAVLink_param_set_message(1, 1, b"SYS_HITL", 0.0, 9)
    assert guard.judge(framed(parameter)) == "PARAM_SET"
    arming = dialect.MAV_CMD_COMPONENT_ARM_DISARM
    assert guard.judge(framed(command(arming))) == "MAV_CMD_COMPONENT_ARM_DISARM"
    assert guard.judge(framed(as_int(arming, 1.0))) == "MAV_CMD_COMPONENT_ARM_DISARM"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"allow": ["SERIAL_CONTROLS"]}, "named 'SERIAL_CONTROLS'; did you mean SERIAL_CONTROL?"),
        ({"deny": ["param_set"]}, "named 'param_set'; did you mean PARAM_SET?"),
        ({"deny": ["?"]}, "named '?'; expected one like BOOTLOADER, FTP_WRITE, "),
        ({"allow": ["LOG_ERASE"], "deny": ["LOG_ERASE"]}, "LOG_ERASE is both allowed and denied"),
    ],
)
def test_names_that_make_no_sense_are_refused(options: dict[str, list[str]], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Guard(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize("shift", range(4))
def test_a_frame_inside_another_is_found_wherever_it_is(shift: int) -> None:
    hidden = encode(dialect.MAVLink_log_erase_message(1, 1), system=255, component=1, sequence=3)
    old = dialect.MAVLink(None, 255, 1)
    for inner in (
        hidden,
        bytes(dialect.MAVLink_log_erase_message(1, 1).pack(old, force_mavlink1=True)),
    ):
        content = (b"\xfd\xfe\xff\0"[:shift] + inner).ljust(128, b"\0")
        tunnel = dialect.MAVLink_tunnel_message(1, 1, 0, 128, content)
        assert Guard().judge(framed(tunnel)) == "LOG_ERASE"
        content = content.replace(inner[-2:], b"\0\0")
        tunnel = dialect.MAVLink_tunnel_message(1, 1, 0, 128, content)
        assert Guard().judge(framed(tunnel)) == ""


def test_what_nobody_can_check_is_denied() -> None:
    strange = Frame(STRANGE_ID, 255, 190, 0, b"", b"\xfd")
    assert Guard().judge(strange) == "UNKNOWN"
    assert Guard(allow=["UNKNOWN"]).judge(strange) == ""


@pytest.mark.parametrize("way", SMUGGLERS)
def test_a_frame_across_others_is_found(way: str) -> None:
    guard = Guard(allow=["UNKNOWN"])
    frames = Framer().feed(b"".join(smuggled(way)))
    assert [guard.judge(frame) for frame in frames] == [""] * len(frames)
    seams = Seams(guard)
    verdicts = [seams.judge(frame.raw) for frame in frames]
    assert verdicts == [""] * (len(frames) - 1) + ["SERIAL_CONTROL"]
    assert Seams(guard).judge(frames[-1].raw) == ""


@pytest.mark.parametrize("way", ["unknown", "known", "version 1"])
def test_the_last_byte_begins_nothing(way: str) -> None:
    first, *others = smuggled(way)
    parser = CParser(lacks=LACKING)
    parser.feed(first)
    assert not parser.is_idle
    parser = CParser(lacks=LACKING)
    assert parser.feed(sealed(first)) == []
    assert parser.is_idle
    assert SHELL_ID not in parser.feed(b"".join(others))
    for harmless in (b"\0", b"\xff", b"\xfd\0"):
        assert sealed(harmless) == harmless
    assert sealed(b"\xfe") == b"\xfe" + sealed(b"\xfd")[1:]


@pytest.mark.parametrize(
    "pattern", [b"\xfe\0", b"\xfe", b"\xfd\0\0", b"\xfe\0\0\0\0\x7e", b"\xfe\xc8\x4c"]
)
def test_no_frame_takes_long_to_judge(pattern: bytes) -> None:
    content = list((pattern * 253)[:253])
    frame = framed(dialect.MAVLink_encapsulated_data_message(0, content))
    guard = Guard()
    seams = Seams(guard)
    start_ns = time.process_time_ns()
    for _ in range(20):
        assert guard.judge(frame) == ""
        assert seams.judge(frame.raw) == ""
    assert time.process_time_ns() - start_ns < 20 * 2_000_000


@pytest.mark.parametrize("kind", dialect.mavlink_map.values(), ids=lambda kind: kind.msgname)
def test_the_target_is_what_decoding_would_say(kind: Any) -> None:
    payload = bytes(range(1, 256))[: kind.unpacker.size]
    for length in (len(payload), len(payload) // 2, 1):
        frame = Frame(kind.id, 255, 190, 0, payload[:length], b"")
        message = decode(frame)
        name = "target" if kind.msgname == "MANUAL_CONTROL" else "target_system"
        system = getattr(message, name, 0)
        component = getattr(message, "target_component", 0) if hasattr(message, name) else 0
        assert target_of(frame) == (system, component)


def test_the_documentation_names_all_that_is_denied() -> None:
    page = (Path(__file__).parents[2] / "docs" / "router.md").read_text(encoding="utf-8")
    table = page.partition("## What the network may not say")[2].partition("`--allow")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(DENIED)
