"""The log is the one that its manifest describes, and neither was changed since."""

from collections.abc import Mapping
from pathlib import Path

from ghost.telemetry import LogReader, Manifest, file_sha256
from ghost.telemetry.manifest import config_sha256
from ghost.verify.verdict import Heard, Result, Verdict

_ENDINGS = ("complete", "recovered")


class Hashes:
    """Counts what it hears; the rest is read from the files."""

    name = "hashes"

    def __init__(self, reader: LogReader, manifest: Manifest) -> None:
        self._path = reader.path
        self._schemas = {name: channel.schema for name, channel in reader.channels.items()}
        self._manifest = manifest
        self._counts: dict[str, int] = {}
        self._start_ns: int | None = None
        self._end_ns: int | None = None

    def wants(self, channel: str) -> bool:
        del channel
        return True

    def hear(self, heard: Heard) -> None:
        self._counts[heard.channel] = self._counts.get(heard.channel, 0) + 1
        self._end_ns = heard.log_ns
        if self._start_ns is None:
            self._start_ns = heard.log_ns

    def verdict(self) -> Verdict:
        wrong = self._wrong()
        if wrong:
            return Verdict(self.name, Result.FAIL, wrong)
        log = self._manifest.log
        figure = f"{log.status}, log {log.sha256}, config {self._manifest.config_sha256}"
        return Verdict(self.name, Result.PASS, figure)

    def _wrong(self) -> str:
        log = self._manifest.log
        if config_sha256(self._manifest.config) != self._manifest.config_sha256:
            return "the manifest's config was changed after the run: config_sha256 doesn't match"
        if log.status not in _ENDINGS:
            return f"the manifest says {log.status}: the run never closed its log"
        actual = file_sha256(self._path)
        if actual != log.sha256:
            return f"the log's sha256 is {actual}; the manifest says {log.sha256}"
        return _differs(self._path, log.size_bytes, self._counts, self._told_counts()) or (
            self._other_span() or self._other_schema()
        )

    def _told_counts(self) -> dict[str, int]:
        return {entry.name: entry.count for entry in self._manifest.log.channels}

    def _other_span(self) -> str:
        log, found = self._manifest.log, (self._start_ns, self._end_ns)
        if found == (log.start_ns, log.end_ns):
            return ""
        told = f"{log.start_ns} to {log.end_ns} ns"
        return f"the log runs from {found[0]} to {found[1]} ns; the manifest says {told}"

    def _other_schema(self) -> str:
        for entry in self._manifest.log.channels:
            found = self._schemas.get(entry.name)
            if found is not None and found != entry.schema:
                return f"{entry.name} holds {found}; the manifest says {entry.schema}"
        return ""


def _differs(
    path: Path, size_bytes: int | None, found: Mapping[str, int], told: Mapping[str, int]
) -> str:
    size = path.stat().st_size
    if size != size_bytes:
        return f"the log has {size} bytes; the manifest says {size_bytes}"
    for name in sorted({**found, **told}):
        if found.get(name, 0) != told.get(name, 0):
            numbers = f"{found.get(name, 0)} messages; the manifest says {told.get(name, 0)}"
            return f"{name} holds {numbers}"
    return ""
