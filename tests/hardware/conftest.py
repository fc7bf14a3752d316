"""A real PX4, where there is one; and less patience than in reality, where there is none."""

import pytest

from ghost.hardware import px4 as backend
from ghost.hardware import run
from tests.px4 import px4

__all__ = ["px4"]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What isn't there is given up soon."""
    monkeypatch.setattr(backend, "FIND_NS", 700_000_000)
    monkeypatch.setattr(run, "FIRST_NS", 700_000_000)
    monkeypatch.setattr(run, "LISTEN_NS", 300_000_000)
