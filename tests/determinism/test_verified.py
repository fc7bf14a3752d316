"""The canonical flights keep every promise that their logs can show."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ghost.deploy.verified import verify_run
from ghost.verify import Result
from tests.determinism.conftest import CANON


@pytest.mark.parametrize("name", CANON)
def test_a_canonical_flight_passes_verification(name: str, flown: Callable[[str], Path]) -> None:
    results = {verdict.name: verdict.result for verdict in verify_run(flown(name)).verdicts}
    assert results.pop("kill") is Result.SKIP
    assert [name for name, result in results.items() if result is not Result.PASS] == []
