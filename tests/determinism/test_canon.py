"""The same scenario, seed and code give the same flight: twice on this machine, and on any."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ghost.telemetry import LogReader, channel_sha256, file_sha256
from tests.determinism.conftest import CANON

GOLDEN = Path(__file__).with_name("golden.yaml")
Flown = Callable[[str], Path]


@pytest.mark.parametrize("name", CANON)
def test_two_runs_write_the_same_bytes(name: str, flown: Flown, flown_again: Flown) -> None:
    first, second = flown(name) / "log.mcap", flown_again(name) / "log.mcap"
    assert file_sha256(first) == file_sha256(second)


@pytest.mark.parametrize("name", CANON)
def test_the_true_path_is_the_golden_one(name: str, flown: Flown) -> None:
    golden = yaml.safe_load(GOLDEN.read_text())
    assert channel_sha256(LogReader(flown(name)), "/groundtruth/pose") == golden[name], (
        "the flight has changed; if it was meant to, run `make golden` and say why in the commit"
    )
