"""A bench without hardware: our autopilot at the other end of a pty, and an observer beside it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from firmware_bridge.parameter_values import read_parameters
from firmware_bridge.parameters import Parameters
from ghost.core.errors import ConfigError
from hil.__main__ import main
from hil.bench import BenchTarget
from hil.embedded import SimulatedVehicle, free_ports
from hil.need import Need
from hil.proxy import Proxy
from hil.station import Station
from hil.survey import BEFORE, Survey
from hil.target import Links, Setting

ARMS = """\
import sys, time
from pathlib import Path
from hil.bench import BenchTarget
from hil.station import Station
from hil.survey import Survey
from hil.target import Setting
vehicle = BenchTarget(sys.argv[1], Survey({"system": 1})).start(Path(sys.argv[2]), Setting())
station = Station(vehicle.links.station, 1)
station.vehicle.arm(armed=True)
print("armed", flush=True)
time.sleep(60)
"""


class Desk:
    """link is the board's serial port; the observer has a line to the vehicle that no rig has."""

    def __init__(self, held: ExitStack, folder: Path) -> None:
        wire = held.enter_context(Proxy(unit="pty", vehicle="pty", seed=0))
        (port,) = free_ports(1)
        words = ("--link", wire.vehicle_url, "--link", f"udpout://127.0.0.1:{port}")
        vehicle = SimulatedVehicle(folder, Setting(), Links("", "", ""), words)
        held.callback(vehicle.close)
        self.link = wire.unit_url
        self.folder = folder
        self.observer = Station(f"udpin://127.0.0.1:{port}", 1)
        held.callback(self.observer.close)
        self.observer.spin(3.0)  # until it may be armed

    def sees(self, is_so: Callable[[], bool], what: str) -> None:
        self.observer.until(is_so, within_s=10.0, what=what)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with ExitStack() as held:
        yield Desk(held, tmp_path_factory.mktemp("desk"))


def test_it_is_identified_and_its_parameters_are_put_back(desk: Desk, tmp_path: Path) -> None:
    target = BenchTarget(desk.link)
    found = target.survey(tmp_path)
    assert found.identity["autopilot"] == "MAV_AUTOPILOT_PX4"
    assert found.identity["uid"]
    assert json.loads((tmp_path / "identity.json").read_text()) == found.identity
    assert Need.FLIGHT not in target.offers, "what doesn't simulate on the board must not fly"
    before = read_parameters(tmp_path / BEFORE)["MIS_TAKEOFF_ALT"].value
    Parameters(desk.observer.vehicle).set("MIS_TAKEOFF_ALT", float(before) + 1.0)
    (told,) = target.put_back(tmp_path)
    assert told == f"MIS_TAKEOFF_ALT was {float(before) + 1.0}, put back to {before}"
    assert Parameters(desk.observer.vehicle).get("MIS_TAKEOFF_ALT") == before


def test_three_share_the_port_and_the_vehicle_is_left_disarmed(desk: Desk, tmp_path: Path) -> None:
    target = BenchTarget(desk.link, Survey({"system": 1}))
    with ExitStack() as held:
        vehicle = target.start(tmp_path, Setting())
        held.callback(vehicle.close)
        ends = vehicle.links.unit, vehicle.links.station, vehicle.links.referee
        stations = [Station(link, 1, own_system=250 + place) for place, link in enumerate(ends)]
        for one in stations:
            held.callback(one.close)
        assert [one.vehicle.identify().system for one in stations] == [1, 1, 1]
        stations[0].vehicle.arm(armed=True)
        desk.sees(lambda: desk.observer.vehicle.is_armed, "armed")
    desk.sees(lambda: not desk.observer.vehicle.is_armed, "disarmed by the guard")


def test_a_rig_that_crashes_leaves_it_disarmed(desk: Desk, tmp_path: Path) -> None:
    words = [sys.executable, "-c", ARMS, desk.link, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as rig:
        try:
            assert rig.stdout is not None
            assert rig.stdout.readline() == "armed\n"
            desk.sees(lambda: desk.observer.vehicle.is_armed, "armed")
        finally:
            rig.kill()
    desk.sees(lambda: not desk.observer.vehicle.is_armed, "disarmed by the guard")


def test_what_is_armed_is_not_surveyed(desk: Desk, tmp_path: Path) -> None:
    desk.observer.vehicle.arm(armed=True)
    with pytest.raises(ConfigError, match="armed; disarm it"):
        BenchTarget(desk.link).survey(tmp_path)
    desk.observer.vehicle.arm(armed=False)


def test_only_simulation_on_the_board_flies() -> None:
    for value, flies in ((0, False), (1, False), (2, True)):
        found = Survey({"system": 1}, {"SYS_HITL": value, "COM_OF_LOSS_T": 0.8})
        target = BenchTarget("serial:///dev/null", found)
        assert (Need.FLIGHT in target.offers) is flies
        assert target.command_timeout_s == 0.8


def test_arming_on_a_bench_takes_a_word_about_propellers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--target", "bench", "--link", "serial:///dev/null", "--out", str(tmp_path / "x")]
    assert main([*words, "--allow-arming"]) == 1
    assert "--propellers-off" in capsys.readouterr().err
