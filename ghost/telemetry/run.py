"""One run is one folder: log.mcap, manifest.yaml, and what is derived from them."""

import fcntl
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from ghost.core.errors import LogError
from ghost.events import Bus
from ghost.telemetry.background import BackgroundLog
from ghost.telemetry.buffer import DropPolicy
from ghost.telemetry.log import ChannelCount
from ghost.telemetry.manifest import (
    MANIFEST_NAME,
    ChannelEntry,
    LogEntry,
    Manifest,
    write_manifest,
)
from ghost.telemetry.reader import LOG_NAME
from ghost.telemetry.synchronous import SynchronousLog


class RunRecorder:
    """Records a bus into a run folder, from construction to close.

    In simulation synchronously, so that the same run gives the same bytes; on hardware through
    the background writer. A run that didn't reach close() leaves a manifest that says so.
    """

    def __init__(
        self,
        folder: Path | str,
        bus: Bus,
        manifest: Manifest,
        *,
        background: bool = False,
        policy: DropPolicy = DropPolicy.DROP_OLDEST,
    ) -> None:
        self.folder = Path(folder)
        self.manifest = manifest
        self._bus = bus
        path = self.folder / LOG_NAME
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("xb")
            fcntl.flock(self._stream, fcntl.LOCK_EX)  # keeps `ghost log recover` off a live log
            self._begin(manifest)
        except FileExistsError as error:
            taken = error.filename
            raise LogError(f"{taken} exists already; give each run a folder of its own") from None
        except OSError as error:
            raise LogError(f"cannot record into {self.folder}: {error}") from None
        if background:
            self._sink: SynchronousLog | BackgroundLog = BackgroundLog(
                self._stream, bus, policy=policy
            )
        else:
            self._sink = SynchronousLog(self._stream, bus)
        try:
            self._stream.flush()  # whoever is killed a moment later leaves a log, if an empty one
        except OSError as error:
            with suppress(LogError):
                self._sink.close()
            self._discard()
            (self.folder / MANIFEST_NAME).unlink(missing_ok=True)
            raise LogError(f"cannot record into {self.folder}: {error}") from None
        bus.attach(self._sink, name="log")

    def _begin(self, manifest: Manifest) -> None:
        try:
            write_manifest(manifest, self.folder)
        except BaseException:
            self._discard()
            raise

    def _discard(self) -> None:
        """An empty log would keep the next try out of the folder."""
        with suppress(OSError):
            self._stream.close()
        (self.folder / LOG_NAME).unlink(missing_ok=True)

    def close(self) -> Manifest:
        """Finish log and manifest. A second close changes nothing."""
        if self._stream.closed:
            return self.manifest
        try:
            self._sink.close()  # still attached: what it has to say at the end is logged too
        finally:
            self._bus.detach("log")
            with suppress(OSError):  # told already; what is on the disk can be recovered
                self._stream.close()
        writer = self._sink.writer
        self.manifest = replace(
            self.manifest,
            log=finished_log(
                self.folder / LOG_NAME, "complete", writer.channels, writer.start_ns, writer.end_ns
            ),
        )
        write_manifest(self.manifest, self.folder)
        return self.manifest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def finished_log(
    path: Path,
    status: str,
    channels: Mapping[str, ChannelCount],
    start_ns: int | None,
    end_ns: int | None,
) -> LogEntry:
    """What the manifest says of a closed log."""
    return LogEntry(
        status=status,
        start_ns=start_ns,
        end_ns=end_ns,
        size_bytes=path.stat().st_size,
        sha256=file_sha256(path),
        channels=tuple(
            ChannelEntry(name, channels[name].schema, channels[name].count)
            for name in sorted(channels)
        ),
    )


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
