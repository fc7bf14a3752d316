"""A run verified by the envelope of the robot that its manifest holds."""

from pathlib import Path

from ghost.core.errors import ConfigError
from ghost.deploy.robot import described
from ghost.hal import SafetyEnvelope
from ghost.telemetry import Manifest
from ghost.telemetry.manifest import MANIFEST_NAME, read_unchecked
from ghost.verify import Verification, run_folder, terms_of, verify


def verify_run(path: Path) -> Verification:
    """Path is a run folder, or the log in one."""
    folder = run_folder(path)
    manifest = read_unchecked(folder)
    return verify(folder, manifest, terms_of(manifest.config, _envelope(manifest, folder)))


def _envelope(manifest: Manifest, folder: Path) -> SafetyEnvelope | None:
    """None where there is no robot, as in the log of a whole swarm."""
    robot = manifest.config.get("robot")
    if not robot:
        return None
    try:
        return described(robot, folder).envelope
    except ConfigError as error:
        raise ConfigError(f"{folder / MANIFEST_NAME}: {error}") from None
