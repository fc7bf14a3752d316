import os
import platform
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from datetime import date
from enum import IntEnum
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mcap.records import Attachment, Chunk, Message, Metadata
from mcap.stream_reader import StreamReader, get_chunk_data_stream

import ghost
from ghost.core.clock import SimClock
from ghost.core.errors import ConfigError, LogError
from ghost.events import Bus
from ghost.hal import HAL_PROTOCOL_VERSION
from ghost.hal.channels import IMU
from ghost.hal.samples import ImuSample
from ghost.telemetry import Manifest, RunRecorder, file_sha256, read_manifest
from ghost.telemetry.manifest import ChannelEntry, GitState, config_sha256, write_manifest

Make = Callable[..., Manifest]
RecordRun = Callable[[Path, int], Manifest]


@pytest.fixture
def folder(tmp_path: Path, record: RecordRun) -> Path:
    record(tmp_path / "run", 120)
    return tmp_path / "run"


def load(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = yaml.safe_load((folder / "manifest.yaml").read_text(encoding="utf-8"))
    return plain


def put(folder: Path, plain: object) -> None:
    (folder / "manifest.yaml").write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")


def refusal(folder: Path) -> str:
    """What reading says, which is one line that begins with the file."""
    with pytest.raises(ConfigError) as caught:
        read_manifest(folder)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(str(folder / "manifest.yaml"))
    return line.removeprefix(str(folder / "manifest.yaml"))


def keys_of(plain: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in plain.items():
        yield prefix + name
        if isinstance(value, dict) and name != "config":
            yield from keys_of(value, f"{prefix}{name}.")


def test_a_manifest_reads_back_as_it_was_written(
    tmp_path: Path, manifest: Make, record: RecordRun
) -> None:
    started = manifest()
    write_manifest(started, tmp_path)
    assert read_manifest(tmp_path) == started
    finished = record(tmp_path / "run", 120)
    assert read_manifest(tmp_path / "run") == finished
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["manifest.yaml"]


def test_every_key_is_in_the_file(folder: Path) -> None:
    assert list(keys_of(load(folder))) == [
        "run_id",
        "robot",
        "scenario",
        "seed",
        "deterministic",
        "reproduce",
        "config",
        "config_sha256",
        "git",
        "git.revision",
        "git.dirty",
        "versions",
        "versions.ghost",
        "versions.hal_protocol",
        "versions.python",
        "versions.numpy",
        "log",
        "log.status",
        "log.start_ns",
        "log.end_ns",
        "log.size_bytes",
        "log.sha256",
        "log.channels",
    ]
    assert [list(channel) for channel in load(folder)["log"]["channels"]] == 5 * [
        ["name", "schema", "count"]
    ]


def test_the_values_are_those_of_the_run(folder: Path) -> None:
    found = read_manifest(folder)
    assert (found.robot, found.scenario, found.seed, found.deterministic) == (
        "quad",
        "hover",
        7,
        True,
    )
    assert found.run_id == f"quad-hover-seed7-{found.config_sha256[:8]}"
    assert found.reproduce == "ghost deploy sim quad --scenario hover --seed 7"
    assert found.config == {"mass_kg": 1.5, "rotors": [1, 2], "wind": {"on": False}}
    assert found.config_sha256 == config_sha256(found.config)
    versions = found.versions
    assert (versions.ghost, versions.hal_protocol) == (ghost.__version__, HAL_PROTOCOL_VERSION)
    assert (versions.python, versions.numpy) == (platform.python_version(), np.__version__)
    log = folder / "log.mcap"
    assert (found.log.start_ns, found.log.end_ns) == (0, 119_000_000)
    assert (found.log.size_bytes, found.log.sha256) == (log.stat().st_size, file_sha256(log))
    assert found.log.channels == (
        ChannelEntry("/events", "ghost.Event", 2),
        ChannelEntry("/events/text", "foxglove.Log", 2),
        ChannelEntry("/groundtruth/pose", "foxglove.PoseInFrame", 120),
        ChannelEntry("/groundtruth/pose/tf", "foxglove.FrameTransform", 6),
        ChannelEntry("/sensors/imu", "ghost.ImuSample", 120),
    )


def test_a_run_id_of_one_s_own_is_kept(manifest: Make) -> None:
    assert manifest(run_id="tuesday").run_id == "tuesday"


def test_the_config_hash_follows_content_and_not_order(manifest: Make) -> None:
    one = manifest(config={"a": 1, "b": {"c": 2.0, "d": 3}})
    assert manifest(config={"b": {"d": 3, "c": 2.0}, "a": 1}).config_sha256 == one.config_sha256
    assert manifest(config={"a": 1, "b": {"c": 2.5, "d": 3}}).config_sha256 != one.config_sha256


class Mode(IntEnum):
    FAST = 2


def test_the_config_is_a_plain_snapshot(tmp_path: Path, manifest: Make) -> None:
    config: dict[str, Any] = {
        "mass_kg": np.float64(0.1),
        "mode": Mode.FAST,
        "gains": (1e-300, float("inf"), -0.0),
        "note": "2026-01-01: ü \x85 'on'\n",
        "limits": {"tilt": 1},
        "rotors": {2: "cw", 10: "ccw"},
    }
    described = manifest(config=config)
    config["limits"]["tilt"] = 2
    write_manifest(described, tmp_path)
    found = read_manifest(tmp_path)
    assert found == described
    assert found.config["limits"] == {"tilt": 1}
    assert found.config["gains"] == [1e-300, float("inf"), -0.0]


@pytest.mark.parametrize("value", [np.ones(3), object(), {(1, 2): 3}, b"raw"])
def test_a_config_that_no_file_can_hold_is_refused(manifest: Make, value: object) -> None:
    with pytest.raises(ConfigError, match=r"^config holds what JSON can't: .+$"):
        manifest(config={"value": value})


@pytest.mark.parametrize(
    ("where", "wrong", "line"),
    [
        ((), "sead", ": unknown key 'sead'; did you mean seed?"),
        ((), "config_sha265", ": unknown key 'config_sha265'; did you mean config_sha256?"),
        (("git",), "revison", ": git: unknown key 'revison'; did you mean revision?"),
        (("versions",), "nunpy", ": versions: unknown key 'nunpy'; did you mean numpy?"),
        (("log",), "end", ": log: unknown key 'end'; did you mean end_ns?"),
        (
            ("log", "channels", 1),
            "counts",
            ": log.channels[1]: unknown key 'counts'; did you mean count?",
        ),
        (("git",), "zzz", ": git: unknown key 'zzz'; expected revision, dirty"),
        (("git",), 7, ": git: unknown key 7; expected revision, dirty"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    folder: Path, where: tuple[str | int, ...], wrong: str | int, line: str
) -> None:
    plain = load(folder)
    inner: Any = plain
    for step in where:
        inner = inner[step]
    inner[wrong] = 1
    put(folder, plain)
    assert refusal(folder) == line


@pytest.mark.parametrize("key", [entry.name for entry in fields(Manifest)])
def test_a_missing_key_is_named(folder: Path, key: str) -> None:
    plain = load(folder)
    del plain[key]
    put(folder, plain)
    assert refusal(folder) == f": missing key {key!r}"


def test_a_missing_inner_key_is_named_with_its_place(folder: Path) -> None:
    plain = load(folder)
    del plain["log"]["channels"][2]["schema"]
    put(folder, plain)
    assert refusal(folder) == ": log.channels[2]: missing key 'schema'"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("seed", "7", ": seed is '7'; expected int"),
        ("seed", True, ": seed is True; expected int"),
        ("seed", 7.0, ": seed is 7.0; expected int"),
        ("deterministic", 1, ": deterministic is 1; expected bool"),
        ("robot", None, ": robot is None; expected str"),
        ("config", [1], ": config is [1]; expected dict"),
        ("git", "abc", ": git is 'abc'; expected keys and values"),
        ("git.dirty", "yes", ": git.dirty is 'yes'; expected bool or NoneType"),
        ("log", [], ": log is []; expected keys and values"),
        ("log.sha256", 12, ": log.sha256 is 12; expected str or NoneType"),
        ("log.channels", "none", ": log.channels is 'none'; expected a list"),
        ("log.channels", [3], ": log.channels[0] is 3; expected keys and values"),
        ("robot", ["x" * 500], f": robot is ['{'x' * 78}; expected str"),
    ],
)
def test_a_value_of_another_type_is_named(folder: Path, key: str, value: object, line: str) -> None:
    plain = load(folder)
    *outer, last = key.split(".")
    inner = plain[outer[0]] if outer else plain
    inner[last] = value
    put(folder, plain)
    assert refusal(folder) == line


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", " is None; expected keys and values"),
        (b"- 1\n- 2\n", " is [1, 2]; expected keys and values"),
        (b"just words", " is 'just words'; expected keys and values"),
        (b"run_id: [", " is not YAML: "),
        (b"a: b: c", " is not YAML: "),
        (b"a: !!python/object:os.system x", " is not YAML: "),
        (b"started: 2026-13-45", " is not YAML: month must be in 1..12"),
        (b"seed: !!bool maybe", " is not YAML: "),
        (b"\x89MCAP0\r\n\x00\x01\x02\xff\xfe", " is not YAML: "),
        (bytes(range(256)), " is not YAML: "),
        (b"[" * 5000, " is not YAML: "),
    ],
)
def test_what_is_not_a_manifest_at_all_is_refused(
    tmp_path: Path, content: bytes, line: str
) -> None:
    (tmp_path / "manifest.yaml").write_bytes(content)
    assert refusal(tmp_path).startswith(line)


def test_a_folder_without_a_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^no manifest\.yaml in "):
        read_manifest(tmp_path)


@pytest.mark.parametrize("change", [{"mass_kg": 1.6}, {"payload_kg": 0.2}])
def test_a_config_changed_after_the_run_is_noticed(folder: Path, change: dict[str, Any]) -> None:
    plain = load(folder)
    plain["config"] |= change
    put(folder, plain)
    assert refusal(folder) == ": config was changed after the run; config_sha256 doesn't match"


def test_a_config_edited_into_what_no_run_has_is_named(folder: Path) -> None:
    plain = load(folder)
    plain["config"]["day"] = date(2026, 1, 1)
    put(folder, plain)
    assert refusal(folder).startswith(": config holds what JSON can't: ")


def test_a_failed_write_leaves_the_previous_manifest(folder: Path) -> None:
    before = (folder / "manifest.yaml").read_bytes()
    with pytest.raises(ConfigError, match=r"^the manifest holds what YAML can't: .+$"):
        write_manifest(replace(read_manifest(folder), config={"gain": np.float64(2)}), folder)
    assert (folder / "manifest.yaml").read_bytes() == before


def test_a_manifest_is_on_the_disk_before_it_takes_the_old_one_s_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut between the two would leave an empty file, and a log that can't be repaired."""
    told: list[str] = []
    sync, move = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        sync(descriptor)
        told.append(f"{Path(f'/proc/self/fd/{descriptor}').readlink().name} synced")

    def moved(path: Path, target: Path) -> Path:
        told.append(f"{path.name} moved to {target.name}")
        return move(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", moved)
    write_manifest(read_manifest(folder), folder)
    assert told == [".manifest.yaml.new synced", ".manifest.yaml.new moved to manifest.yaml"]


def test_a_manifest_that_finds_no_room_leaves_nothing_but_the_previous_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_manifest(read_manifest(folder), folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


# The git facts, in a checkout of its own.


def git(root: Path, *arguments: str) -> str:
    found = shutil.which("git")
    assert found is not None
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    command = [found, *identity, *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the one that Ghost was imported from."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    package = tmp_path / "checkout" / "ghost"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(ghost, "__file__", str(package / "__init__.py"))
    return tmp_path / "checkout"


@pytest.fixture
def committed(checkout: Path) -> Path:
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "first")
    return checkout


def test_a_clean_checkout_is_its_revision(committed: Path, manifest: Make) -> None:
    head = git(committed, "rev-parse", "HEAD").strip()
    assert len(head) == 40
    assert manifest().git == GitState(revision=head, dirty=False)


@pytest.mark.parametrize("name", ["ghost/__init__.py", "ghost/new.py"])
def test_a_changed_or_added_file_makes_it_dirty(committed: Path, manifest: Make, name: str) -> None:
    (committed / name).write_text("x = 1\n", encoding="utf-8")
    head = git(committed, "rev-parse", "HEAD").strip()
    assert manifest().git == GitState(revision=head, dirty=True)


def test_a_checkout_without_a_commit_has_no_revision(checkout: Path, manifest: Make) -> None:
    git(checkout, "init", "--quiet")
    assert manifest().git == GitState(revision=None, dirty=True)


def test_an_installed_ghost_has_no_git_facts(
    checkout: Path, tmp_path: Path, manifest: Make
) -> None:
    assert manifest().git == GitState(revision=None, dirty=None)
    git(tmp_path, "init", "--quiet")  # somebody else's repository around it says nothing
    assert manifest().git == GitState(revision=None, dirty=None)
    assert not (checkout / ".git").exists()


def test_a_machine_without_git_has_no_git_facts(
    committed: Path, manifest: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(committed))
    assert manifest().git == GitState(revision=None, dirty=None)


# The recorder, which keeps the manifest true.


def test_the_status_goes_from_recording_to_complete(
    tmp_path: Path, manifest: Make, imu: Callable[[int], ImuSample]
) -> None:
    bus = Bus(SimClock())
    with RunRecorder(tmp_path, bus, manifest()) as recorder:
        bus.publish(IMU, imu(0))
        during = read_manifest(tmp_path)
        assert during == manifest()
        assert (during.log.status, during.log.sha256, during.log.channels) == (
            "recording",
            None,
            (),
        )
    after = read_manifest(tmp_path)
    assert after == recorder.manifest
    assert (after.log.status, after.log.sha256) == (
        "complete",
        file_sha256(tmp_path / "log.mcap"),
    )
    assert replace(after, log=during.log) == during


def test_a_run_that_fails_still_closes_its_log(
    tmp_path: Path, manifest: Make, imu: Callable[[int], ImuSample]
) -> None:
    bus = Bus(SimClock())

    def crash() -> None:
        bus.publish(IMU, imu(0))
        raise RuntimeError("the run fails")

    with pytest.raises(RuntimeError, match="fails"), RunRecorder(tmp_path, bus, manifest()):
        crash()
    assert read_manifest(tmp_path).log.channels == (
        ChannelEntry("/sensors/imu", "ghost.ImuSample", 1),
    )


def test_a_second_close_changes_nothing_and_the_bus_is_free_again(
    tmp_path: Path, manifest: Make, imu: Callable[[int], ImuSample]
) -> None:
    bus = Bus(SimClock())
    recorder = RunRecorder(tmp_path / "a", bus, manifest())
    bus.publish(IMU, imu(0))
    closed = recorder.close()
    bus.publish(IMU, imu(1))
    assert recorder.close() == closed == read_manifest(tmp_path / "a")
    with RunRecorder(tmp_path / "b", bus, manifest()):
        pass
    assert read_manifest(tmp_path / "b").log.channels == ()


def test_an_empty_run_is_complete_too(tmp_path: Path, manifest: Make) -> None:
    with RunRecorder(tmp_path, Bus(SimClock()), manifest()):
        pass
    log = read_manifest(tmp_path).log
    assert (log.status, log.start_ns, log.end_ns, log.channels) == ("complete", None, None, ())


def every_byte(path: Path) -> bytes:
    """The file as it is, and what its compressed chunks hold."""
    with path.open("rb") as stream:
        chunks = [
            get_chunk_data_stream(entry)[0]._stream.read()
            for entry in StreamReader(stream, emit_chunks=True).records
            if isinstance(entry, Chunk)
        ]
    assert chunks
    return path.read_bytes() + b"".join(chunks)


def test_the_same_run_writes_the_same_log_on_another_day_in_another_folder(
    tmp_path: Path, record: RecordRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = record(tmp_path / "one", 300)
    monkeypatch.setattr(time, "time", lambda: 4e9)
    monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000_000_000_000)
    other = record(tmp_path / "far" / "away" / "other", 300)
    log = (tmp_path / "one" / "log.mcap").read_bytes()
    assert (tmp_path / "far" / "away" / "other" / "log.mcap").read_bytes() == log
    assert one == other


def test_the_log_holds_no_version(folder: Path) -> None:
    content = every_byte(folder / "log.mcap")
    assert b"ghost.ImuSample" in content
    found = [
        name
        for name, text in {
            "mcap": version("mcap"),
            "protobuf": version("protobuf"),
            "foxglove": version("foxglove-schemas-protobuf"),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "ghost": ghost.__version__,
        }.items()
        if text.encode() in content
    ]
    assert found == []
    assert b"python" not in content.lower()
    assert b"mcap" not in content  # the file's own magic is in capitals


def test_the_log_holds_no_wall_time_and_no_path(folder: Path) -> None:
    content = every_byte(folder / "log.mcap")
    now_ns = time.time_ns()
    assert struct.pack("<Q", now_ns)[4:] not in content
    assert str(now_ns // 10**9)[:5].encode() not in content
    assert str(folder.parent).encode() not in content
    with (folder / "log.mcap").open("rb") as stream:
        records = list(StreamReader(stream).records)
    assert not [entry for entry in records if isinstance(entry, Attachment | Metadata)]
    messages = [entry for entry in records if isinstance(entry, Message)]
    assert max(max(entry.log_time, entry.publish_time) for entry in messages) == 119_000_000


def test_a_folder_with_a_log_is_refused_and_left_as_it_is(folder: Path, manifest: Make) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    bus = Bus(SimClock())
    with pytest.raises(LogError) as caught:
        RunRecorder(folder, bus, manifest(robot="other"))
    assert str(caught.value) == (
        f"{folder / 'log.mcap'} exists already; give each run a folder of its own"
    )
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    with RunRecorder(folder.parent / "next", bus, manifest()):
        pass


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, manifest: Make) -> None:
    (tmp_path / "run").write_bytes(b"")
    with pytest.raises(LogError, match=r"run exists already; give each run a folder of its own$"):
        RunRecorder(tmp_path / "run", Bus(SimClock()), manifest())
    with pytest.raises(LogError, match=r"^cannot record into .+Not a directory"):
        RunRecorder(tmp_path / "run" / "inner", Bus(SimClock()), manifest())


def test_a_manifest_that_can_t_be_written_leaves_no_log_in_the_way(
    tmp_path: Path, manifest: Make
) -> None:
    with pytest.raises(ConfigError, match="the manifest holds what YAML can't"):
        RunRecorder(tmp_path, Bus(SimClock()), manifest(seed=np.int64(7)))
    assert list(tmp_path.iterdir()) == []
    with RunRecorder(tmp_path, Bus(SimClock()), manifest()):
        pass
