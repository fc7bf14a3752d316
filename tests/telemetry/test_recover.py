import errno
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.records import Chunk
from mcap.stream_reader import StreamReader

from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, LogError
from ghost.events import Bus
from ghost.telemetry import LogReader, Manifest, RunRecorder, read_manifest, recover
from ghost.telemetry import log as log_module
from ghost.telemetry.manifest import LogEntry, write_manifest
from ghost.telemetry.reader import Record

Read = Callable[[Path], list[Record]]
CUTS = 60


@pytest.fixture
def log(
    tmp_path: Path, record: Callable[[Path, int], Manifest], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A finished run whose log has a dozen chunks or so."""
    monkeypatch.setattr(log_module, "CHUNK_BYTES", 16_000)
    monkeypatch.setattr(log_module.LogWriter.__init__, "__kwdefaults__", {"chunk_bytes": 16_000})
    record(tmp_path / "run", 800)
    return tmp_path / "run" / "log.mcap"


def chunk_spans(path: Path) -> list[tuple[int, int]]:
    """Where each chunk's compressed records lie in the file."""
    whole = path.read_bytes()
    with path.open("rb") as stream:
        chunks = [
            entry
            for entry in StreamReader(stream, emit_chunks=True).records
            if isinstance(entry, Chunk)
        ]
    starts = [whole.index(chunk.data) for chunk in chunks]
    return [(start, start + len(chunk.data)) for start, chunk in zip(starts, chunks, strict=True)]


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)


def test_a_cut_anywhere_leaves_a_readable_prefix(log: Path, tmp_path: Path, read: Read) -> None:
    original = read(log)
    whole = log.read_bytes()
    cut = tmp_path / "cut.mcap"
    kept = []
    for size in range(8, len(whole), len(whole) // CUTS):
        cut.write_bytes(whole[:size])
        found = recover(cut)
        assert found.kept_as is not None
        assert found.kept_as.read_bytes() == whole[:size]
        records = read(cut)
        assert records == original[: len(records)]
        assert found.messages >= len(records)  # derived ones are in it, too
        assert "nothing" not in found.lost
        kept.append(len(records))
        found.kept_as.unlink()
    assert kept == sorted(kept)
    assert (kept[0], kept[-1]) == (0, len(original))
    assert len(set(kept)) > 5


def test_a_flipped_byte_loses_its_chunk_alone_and_says_so(log: Path, read: Read) -> None:
    original = read(log)
    spans = chunk_spans(log)
    assert len(spans) > 5
    pristine = log.read_bytes()
    for start, end in (spans[0], spans[len(spans) // 2], spans[-1]):
        log.write_bytes(pristine)
        flip(log, (start + end) // 2)
        with pytest.raises(LogError, match="damaged"):
            read(log)
        found = recover(log)
        assert found.damaged_chunks == 1
        assert found.lost == "1 damaged chunks"
        records = read(log)
        assert 0 < len(original) - len(records) < 2 * len(original) / len(spans)
        gone = {r.sequence for r in original} - {r.sequence for r in records}
        assert gone == set(range(min(gone), max(gone) + 1))
        assert records == [r for r in original if r.sequence not in gone]


def test_damage_is_always_a_log_error_to_a_reader(log: Path, tmp_path: Path, read: Read) -> None:
    whole = log.read_bytes()
    broken = tmp_path / "broken.mcap"
    for offset in range(0, len(whole), len(whole) // 150):
        broken.write_bytes(whole)
        flip(broken, offset)
        try:
            read(broken)
        except LogError as error:
            assert str(error).count("\n") == 0  # noqa: PT017 - either outcome is right


# A disk that has no room for a copy.


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Files may be changed, but none can be added; so much is free."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill(free_bytes: int) -> None:
        monkeypatch.setattr(sys.modules[recover.__module__], "_copy", refuse)
        usage = shutil.disk_usage("/")._replace(free=free_bytes)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    return fill


@pytest.mark.parametrize("free_bytes", [0, 1_000_000])
def test_without_room_for_a_copy_a_cut_log_is_finished_where_it_lies(
    log: Path, tmp_path: Path, read: Read, full: Callable[[int], None], free_bytes: int
) -> None:
    original = read(log)
    whole = log.read_bytes()
    chunk_bytes = max(end - start for start, end in chunk_spans(log))
    cut = tmp_path / "cut.mcap"
    ending_bytes = 16 * 1024 + 8_000
    full(free_bytes)
    kept = []
    for size in range(ending_bytes, len(whole), len(whole) // CUTS):
        cut.write_bytes(whole[:size])
        found = recover(cut)
        assert found.kept_as is None
        assert 0 < found.cut_bytes < 3 * chunk_bytes + (ending_bytes if not free_bytes else 0)
        assert free_bytes or cut.stat().st_size <= size
        records = read(cut)
        assert records == original[: len(records)]
        with cut.open("rb") as stream:  # by the index, as Foxglove does
            indexed = sum(1 for _ in make_reader(stream).iter_messages())
        assert indexed == found.messages == sum(c.count for c in found.channels.values())
        kept.append(len(records))
    assert kept == sorted(kept)
    assert len(set(kept)) > 5


def test_without_room_a_whole_log_is_left_as_it_is(log: Path, full: Callable[[int], None]) -> None:
    before = {path: path.read_bytes() for path in log.parent.iterdir()}
    full(0)
    assert recover(log).lost == "nothing: the log is whole"
    assert {path: path.read_bytes() for path in log.parent.iterdir()} == before


def test_without_room_damage_in_the_middle_is_left_for_later(
    log: Path, full: Callable[[int], None]
) -> None:
    flip(log, sum(chunk_spans(log)[2]) // 2)
    spoilt = log.read_bytes()
    full(0)
    with pytest.raises(LogError, match=r"^no room to repair .*; make \d+ bytes of room"):
        recover(log)
    assert log.read_bytes() == spoilt


def test_a_whole_log_is_left_as_it_is(log: Path) -> None:
    before = {path: path.read_bytes() for path in log.parent.iterdir()}
    found = recover(log.parent)
    assert found.lost == "nothing: the log is whole"
    assert found.kept_as is None
    assert {path: path.read_bytes() for path in log.parent.iterdir()} == before


def test_a_whole_log_whose_run_died_before_its_manifest_gets_one(log: Path) -> None:
    complete = read_manifest(log.parent)
    write_manifest(replace(complete, log=LogEntry()), log.parent)
    recover(log.parent)
    assert read_manifest(log.parent).log == replace(complete.log, status="recovered")


def test_recovery_completes_the_manifest_and_keeps_every_damaged_file(log: Path) -> None:
    whole = log.read_bytes()
    for name in ("log.damaged.mcap", "log.damaged.2.mcap"):
        log.write_bytes(whole[: len(whole) // 2])
        found = recover(log)
        assert found.kept_as == log.with_name(name)
    entry = read_manifest(log.parent).log
    assert entry.status == "recovered"
    assert (entry.start_ns, entry.end_ns) == (found.start_ns, found.end_ns)
    counts = {name: channel.count for name, channel in LogReader(log).channels.items()}
    assert {channel.name: channel.count for channel in entry.channels} == counts
    assert sum(counts.values()) == found.messages


@pytest.mark.parametrize("content", [b"", b"\x89MCAP", b"PNG, honestly", b"a" * 5000])
def test_a_foreign_file_is_refused_and_nothing_is_left_behind(
    tmp_path: Path, content: bytes
) -> None:
    foreign = tmp_path / "log.mcap"
    foreign.write_bytes(content)
    with pytest.raises(LogError, match="is not an MCAP file"):
        recover(foreign)
    with pytest.raises(LogError, match="is not an MCAP file"):
        LogReader(foreign)
    assert list(tmp_path.iterdir()) == [foreign]
    assert foreign.read_bytes() == content


def test_a_broken_manifest_stops_recovery_before_it_touches_the_log(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-20])
    (log.parent / "manifest.yaml").write_text("run_id: [", encoding="utf-8")
    before = {path: path.read_bytes() for path in log.parent.iterdir()}
    with pytest.raises(ConfigError, match="is not YAML"):
        recover(log)
    assert {path: path.read_bytes() for path in log.parent.iterdir()} == before


def test_a_log_that_is_being_recorded_is_left_alone(
    tmp_path: Path, manifest: Callable[..., Manifest]
) -> None:
    with RunRecorder(tmp_path / "run", Bus(SimClock()), manifest()):
        with pytest.raises(LogError, match="is being recorded; wait"):
            recover(tmp_path / "run")
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
            "log.mcap",
            "manifest.yaml",
        ]


@pytest.mark.parametrize("background", [False, True])
def test_a_run_that_is_killed_at_once_leaves_a_log(
    tmp_path: Path, manifest: Callable[..., Manifest], *, background: bool
) -> None:
    with RunRecorder(tmp_path / "run", Bus(SimClock()), manifest(), background=background):
        shutil.copytree(tmp_path / "run", tmp_path / "as the disk has it")
    found = recover(tmp_path / "as the disk has it")
    assert (found.messages, found.lost) == (0, "whatever was not on disk yet after the start")
    assert LogReader(tmp_path / "as the disk has it").channels == {}


def test_another_file_in_the_folder_does_not_touch_the_manifest(log: Path) -> None:
    before = read_manifest(log.parent)
    other = log.with_name("other.mcap")
    other.write_bytes(log.read_bytes()[:20_000])
    recover(other)
    assert read_manifest(log.parent) == before
