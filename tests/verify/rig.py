"""Real flights, and the same flights with something wrong in them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ghost.core.channels import Channel
from ghost.deploy import Order, SimulatedFlight, load_mission, load_robot, load_scenario
from ghost.deploy.verified import verify_run
from ghost.hal import Action
from ghost.hal.channels import CMD_ACK, CMD_ACTION
from ghost.mission.link import Link
from ghost.telemetry import LogReader, LogWriter, Manifest, Record, read_manifest
from ghost.telemetry.manifest import write_manifest
from ghost.telemetry.reader import LOG_NAME
from ghost.telemetry.run import finished_log
from ghost.verify import Heard, Result, Terms, Verdict, judge, of_flight

SECOND_NS = 1_000_000_000
HOVER = """
name: short-hover
frame: home
steps:
  - takeoff: {altitude_m: 1.0}
  - hold: {seconds: 2}
  - land: {}
"""

Plant = Callable[[list[Record]], Iterable[Record]]
OnCycle = Callable[[SimulatedFlight], None]


def fly(folder: Path, seed: int, on_cycle: OnCycle = lambda _: None) -> Path:
    """A run folder in folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mission = folder / "hover.yaml"
    mission.write_text(HOVER, encoding="utf-8")
    order = Order(
        load_robot("crazyflie"), load_mission(mission), load_scenario("calm", seed), folder / "run"
    )
    SimulatedFlight(order).run(on_cycle)
    return folder / "run"


@dataclass(slots=True)
class Silence:
    """The mission dies in its hold, and two seconds later the log is closed."""

    died_ns: int | None = None

    def __call__(self, flight: SimulatedFlight) -> None:
        now_ns = flight.clock.now_ns()
        if self.died_ns is None and _is_in_the_hold(flight):
            flight.runner.close()
            self.died_ns = now_ns
        if self.died_ns is not None and now_ns - self.died_ns > 2 * SECOND_NS:
            flight.request_landing()
            flight.request_landing()


@dataclass(slots=True)
class Killing:
    """It is killed in its hold."""

    killed_ns: int | None = None

    def __call__(self, flight: SimulatedFlight) -> None:
        now_ns = flight.clock.now_ns()
        if self.killed_ns is None and _is_in_the_hold(flight):
            link: Any = Link(flight.bus, flight.backend.actuators, flight.backend.flight_controller)
            link.request(now_ns, Action.KILL)
            self.killed_ns = now_ns


def _is_in_the_hold(flight: SimulatedFlight) -> bool:
    """Fifty set-points on."""
    return flight.runner._tools.link._commands > 50


def rewritten(run: Path, out: Path, plant: Plant) -> Path:
    """The run with its messages changed, and a manifest that fits: a forger's work."""
    records = plant(list(LogReader(run).messages()))
    out.mkdir(parents=True)
    path = out / LOG_NAME
    with path.open("wb") as stream:
        writer = LogWriter(stream)
        for record in records:
            writer.write(record.channel, record.message, record.stamp_ns, record.sequence)
        writer.close()
    log = finished_log(path, "complete", writer.channels, writer.start_ns, writer.end_ns)
    write_manifest(replace(read_manifest(run), log=log), out)
    return out


def with_manifest(run: Path, **changes: Any) -> Manifest:
    """Written in its place."""
    manifest = replace(read_manifest(run), **changes)
    write_manifest(manifest, run)
    return manifest


def judged(records: Iterable[Record], terms: Terms) -> dict[str, Verdict]:
    """The messages alone, numbered anew, with every property that rests on them."""
    properties = of_flight(terms)
    judge((_heard(record, row) for row, record in enumerate(records)), properties)
    return {verdict.name: verdict for verdict in (one.verdict() for one in properties)}


def failed(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    return {name: one for name, one in verdicts.items() if one.result is Result.FAIL}


def _heard(record: Record, sequence: int) -> Heard:
    publish_ns = max(record.message.stamp_ns, 0)
    return Heard(record.channel.name, record.message, record.stamp_ns, publish_ns, sequence)


def failing(run: Path) -> dict[str, Verdict]:
    return {
        verdict.name: verdict
        for verdict in verify_run(run).verdicts
        if verdict.result is Result.FAIL
    }


def where(records: list[Record], channel: Channel[Any]) -> list[int]:
    return [row for row, record in enumerate(records) if record.channel == channel]


def accepted(records: list[Record]) -> list[int]:
    """The rows of acks that say so. The command of each is the row before."""
    rows = [row for row in where(records, CMD_ACK) if records[row].message.accepted]
    assert all(records[row - 1].channel.name.startswith("/cmd/") for row in rows)
    return rows


def asked(records: list[Record], action: Action) -> int:
    """The row of the request."""
    return next(row for row in where(records, CMD_ACTION) if records[row].message.action is action)


def changed(record: Record, **changes: Any) -> Record:
    return replace(record, message=replace(record.message, **changes))


def with_rows(records: list[Record], rows: dict[int, Record]) -> Iterator[Record]:
    for row, record in enumerate(records):
        yield rows.get(row, record)


def told(records: list[Record], row: int, **changes: Any) -> dict[int, Record]:
    """An ack's command changed in both places: as it was sent, and as it was applied."""
    command, ack = records[row - 1], records[row]
    sent = changed(command, **changes)
    more = {
        "command_stamp_ns": sent.message.stamp_ns,
        "command_sequence": sent.message.sequence,
    }
    return {row - 1: sent, row: changed(ack, applied=sent.message, **more)}
