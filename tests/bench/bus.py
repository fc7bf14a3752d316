"""The bus beside blinker and pypubsub: the same sample to one and to ten subscribers."""

from collections.abc import Callable

import blinker
import numpy as np
from pubsub import pub

from ghost.core import SimClock
from ghost.events import Bus
from ghost.hal import ImuSample
from ghost.hal.channels import IMU
from tests.bench.table import Row, per_call_us

SAMPLE = ImuSample(1, 1, np.array([0.1, 0.2, 9.8]), np.array([0.01, 0.02, 0.03]))
Loop = Callable[[int], None]


def rows(calls: int) -> list[Row]:
    peers = (("ghost", _ghost), ("blinker", _blinker), ("pypubsub", _pypubsub))
    return [
        Row(f"{name}, {count} subscriber{'s' * (count > 1)}", per_call_us(make(count), calls))
        for count in (1, 10)
        for name, make in peers
    ]


def _ghost(subscribers: int) -> Loop:
    bus = Bus(SimClock())
    for index in range(subscribers):
        bus.subscribe(IMU, _take, name=f"subscriber {index}")

    def loop(calls: int) -> None:
        publish = bus.publish
        for _ in range(calls):
            publish(IMU, SAMPLE)

    return loop


def _blinker(subscribers: int) -> Loop:
    signal = blinker.Signal()
    for _ in range(subscribers):
        signal.connect(lambda sender, message: None, weak=False)  # noqa: ARG005 - blinker's names

    def loop(calls: int) -> None:
        send = signal.send
        for _ in range(calls):
            send(None, message=SAMPLE)

    return loop


_kept: list[Callable[..., None]] = []  # pypubsub holds its listeners weakly


def _pypubsub(subscribers: int) -> Loop:
    topic = f"imu{subscribers}"
    for _ in range(subscribers):

        def listen(message: ImuSample) -> None:
            pass

        _kept.append(listen)
        pub.subscribe(listen, topic)

    def loop(calls: int) -> None:
        send = pub.sendMessage
        for _ in range(calls):
            send(topic, message=SAMPLE)

    return loop


def _take(sample: ImuSample) -> None:
    pass
