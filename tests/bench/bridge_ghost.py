"""Ghost's side of the bridge's benchmark: python -m tests.bench.bridge_ghost NAME URL [MORE], until
it is ended.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ghost.core.channels import Channel
from ghost.deploy import load_robot
from ghost.deploy.real import CYCLE_NS
from ghost.deploy.router import RouterOrder, open_router
from ghost.events import Bus
from ghost.hal import EstimateHealth, PositionCommand, Sample, VehicleState
from ghost.hardware.px4 import Px4Backend
from ghost.telemetry import RunRecorder, describe_run

LONGEST_S = 120


def hold(url: str) -> None:
    """Answer each state with a set-point to hold that very place."""
    backend = _started(url)
    clock, gate = backend.clock, backend.actuators

    def answer(state: VehicleState) -> None:
        if state.verdict is not EstimateHealth.LOST:
            place = state.position_enu_m
            gate.send(PositionCommand(clock.now_ns(), state.sequence, place, yaw_rad=0.0))

    backend.sensors["vehicle"].subscribe(answer)
    _spin(backend)


def hold_real_time(url: str) -> None:
    """With the priority that `ghost deploy run` takes where it may."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    hold(url)


def log(url: str, folder: str) -> None:
    """Every sample of every sensor through the bus into a flight log, until SIGTERM."""
    backend = _started(url)
    bus = Bus(backend.clock)

    def publisher(channel: Channel[Any]) -> Callable[[Sample], None]:
        return lambda sample: bus.publish(channel, sample)

    for spec in backend.capabilities.sensors:
        backend.sensors[spec.name].subscribe(publisher(spec.channel))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    manifest = describe_run(
        robot="x500", scenario="bench", seed=0, deterministic=False, reproduce="", config={}
    )
    with RunRecorder(Path(folder), bus, manifest, background=True):
        _spin(backend)


def route(url: str, listen: str) -> None:
    """Share the flight controller with whoever comes to the second URL."""
    router = open_router(RouterOrder(link=url, listen=(listen,)), tell=lambda _: None)
    _leave_garbage()
    while True:
        router.spin(router.now_ns() + CYCLE_NS)


def _started(url: str) -> Px4Backend:
    backend = Px4Backend(load_robot("x500"), links=(url,))
    backend.start()
    return backend


def _spin(backend: Px4Backend) -> None:
    """As ghost.deploy.real does."""
    _leave_garbage()
    while True:
        backend.spin(backend.clock.now_ns() + CYCLE_NS)


def _leave_garbage() -> None:
    gc.collect()
    gc.freeze()
    gc.disable()


if __name__ == "__main__":
    signal.alarm(LONGEST_S)  # whoever started it may be gone
    name, *arguments = sys.argv[1:]
    companions: dict[str, Callable[..., None]] = {
        "hold": hold,
        "hold_real_time": hold_real_time,
        "log": log,
        "route": route,
    }
    companions[name](*arguments)
