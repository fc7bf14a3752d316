"""Every flight of the rig is judged by its log, too, whatever its case was about."""

from collections.abc import Sequence
from pathlib import Path

from ghost.deploy.verified import verify_run
from ghost.telemetry import read_manifest
from ghost.telemetry.manifest import MANIFEST_NAME
from ghost.verify import Result
from hil.verdict import Outcome


def judged(figure: str, folders: Sequence[Path]) -> tuple[Outcome, str]:
    """A case's figure stands where the logs of its units hold what they promise. One that was cut
    off, as by a kill, is the next start's to recover, and its case's to look at.
    """
    verified = 0
    for folder in folders:
        if not (folder / MANIFEST_NAME).exists() or not _is_closed(folder):
            continue
        verified += 1
        for verdict in verify_run(folder).verdicts:
            if verdict.result is Result.FAIL:
                return Outcome.FAIL, f"{folder}: its log says: {verdict}; the case itself: {figure}"
    logs = f"; {verified} log{'s' * (verified != 1)} verified" if verified else ""
    return Outcome.PASS, f"{figure}{logs}"


def _is_closed(folder: Path) -> bool:
    return read_manifest(folder).log.status == "complete"
