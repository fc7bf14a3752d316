"""manifest.yaml: what a run was, beside its log. Enough to judge it and to repeat it."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import numpy as np
import yaml

import ghost
from ghost.core.errors import ConfigError
from ghost.hal import HAL_PROTOCOL_VERSION

MANIFEST_NAME = "manifest.yaml"


@dataclass(frozen=True, slots=True)
class GitState:
    """Of the checkout that ran; None where Ghost was installed without one."""

    revision: str | None
    dirty: bool | None


@dataclass(frozen=True, slots=True)
class Versions:
    ghost: str
    hal_protocol: str
    python: str
    numpy: str


@dataclass(frozen=True, slots=True)
class ChannelEntry:
    name: str
    schema: str
    count: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The log as it was closed. status is recording until then, and tells a crash from an end."""

    status: str = "recording"
    start_ns: int | None = None
    end_ns: int | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    channels: tuple[ChannelEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    run_id: str
    robot: str
    scenario: str
    seed: int
    deterministic: bool
    reproduce: str
    config: Mapping[str, Any]
    config_sha256: str
    git: GitState
    versions: Versions
    log: LogEntry = field(default_factory=LogEntry)


def describe_run(
    *,
    robot: str,
    scenario: str,
    seed: int,
    deterministic: bool,
    reproduce: str,
    config: Mapping[str, Any],
    run_id: str | None = None,
) -> Manifest:
    """A manifest for a run that is about to start; its id follows from what defines the run."""
    snapshot = _snapshot(config)
    digest = config_sha256(snapshot)
    return Manifest(
        run_id=run_id or f"{robot}-{scenario}-seed{seed}-{digest[:8]}",
        robot=robot,
        scenario=scenario,
        seed=seed,
        deterministic=deterministic,
        reproduce=reproduce,
        config=snapshot,
        config_sha256=digest,
        git=_git_state(),
        versions=Versions(
            ghost.__version__, HAL_PROTOCOL_VERSION, platform.python_version(), np.__version__
        ),
    )


def config_sha256(config: Mapping[str, Any]) -> str:
    text = json.dumps(_snapshot(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _snapshot(config: Mapping[str, Any]) -> dict[str, Any]:
    """A plain copy: what changes the original later doesn't change it."""
    try:
        copy: dict[str, Any] = json.loads(json.dumps(config))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"config holds what JSON can't: {error}") from None
    return copy


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Written whole or not at all, and on the disk: without it a log can't be repaired. A crash
    leaves the previous one.
    """
    plain = asdict(replace(manifest, config=dict(manifest.config)))
    plain["log"]["channels"] = list(plain["log"]["channels"])
    try:
        text = yaml.safe_dump(plain, sort_keys=False)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"the manifest holds what YAML can't: {reason}") from None
    unfinished = folder / f".{MANIFEST_NAME}.new"
    try:
        with unfinished.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(folder / MANIFEST_NAME)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_manifest(folder: Path) -> Manifest:
    """Every key and type checked, and that the config is what it was."""
    manifest = read_unchecked(folder)
    path = folder / MANIFEST_NAME
    try:
        actual = config_sha256(manifest.config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if actual != manifest.config_sha256:
        raise ConfigError(f"{path}: config was changed after the run; config_sha256 doesn't match")
    return manifest


def read_unchecked(folder: Path) -> Manifest:
    """As it stands, for who judges its config by config_sha256 himself."""
    path = folder / MANIFEST_NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"no {MANIFEST_NAME} in {folder}") from None
    try:
        plain = yaml.safe_load(content)
    except Exception as error:
        # Any kind: a date like 2026-13-01 or a tag like !!bool x makes PyYAML raise its own.
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path} is not YAML: {reason}") from error
    manifest: Manifest = _build(Manifest, plain, str(path), "")
    return manifest


def _build(kind: Any, plain: Any, path: str, key: str) -> Any:
    """A dataclass from plain data; every key and type checked, with the key's path in the error."""
    where = f"{path}: {key[:-1]}" if key else path
    if not isinstance(plain, dict):
        raise ConfigError(f"{where} is {plain!r:.80}; expected keys and values")
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind)]
    for name in plain:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; expected {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {name!r}{hint}")
    if missing := [name for name in known if name not in plain]:
        raise ConfigError(f"{where}: missing key {missing[0]!r}")
    values = {name: _value(hints[name], plain[name], path, f"{key}{name}") for name in known}
    return kind(**values)


def _value(hint: Any, plain: Any, path: str, key: str) -> Any:
    if hint in (GitState, Versions, LogEntry):
        return _build(hint, plain, path, f"{key}.")
    if key.endswith("channels"):
        if not isinstance(plain, list):
            raise ConfigError(f"{path}: {key} is {plain!r:.80}; expected a list")
        return tuple(
            _build(ChannelEntry, entry, path, f"{key}[{index}].")
            for index, entry in enumerate(plain)
        )
    expected = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if key == "config":
        expected = (dict,)
    if type(plain) not in expected:
        names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in expected)
        raise ConfigError(f"{path}: {key} is {plain!r:.80}; expected {names}")
    return plain


def _git_state() -> GitState:
    root = Path(ghost.__file__).parent.parent
    if not (root / ".git").exists():
        return GitState(revision=None, dirty=None)
    revision = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain")
    return GitState(revision or None, None if changes is None else bool(changes))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", *arguments],  # noqa: S607 - whichever git the user has
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
