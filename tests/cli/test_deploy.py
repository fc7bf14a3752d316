"""`ghost deploy sim` as people run it."""

import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ghost.deploy import find_robots
from ghost.telemetry import LogReader, file_sha256, read_manifest

X500: dict[str, Any] = yaml.safe_load(find_robots()["x500"].read_text(encoding="utf-8"))
MISSIONS = {
    "hop": "name: hop\nframe: home\nsteps: [takeoff: {altitude_m: 1}, land: {}]",
    "hasty": "name: hasty\nsteps: [takeoff: {altitude_m: 5, timeout_s: 1.5}, land: {}]",
    "far": (
        "name: far\nsteps: [takeoff: {altitude_m: 5}, goto: {position_enu_m: [90, 0, 5]}, land: {}]"
    ),
    "astray": "name: ../../a stray\nsteps: [takeoff: {altitude_m: 1}, land: {}]",
}
SCENARIOS = {
    "short": "name: short\nduration_s: 4",
    "uneven": "name: uneven\nduration_s: 9\nstep_ms: 3",
    "empty": (
        "name: empty\nduration_s: 90\n"
        "events: [{at_s: 3, fault: charge, target: battery, values: [0.05]}]"
    ),
    "wrong": "name: wrong\nduration_s: 9\nevents: [{at_s: 3, fault: silent, target: gpss}]",
    "typo": "name: typo\nduraton_s: 9",
}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with missions, scenarios and robots in it."""
    for name, text in (MISSIONS | SCENARIOS).items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    lighter = {**X500["airframe"], "mass_kg": -2.0}
    fence = {"geofence_enu_m": [[-50, -50], [50, -50], [50, 50], [-50, 50]]}
    for name, changes in {"fenced": {"envelope": fence}, "lighter": {"airframe": lighter}}.items():
        (tmp_path / "robots" / name).mkdir(parents=True)
        plain = {**X500, "name": name, **changes}
        (tmp_path / "robots" / name / "robot.yaml").write_text(yaml.safe_dump(plain))
    return tmp_path


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "ghost.cli", *map(str, arguments)]


def ghost_command(desk: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=desk, capture_output=True, text=True, check=False, timeout=60
    )


def deploy(desk: Path, line: str) -> subprocess.CompletedProcess[str]:
    return ghost_command(desk, "deploy", "sim", *shlex.split(line))


def rows(text: str) -> dict[str, str]:
    """The summary, by the name of each row."""
    return dict(re.findall(r"^([a-z]+) +(.*)$", text, re.MULTILINE))


# What it prints, and how it exits.


def test_a_flight_tells_its_progress_and_then_what_it_came_to(desk: Path) -> None:
    done = deploy(desk, "x500 --mission hop.yaml --seed 3 --out run")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "x500: hop, calm"
    assert lines[1] == "    0.10 s  hop, 2 steps"
    assert re.fullmatch(r" +\d+\.\d\d s  step 0 \(takeoff\) started", lines[2])
    assert "\033" not in done.stdout
    assert "\r" not in done.stdout
    told = rows(done.stdout)
    assert told["outcome"] == "completed"
    assert re.fullmatch(r"\d+\.\d m in \d+\.\d s, up to 1\.\d m and \d\.\d m/s", told["flown"])
    assert re.fullmatch(r"0\.\d+ m rms, 0\.\d+ m at most, off the truth", told["estimate"])
    assert re.fullmatch(r"0\.\d\d m from where it took off", told["landed"])
    assert told["events"] == "6, of them 0 warnings or worse"
    assert told["log"] == "run/log.mcap"
    manifest = read_manifest(desk / "run")
    assert (manifest.log.status, manifest.seed) == ("complete", 3)


@pytest.mark.parametrize(
    ("line", "code", "outcome"),
    [
        ("x500 --mission hop.yaml", 0, "completed"),
        (
            "x500 --scenario short.yaml",
            1,
            "failed: still under way, and the scenario's duration_s of 4 is over",
        ),
        ("x500 --mission hasty.yaml", 3, "aborted: step 0 (takeoff) took over 1.5 s"),
        (
            "x500 --mission hover --scenario empty.yaml",
            4,
            "interrupted: failsafe CRITICAL_BATTERY in mode LAND",
        ),
    ],
)
def test_the_exit_code_is_the_outcome(desk: Path, line: str, code: int, outcome: str) -> None:
    done = deploy(desk, f"{line} --out run")
    assert (done.returncode, done.stderr) == (code, "")
    assert rows(done.stdout)["outcome"] == outcome
    assert read_manifest(desk / "run").log.status == "complete"


def test_runs_are_kept_side_by_side_in_a_folder_of_their_own(desk: Path) -> None:
    for _ in range(2):
        assert deploy(desk, "x500 --mission hop.yaml").returncode == 0
    names = sorted(path.name for path in (desk / "runs").iterdir())
    assert names == ["x500-hop-calm-seed0", "x500-hop-calm-seed0-2"]


def test_a_name_with_slashes_stays_in_the_folder(desk: Path) -> None:
    assert deploy(desk, "x500 --mission astray.yaml").returncode == 0
    (run,) = (desk / "runs").iterdir()
    assert run.name == "x500-.._.._a_stray-calm-seed0"


def test_a_robot_of_one_s_own_is_flown_from_its_folder(desk: Path) -> None:
    done = deploy(desk, "fenced --robots robots --mission hop.yaml --out run")
    assert done.returncode == 0
    assert read_manifest(desk / "run").robot == "fenced"


def test_on_a_terminal_a_line_is_kept_up_to_date(desk: Path) -> None:
    ours, theirs = pty.openpty()
    line = ("deploy", "sim", "x500", "--mission", "hop.yaml", "--realtime", "20")
    with subprocess.Popen(command(*line), cwd=desk, stdout=theirs, stderr=theirs) as flying:
        os.close(theirs)
        said = b"".join(_read(ours)).decode()
    os.close(ours)
    assert flying.returncode == 0
    assert re.search(r"\r +\d+\.\d\d s  (HOLD|TAKEOFF|LAND) .* m up +battery +\d+%", said)
    assert "\r\033[K" in said
    assert "outcome    completed" in said


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            return
        if not part:
            return
        yield part


# Pace.


def test_realtime_paces_by_a_factor(desk: Path) -> None:
    done = deploy(desk, "x500 --mission hop.yaml --realtime 20")
    speed = re.search(r"^speed +([\d.]+) s in ([\d.]+) s", done.stdout, re.MULTILINE)
    assert speed is not None
    simulated_s, wall_s = map(float, speed.groups())
    assert 2.0 < simulated_s / wall_s < 22.0


# Ctrl-C.


@contextmanager
def flying(desk: Path, *, until: str) -> Iterator[subprocess.Popen[str]]:
    """A flight at ten times real time, once it has said so much."""
    line = command(
        "deploy", "sim", "x500", "--mission", "hover", "--realtime", "10", "--out", "run"
    )
    with subprocess.Popen(
        line, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for said in process.stdout:
            if until in said:
                break
        yield process


def test_ctrl_c_lands_and_closes_the_log(desk: Path) -> None:
    with flying(desk, until="step 1 (hold) started") as process:
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=30)
    assert (process.returncode, complaint) == (130, "")
    told = rows(said)
    assert told["outcome"] == "aborted: the operator asked to land"
    assert told["landed"].startswith("0.")
    assert read_manifest(desk / "run").log.status == "complete"


def test_a_second_ctrl_c_closes_the_log_at_once(desk: Path) -> None:
    with flying(desk, until="step 1 (hold) started") as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert "the operator asked to land" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        said, complaint = process.communicate(timeout=30)
    assert (process.returncode, complaint) == (130, "")
    assert rows(said)["landed"].startswith("not seen: it was in the air")
    assert read_manifest(desk / "run").log.status == "complete"
    assert sum(1 for _ in LogReader(desk / "run").messages()) > 1000


# A full disk.


def test_a_full_disk_lands_it_and_says_what_to_do(desk: Path) -> None:
    line = command("deploy", "sim", "x500", "--out", "run")
    done = subprocess.run(
        line,
        cwd=desk,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "ERROR the flight log stopped: [Errno 27] File too large" in done.stdout
    told = rows(done.stdout)
    assert told["outcome"].startswith("failed: the flight log stopped early: ")
    assert ", so the vehicle was landed; " in told["outcome"]
    assert "make room" in told["outcome"]
    assert read_manifest(desk / "run").log.status == "recovered"


# Refused: one line, before anything flies.


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x50", "no robot named 'x50'; did you mean x500?"),
        ("x500 --robots nowhere", "no folder nowhere; expected one with robots in it"),
        ("x500 --mission sqare", "no shipped mission named 'sqare'; did you mean square? (a file "),
        ("x500 --mission gone.yaml", "cannot read gone.yaml: "),
        ("x500 --scenario clam", "no shipped scenario named 'clam'; did you mean calm? (a file "),
        ("x500 --scenario typo.yaml", "typo.yaml: unknown key duraton_s; did you mean duration_s?"),
        ("x500 --simulator gazeb", "no simulator named 'gazeb'; installed are: "),
        ("pixhawk_bench", "robot pixhawk_bench has no simulation HAL; "),
        ("ground_station", "robot ground_station has no simulation HAL; declare hal.sim or a sim "),
        (
            "fenced --robots robots --mission far.yaml",
            "step 1 (goto): waypoint 0, at (90.0, 0.0, 5.0), is 40.0 m outside the fence; ",
        ),
        (
            "lighter --robots robots",
            "robots/lighter/robot.yaml: airframe.mass_kg is -2.0; expected 0.001 to 10000",
        ),
        ("x500 --seed -1", "seed is -1; expected an integer, 0 to 18446744073709551615"),
        ("x500 --seed 99999999999999999999", "seed is 99999999999999999999; expected an integer, "),
        (
            "x500 --scenario uneven.yaml",
            (
                "sensor imu has a period of 4000000 ns, which the scenario's step of 3000000 ns "
                "does not divide; choose a step that does"
            ),
        ),
        ("x500 --scenario wrong.yaml", "fault target 'gpss'; expected one of imu, gps, "),
        ("x500 --realtime 0", "--realtime is 0.0; expected above 0"),
        ("x500 --realtime nan", "--realtime is nan; expected above 0"),
        ("x500 --out hop.yaml", "hop.yaml exists already; give each run a folder of its own"),
        ("x500 --out hop.yaml/run", "cannot record into hop.yaml/run: "),
    ],
)
def test_a_bad_input_is_one_line(desk: Path, line: str, said: str) -> None:
    before = sorted(desk.rglob("*"))
    done = deploy(desk, line)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"ghost: {said}")
    assert done.stderr.count("\n") == 1
    assert sorted(desk.rglob("*")) == before


@pytest.mark.parametrize("arguments", [("deploy",), ("deploy", "sim"), ("deploy", "smi", "x500")])
def test_wrong_usage_is_exit_code_2(desk: Path, arguments: tuple[str, ...]) -> None:
    done = ghost_command(desk, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ghost deploy")


def test_a_seed_that_is_no_number_is_wrong_usage(desk: Path) -> None:
    done = deploy(desk, "x500 --seed banana")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: argument --seed: invalid int value: 'banana'\n")


def test_help_teaches(desk: Path) -> None:
    assert "always a simulation" in ghost_command(desk, "deploy", "--help").stdout
    told = " ".join(ghost_command(desk, "deploy", "sim", "--help").stdout.split())
    for words in (
        *("ghost robots list", "hover, square, survey", "calm, gusty, gps_outage, weak_motor"),
        *("default: square", "default: calm", "--seed N", "--realtime [FACTOR]", "--out DIR"),
        *("0 mission completed, 1 failed", "3 aborted (the mission gave up and landed)"),
        *("4 interrupted (a failsafe took over)", "130 stopped by Ctrl-C", "Ctrl-C lands"),
        *("the same seed repeats the same flight", "look for robots in this folder, too"),
        *("--simulator NAME simulate with this one", "a new one in runs/"),
    ):
        assert words in told


# The same again.


def test_the_same_seed_gives_the_same_hash_and_the_manifest_says_how(desk: Path) -> None:
    line = "x500 --mission hop.yaml --scenario gusty --seed"
    assert deploy(desk, f"{line} 5 --out a").returncode == 0
    assert deploy(desk, f"{line} 6 --out other").returncode == 0
    reproduce = shlex.split(read_manifest(desk / "a").reproduce)
    assert reproduce[:3] == ["ghost", "deploy", "sim"]
    assert ghost_command(desk, *reproduce[1:], "--out", "b").returncode == 0
    hashes = [ghost_command(desk, "log", "hash", run).stdout for run in ("a", "b", "other")]
    assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[0] == f"{file_sha256(desk / 'a' / 'log.mcap')}\n"


def test_no_environment_variable_makes_it_real(desk: Path) -> None:
    wild = dict.fromkeys(("GHOST_MODE", "GHOST_HAL", "HAL_MODE", "MODE", "SIM", "REAL"), "real")
    done = subprocess.run(
        command("deploy", "sim", "x500", "--mission", "hop.yaml", "--out", "run"),
        cwd=desk,
        env={**os.environ, **wild},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert read_manifest(desk / "run").config["simulator"] == "lightweight"
