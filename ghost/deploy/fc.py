"""What `ghost fc` does with a flight controller: its parameters, its mission and its logs."""

import difflib
import fnmatch
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from firmware_bridge.endpoint import parse_endpoint
from firmware_bridge.flight_logs import FlightLog, FlightLogs
from firmware_bridge.hub import Hub
from firmware_bridge.messages import Message, dialect
from firmware_bridge.missions import MissionItem, Missions, compare
from firmware_bridge.parameter_values import (
    REAL32,
    Difference,
    Parameter,
    Value,
    diff,
    read_parameters,
    shortest,
    write_parameters,
)
from firmware_bridge.parameters import Parameters
from firmware_bridge.plan_file import params_of, read_plan, write_plan
from firmware_bridge.signing import link_signer, make_key
from firmware_bridge.signing_setup import give_key, take_key
from firmware_bridge.vehicle import ONBOARD_COMPUTER, Vehicle
from ghost.core.clock import SystemClock
from ghost.core.errors import ConfigError, LinkError, RefusedError, StalledError
from ghost.deploy.demands import undone_since

__all__ = [
    "Difference",
    "FetchedLog",
    "FlightLog",
    "MissionItem",
    "Parameter",
    "Vehicle",
    "clear_mission",
    "command_name",
    "connect",
    "date_of",
    "download_mission",
    "fetch_log",
    "frame_name",
    "give_signing_key",
    "kind_name",
    "list_logs",
    "list_parameters",
    "load_parameters",
    "mission_differences",
    "parameter_differences",
    "params_of",
    "read_parameter",
    "read_parameters",
    "read_plan",
    "remove_signing_key",
    "save_mission",
    "save_parameters",
    "set_parameter",
    "shortest",
    "upload_mission",
]

FIND_NS = 10_000_000_000
LATEST = "latest"
FIRST_DATE_S = 946_684_800
"""2000-01-01: a flight controller that doesn't know the date begins at 1970, or says 0."""

Progress = Callable[[int, int], None]


def _untold(done: int, total: int) -> None:
    del done, total


@contextmanager
def connect(link: str, signing_key: Path | None = None) -> Iterator[Vehicle]:
    """The flight controller behind that link, heard."""
    hub = Hub(SystemClock().now_ns, system=1, component=ONBOARD_COMPUTER)
    try:
        port = hub.add(
            parse_endpoint(link),
            signer=link_signer(signing_key, 0) if signing_key is not None else None,
        )
        if not port.numbers:
            raise LinkError(f"link {port.endpoint} can't be opened: {port.problem}")
        vehicle = Vehicle(hub)
        vehicle.find(FIND_NS)
        yield vehicle
    finally:
        hub.close()


def list_parameters(
    vehicle: Vehicle, pattern: str = "*", on_progress: Progress = _untold
) -> list[Parameter]:
    every = Parameters(vehicle).read_all(on_progress)
    fitting = [one for name, one in every.items() if fnmatch.fnmatchcase(name, pattern)]
    if not fitting:
        raise ConfigError(
            f"none of {len(every)} parameters is like {pattern!r}; expected a name or a glob such "
            "as 'MPC_*'"
        )
    return fitting


def read_parameter(vehicle: Vehicle, name: str) -> Parameter:
    parameters = Parameters(vehicle)
    try:
        parameters.get(name)
    except (ConfigError, StalledError):
        # It said no, or nothing at all, as PX4 did before v1.18. What it has tells why.
        every = parameters.read_all()
        if name not in every:
            (near,) = difflib.get_close_matches(name, every, n=1, cutoff=0.0)
            raise ConfigError(
                f"the flight controller has no parameter {name}; the nearest is {near}"
            ) from None
    finally:
        parameters.close()
    return parameters.known[name]


def set_parameter(vehicle: Vehicle, name: str, text: str) -> Difference:
    """What was there before, and what is now."""
    _refuse_armed(vehicle)
    before = read_parameter(vehicle, name)
    wanted = Parameter(name, _value(before, text), before.kind)
    parameters = Parameters(vehicle)
    parameters.set(name, wanted.value)
    if undone := undone_since(vehicle, parameters, [wanted]):
        raise RefusedError(undone[name])
    return Difference(name, before.value, wanted.value)


def save_parameters(vehicle: Vehicle, path: Path, on_progress: Progress = _untold) -> int:
    """How many there are."""
    parameters = Parameters(vehicle).read_all(on_progress)
    write_parameters(path, parameters.values(), system=vehicle.system or 0)
    return len(parameters)


def parameter_differences(
    vehicle: Vehicle, wanted: Mapping[str, Parameter], on_progress: Progress = _untold
) -> tuple[Difference, ...]:
    """What load_parameters would change; what isn't wanted in particular is left alone."""
    return _differences(Parameters(vehicle).read_all(on_progress), wanted)


def load_parameters(
    vehicle: Vehicle, wanted: Mapping[str, Parameter], on_progress: Progress = _untold
) -> Iterator[Difference]:
    """Each as soon as it is set. One that is not taken doesn't keep the others from it:
    RefusedError names all such at the end.
    """
    _refuse_armed(vehicle)
    parameters = Parameters(vehicle)
    differences = _differences(parameters.read_all(on_progress), wanted)
    taken: list[Parameter] = []
    failures: list[str] = []
    for difference in differences:
        _refuse_armed(vehicle)
        try:
            parameters.set(difference.name, wanted[difference.name].value)
        except (ConfigError, RefusedError) as error:
            failures.append(str(error))
        else:
            taken.append(parameters.known[difference.name])
            yield difference
    failures += undone_since(vehicle, parameters, taken).values()
    if failures:
        raise RefusedError(
            f"{len(failures)} of {len(differences)} parameters were not taken: "
            f"{'; '.join(failures)}"
        )


def download_mission(vehicle: Vehicle, on_progress: Progress = _untold) -> tuple[MissionItem, ...]:
    return Missions(vehicle).download(on_progress)


def save_mission(vehicle: Vehicle, path: Path, on_progress: Progress = _untold) -> int:
    """How many items there are."""
    heartbeat = _of_px4(vehicle)
    items = download_mission(vehicle, on_progress)
    write_plan(path, items, autopilot=heartbeat.autopilot, kind=heartbeat.type)
    return len(items)


def upload_mission(
    vehicle: Vehicle, items: Sequence[MissionItem], on_progress: Progress = _untold
) -> None:
    _of_px4(vehicle)
    _refuse_armed(vehicle)
    Missions(vehicle).upload(items, on_progress)


def clear_mission(vehicle: Vehicle) -> None:
    _refuse_armed(vehicle)
    Missions(vehicle).clear()


def mission_differences(
    vehicle: Vehicle, wanted: Sequence[MissionItem], on_progress: Progress = _untold
) -> tuple[str, ...]:
    """What upload_mission would change, in words."""
    _of_px4(vehicle)
    has = download_mission(vehicle, on_progress)
    pairs = zip(has, wanted, strict=False)
    return compare([*(_placed(one, other) for one, other in pairs), *has[len(wanted) :]], wanted)


def list_logs(vehicle: Vehicle) -> tuple[FlightLog, ...]:
    return FlightLogs(vehicle).list()


@dataclass(frozen=True, slots=True)
class FetchedLog:
    """bytes_fetched leaves out what an earlier attempt had fetched already."""

    log: FlightLog
    path: Path
    bytes_fetched: int
    duration_ns: int


def fetch_log(
    vehicle: Vehicle, which: str, out: Path | None = None, on_progress: Progress = _untold
) -> FetchedLog:
    """One by its number, or the latest, to a file or into a folder. What is unfinished is kept
    beside it, by a name that no other log has, and continued.
    """
    logs = FlightLogs(vehicle)
    log = _chosen(logs.list(), which)
    path = _log_path(vehicle, log, out)
    part = path.with_name(f"{path.name}.{log.number}-{log.time_utc_s}.part")
    if not _is_dated(log):
        part.unlink(missing_ok=True)  # another log, of an earlier boot, may have had this number
    had_bytes = part.stat().st_size if part.exists() else 0
    began_ns = vehicle.hub.now_ns()
    try:
        logs.download(log, part, on_progress)
    except StalledError as error:
        raise StalledError(f"{error}; what came is kept in {part}: try again") from None
    part.replace(path)
    duration_ns = vehicle.hub.now_ns() - began_ns
    return FetchedLog(log, path, log.size_bytes - had_bytes, duration_ns)


def give_signing_key(vehicle: Vehicle, path: Path, *, is_new: bool) -> None:
    """From a file; a new one is made first. It stays there whatever comes: a flight controller
    that has it hears nobody else.
    """
    _refuse_armed(vehicle)
    if is_new:
        make_key(path)
    try:
        give_key(vehicle, link_signer(path, 0))
    except (RefusedError, StalledError) as error:
        raise type(error)(
            f"{error}; the key is kept in {path}: the flight controller may have taken it"
        ) from None


def remove_signing_key(vehicle: Vehicle) -> None:
    take_key(vehicle)


def date_of(log: FlightLog) -> datetime | None:
    return datetime.fromtimestamp(log.time_utc_s, UTC) if _is_dated(log) else None


def kind_name(kind: int) -> str:
    return _enum_name("MAV_PARAM_TYPE", kind).lower()


def command_name(command: int) -> str:
    return _enum_name("MAV_CMD", command)


def frame_name(frame: int) -> str:
    return _enum_name("MAV_FRAME", frame)


def _enum_name(enum: str, number: int) -> str:
    entry = dialect.enums[enum].get(number)
    return str(entry.name).removeprefix(f"{enum}_") if entry is not None else str(number)


def _refuse_armed(vehicle: Vehicle) -> None:
    if vehicle.is_armed:
        raise RefusedError(
            "the flight controller is armed; disarm it first: nothing is changed in flight"
        )


def _of_px4(vehicle: Vehicle) -> Message:
    """The heartbeat. ArduPilot's missions begin with home, which is no item of a plan."""
    heartbeat = vehicle.heartbeat
    if heartbeat is None or heartbeat.autopilot != dialect.MAV_AUTOPILOT_PX4:
        name = _enum_name("MAV_AUTOPILOT", heartbeat.autopilot if heartbeat else 0)
        raise ConfigError(f"the flight controller is {name}; expected PX4 for missions in files")
    return heartbeat


def _value(parameter: Parameter, text: str) -> Value:
    try:
        if parameter.kind != REAL32:
            return int(text)
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        expected = "a number" if parameter.kind == REAL32 else "an integer"
        raise ConfigError(f"parameter {parameter.name} cannot be {text!r}; expected {expected}")
    return value


def _differences(
    has: Mapping[str, Parameter], wanted: Mapping[str, Parameter]
) -> tuple[Difference, ...]:
    return diff({name: one for name, one in has.items() if name in wanted}, wanted)


def _placed(has: MissionItem, wanted: MissionItem) -> MissionItem:
    """QGroundControl cuts places off where Ghost rounds them: a centimetre apart is the same."""
    x = wanted.x if abs(has.x - wanted.x) <= 1 else has.x
    y = wanted.y if abs(has.y - wanted.y) <= 1 else has.y
    return replace(has, x=x, y=y)


def _chosen(logs: Sequence[FlightLog], which: str) -> FlightLog:
    if not logs:
        raise ConfigError("the flight controller has no logs")
    if which == LATEST:
        return max(logs, key=lambda log: (log.time_utc_s, log.number))
    for log in logs:
        if str(log.number) == which:
            return log
    numbers = ", ".join(str(log.number) for log in logs)
    raise ConfigError(f"no log {which!r}; expected {LATEST} or one of {numbers}")


def _log_path(vehicle: Vehicle, log: FlightLog, out: Path | None) -> Path:
    if out is not None and not out.is_dir():
        return out
    is_px4 = vehicle.heartbeat and vehicle.heartbeat.autopilot == dialect.MAV_AUTOPILOT_PX4
    date = date_of(log)
    when = f"-{date:%Y%m%d-%H%M%S}" if date else ""
    return (out or Path()) / f"log-{log.number}{when}.{'ulg' if is_px4 else 'bin'}"


def _is_dated(log: FlightLog) -> bool:
    return log.time_utc_s >= FIRST_DATE_S
