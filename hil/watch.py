"""Watches a vehicle through MAVSDK and keeps a journal: `python -m hil.watch LINK`."""

import argparse
import json
import math
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import mavsdk
from mavsdk.plugins.telemetry import LandedState, Telemetry

from hil.referee import FIND_S, Sight

PERIOD_S = 0.02


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m hil.watch", description=__doc__)
    parser.add_argument("link")
    parser.add_argument("--journal", type=Path, required=True)
    options = parser.parse_args()
    kind = mavsdk.ComponentType.GROUND_STATION
    client = mavsdk.Mavsdk(mavsdk.Configuration.create_with_component_type(kind))
    result = client.add_any_connection(options.link).name
    if result != "SUCCESS":
        return _fail(f"MAVSDK can't open {options.link}: {result}")
    system = client.first_autopilot(FIND_S)
    if system is None:
        return _fail(f"MAVSDK found no autopilot at {options.link} in {FIND_S:g} s")
    telemetry = Telemetry(system)
    is_over = threading.Event()
    answers: deque[dict[str, Any]] = deque()

    def sight() -> Sight:
        place = telemetry.position_velocity_ned().position
        return Sight(
            time.monotonic(),
            telemetry.armed(),
            telemetry.flight_mode().name,
            telemetry.landed_state() not in (LandedState.ON_GROUND, LandedState.UNKNOWN),
            _finite(place.north_m),
            _finite(place.east_m),
            _finite(place.down_m),
            telemetry.health_all_ok(),
        )

    def watch() -> None:
        last: tuple[Any, ...] = ()
        with options.journal.open("w", encoding="utf-8") as journal:
            telemetry.subscribe_status_text(
                lambda told, _: answers.append({"text": told.text, "at_s": time.monotonic()})
            )
            while not is_over.wait(PERIOD_S):
                while answers:
                    journal.write(json.dumps(answers.popleft()) + "\n")
                seen = _plain(sight())
                fresh = tuple(seen[key] for key in ("armed", "mode", "in_air", "north_m", "down_m"))
                if fresh != last:
                    last = fresh
                    journal.write(json.dumps(seen) + "\n")
                journal.flush()

    thread = threading.Thread(target=watch)
    thread.start()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        if json.loads(line)["do"] == "look":
            print(json.dumps({"sight": _plain(sight())}), flush=True)
    is_over.set()
    thread.join()
    client.destroy()
    return 0


def _plain(seen: Sight) -> dict[str, Any]:
    return {name: getattr(seen, name) for name in Sight.__slots__}


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


def _fail(text: str) -> int:
    print(json.dumps({"failed": text}), flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
