"""The target that needs nothing but Ghost: our physics, flown by our autopilot."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hil.need import Need
from hil.process import Servant, end
from hil.survey import Survey
from hil.target import Links, Setting, surveyed

READY_S = 30.0


class EmbeddedTarget:
    """Ghost's own autopilot, which speaks PX4's dialect."""

    name = "embedded"
    offers = frozenset(Need)
    missing = ""
    most_jobs = None
    slowness = 1.0
    command_timeout_s = 0.5

    def survey(self, folder: Path) -> Survey:
        return surveyed(self, folder)

    def put_back(self, folder: Path) -> list[str]:
        """Every vehicle is a new one."""
        del folder
        return []

    def start(self, folder: Path, setting: Setting) -> "SimulatedVehicle":
        ports = free_ports(3)
        unit, station, referee = (f"udpin://127.0.0.1:{port}" for port in ports)
        return SimulatedVehicle(
            folder,
            setting,
            Links(unit, station, referee),
            [word for port in ports for word in ("--link", f"udpout://127.0.0.1:{port}")],
        )


class SimulatedVehicle:
    """`python -m hil.vehicle`, as a vehicle."""

    def __init__(
        self,
        folder: Path,
        setting: Setting,
        links: Links,
        words: Sequence[str],
        *,
        system: int | None = None,
        ready_s: float = READY_S,
    ) -> None:
        """The setting's system, unless another is told: its ports may not be free."""
        self.links = links
        self.system = setting.system if system is None else system
        self._folder = folder
        self._starts = 0
        self._ready_s = ready_s
        self._words = [
            *(sys.executable, "-m", "hil.vehicle", setting.robot),
            *("--system", str(self.system), "--scenario", setting.scenario),
            *("--seed", str(setting.seed)),
            *words,
        ]
        if setting.signing_key is not None:
            self._words += ["--signing-key", str(setting.signing_key)]
        self._servant = self._begin()

    def truth(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._servant.ask("truth", do="truth")
        return answer

    def fault(self, target: str, kind: str, *values: float) -> None:
        self._servant.ask("done", do="fault", target=target, kind=kind, values=list(values))

    def wind(self, mean_enu_mps: Sequence[float], gust_mps: float = 0.0) -> None:
        self._servant.ask("done", do="wind", mean_enu_mps=list(mean_enu_mps), gust_mps=gust_mps)

    def reboot(self) -> None:
        """All of it is gone and comes back, at the same ports, where it began."""
        self._servant.close()
        self._servant = self._begin()

    def close(self) -> None:
        self._servant.close()
        end(self._servant.process)

    def _begin(self) -> Servant:
        self._starts += 1
        path = self._folder / f"vehicle-{self.system}-{self._starts}.txt"
        return Servant(self._words, path, ready_s=self._ready_s)


def free_ports(count: int) -> list[int]:
    """UDP ports that nobody has, all different."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
