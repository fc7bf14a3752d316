"""A simulated vehicle in a process of its own, at the rig's orders: `python -m hil.vehicle`.

Orders come as lines of JSON, and so do the answers: {"do": "truth"}, {"do": "fault", "target":
"gps", "kind": "silent", "values": []}, {"do": "wind", "mean_enu_mps": [8, 0, 0], "gust_mps": 2},
{"do": "end"}. Where nobody gives orders any more, it ends.
"""

import argparse
import json
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from ghost.core.errors import GhostError
from ghost.deploy import Drone, Swarm, parse_time
from ghost.simulation.adapter import Fault, FaultKind, Wind
from hil import robots


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hil.vehicle", description=__doc__)
    parser.add_argument("robot")
    parser.add_argument("--system", type=int, default=1)
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--firmware", default="embedded")
    parser.add_argument("--scenario", default="calm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time", default="realtime")
    parser.add_argument("--signing-key", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(words)
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
    try:
        with Swarm(
            scenario=options.scenario,
            seed=options.seed,
            time_plan=parse_time(options.time),
            robots=(robots.FOLDER,),
            out=options.out,
            signing_key=options.signing_key,
        ) as swarm:
            drone = swarm.spawn(
                options.robot,
                vehicle_id=options.system,
                place=((0.0, 0.0, 0.0), 0.0),
                firmware=options.firmware,
                links=options.link,
            )
            swarm.start()
            _say({"ready": True})
            swarm.run(lambda: _obey(orders, swarm, drone))
    except GhostError as error:
        _say({"failed": str(error)})
        return 1
    return 0


def _obey(orders: "SimpleQueue[str]", swarm: Swarm, drone: Drone) -> bool:
    """Whether it is over."""
    for line in swarm.take_news():
        _say({"news": line})
    while True:
        try:
            order = json.loads(orders.get_nowait())
        except Empty:
            return bool(drone.lost)
        match order["do"]:
            case "truth":
                _say({"truth": _truth(drone), "now_ns": swarm.now_ns})
            case "fault":
                kind = FaultKind(order["kind"])
                fault = Fault(order["target"], kind, tuple(order.get("values", ())))
                swarm.bridge.inject(drone.vehicle_id, fault)
                _say({"done": "fault"})
            case "wind":
                mean = order.get("mean_enu_mps", (0.0, 0.0, 0.0))
                swarm.bridge.set_wind(Wind(tuple(mean), order.get("gust_mps", 0.0)))
                _say({"done": "wind"})
            case "end":
                return True


def _truth(drone: Drone) -> dict[str, Any]:
    truth = drone.truth
    return {
        "position_enu_m": truth.position_enu_m.tolist(),
        "velocity_enu_mps": truth.velocity_enu_mps.tolist(),
        "rotor_speed_rps": truth.rotor_speed_rps.tolist(),
    }


def _read(orders: "SimpleQueue[str]") -> None:
    for line in sys.stdin:
        orders.put(line)
    orders.put('{"do": "end"}')


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    sys.exit(main())
