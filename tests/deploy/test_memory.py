"""A long flight takes no more memory than a short one."""

import resource
from pathlib import Path

from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot, load_scenario

LONG = """
name: long
frame: home
steps:
  - takeoff: {altitude_m: 5.0}
  - hold: {seconds: 240.0, timeout_s: 300.0}
  - land: {}
"""


def test_memory_stays_flat(tmp_path: Path) -> None:
    order = Order(load_robot("x500"), load_mission(LONG), load_scenario("gusty", 1), tmp_path / "r")
    used: dict[int, int] = {}

    def look(flight: SimulatedFlight) -> None:
        flight.take_news()
        minute, rest_ns = divmod(flight.clock.now_ns(), 60_000_000_000)
        if rest_ns == 0:
            used[minute] = _resident_bytes()

    assert SimulatedFlight(order).run(look).succeeded
    assert used[4] - used[1] < 2_000_000


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
