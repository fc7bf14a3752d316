"""Vehicles on a terminal: a table that is rewritten in place, events above it."""

import math
import sys
import time

from ghost.deploy import Drone, Swarm

REFRESH_NS = 250_000_000
MOST_ROWS = 40
HEAD = (
    f"{'id':>3}  {'robot':<14} {'simulator':<12} {'mode':<9} "
    f"{'east':>8} {'north':>8} {'up':>7} {'battery':>7}  mission"
)


class SwarmTable:
    def __init__(self, swarm: Swarm) -> None:
        self._swarm = swarm
        self._is_live = sys.stdout.isatty()
        self._shown_ns = 0
        self._began_ns = time.monotonic_ns()
        self._lines = 0

    def begin(self) -> None:
        for drone in self._swarm.drones.values():
            links = f" on {', '.join(drone.spawn.links)}" if drone.spawn.links else ""
            print(f"{drone.spawn.robot.name}: system {drone.vehicle_id}{links}", flush=True)

    def show(self) -> None:
        """News at once, the table four times a second."""
        self._tell()
        now_ns = time.monotonic_ns()
        if self._is_live and now_ns - self._shown_ns >= REFRESH_NS:
            self._shown_ns = now_ns
            self._draw()

    def end(self) -> None:
        self._tell()
        self._draw()
        swarm = self._swarm
        for line in swarm.verdicts():
            print(line)
        if swarm.choreography is not None:
            print(swarm.choreography.summary())
        if swarm.lost_ns > 1_000_000_000:
            print(f"this computer was {swarm.lost_ns / 1e9:.1f} s too slow")
        sys.stdout.flush()

    def _tell(self) -> None:
        for line in self._swarm.take_news():
            self._clear()
            print(line, flush=True)

    def _draw(self) -> None:
        self._clear()
        swarm = self._swarm
        wall_ns = max(time.monotonic_ns() - self._began_ns, 1)
        drones = list(swarm.drones.values())
        lines = [HEAD, *(_row(drone) for drone in drones[:MOST_ROWS])]
        if len(drones) > MOST_ROWS:
            lines.append(f"     and {len(drones) - MOST_ROWS} more")
        lines.append(
            f"{swarm.now_ns / 1e9:.1f} s, {swarm.now_ns / wall_ns:.1f} times real time, "
            f"{len(swarm.alive)} of {len(drones)} alive"
        )
        print("\n".join(lines), flush=True)
        self._lines = len(lines)

    def _clear(self) -> None:
        if self._is_live and self._lines:
            print(f"\033[{self._lines}F\033[J", end="")
        self._lines = 0


def _row(drone: Drone) -> str:
    spawn, status = drone.spawn, drone.status
    head = f"{drone.vehicle_id:>3}  {spawn.robot.name:<14.14} {spawn.simulator:<12.12} "
    if drone.lost:
        return f"{head}LOST: {drone.lost}"
    east_m, north_m, up_m = drone.position_enu_m
    charge = drone.statistics.charge
    battery = "-" if charge is None or math.isnan(charge) else f"{charge:.0%}"
    mode = status.mode.name if status else spawn.firmware.upper()
    mode = mode if status is None or status.armed else f"({mode})"
    doing = drone.runner.outcome.result.name.lower() if drone.runner else ""
    return (
        f"{head}{mode:<9} {east_m:8.1f} {north_m:8.1f} {up_m:7.1f} {battery:>7}  {doing}".rstrip()
    )
