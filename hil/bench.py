"""A flight controller on a link, most often a serial port: a Pixhawk on the desk."""

import sys
from collections.abc import Sequence
from pathlib import Path

from firmware_bridge.parameter_values import read_parameters
from ghost.core.errors import ConfigError
from hil.case import Skipped
from hil.embedded import free_ports
from hil.need import Need
from hil.process import Servant
from hil.survey import BEFORE, Survey, put_back, survey
from hil.target import Links, Setting

READY_S = 30.0
SAFE_S = 25.0
HITL, LOSS = "SYS_HITL", "COM_OF_LOSS_T"
ON_BOARD = 2
"""Of SYS_HITL: PX4's simulation on the flight controller itself, which keeps real outputs still."""
_BARE = frozenset({Need.PROXY})


class BenchTarget:
    """Flies only what is simulated on the board. What it has was found by the survey."""

    name = "bench"
    missing = ""
    most_jobs = 1
    slowness = 2.0

    def __init__(self, link: str, found: Survey | None = None) -> None:
        self._link = link
        self._found = found or Survey()

    @property
    def offers(self) -> frozenset[Need]:
        if self._found.settings.get(HITL) == ON_BOARD:
            return _BARE | {Need.FLIGHT}
        return _BARE

    @property
    def command_timeout_s(self) -> float:
        return float(self._found.settings.get(LOSS, 1.0))

    def survey(self, folder: Path) -> Survey:
        self._found = survey(self._link, folder, (HITL, LOSS))
        return self._found

    def put_back(self, folder: Path) -> list[str]:
        return put_back(self._link, folder, read_parameters(folder / BEFORE))

    def start(self, folder: Path, setting: Setting) -> "BenchVehicle":
        system = self._found.identity["system"]
        if setting.signing_key is not None:
            raise Skipped("a bench is given no signing key: it would stay in the board")
        if setting.scenario != "calm":
            raise Skipped(f"a bench has no scenario {setting.scenario}")
        return BenchVehicle(folder, self._link, system)


class BenchVehicle:
    """The board, and who holds its link meanwhile."""

    def __init__(self, folder: Path, link: str, system: int) -> None:
        ports = free_ports(3)
        unit, station, referee = (f"udpin://127.0.0.1:{port}" for port in ports)
        self.links = Links(unit, station, referee)
        self.system = system
        words = [sys.executable, "-m", "hil.guard", link]
        for port in ports:
            words += ["--to", f"udpout://127.0.0.1:{port}"]
        # It must outlive a rig that crashes.
        self._guard = Servant(words, folder / "guard.txt", ready_s=READY_S, dies_with_rig=False)

    def truth(self) -> dict[str, object]:
        raise Skipped("nobody knows the truth of a bench")

    def fault(self, target: str, kind: str, *values: float) -> None:
        raise Skipped(f"a bench has no {kind} of {target}{values or ''}")

    def wind(self, mean_enu_mps: Sequence[float], gust_mps: float = 0.0) -> None:
        raise Skipped(f"a bench has no wind of {mean_enu_mps}, {gust_mps}")

    def reboot(self) -> None:
        raise Skipped("the rig doesn't reboot a bench")

    def close(self) -> None:
        """Disarmed, or an error that says that it isn't."""
        self._guard.finish("safe", SAFE_S)


def refuse_unsafe(link: str | None, *, allow_arming: bool, propellers_off: bool) -> None:
    """What has to be said before anything is done to a bench."""
    if link is None:
        raise ConfigError("a bench needs --link, such as serial:///dev/ttyACM0:921600")
    if allow_arming and not propellers_off:
        raise ConfigError("arming on a bench also needs --propellers-off: take them off first")
