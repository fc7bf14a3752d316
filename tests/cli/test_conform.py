"""`ghost conform` on a flight controller that follows a script."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge.signing import Signer, make_key, read_key
from ghost.cli import main
from ghost.conformance import CHECKS
from ghost.hardware import px4
from tests.firmware_bridge.link_rig import free_port
from tests.hardware.rig import Autopilot, beating

SKIPPED = 75
RESETS = [check.name for check in CHECKS if "reset" in check.name]
REASON = "flies, or counts nanoseconds: for a backend that is stepped"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key")
    return tmp_path / "key"


@pytest.fixture
def link(key: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """To one that signs."""
    monkeypatch.setattr(px4, "FIND_NS", 1_000_000_000)
    port = free_port()
    with beating(Autopilot(), port) as peer:
        peer.hub.links[0].signer = Signer(read_key(key))
        yield f"udpin://127.0.0.1:{port}"


def conform(link: str, *options: object) -> int:
    words = ["conform", "x500", "--mode", "real", "--link", link, "--only", "reset"]
    return main([*words, *map(str, options)])


def test_equal_skips_are_one_line_with_their_count(
    link: str, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(RESETS) > 1
    assert conform(link, "--signing-key", key, "--system", 1) == SKIPPED
    heading, line, total = capsys.readouterr().out.splitlines()
    assert heading == "skipped:"
    assert line.split("[SKIP]")[0].strip() == f"{len(RESETS)} checks (-v names them)"
    assert line.endswith(f"[SKIP]  {REASON}")
    assert total == f"0 passed, 0 failed, {len(RESETS)} skipped"


def test_verbose_names_each_skip(link: str, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert conform(link, "--signing-key", key, "-v") == SKIPPED
    lines = [line for line in capsys.readouterr().out.splitlines() if "[SKIP]" in line]
    assert sorted(line.split("[SKIP]")[0].strip() for line in lines) == sorted(RESETS)


@pytest.mark.parametrize("options", [("--system", 9), ()])
def test_what_can_t_be_reached_is_one_line_and_no_verdict(
    link: str, key: Path, options: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    signed = ("--signing-key", key) if options else ()
    assert conform(link, *signed, *options) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert ("only from 1/1" if options else "no signing key is given") in said.err


def test_a_key_and_a_system_are_for_hardware(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", "x500", "--signing-key", "key", "--system", "1"]) == 1
    assert "--signing-key, --system without hardware; expected" in capsys.readouterr().err


def test_the_help_says_what_exit_code_1_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["conform", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "1 at least one failed, or none was tried because the HAL could not be made" in said
