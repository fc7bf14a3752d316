"""Every vehicle on the air: links of its own, or one for all."""

import socket
from collections.abc import Callable, Iterator, Sequence

import pytest

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.hub import Hub
from firmware_bridge.messages import dialect
from ghost.core.clock import SystemClock
from ghost.core.errors import ConfigError, LinkError
from ghost.deploy import PortPlan, Swarm, parse_time
from ghost.events import EventKind

SECOND_NS = 1_000_000_000
ACCEPTED = dialect.MAV_RESULT_ACCEPTED


class Station:
    """A ground station: every system that it hears, and what each answers."""

    def __init__(self) -> None:
        self.hub = Hub(SystemClock().now_ns, system=245, component=190)
        link = self.hub.add(parse_endpoint("udpin://127.0.0.1:0"))
        self.port: int = getattr(link._transport, "port")  # noqa: B009 - not every one has it
        self.systems: set[int] = set()
        self.answers: list[tuple[int, int]] = []
        self.hub.on("HEARTBEAT", lambda heard: self.systems.add(heard.frame.system))
        self.hub.on("COMMAND_ACK", self._on_ack)

    def ask(self, system: int, number: int) -> None:
        message = dialect.MAVLink_command_long_message(system, 1, number, 0, *[148.0] + [0.0] * 6)
        self.hub.send(message)

    def _on_ack(self, heard: object) -> None:
        self.answers.append((heard.frame.system, heard.message.result))  # type: ignore[attr-defined]


def fly(swarm: Swarm, stations: Sequence[Station], until: Callable[[], bool]) -> None:
    """In real time, until then, which is to be within seconds."""
    end_ns = stations[0].hub.now_ns() + 10 * SECOND_NS

    def is_over() -> bool:
        for station in stations:
            station.hub.spin(0)
        assert stations[0].hub.now_ns() < end_ns
        return until()

    swarm.run(is_over)


@pytest.fixture
def stations() -> Iterator[tuple[Station, Station]]:
    made = (Station(), Station())
    yield made
    for station in made:
        station.hub.close()


def test_one_link_carries_all_systems_and_each_answers_for_itself(
    stations: tuple[Station, Station],
) -> None:
    station, _ = stations
    plan = parse_time("realtime")
    with Swarm(time_plan=plan, shared_link=f"udpout://127.0.0.1:{station.port}") as swarm:
        for number in (3, 1, 7):
            swarm.spawn("x500", vehicle_id=number)
        fly(swarm, stations, lambda: station.systems == {1, 3, 7})
        station.ask(3, dialect.MAV_CMD_REQUEST_MESSAGE)
        fly(swarm, stations, lambda: bool(station.answers))
        swarm.remove(1)  # which has the link
        station.ask(7, dialect.MAV_CMD_REQUEST_MESSAGE)
        fly(swarm, stations, lambda: len(station.answers) > 1)
        assert station.answers == [(3, ACCEPTED), (7, ACCEPTED)]


def test_each_has_links_of_its_own_and_speaks_only_there(
    stations: tuple[Station, Station],
) -> None:
    with Swarm(time_plan=parse_time("realtime")) as swarm:
        for station in stations:
            swarm.spawn("x500", links=[f"udpout://127.0.0.1:{station.port}"])
        fly(swarm, stations, lambda: all(len(station.systems) > 0 for station in stations))
    assert [station.systems for station in stations] == [{1}, {2}]


def test_a_client_that_dies_leaves_the_others_flying(stations: tuple[Station, Station]) -> None:
    with Swarm(time_plan=parse_time("scaled:20")) as swarm:
        for station in stations:
            swarm.spawn("x500", links=[f"udpout://127.0.0.1:{station.port}"])
        fly(swarm, stations, lambda: all(len(station.systems) > 0 for station in stations))
        for station in stations:  # a link is up once its client has spoken
            station.ask(0, dialect.MAV_CMD_REQUEST_MESSAGE)
        fly(swarm, stations, lambda: all(len(station.answers) > 0 for station in stations))
        stations[1].hub.close()

        def is_told() -> bool:
            stations[0].ask(1, dialect.MAV_CMD_REQUEST_MESSAGE)
            return any(event.kind == EventKind.LINK_DOWN for event in swarm.news)

        fly(swarm, stations[:1], is_told)
        assert len(swarm.alive) == 2
        told = [event.source for event in swarm.news if event.kind == EventKind.LINK_DOWN]
        assert told == ["vehicle 2: mavlink"]


def test_a_port_that_is_taken_names_its_holder() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        with Swarm() as swarm:
            swarm.spawn("x500", links=[f"udpout://127.0.0.1:9?local={port}"])
            with pytest.raises(LinkError, match=rf"UDP port {port}, which is held by .+\(pid"):
                swarm.start()
            assert not swarm.bridge.is_running


def test_ports_follow_the_vehicle() -> None:
    plan = PortPlan()
    assert plan.links(1) == (
        "udpout://127.0.0.1:14540?local=18540",
        "udpout://127.0.0.1:14550?local=18550",
    )
    assert plan.links(10)[0] == "udpout://127.0.0.1:14549?local=18549"
    plan.check(range(1, 11))
    plan.check([12])
    with pytest.raises(ConfigError, match="port 14550 is vehicle 1's ground station and"):
        plan.check(range(1, 12))
    PortPlan(15000, 16000).check(range(1, 255))
    with pytest.raises(ConfigError, match="would be port 65536"):
        PortPlan(61536, 14550).check([1])
