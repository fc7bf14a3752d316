"""A disk of its own for the unit's run folder, which can be full."""

import errno
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from ghost.core.errors import ConfigError
from hil.companion.errors import NotPossibleHereError
from hil.companion.unit import Unit, family_of

TMPFS, FILE_SIZE_LIMIT = "tmpfs", "file size limit"
_LEAST_BYTES = 1 << 20
_COMMAND_S = 10.0


class RunDisk:
    """Made before the unit starts. Where this user may mount, the folder is a small file system of
    its own, and a full one refuses with ENOSPC. Else nothing can be filled without harm to the
    machine, and `full` takes from the unit the right to make any file longer: EFBIG, for every
    regular file that it writes, its output among them. `how` says which.
    """

    def __init__(self, folder: Path, *, size_bytes: int = 64 << 20, fallback: bool = True) -> None:
        if size_bytes < _LEAST_BYTES:
            raise ConfigError(f"a disk of {size_bytes} bytes; expected {_LEAST_BYTES} or more")
        self.folder = folder
        self._size_bytes = size_bytes
        self._fallback = fallback
        self.how = ""

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise ConfigError(f"{self.folder} has files, which a disk over it would hide")
        options = f"size={self._size_bytes},mode=0755"
        refusal = _run("mount", "-t", "tmpfs", "-o", options, "ghost-run", str(self.folder))
        if refusal and not self._fallback:
            raise NotPossibleHereError(f"no disk for {self.folder}: {refusal}")
        self.how = FILE_SIZE_LIMIT if refusal else TMPFS
        return self

    def __exit__(self, *_: object) -> None:
        """What was written stays in the folder: a flight log is evidence."""
        if self.how != TMPFS:
            return
        with tempfile.TemporaryDirectory(
            dir=self.folder.parent, prefix=f".{self.folder.name}-"
        ) as kept:
            try:
                shutil.copytree(self.folder, kept, symlinks=True, dirs_exist_ok=True)
            finally:
                if _run("umount", str(self.folder)):  # somebody still has a file open there
                    _run("umount", "-l", str(self.folder))
            shutil.copytree(kept, self.folder, symlinks=True, dirs_exist_ok=True)

    @contextmanager
    def full(self, unit: Unit) -> Iterator[None]:
        """Not a byte more inside; room again after it."""
        if not self.how:
            raise ConfigError("the disk is not there yet; enter it before the unit starts")
        with self._filled() if self.how == TMPFS else _without_growth(unit):
            yield

    @contextmanager
    def _filled(self) -> Iterator[None]:
        filler = self.folder / ".filler"
        try:
            _fill(filler, self._size_bytes)
            yield
        finally:
            filler.unlink(missing_ok=True)


def _fill(filler: Path, most_bytes: int) -> None:
    with filler.open("wb", buffering=0) as stream:
        for block in (bytes(1 << 16), bytes(4096), bytes(1)):
            with suppress(_DiskFull):
                for _ in range(most_bytes // len(block) + 1):
                    _write(stream.fileno(), block)


def _write(number: int, block: bytes) -> None:
    try:
        os.write(number, block)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _DiskFull from None
        raise


class _DiskFull(Exception):  # noqa: N818 - what is wanted here is no error
    pass


@contextmanager
def _without_growth(unit: Unit) -> Iterator[None]:
    before: dict[int, tuple[int, int]] = {}
    try:
        for pid in family_of(unit):
            before[pid] = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[pid][1]))
        yield
    except PermissionError:
        raise NotPossibleHereError("this user may not limit the files of the unit") from None
    finally:
        for pid, limits in before.items():
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def _run(*words: str) -> str:
    """Empty, or why it failed."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
