"""`ghost fc` with a simulated vehicle, and with a scripted one for what that has not."""

import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from firmware_bridge.missions import MissionItem
from firmware_bridge.modes import ARMED_FLAG
from firmware_bridge.parameter_values import INT32
from firmware_bridge.plan_file import write_plan
from firmware_bridge.signing import link_signer, make_key
from ghost.cli import main
from ghost.core.errors import RefusedError, StalledError
from ghost.deploy import demands, fc
from tests.firmware_bridge.link_rig import free_port
from tests.firmware_bridge.peer import MS, ParameterStore, Peer
from tests.firmware_bridge.transfers import LogStore

TAKEOFF, WAYPOINT, RETURN = 22, 16, 20
RELATIVE, NO_PLACE = 3, 2
ARDUPILOT = 3
HOME = (473977420, 85455940)
LOG = bytes(range(256)) * 400
DATE = "2023-11-14 22:13:20 UTC"
FETCHED = "log-1-20231114-221320.ulg"
NOTHING_THERE = "udpin://127.0.0.1:0"

Said = tuple[int, str, str]
Run = Callable[..., Said]


@pytest.fixture(scope="module")
def vehicle() -> Iterator[fc.Vehicle]:
    """Of a `ghost sitl` that runs as people run it."""
    port = free_port()
    command = (sys.executable, "-m", "ghost.cli", "sitl", "x500")
    with subprocess.Popen(
        [*command, "--link", f"udpout://127.0.0.1:{port}"], stdout=subprocess.DEVNULL
    ) as process:
        try:
            with fc.connect(f"udpin://127.0.0.1:{port}") as vehicle:
                yield vehicle
        finally:
            process.kill()


@pytest.fixture
def ghost_fc(
    vehicle: fc.Vehicle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Over one link for all: a heartbeat is a second to wait for."""

    @contextmanager
    def connected(_link: str, _signing_key: Path | None = None) -> Iterator[fc.Vehicle]:
        yield vehicle

    monkeypatch.setattr(fc, "connect", connected)
    monkeypatch.setattr(demands, "SETTLE_NS", 20 * MS)
    return lambda *arguments: run(capsys, NOTHING_THERE, *arguments)


def run(capsys: pytest.CaptureFixture[str], link: str, *arguments: object) -> Said:
    code = main(["fc", *map(str, arguments), "--link", link])
    said = capsys.readouterr()
    return code, said.out, said.err


@contextmanager
def peer(*scripts: Callable[[Peer], object], **beat: int) -> Iterator[tuple[Peer, str]]:
    """A scripted flight controller, and the link to it."""
    port = free_port()
    scripted = Peer(port, beat=beat)
    for script in scripts:
        script(scripted)
    scripted.start()
    try:
        yield scripted, f"udpin://127.0.0.1:{port}"
    finally:
        scripted.stop()


def test_parameters_are_listed_and_read(ghost_fc: Run) -> None:
    code, out, _ = ghost_fc("params", "list")
    assert code == 0
    assert len(out.splitlines()) == 30
    assert "MPC_TILTMAX_AIR   40    real32\n" in out
    assert ghost_fc("params", "list", "NAV_*")[1] == (
        "NAV_ACC_RAD  1  real32\nNAV_RCL_ACT  0  int32\n"
    )
    got = ghost_fc("params", "get", "NAV_RCL_ACT", "MPC_TKO_SPEED")
    assert got == (0, "NAV_RCL_ACT    0    int32\nMPC_TKO_SPEED  1.5  real32\n", "")
    code, out, err = ghost_fc("params", "list", "NIX_*")
    assert (code, out) == (1, "")
    assert err == (
        "ghost: none of 30 parameters is like 'NIX_*'; expected a name or a glob such as 'MPC_*'\n"
    )


def test_a_name_that_it_has_not_is_told_with_the_nearest(
    ghost_fc: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.parameters.QUIET_NS", 100 * MS)
    said = "ghost: the flight controller has no parameter NAV_ACC_RAT; the nearest is NAV_ACC_RAD\n"
    assert ghost_fc("params", "get", "NAV_ACC_RAT") == (1, "", said)


def test_a_parameter_is_set_or_the_command_says_why_not(ghost_fc: Run) -> None:
    assert ghost_fc("params", "set", "NAV_ACC_RAD", "2.5") == (
        0,
        "NAV_ACC_RAD       1 -> 2.5\n",
        "",
    )
    assert ghost_fc("params", "set", "NAV_ACC_RAD", "1") == (0, "NAV_ACC_RAD       2.5 -> 1\n", "")
    for name, value, said in (
        ("NAV_RCL_ACT", "2", "parameter NAV_RCL_ACT was to be 2 and is 0"),
        ("NAV_RCL_ACT", "1.5", "parameter NAV_RCL_ACT cannot be '1.5'; expected an integer"),
        ("NAV_ACC_RAD", "nan", "parameter NAV_ACC_RAD cannot be 'nan'; expected a number"),
    ):
        assert ghost_fc("params", "set", name, value) == (1, "", f"ghost: {said}\n")


def test_parameters_are_saved_compared_and_loaded(ghost_fc: Run, tmp_path: Path) -> None:
    path = tmp_path / "all.params"
    assert ghost_fc("params", "save", path) == (0, f"30 parameters in {path}\n", "")
    assert ghost_fc("params", "diff", path) == (0, "", "")
    few = tmp_path / "few.params"
    lines = ("1\t1\tNAV_ACC_RAD\t3\t9", "1\t1\tMIS_TAKEOFF_ALT\t2.5\t9", "1\t1\tMPC_GONE\t1\t6")
    few.write_text("\n".join(lines[:2]) + "\n")
    change = "NAV_ACC_RAD       1 -> 3\n"
    assert ghost_fc("params", "diff", few) == (1, change, "")
    told = f"{change}1 of 2 parameters set, the others were so already\n"
    assert ghost_fc("params", "load", few) == (0, told, "")
    assert ghost_fc("params", "diff", few) == (0, "", "")
    assert ghost_fc("params", "load", path)[1].startswith("NAV_ACC_RAD       3 -> 1\n1 of 30 ")
    few.write_text("\n".join(lines) + "\n")
    assert ghost_fc("params", "diff", few)[:2] == (1, f"MPC_GONE          - -> 1\n{change}")


def test_what_is_not_taken_is_told_after_the_rest(
    ghost_fc: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.parameters.QUIET_NS", 100 * MS)
    path = tmp_path / "some.params"
    path.write_text("1\t1\tNAV_ACC_RAD\t3\t9\n1\t1\tMAV_TYPE\t7\t6\n")
    code, out, err = ghost_fc("params", "load", path)
    assert (code, out) == (1, "NAV_ACC_RAD       1 -> 3\n")
    assert err == (
        "ghost: 1 of 2 parameters were not taken: parameter MAV_TYPE was to be 7 and is 2\n"
    )
    assert ghost_fc("params", "set", "NAV_ACC_RAD", "1")[0] == 0


def test_a_mission_goes_there_and_back(ghost_fc: Run, tmp_path: Path) -> None:
    items = [
        MissionItem(0, RELATIVE, TAKEOFF, param4=float("nan"), x=HOME[0], y=HOME[1], z=4.0),
        MissionItem(1, RELATIVE, WAYPOINT, x=HOME[0] + 500, y=HOME[1], z=5.1),
        MissionItem(2, NO_PLACE, RETURN),
    ]
    plan, copy = tmp_path / "a.plan", tmp_path / "b.plan"
    write_plan(plan, items)
    assert ghost_fc("mission", "list") == (0, "no mission\n", "")
    assert ghost_fc("mission", "load", plan) == (0, f"3 items loaded from {plan}\n", "")
    heads, first, *_ = ghost_fc("mission", "list")[1].splitlines()
    assert heads.split()[:4] == ["#", "command", "frame", "param1"]
    assert first.split()[:3] == ["0", "NAV_TAKEOFF", "GLOBAL_RELATIVE_ALT"]
    assert first.split()[3:] == ["0", "0", "0", "-", "47.397742", "8.545594", "4"]
    assert ghost_fc("mission", "diff", plan) == (0, "", "")
    assert ghost_fc("mission", "save", copy) == (0, f"3 items in {copy}\n", "")
    assert copy.read_text() == plan.read_text()
    write_plan(plan, [items[0], MissionItem(1, RELATIVE, WAYPOINT, x=HOME[0] + 501, z=5.1)])
    code, out, _ = ghost_fc("mission", "diff", plan)
    assert (code, out) == (1, f"3 items became 2\nitem 1: y {HOME[1]} became 0\n")
    assert ghost_fc("mission", "clear") == (0, "no mission is left\n", "")
    assert ghost_fc("mission", "list")[1] == "no mission\n"


def test_a_mission_that_it_refuses_is_one_line(ghost_fc: Run, tmp_path: Path) -> None:
    plan = tmp_path / "a.plan"
    write_plan(plan, [MissionItem(0, RELATIVE, 31000)])
    said = "ghost: upload of the mission was refused: UNSUPPORTED\n"
    assert ghost_fc("mission", "load", plan) == (1, "", said)


def test_logs_that_it_can_t_give_are_one_line(
    ghost_fc: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.flight_logs.LIST_NS", 20 * MS)
    for arguments in (("list",), ("get", "latest")):
        code, out, err = ghost_fc("logs", *arguments)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert err.startswith("ghost: listing the flight logs, of which PX4 may have none: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("params", "set", "NAV_ACC_RAD", "2"),
        ("params", "load", "some.params"),
        ("mission", "load", "some.plan"),
        ("mission", "clear"),
    ],
)
def test_nothing_is_changed_while_it_is_armed(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("some.params").write_text("1\t1\tNAV_ACC_RAD\t3\t9\n")
    write_plan(Path("some.plan"), [MissionItem(0, RELATIVE, TAKEOFF)])
    with peer(base_mode=ARMED_FLAG) as (scripted, link):
        for name in ("PARAM_SET", "MISSION_COUNT", "MISSION_CLEAR_ALL"):
            scripted.on(name, lambda _: None)
        code, out, err = run(capsys, link, *arguments)
        assert scripted.heard == []
    assert (code, out) == (1, "")
    assert err == (
        "ghost: the flight controller is armed; disarm it first: nothing is changed in flight\n"
    )


@pytest.mark.parametrize("verb", ["set", "load"])
def test_what_it_takes_and_then_limits_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verb: str
) -> None:
    monkeypatch.setattr(demands, "SETTLE_NS", 20 * MS)
    (path := tmp_path / "fast.params").write_text("1\t1\tSPEED\t90\t6\n")
    arguments = {"set": ("SPEED", "90"), "load": (path,)}
    store = ParameterStore({"SPEED": (struct.pack("<i", 5), INT32)})
    with peer(store) as (scripted, link):
        limit = (struct.pack("<i", 12), INT32)
        scripted.on("PARAM_SET", lambda _: store.values.update(SPEED=limit))
        code, _, err = run(capsys, link, "params", verb, *arguments[verb])
    said = "parameter SPEED was set to 90, and the flight controller then made it 12\n"
    assert (code, err[-len(said) :]) == (1, said)


def test_plans_are_for_px4_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_plan(path := tmp_path / "a.plan", [MissionItem(0, RELATIVE, TAKEOFF)])
    said = "ghost: the flight controller is ARDUPILOTMEGA; expected PX4 for missions in files\n"
    with peer(autopilot=ARDUPILOT) as (_, link):
        for code, verb in ((1, "save"), (1, "load"), (2, "diff")):
            assert run(capsys, link, "mission", verb, path) == (code, "", said)


def test_logs_are_listed_and_fetched(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with peer(LogStore([LOG[:900], LOG])) as (_, link):
        code, out, _ = run(capsys, link, "logs", "list")
        assert code == 0
        assert out.splitlines() == [f"    0      0.001 MB  {DATE}", f"    1      0.102 MB  {DATE}"]
        code, out, _ = run(capsys, link, "logs", "get", "latest")
        assert code == 0
        assert out.startswith("log 1: 0.102 MB in ")
        assert out.endswith(f" MB/s, in {FETCHED}\n")
        code, _, _ = run(capsys, link, "logs", "get", "0", "--out", "first.ulg")
        assert code == 0
        said = "ghost: no log '7'; expected latest or one of 0, 1\n"
        assert run(capsys, link, "logs", "get", "7") == (1, "", said)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        FETCHED: LOG,
        "first.ulg": LOG[:900],
    }


def test_no_logs_are_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    with peer(LogStore([])) as (_, link):
        assert run(capsys, link, "logs", "list") == (0, "no logs\n", "")
        said = "ghost: the flight controller has no logs\n"
        assert run(capsys, link, "logs", "get", "latest") == (1, "", said)


def test_half_a_log_has_another_name_and_is_continued(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("firmware_bridge.flight_logs.QUIET_NS", 20 * MS)
    store = LogStore([LOG], stops_at=90 * 600)
    arguments = ("logs", "get", "0", "--out", tmp_path / "a.ulg")
    with peer(store) as (_, link):
        code, out, err = run(capsys, link, *arguments)
        (part,) = tmp_path.iterdir()
        assert (code, out, part.name) == (1, "", "a.ulg.0-1700000000.part")
        assert err.endswith(f"; what came is kept in {part}: try again\n")
        store.stops_at = None
        store.requests.clear()
        code, out, _ = run(capsys, link, *arguments)
    assert code == 0
    assert min(offset for offset, _ in store.requests) == 90 * 600
    assert out.startswith(f"log 0: {(len(LOG) - 90 * 600) / 1e6:.3f} MB in ")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [LOG]


def test_on_a_terminal_progress_is_shown_and_removed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with peer(LogStore([LOG])) as (_, link):
        _, _, err = run(capsys, link, "logs", "get", "0", "--out", tmp_path)
    assert err.startswith("\rfetching bytes: 90 of 102400, 0%\033[K")
    assert err.endswith("\r\033[K")
    assert (tmp_path / "log-0-20231114-221320.ulg").read_bytes() == LOG


def test_where_nobody_is_it_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fc, "FIND_NS", 50 * MS)
    (path := tmp_path / "no.params").write_text("")
    for code, arguments in ((1, ("params", "list")), (2, ("params", "diff", path))):
        said = run(capsys, NOTHING_THERE, *arguments)
        assert said[:2] == (code, "")
        assert said[2].startswith("ghost: waiting for the heartbeat of a flight controller: ")
    said = run(capsys, "serial:///dev/gone:57600", "logs", "list")
    gone = "ghost: link serial:///dev/gone:57600 can't be opened: No such file or directory\n"
    assert said == (1, "", gone)


def test_a_file_is_read_before_the_link_is_opened(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "gone.plan"
    for code, verb in ((1, "load"), (2, "diff")):
        began_s = time.monotonic()
        said = run(capsys, NOTHING_THERE, "mission", verb, path)
        assert time.monotonic() - began_s < 5.0
        assert said[:2] == (code, "")
        assert said[2].startswith(f"ghost: cannot read the plan {path}: ")


def test_as_a_process_of_its_own() -> None:
    with peer(LogStore([LOG])) as (_, link):
        done = subprocess.run(
            [sys.executable, "-m", "ghost.cli", "fc", "logs", "list", "--link", link],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    row = f"    0      0.102 MB  {DATE}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, row, "")


def test_a_signing_key_is_made_given_changed_and_taken_back(ghost_fc: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.key", tmp_path / "second.key"
    signs = "the flight controller signs with the key in {}, and hears nobody else\n"
    assert ghost_fc("sign", "new", str(first)) == (0, signs.format(first), "")
    assert first.stat().st_mode & 0o777 == 0o600
    code, _, said = ghost_fc("sign", "new", str(first))
    assert (code, said) == (1, f"ghost: cannot make the signing key {first}: File exists\n")
    second.write_text("ab" * 32)
    second.chmod(0o644)
    code, _, said = ghost_fc("sign", "give", str(second))
    assert code == 1
    assert said.endswith(f"so others may read it; chmod 600 {second}\n")
    second.chmod(0o600)
    assert ghost_fc("sign", "give", str(second)) == (0, signs.format(second), "")
    taken = "the flight controller has no key, and hears everybody\n"
    assert ghost_fc("sign", "remove") == (0, taken, "")


def test_no_key_is_made_for_one_that_is_armed(tmp_path: Path) -> None:
    class Armed:
        is_armed = True

    with pytest.raises(RefusedError, match="nothing is changed in flight"):
        fc.give_signing_key(cast("fc.Vehicle", Armed()), tmp_path / "key", is_new=True)
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_may_have_been_taken_is_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    key, taken = tmp_path / "key", []
    with peer() as (scripted, link):  # which takes it, and whose answers are lost
        scripted.on("SETUP_SIGNING", lambda one: taken.append(bytes(one.message.secret_key).hex()))
        code, _, err = run(capsys, link, "sign", "new", key)
    assert code == 1
    kept = f"; the key is kept in {key}: the flight controller may have taken it\n"
    assert err.endswith(kept)
    assert set(taken) == {key.read_text().strip()}


def test_with_a_key_one_that_does_not_sign_is_not_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fc, "FIND_NS", 300 * MS)
    make_key(key := tmp_path / "key")
    with peer() as (_, link):
        code, _, err = run(capsys, link, "params", "list", "--signing-key", key)
    assert code == 1
    assert "waiting for the heartbeat of a flight controller" in err
    assert "frames refused: not signed with this key" in err


def test_a_link_gives_its_signing_id_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fc, "FIND_NS", 20 * MS)
    make_key(key := tmp_path / "key")
    with pytest.raises(StalledError), fc.connect(NOTHING_THERE, key):
        pass
    assert link_signer(key, 0).link_id == 0
