"""PX4 in lockstep with our physics, beside PX4 with its own (SIH): it hovers in OFFBOARD.

`python -m tests.bench.px4_lockstep` runs it alone. It needs GHOST_PX4.
"""

import math
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from ghost.core.clock import SystemClock
from tests.bench.table import LatencyRow, print_latencies
from tests.px4 import VARIABLE, free_instance, started
from tests.sitl.px4.fleet import Companion, Fleet

STEP_US = 4000.0
LEAST_STEPS = 500
SIH_SPEED = 20
"""At 50 it falls behind itself as soon as anything else runs."""
SIH_SAMPLES = 40


def rows(*, smoke: bool = False) -> list[LatencyRow]:
    """Empty without PX4."""
    if not os.environ.get(VARIABLE):
        return []
    seconds = 3.0 if smoke else 15.0
    with TemporaryDirectory() as folder:
        lockstep = _lockstep_rows(Path(folder), seconds)
    with TemporaryDirectory() as folder:
        return [*lockstep, _sih_row(Path(folder), seconds)]


def _lockstep_rows(folder: Path, seconds: float) -> list[LatencyRow]:
    fleet = Fleet(folder)
    try:
        (system,) = fleet.launch(1)
        companion = Companion(system)
        companion.make_ready()
        companion.take_off()
        firmware: Any = fleet.firmware(system)
        begins_ns: list[int] = []
        round_trips_us: list[float] = []
        give, take = firmware.give, firmware.take

        def timed_give(now_ns: int, arrived: Any) -> None:
            begins_ns.append(time.perf_counter_ns())
            give(now_ns, arrived)

        def timed_take(now_ns: int) -> Any:
            motors = take(now_ns)
            if begins_ns:
                round_trips_us.append((time.perf_counter_ns() - begins_ns[-1]) / 1e3)
            return motors

        firmware.give, firmware.take = timed_give, timed_take
        cpu_ns = time.process_time_ns()
        companion.hub.spin(companion.hub.now_ns() + round(seconds * 1e9))
        cpu_ns = time.process_time_ns() - cpu_ns
        firmware.give, firmware.take = give, take
        companion.close()
    finally:
        fleet.close()
    steps_us = (np.diff(begins_ns) / 1e3).tolist()
    assert len(steps_us) > LEAST_STEPS
    cpu_us = cpu_ns / len(steps_us) / 1e3
    return [
        LatencyRow("a step with our physics", steps_us, cpu_us, _factor(steps_us)),
        LatencyRow("of it, from sensors to motors", round_trips_us, cpu_us, ""),
    ]


def _sih_row(folder: Path, seconds: float) -> LatencyRow:
    """SIH steps by itself: its mean time per 4 ms, over several stretches."""
    number = free_instance()
    home = Path(os.environ[VARIABLE])
    environment = {"PX4_SIM_MODEL": "sihsim_quadx", "PX4_SIM_SPEED_FACTOR": str(SIH_SPEED)}
    with started(home, number, folder, environment):
        hub = Hub(SystemClock().now_ns, system=number + 1, component=191)
        hub.add(parse_endpoint(f"udpin://127.0.0.1:{14540 + number}"))
        stretch_ns = round(seconds * 1e9 / SIH_SAMPLES)
        heard: list[tuple[int, int]] = []
        hub.on("ATTITUDE", lambda one: heard.append((one.at_ns, one.message.time_boot_ms)))
        marks = []
        for _ in range(SIH_SAMPLES + 1):
            hub.spin(hub.now_ns() + stretch_ns)
            if heard and heard[-1] not in marks:
                marks.append(heard[-1])
        hub.close()
    wall_us = np.diff([at_ns for at_ns, _ in marks]) / 1e3
    steps = np.diff([boot_ms for _, boot_ms in marks]) * 1e3 / STEP_US
    steps_us = (wall_us / steps).tolist()
    name = f"a step of SIH, asked for {SIH_SPEED} times real time"
    return LatencyRow(name, steps_us, 0.0, _factor(steps_us))


def _factor(steps_us: list[float]) -> str:
    mean_us = math.fsum(steps_us) / len(steps_us)
    return f"{STEP_US / mean_us:.1f} times real time"


if __name__ == "__main__":
    print_latencies("PX4 in lockstep", rows())
