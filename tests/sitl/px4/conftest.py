"""A real PX4, where there is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.px4 import alone, px4_home
from tests.sitl.px4.fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """fleet.launch(3) flies three PX4s in our physics, as fast as they follow."""
    px4_home()
    with alone():
        fleet = Fleet(tmp_path)
        yield fleet
        fleet.close()
