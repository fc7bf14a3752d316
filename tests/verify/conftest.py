"""Short flights, each flown once for all tests of a session."""

from pathlib import Path

import pytest

from ghost.telemetry import LogReader, Record
from tests.verify.rig import Killing, Silence, fly


@pytest.fixture(scope="session")
def hover(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fly(tmp_path_factory.mktemp("hover"), seed=1)


@pytest.fixture(scope="session")
def records(hover: Path) -> list[Record]:
    return list(LogReader(hover).messages())


@pytest.fixture(scope="session")
def silent(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    run = fly(tmp_path_factory.mktemp("silent"), 2, Silence())
    return list(LogReader(run).messages())


@pytest.fixture(scope="session")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    run = fly(tmp_path_factory.mktemp("killed"), 3, Killing())
    return list(LogReader(run).messages())
