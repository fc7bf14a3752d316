"""PX4 behind MAVLink as a RuntimeBackend."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.link import Link
from firmware_bridge.messages import dialect
from firmware_bridge.notices import Change
from firmware_bridge.signing import link_signer
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Identity, Vehicle
from ghost.core.clock import Clock, SystemClock
from ghost.core.errors import GhostError, RefusedError
from ghost.hal import Capabilities, EnvelopeGate
from ghost.hardware.provider import StreamProvider
from ghost.hardware.run import Run, Terms
from ghost.hardware.setpoints import LEVELS

FIND_NS = 10_000_000_000


class Px4Backend:
    """One flight controller on one or more links. start() finds it, or says what was tried."""

    def __init__(
        self,
        description: Any,
        *,
        links: tuple[str, ...],
        allow_arming: bool = False,
        signing_key: Path | None = None,
        system: int | None = None,
        on_news: Callable[[Link, bool, str], None] = lambda *_: None,
        on_text: Callable[[int, str], None] = lambda *_: None,
        on_change: Callable[[Change], None] = lambda _: None,
    ) -> None:
        self._endpoints = [parse_endpoint(link) for link in links]
        rotors = description.airframe.rotors if description.airframe else ()
        self._terms = Terms(
            description.envelope, len(rotors) or 4, allow_arming, on_text, on_change
        )
        self._signing_key = signing_key
        self._system = system
        self._on_news = on_news
        self._run: Run | None = None

    @property
    def capabilities(self) -> Capabilities:
        run = self._current()
        return Capabilities(
            sensors=tuple(provider.spec for provider in run.providers.values()),
            command_levels=LEVELS,
            ground_truth=False,
            synchronous_step=False,
            replay=False,
            deterministic=False,
        )

    @property
    def clock(self) -> Clock:
        return self._current().clock

    @property
    def sensors(self) -> Mapping[str, StreamProvider]:
        return self._current().providers

    @property
    def actuators(self) -> EnvelopeGate:
        return self._current().gate

    @property
    def flight_controller(self) -> Run:
        return self._current()

    @property
    def identity(self) -> Identity:
        return self._current().identity

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(self._current().vehicle.hub.links)

    @property
    def vehicle(self) -> Vehicle:
        """For parameters, missions and logs, which aren't the HAL's."""
        return self._current().vehicle

    def start(self) -> None:
        self.stop()
        clock = SystemClock()
        hub = Hub(clock.now_ns, system=1, component=ONBOARD_COMPUTER, on_news=self._on_news)
        try:
            for number, endpoint in enumerate(self._endpoints):
                key = self._signing_key
                hub.add(endpoint, signer=link_signer(key, number) if key is not None else None)
            vehicle = Vehicle(hub, system=self._system)
            vehicle.find(FIND_NS)
            _refuse_others(vehicle)
            hub.system = vehicle.system or 1  # a companion is part of its vehicle
            with self._no_rivals(vehicle):
                self._run = Run(self._terms, clock, vehicle)
        except BaseException:
            self._run = None
            hub.close()
            raise

    def spin(self, until_ns: int) -> None:
        self._current().vehicle.hub.spin(until_ns)

    def stop(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.vehicle.hub.close()

    @contextmanager
    def _no_rivals(self, vehicle: Vehicle) -> Iterator[None]:
        """Which of several is the first to be heard is chance, and may be the wrong one."""
        try:
            yield
        finally:
            if self._system is None and vehicle.rivals:
                heard = sorted((vehicle.system or 0, *vehicle.rivals))
                raise RefusedError(
                    f"several flight controllers are heard, systems "
                    f"{', '.join(map(str, heard))}; say which one is meant: --system"
                )

    def _current(self) -> Run:
        if self._run is None:
            raise GhostError("the backend is not started; call start first")
        return self._run


def _refuse_others(vehicle: Vehicle) -> None:
    """The numbers that another autopilot has for its modes mean other modes to PX4."""
    number = vehicle.heartbeat.autopilot if vehicle.heartbeat is not None else None
    if number != dialect.MAV_AUTOPILOT_PX4:
        entry = dialect.enums["MAV_AUTOPILOT"].get(number)
        name = entry.name if entry is not None else f"autopilot {number}"
        raise RefusedError(f"system {vehicle.system} is {name}; expected PX4, which Ghost flies")
