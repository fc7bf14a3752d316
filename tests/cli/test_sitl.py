"""`ghost sitl`, begun wrongly and ended properly."""

import signal
import socket
import subprocess
import sys

import pytest

from ghost.cli import main


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nosuch"], "no robot named 'nosuch'"),
        (["x500", "--speed", "0"], "speed is 0.0; expected above 0"),
        (["x500", "--system", "256"], "system is 256; expected 1 to 255"),
        (["x500", "--link", "carrier://pigeon:1"], "expected a form like"),
        (["x500", "--simulator", "nosuch"], "nosuch"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sitl", *arguments]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert complaint in said.err
    assert said.err.count("\n") == 1


def test_a_port_that_is_taken_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["sitl", "x500", "--link", f"tcpin://127.0.0.1:{port}"]) == 1
    assert f"tcpin://127.0.0.1:{port} can't be opened" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "ghost.cli", "sitl", "x500", "--link", "tcpin://127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(number)
        _, complaint = process.communicate(timeout=10)
    assert first == "x500: system 1 on tcpin://127.0.0.1:0\n"
    assert (process.returncode, complaint) == (0, "")
