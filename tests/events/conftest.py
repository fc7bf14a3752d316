import pytest

from tests.events.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()
