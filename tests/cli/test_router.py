"""`ghost router` as people run it."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from firmware_bridge.messages import dialect
from firmware_bridge.udp_server import MOST_CLIENTS
from tests.firmware_bridge.link_rig import free_port, heartbeat
from tests.firmware_bridge.router_rig import Autopilot, Station

SHELL = dialect.MAVLink_serial_control_message(10, 0, 0, 0, 0, [0] * 70)


@contextmanager
def ghost_router(*arguments: str, stdout: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "ghost.cli", "router", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_it_tells_who_comes_and_goes_and_ends_with_a_table(tmp_path: Path, way: int) -> None:
    autopilot = Autopilot(tmp_path / "ttyFC")
    udp_port, tcp_port = free_port(), free_port(socket.SOCK_STREAM)
    link = f"serial://{autopilot.path}:57600"
    with ghost_router(
        *("--link", link),
        *("--listen", f"udpin://127.0.0.1:{udp_port}"),
        *("--tcp", f"tcpin://127.0.0.1:{tcp_port}"),
    ) as process:
        assert process.stdout is not None
        first = "denied to the network: BOOTLOADER, FTP_WRITE, LOG_ERASE, SERIAL_CONTROL, "
        assert process.stdout.readline() == f"{first}SETUP_SIGNING, UNKNOWN\n"
        assert process.stdout.readline() == f"{link} is here\n"
        with (
            Station(socket.SOCK_DGRAM, udp_port) as udp,
            Station(socket.SOCK_STREAM, tcp_port, system=254) as tcp,
        ):
            udp_name, tcp_name = (
                f"{kind} 127.0.0.1:{one.socket.getsockname()[1]}"
                for kind, one in (("udp", udp), ("tcp", tcp))
            )
            assert process.stdout.readline() == f"{tcp_name} is here\n"
            assert autopilot.hears(udp.say(heartbeat()))
            assert process.stdout.readline() == f"{udp_name} is here\n"
            beat = autopilot.say(heartbeat())
            assert udp.hears(beat)
            assert tcp.hears(beat)
            udp.say(SHELL)
            assert process.stdout.readline() == f"{udp_name} was denied SERIAL_CONTROL\n"
            process.send_signal(way)
            said, complaint = process.communicate(timeout=10)
        assert (process.returncode, complaint) == (0, "")
    heads, *rows, denied = said.splitlines()
    names = ["in/s", "out/s", "in", "kB/s", "out", "kB/s", "dropped", "denied"]
    assert heads.split() == names
    assert [row.rsplit(maxsplit=6)[0] for row in rows] == [link, udp_name, tcp_name]
    assert [row.split()[-1] for row in rows] == ["0", "1", "0"]
    assert denied == "denied SERIAL_CONTROL: 1"
    autopilot.close()


def test_it_tells_who_is_refused_and_how_many_were(tmp_path: Path) -> None:
    autopilot = Autopilot(tmp_path / "ttyFC")
    port = free_port()
    link, listen = f"serial://{autopilot.path}:57600", f"udpin://127.0.0.1:{port}"
    with ghost_router("--link", link, "--listen", listen) as process, ExitStack() as crowd:
        assert process.stdout is not None
        while process.stdout.readline() != f"{link} is here\n":
            pass
        for _ in range(MOST_CLIENTS):
            crowd.enter_context(Station(socket.SOCK_DGRAM, port)).say(heartbeat())
            assert process.stdout.readline().endswith(" is here\n")
        late = crowd.enter_context(Station(socket.SOCK_DGRAM, port))
        late.say(heartbeat())
        name = f"udp 127.0.0.1:{late.socket.getsockname()[1]}"
        refused = f"{name} was refused: {MOST_CLIENTS} clients are here already\n"
        assert process.stdout.readline() == refused
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=10)
    assert said.splitlines()[-1] == f"refused at {listen}: 1"
    autopilot.close()


@pytest.mark.slow
def test_on_a_terminal_the_table_comes_every_five_seconds() -> None:
    ours, theirs = pty.openpty()
    url = f"udpin://127.0.0.1:{free_port()}"
    start_s = time.monotonic()
    with ghost_router("--link", "serial:///dev/gone:57600", "--listen", url, stdout=theirs):
        shown = b""
        while b"in kB/s" not in shown:
            shown += os.read(ours, 4096)
    assert 4.9 < time.monotonic() - start_s < 9.0
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--listen", "udpin://127.0.0.1:0"), "the following arguments are required: --link"),
        (("--link", "serial:///dev/x:57600"), "give at least one --listen, --tcp or --to"),
        (("--link", "/dev/x", "--tcp", "tcpin://127.0.0.1:0"), "link '/dev/x'; expected a form"),
        (
            ("--link", "serial:///dev/x:57600", "--tcp", "udpin://127.0.0.1:0"),
            "--tcp is udpin://127.0.0.1:0; expected tcpin://...",
        ),
        (
            (
                "--link",
                "serial:///dev/x:57600",
                "--to",
                "udpout://a:1",
                "--allow",
                "SERIAL_CONTROK",
            ),
            "no message or command named 'SERIAL_CONTROK'; did you mean SERIAL_CONTROL?",
        ),
    ],
)
def test_what_can_t_be_done_is_said(arguments: tuple[str, ...], said: str) -> None:
    with ghost_router(*arguments) as process:
        _, complaint = process.communicate(timeout=30)
    assert process.returncode in (1, 2)
    assert said in complaint.splitlines()[-1]


@pytest.mark.parametrize(
    ("kind", "option", "scheme"),
    [(socket.SOCK_DGRAM, "--listen", "udpin"), (socket.SOCK_STREAM, "--tcp", "tcpin")],
)
def test_a_port_that_is_taken_is_an_error(kind: int, option: str, scheme: str) -> None:
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            taken.listen()
        url = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        with ghost_router("--link", "serial:///dev/x:57600", option, url) as process:
            said, complaint = process.communicate(timeout=30)
    expected = f"ghost: can't listen on {url}: Address already in use\n"
    assert (process.returncode, said, complaint) == (1, "", expected)


def test_a_router_tells_why_its_link_is_down_once() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        link = f"udpin://127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "ghost.cli", "router", "--link", link]
        with subprocess.Popen(
            [*command, "--listen", f"udpin://127.0.0.1:{free_port()}"],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()  # what is denied
            time.sleep(0.5)
            taken.close()
            time.sleep(2.0)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=10)
    news = [line for line in said.splitlines() if line.startswith(f"{link} is ")]
    assert news == [f"{link} is down: Address already in use", f"{link} is here"]
