"""`ghost log` as people run it."""

import csv
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from mcap.writer import Writer

import ghost
from ghost.core.clock import SimClock
from ghost.events import EVENTS, Bus, Event, Severity
from ghost.hal.channels import GROUNDTRUTH_POSE, IMU
from ghost.hal.samples import ImuSample, Pose
from ghost.telemetry import (
    LogReader,
    RunRecorder,
    channel_sha256,
    describe_run,
    file_sha256,
    read_manifest,
)
from ghost.telemetry.codec import codec_for

ROOT = Path(__file__).parents[2]
VERBS = ("info", "hash", "recover", "export")
READING = ("info", "export", "hash --channel /sensors/imu")  # hash alone takes any file

Spoil = Callable[[Path], object]


def ghost_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ghost.cli", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def ghost_log(verb: str, path: str | Path) -> subprocess.CompletedProcess[str]:
    return ghost_command("log", *verb.split(), path)


def failure(verb: str, path: str | Path) -> str:
    """What the one line on standard error says after "ghost: "."""
    done = ghost_log(verb, path)
    assert done.returncode == 1, done
    assert done.stderr.startswith("ghost: ")
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    return done.stderr.removeprefix("ghost: ").rstrip("\n")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded") / "run"
    clock = SimClock()
    bus = Bus(clock)
    manifest = describe_run(
        robot="quad",
        scenario="hover",
        seed=7,
        deterministic=True,
        reproduce="ghost deploy sim quad --scenario hover --seed 7",
        config={"mass_kg": 1.5},
    )
    with RunRecorder(folder, bus, manifest):
        for step in range(500):
            vector = np.array([step, 0.1, -1.0])
            bus.publish(IMU, ImuSample(clock.now_ns(), step, vector, vector))
            bus.publish(GROUNDTRUTH_POSE, Pose(clock.now_ns(), vector, np.array([1.0, 0, 0, 0])))
            if step % 100 == 0:
                bus.publish(EVENTS, Event(clock.now_ns(), Severity.INFO, "BEAT", "test"))
            clock.advance(1_000_000)
    return folder


@pytest.fixture
def run(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the run, to do with as one likes."""
    return shutil.copytree(recorded, tmp_path / "run")


def cut(run: Path) -> None:
    log = run / "log.mcap"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def edit_manifest(old: str, new: str) -> Spoil:
    def edit(run: Path) -> None:
        path = run / "manifest.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")

    return edit


def foreign(schema: tuple[str, str, bytes], data: bytes) -> Spoil:
    """Put somebody else's log in the place of the run's."""

    def write(run: Path) -> None:
        (run / "manifest.yaml").unlink()
        with (run / "log.mcap").open("wb") as stream:
            writer = Writer(stream)
            writer.start()
            channel = writer.register_channel(
                IMU.name, schema[1], writer.register_schema(*schema), {"ghost.type": "ImuSample"}
            )
            writer.add_message(channel, 5, data, 5, 0)
            writer.finish()  # type: ignore[no-untyped-call]  # mcap leaves it untyped

    return write


IMU_SCHEMA = ("ghost.ImuSample", "protobuf", codec_for(ImuSample).schema.SerializeToString())


# What the commands print.


def test_info_tells_the_run_and_its_channels(run: Path) -> None:
    done = ghost_log("info", run)
    assert (done.returncode, done.stderr) == (0, "")
    manifest = read_manifest(run)
    assert done.stdout.splitlines() == [
        f"run        quad-hover-seed7-{manifest.config_sha256[:8]} (complete)",
        "robot      quad",
        "scenario   hover, seed 7",
        "reproduce  ghost deploy sim quad --scenario hover --seed 7",
        f"messages   1035 in 0.499 s, {(run / 'log.mcap').stat().st_size} bytes",
        "  /sensors/imu               500  ghost.ImuSample",
        "  /groundtruth/pose          500  foxglove.PoseInFrame",
        "  /groundtruth/pose/tf        25  foxglove.FrameTransform  (from /groundtruth/pose)",
        "  /events                      5  ghost.Event",
        "  /events/text                 5  foxglove.Log  (from /events)",
    ]
    assert ghost_log("info", run / "log.mcap").stdout == done.stdout


def test_info_of_a_log_on_its_own_tells_what_the_log_knows(run: Path) -> None:
    (run / "log.mcap").rename(run / "other.mcap")
    beside_a_manifest = ghost_log("info", run / "other.mcap")
    assert beside_a_manifest.returncode == 0
    assert beside_a_manifest.stdout.startswith("messages   1035 in 0.499 s, ")


def test_info_of_a_foreign_log_lists_it(run: Path) -> None:
    foreign(("Chat", "jsonschema", b"{}"), b"{}")(run)
    done = ghost_log("info", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("  /sensors/imu         1  Chat\n")


def test_hash_is_that_of_the_file_or_of_a_channel(run: Path) -> None:
    whole = ghost_log("hash", run)
    assert (whole.returncode, whole.stdout) == (0, f"{file_sha256(run / 'log.mcap')}\n")
    assert whole.stdout.strip() == read_manifest(run).log.sha256
    one = ghost_log("hash --channel /sensors/imu", run / "log.mcap")
    expected = channel_sha256(LogReader(run), "/sensors/imu")
    assert (one.returncode, one.stdout, one.stderr) == (0, f"{expected}\n", "")


def test_recover_repairs_a_cut_log_and_says_what_was_lost(run: Path) -> None:
    log = run / "log.mcap"
    whole = log.read_bytes()
    log.write_bytes(whole[:-300])
    done = ghost_log("recover", run)
    assert (done.returncode, done.stderr) == (0, "")
    recovered, time, lost, kept = done.stdout.splitlines()
    assert recovered == "recovered  1035 messages on 5 channels"
    assert time == "time       0.000 to 0.499 s"
    assert lost.startswith("lost       ")
    assert kept == f"log        {log} (the damaged one is kept as log.damaged.mcap)"
    assert (run / "log.damaged.mcap").read_bytes() == whole[:-300]
    assert " (recovered)\n" in ghost_log("info", run).stdout


def test_recover_leaves_a_whole_log_alone(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.iterdir()}
    done = ghost_log("recover", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("lost       nothing: the log is whole\n")
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_export_writes_a_table_per_channel_and_lists_them(run: Path) -> None:
    done = ghost_log("export", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"/sensors/imu  {run / 'csv' / 'sensors_imu.csv'}",
        f"/groundtruth/pose  {run / 'csv' / 'groundtruth_pose.csv'}",
        f"/groundtruth/pose/tf  {run / 'csv' / 'groundtruth_pose_tf.csv'}",
        f"/events  {run / 'csv' / 'events.csv'}",
        f"/events/text  {run / 'csv' / 'events_text.csv'}",
    ]
    with (run / "csv" / "sensors_imu.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert (len(rows), rows[3]["accel_flu_mps2[0]"]) == (500, "3.0")


def test_export_takes_channels_and_a_place(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "elsewhere"
    done = ghost_log(f"export --channel /events --channel /sensors/imu --out {out}", run)
    assert done.stdout.splitlines() == [
        f"/events  {out / 'events.csv'}",
        f"/sensors/imu  {out / 'sensors_imu.csv'}",
    ]
    assert not (run / "csv").exists()


# What they say when it can't be done.


@pytest.mark.parametrize("verb", READING)
def test_a_cut_log_is_one_line_with_the_way_to_repair_it(run: Path, verb: str) -> None:
    cut(run)
    line = failure(verb, run)
    assert line.startswith(f"{run / 'log.mcap'} was cut off or damaged (")
    assert line.endswith("); run `ghost log recover`")


@pytest.mark.parametrize(
    ("verb", "content"), [*((verb, b"a,b\n1,2\n") for verb in (*READING, "recover")), ("info", b"")]
)
def test_a_file_that_is_not_mcap_is_one_line(run: Path, verb: str, content: bytes) -> None:
    (run / "log.mcap").write_bytes(content)
    assert failure(verb, run) == f"{run / 'log.mcap'} is not an MCAP file"


@pytest.mark.parametrize("verb", [*READING, "recover", "hash"])
def test_a_place_without_a_log_is_one_line(tmp_path: Path, verb: str) -> None:
    way_out = "; give a run folder or an .mcap file"
    missing = tmp_path / "missing.mcap"
    assert failure(verb, missing) == f"no flight log at {missing}{way_out}"


def test_a_folder_without_a_log_is_one_line_that_says_where_it_looked(tmp_path: Path) -> None:
    assert failure("info", tmp_path).startswith(f"no flight log at {tmp_path / 'log.mcap'}; ")


@pytest.mark.parametrize("verb", ["hash --channel /sensors/inu", "export --channel /sensors/inu"])
def test_an_unknown_channel_is_one_line_with_the_known_ones(run: Path, verb: str) -> None:
    assert failure(verb, run) == (
        f"{run / 'log.mcap'} has no channel /sensors/inu; it has /sensors/imu, "
        "/groundtruth/pose, /groundtruth/pose/tf, /events, /events/text"
    )
    assert not (run / "csv").exists()


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (
            foreign(("Chat", "jsonschema", b'{"type": "object"}'), b"{}"),
            "/sensors/imu: the schema is jsonschema; Ghost reads protobuf alone",
        ),
        (
            foreign(IMU_SCHEMA, b"\xff\xff\xff"),
            "/sensors/imu holds a message that is not ghost.ImuSample",
        ),
        (
            foreign(("ghost.Baro", *IMU_SCHEMA[1:]), b""),
            "/sensors/imu: schema ghost.Baro in the log is not readable protobuf: ",
        ),
    ],
)
def test_a_channel_of_another_type_is_one_line(run: Path, spoil: Spoil, line: str) -> None:
    spoil(run)
    assert failure("export", run).startswith(f"{run / 'log.mcap'}: {line}")


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (edit_manifest("seed: 7", "sead: 7"), ": unknown key 'sead'; did you mean seed?"),
        (edit_manifest("seed: 7", "seed: seven"), ": seed is 'seven'; expected int"),
        (edit_manifest("robot: quad\n", ""), ": missing key 'robot'"),
        (
            edit_manifest("schema: ghost.Event\n    count: 5", "schema: ghost.Event\n    count: x"),
            ": log.channels[0].count is 'x'; expected int",
        ),
        (
            edit_manifest("mass_kg: 1.5", "mass_kg: 1.6"),
            ": config was changed after the run; config_sha256 doesn't match",
        ),
        (lambda run: (run / "manifest.yaml").write_bytes(b"\x00\xff\n"), " is not YAML: "),
        (lambda run: (run / "manifest.yaml").write_bytes(b"a: [\n\n"), " is not YAML: "),
    ],
)
def test_a_bad_manifest_is_one_line(run: Path, spoil: Spoil, line: str) -> None:
    spoil(run)
    assert failure("info", run).startswith(f"{run / 'manifest.yaml'}{line}")


def test_a_bad_manifest_stops_recovery_with_the_same_line_and_a_way_out(run: Path) -> None:
    cut(run)
    edit_manifest("seed: 7", "sead: 7")(run)
    assert failure("recover", run) == (
        f"{run / 'manifest.yaml'}: unknown key 'sead'; did you mean seed?; "
        "move it away, and the log is repaired without it"
    )
    assert not (run / "log.damaged.mcap").exists()


def test_info_notices_a_log_that_is_not_the_run_s(run: Path) -> None:
    expected = read_manifest(run).log.sha256
    foreign(IMU_SCHEMA, b"")(shutil.copytree(run, run.with_name("other")))
    shutil.copy(run.with_name("other") / "log.mcap", run)
    actual = file_sha256(run / "log.mcap")
    assert failure("info", run) == (
        f"{run / 'log.mcap'} is not the log its manifest describes: "
        f"sha256 is {actual}, expected {expected}"
    )


def test_info_of_a_run_that_died_before_its_manifest_says_what_to_do(run: Path) -> None:
    sha256 = read_manifest(run).log.sha256
    edit_manifest(f"sha256: {sha256}\n  channels:", "sha256: null\n  channels:")(run)
    edit_manifest("status: complete", "status: recording")(run)
    assert failure("info", run) == (
        f"{run / 'log.mcap'} is whole, but its manifest says recording; run `ghost log recover`"
    )
    assert ghost_log("recover", run).returncode == 0
    assert " (recovered)\n" in ghost_log("info", run).stdout


@pytest.mark.parametrize("verb", ["info", "hash", "recover"])
def test_a_file_one_may_not_read_is_one_line(run: Path, verb: str) -> None:
    (run / "log.mcap").chmod(0)
    if os.access(run / "log.mcap", os.R_OK):
        pytest.skip("this user may read everything")
    assert failure(verb, run) == f"{run / 'log.mcap'}: Permission denied"
    assert sorted(path.name for path in run.iterdir()) == ["log.mcap", "manifest.yaml"]


def test_a_place_that_can_t_be_written_is_one_line(run: Path) -> None:
    (run / "csv").write_bytes(b"")
    assert failure("export", run) == f"{run / 'csv'}: File exists"


def test_a_path_with_a_line_break_is_still_one_line(tmp_path: Path) -> None:
    assert failure("info", tmp_path / "a\nb").startswith("no flight log at ")


def test_a_path_in_no_encoding_is_printed_all_the_same(run: Path) -> None:
    odd = run.rename(run.parent / os.fsdecode(b"run\xff"))
    done = ghost_log("export --channel /events", odd)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("run\\udcff/csv/events.csv\n")
    assert "run\\udcff" in failure("export --channel /nope", odd)


# Usage.


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("lgo",),
        ("log",),
        ("log", "inof"),
        ("log", "recover"),
        ("log", "export", "a", "b"),
        ("log", "info", "--channel", "/events", "a"),
        ("log", "hash", "a", "--channel"),
    ],
)
def test_wrong_usage_is_exit_code_2_with_the_usage(arguments: tuple[str, ...]) -> None:
    done = ghost_command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ghost")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "taught"),
    [
        ((), ("log", "ghost COMMAND --help")),
        (("log",), (*VERBS, "manifest.yaml, which says what was flown")),
        (("log", "info"), ("RUN", "a run folder or an .mcap file", "manifest")),
        (("log", "hash"), ("RUN", "--channel NAME", "SHA-256", "bit for bit")),
        (("log", "recover"), ("RUN", "power cut", "what was lost")),
        (
            ("log", "export"),
            ("RUN", "--channel NAME", "--out DIR", "CSV, one file per channel", "default"),
        ),
    ],
)
def test_help_teaches(arguments: tuple[str, ...], taught: tuple[str, ...]) -> None:
    done = ghost_command(*arguments, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert [words for words in taught if words not in text] == []


def test_the_version_is_ghost_s() -> None:
    assert ghost_command("--version").stdout == f"ghost {ghost.__version__}\n"


# Where the output goes.


def ghost_into(stdout: IO[bytes] | int, *arguments: str | Path) -> tuple[int, bytes]:
    """Exit code and standard error, with output buffered as it is wherever one doesn't look."""
    done = subprocess.run(
        [sys.executable, "-m", "ghost.cli", "log", *arguments],
        cwd=ROOT,
        env={name: os.environ[name] for name in os.environ if name != "PYTHONUNBUFFERED"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


@pytest.fixture
def closed_pipe() -> Iterator[int]:
    """The end of a pipe that is left when head has had enough."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("verb", ["info", "hash", "export", "recover"])
def test_a_reader_that_has_had_enough_is_nothing_to_tell(
    run: Path, closed_pipe: int, verb: str
) -> None:
    assert ghost_into(closed_pipe, verb, run) == (141, b"")  # as the shell has it for any command


def test_help_into_a_closed_pipe_is_nothing_to_tell(closed_pipe: int) -> None:
    assert ghost_into(closed_pipe, "--help") == (141, b"")


def test_output_longer_than_the_buffer_into_a_closed_pipe(run: Path, closed_pipe: int) -> None:
    with (run / "log.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        for number in range(2_000):
            writer.register_channel(f"/channel/{number}", "json", 0)
        writer.finish()  # type: ignore[no-untyped-call]  # mcap leaves it untyped
    (run / "manifest.yaml").unlink()
    assert ghost_into(closed_pipe, "info", run) == (141, b"")


def test_no_standard_output_at_all_is_no_failure(run: Path) -> None:
    command = f"{shlex.join([sys.executable, '-m', 'ghost.cli', 'log', 'info', str(run)])} >&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=ROOT, stderr=subprocess.PIPE, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_finds_no_room_is_one_line(run: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        outcome = ghost_into(full, "info", run)
    assert outcome == (1, b"ghost: input/output: No space left on device\n")
