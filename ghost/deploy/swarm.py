"""Vehicles in one simulation: a few lines for a test, and all of `ghost sitl`.

    with Swarm(seed=3) as swarm:
        scout = swarm.spawn("x500")
        swarm.step(5.0)
        scout.take_off(4.0)
        swarm.step(8.0)
        assert scout.truth.position_enu_m[2] > 3.5

Everybody is visited in the order of ids, whatever the order of spawning; so the same seed gives the
same bytes in every log.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import spin_together
from firmware_bridge.link import Link
from firmware_bridge.signing import Signer, link_signer
from ghost.core.clock import SystemClock
from ghost.core.errors import ConfigError, GhostError
from ghost.deploy.choreography import Choreography
from ghost.deploy.drone import Drone, Spawn
from ghost.deploy.hal import MissingHalError, make_autopilot, physics, vehicle_setup
from ghost.deploy.layout import SPACING_M, Place, start_at
from ghost.deploy.refusals import refuse_impossible, refuse_unseeable
from ghost.deploy.robot import RobotDescription
from ghost.deploy.robots import load_robot
from ghost.deploy.scenario import Scenario, load_scenario
from ghost.deploy.session import mark
from ghost.deploy.swarm_log import SwarmLog
from ghost.events import EVENTS, Bus, Event, EventKind, Severity
from ghost.mission import Mission, Result
from ghost.mission.swarm import SwarmMission
from ghost.simulation.embedded import EmbeddedVehicle
from ghost.sitl.bridge import Loss, SitlBridge
from ghost.sitl.firmware import MakeFirmware, Seat
from ghost.sitl.px4 import launch
from ghost.sitl.registry import STEP_TIMEOUT_NS, Unlockstepped
from ghost.sitl.time import LOCKSTEP_NS, Pace, TimeMode, TimePlan
from ghost.sitl.vehicle import SitlVehicle
from ghost.sitl.vehicles import Vehicle, check_id
from ghost.sitl.voice import Voice

FIRMWARES = ("embedded", "px4")
PX4_SPEED = 10.0
"""How fast a PX4 in lockstep is told that time may go: its links' time-outs are so much longer."""


class Swarm:
    """spawn() what flies, then step() or run(). close() ends it, and so does leaving a with."""

    def __init__(
        self,
        *,
        scenario: Scenario | str = "calm",
        seed: int | None = None,
        time_plan: TimePlan = TimePlan(),  # noqa: B008 - frozen
        out: Path | None = None,
        reproduce: str = "",
        robots: Sequence[Path] = (),
        signing_key: Path | None = None,
        unlockstepped: Unlockstepped = Unlockstepped.REFUSE,
        step_timeout_ns: int = STEP_TIMEOUT_NS,
        shared_link: str | None = None,
    ) -> None:
        """shared_link is one for all, told apart by their systems; who has links of its own speaks
        there.
        """
        if isinstance(scenario, str):
            scenario = load_scenario(scenario, seed)
        elif seed is not None:
            raise ConfigError("a scenario has a seed; give the name of one to choose another seed")
        self.scenario = scenario
        self.time = time_plan
        self.bridge = SitlBridge(
            scenario.spec,
            time=time_plan,
            wind=scenario.wind,
            happenings=scenario.happenings,
            scenery=scenario.scenery,
            on_loss=self._on_loss,
        )
        self.drones: dict[int, Drone] = {}
        self.on_cycle: list[Callable[[int], None]] = []
        """Called every 20 ms of simulated time, when everybody has moved."""
        self.formation: SwarmMission | None = None
        """What all fly together, from the start on."""
        self.choreography: Choreography | None = None
        self._robots = robots
        self._signing_key = signing_key
        self._unlockstepped = unlockstepped
        self._step_timeout_ns = step_timeout_ns
        self._shared_endpoint = parse_endpoint(shared_link) if shared_link is not None else None
        self._shared: Voice | None = None
        self._out = out
        self._reproduce = reproduce
        self._wall = SystemClock()
        self._bus: Bus | None = None
        self._log: SwarmLog | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._pace = Pace(self._wall.now_ns, time_plan.factor)
        self.news: list[Event] = []

    def spawn(
        self,
        robot: str | RobotDescription,
        *,
        vehicle_id: int | None = None,
        place: Place | None = None,
        simulator: str | None = None,
        firmware: str = "embedded",
        mission: Mission | None = None,
        links: Sequence[str] = (),
    ) -> Drone:
        """Put a vehicle on the ground: by default with the lowest free id, five metres east of the
        one before. links are where it speaks MAVLink.
        """
        if self.bridge.is_running:
            raise GhostError("the swarm flies already; spawn everybody before the first step")
        if isinstance(robot, str):
            robot = load_robot(robot, self._robots)
        robot = _hurried(robot, self.time.factor)
        if robot.sim is None or robot.hal.sim is not None:
            raise MissingHalError(
                f"robot {robot.name} can't fly in a swarm: that takes a sim block, and no hal.sim "
                "of its own"
            )
        number = self.bridge.vehicles.free_id() if vehicle_id is None else check_id(vehicle_id)
        if place is None:
            place = ((SPACING_M * (number - 1), 0.0, 0.0), 0.0)
        simulator = simulator or robot.sim.simulator
        setup = vehicle_setup(robot, start_at(place, self.scenario.start.charge))
        if simulator not in self.bridge.adapters:
            self.bridge.adapters.register(
                simulator,
                physics(simulator),
                unlockstepped=self._unlockstepped,
                timeout_ns=self._step_timeout_ns,
            )
        adapter = self.bridge.adapters[simulator].adapter
        refuse_impossible(adapter, setup, self.scenario.wind, self.scenario.happenings)
        refuse_unseeable(adapter, robot.sensors, self.scenario.scenery, view=False)
        order = Spawn(number, robot, simulator, setup.start, firmware, mission, tuple(links))
        make = self._firmware(order)
        self.bridge.vehicles.add(Vehicle(number, setup, simulator, make))
        drone = Drone(order, self.bridge)
        self.drones = dict(sorted([*self.drones.items(), (number, drone)]))
        return drone

    def remove(self, vehicle_id: int) -> None:
        """Before the start as if it had never been; its id is free again. Later it dies."""
        if self.bridge.is_running:
            self.bridge.lose(vehicle_id, "removed")
            return
        self.bridge.vehicles.remove(vehicle_id)
        del self.drones[vehicle_id]

    @property
    def now_ns(self) -> int:
        return self.bridge.clock.now_ns()

    @property
    def bus(self) -> Bus:
        """The swarm's own: what befalls any of them, and where each is."""
        if self._bus is None:
            raise GhostError("the swarm doesn't fly yet; start it first")
        return self._bus

    @property
    def alive(self) -> list[Drone]:
        return [self.drones[number] for number in self.bridge.alive]

    @property
    def lost_ns(self) -> int:
        """How much wall time the simulation could not keep up with."""
        return self._pace.lost_ns

    @property
    def is_done(self) -> bool:
        """Whether all missions are over and their vehicles down; never where there are none."""
        runners = [drone.runner for drone in self.drones.values() if drone.runner is not None]
        outcomes = [runner.outcome for runner in runners]
        if self.choreography is not None:
            outcomes.append(self.choreography.runner.outcome)
        if not outcomes:
            return not self.alive
        return all(outcome.over for outcome in outcomes) and not any(
            drone.is_armed for drone in self.alive
        )

    @property
    def went_well(self) -> bool:
        """Nobody was lost, and every mission completed."""
        runners = [drone.runner for drone in self.drones.values() if drone.runner is not None]
        done = all(runner.outcome.result is Result.COMPLETED for runner in runners)
        if self.choreography is not None:
            done = done and self.choreography.completed
        return done and len(self.alive) == len(self.drones)

    def verdicts(self) -> list[str]:
        """A line for each mission that did not complete."""
        told = []
        for drone in self.drones.values():
            outcome = drone.runner.outcome if drone.runner is not None else None
            if outcome is not None and outcome.result is not Result.COMPLETED:
                told.append(f"{drone.name}: {outcome.result.name.lower()}: {outcome.reason}")
        if self.choreography is not None and not self.choreography.completed:
            told.append(self.choreography.verdict())
        return told

    def choreograph(self, mission: SwarmMission) -> Choreography:
        """Begin a mission of all together; the swarm's steps fly it."""
        if self.choreography is not None:
            raise ConfigError("the swarm has a mission of its own already; it flies one")
        self.formation = mission
        self.start()
        return self.choreography or self._choreograph(mission)

    def _choreograph(self, mission: SwarmMission) -> Choreography:
        self.choreography = Choreography(self, mission)
        self.on_cycle.append(self.choreography.cycle)
        return self.choreography

    def take_news(self) -> list[str]:
        """What happened since the last call, a line each."""
        news, self.news[:] = list(self.news), []
        return [
            f"{event.stamp_ns / 1e9:8.2f} s  {mark(event)}{event.source}: {event.text}"
            for event in news
            if event.severity > Severity.DEBUG
        ]

    def start(self) -> None:
        """The first step does it; by itself, to have buses to subscribe to before."""
        if self.bridge.is_running:
            return
        self.bridge.start()
        try:
            self._bus = Bus(self.bridge.clock)
            self._bus.subscribe(EVENTS, self.news.append, name="swarm")
            for drone in self.drones.values():
                drone.wake()
                drone.bus.subscribe(EVENTS, self._relay(drone), name="swarm")
                self._give_voice(drone)
            if self._out is not None:
                self._log = SwarmLog(self, self._out, self._reproduce)
            for drone in self.drones.values():
                if self._log is not None:
                    drone.introduce(self.scenario.scenery)
                if drone.spawn.mission is not None:
                    drone.fly(drone.spawn.mission)
            if self.formation is not None:
                self._choreograph(self.formation)
            self._publish_truth()
        except BaseException:
            self.close()
            raise

    def step(self, seconds: float | None = None) -> None:
        """Let time pass, by default a step of the time plan. Nobody waits for the wall clock."""
        step_ns = self.time.step_ns
        self.start()
        if seconds is None:
            self._advance(step_ns)
            return
        end_ns = self.now_ns + round(seconds * 1e9)
        while self.now_ns < end_ns:
            self._advance(min(step_ns, end_ns - self.now_ns))

    def run(self, is_over: Callable[[], bool]) -> None:
        """Until is_over says so, which is asked after each step; at the pace of the time plan."""
        self.start()
        while not is_over():
            self._advance(self.time.step_ns)
            if self.time.is_paced:
                self._pace.wait(self.now_ns, self._idle)

    def step_until(self, is_done: Callable[[], bool], *, within_s: float, what: str) -> None:
        """Let time pass until then; a GhostError naming what when it doesn't come about."""
        self.start()
        end_ns = self.now_ns + round(within_s * 1e9)
        while not is_done():
            if self.now_ns >= end_ns:
                raise GhostError(f"{what}: not in {within_s:g} s of simulated time")
            self.step()

    def close(self) -> None:
        """End everything, come what may; a second time is harmless."""
        if self.choreography is not None:
            self.choreography.close()
        for drone in self.drones.values():
            if drone.runner is not None:
                drone.runner.close()
        try:
            if self._log is not None:
                self._log.close()
        finally:
            self._log = None
            for drone in self.drones.values():
                if drone.voice is not None:
                    drone.voice.close()
                    drone.voice = None
            self.bridge.stop()
            if self._scratch is not None:
                self._scratch.cleanup()
                self._scratch = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _advance(self, dt_ns: int) -> None:
        self.bridge.step(dt_ns)
        for drone in self.alive:
            if drone.voice is not None:
                drone.voice.step()
        if self.now_ns % LOCKSTEP_NS == 0:
            self._publish_truth()
            for call in tuple(self.on_cycle):
                call(self.now_ns)
        if not self.time.is_paced:
            self._idle(self._wall.now_ns())

    def _publish_truth(self) -> None:
        for drone in self.alive:
            if self.bridge.adapters[drone.spawn.simulator].adapter.capabilities.ground_truth:
                pose = drone.publish_truth()
                if self._log is not None:
                    self._log.place(drone.vehicle_id, pose)

    def _idle(self, until_ns: int) -> None:
        hubs = [drone.voice.hub for drone in self.drones.values() if drone.voice is not None]
        if hubs:
            spin_together(hubs, until_ns)
        elif (rest_ns := until_ns - self._wall.now_ns()) > 0:  # sleeping for 0 s yields the core
            time.sleep(rest_ns / 1e9)

    def _firmware(self, order: Spawn) -> MakeFirmware:
        robot = order.robot
        match order.firmware:
            case "embedded":
                return lambda seat: _embedded(robot, seat)
            case "px4":
                if order.links or order.mission is not None:
                    raise ConfigError(
                        f"vehicle {order.vehicle_id} is flown by PX4, which has links of its own "
                        "and is given missions over them; leave them out"
                    )
                held = self.time.mode is TimeMode.LOCKSTEP
                return launch(self._px4_folder(), speed=PX4_SPEED if held else self.time.factor)
        raise ConfigError(f"firmware is {order.firmware!r}; expected {' or '.join(FIRMWARES)}")

    def _px4_folder(self) -> Path:
        if self._out is not None:
            return self._out
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="ghost-px4-")
        return Path(self._scratch.name)

    def _give_voice(self, drone: Drone) -> None:
        spawn, robot = drone.spawn, drone.spawn.robot
        is_embedded = isinstance(self.bridge.firmware(drone.vehicle_id), EmbeddedVehicle)
        endpoints = [parse_endpoint(link) for link in spawn.links]
        is_sharing = is_embedded and not endpoints and self._shared_endpoint is not None
        if is_sharing and self._shared is None and self._shared_endpoint is not None:
            endpoints = [self._shared_endpoint]
        if robot.airframe is None or not (endpoints or is_sharing):
            return
        vehicle = SitlVehicle(
            drone.embedded,
            self.bridge.clock,
            origin=self.scenario.spec.origin,
            airframe=robot.airframe,
            envelope=robot.envelope,
            config=robot.autopilot,
        )
        drone.voice = Voice(
            self._wall.now_ns,
            vehicle,
            endpoints,
            system=drone.vehicle_id,
            shared=self._shared if is_sharing else None,
            speed=self.time.factor,
            make_signer=self._signer if self._signing_key is not None else None,
            on_news=self._link_news(drone),
        )
        if is_sharing and self._shared is None:
            self._shared = drone.voice

    def _signer(self, link_number: int) -> Signer:
        if self._signing_key is None:
            raise ConfigError("no signing key")
        return link_signer(self._signing_key, link_number)

    def _link_news(self, drone: Drone) -> Callable[[Link, bool, str], None]:
        def tell(link: Link, is_up: bool, why: str) -> None:
            kind = EventKind.LINK_UP if is_up else EventKind.LINK_DOWN
            severity = Severity.INFO if is_up else Severity.WARN
            text = f"{link.endpoint} is {'up' if is_up else 'down'}{why and ': '}{why}"
            drone.bus.publish(EVENTS, Event(self.now_ns, severity, kind, "mavlink", text))

        return tell

    def _relay(self, drone: Drone) -> Callable[[Event], None]:
        """What befalls one is told on the swarm's bus, and says whom."""

        def relay(event: Event) -> None:
            payload = {**event.payload, "vehicle": drone.vehicle_id}
            source = f"{drone.name}: {event.source}"
            told = Event(
                event.stamp_ns,
                event.severity,
                event.kind,
                source,
                event.text,
                payload,
                event.correlation_id,
            )
            self.bus.publish(EVENTS, told)

        return relay

    def _on_loss(self, loss: Loss) -> None:
        is_simulator = loss.who.startswith("simulator")
        kind = EventKind.SIMULATOR_LOST if is_simulator else EventKind.VEHICLE_LOST
        payload = {"vehicles": list(loss.vehicle_ids)}
        self.bus.publish(
            EVENTS, Event(loss.at_ns, Severity.ERROR, kind, loss.who, loss.reason, payload)
        )
        for number in loss.vehicle_ids:
            drone = self.drones[number]
            drone.bus.publish(
                EVENTS,
                Event(loss.at_ns, Severity.ERROR, EventKind.VEHICLE_LOST, loss.who, loss.reason),
            )
            if drone.runner is not None:
                drone.runner.close()
            if drone.voice is not None and drone.voice is not self._shared:  # others need its link
                drone.voice.close()
                drone.voice = None


def _hurried(robot: RobotDescription, speed: float) -> RobotDescription:
    """Clients don't hurry when the simulation does: as PX4's, they are given the longer."""
    if speed <= 1.0:
        return robot
    envelope = robot.envelope
    return replace(
        robot,
        envelope=replace(envelope, command_timeout_ns=round(envelope.command_timeout_ns * speed)),
    )


def _embedded(robot: RobotDescription, seat: Seat) -> EmbeddedVehicle:
    return EmbeddedVehicle(
        make_autopilot(robot, seat.scenario),
        robot.envelope,
        tuple(model.spec for model in robot.sensors),
        seat.clock,
        step_ns=seat.scenario.step_ns,
        control_period_ns=robot.autopilot.control_period_ns,
        feels_contacts=seat.feels_contacts,
    )
