"""swarm.yaml: different vehicles, in different simulators, in one file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError
from ghost.core.fields import choice, integer, items, number, section, text
from ghost.deploy.layout import SPACING_M, VECTOR, Place, read_layout
from ghost.deploy.links import PortPlan
from ghost.deploy.scenario import load_scenario
from ghost.deploy.shipped import find_shipped
from ghost.deploy.swarm import FIRMWARES, Swarm
from ghost.mission import load_mission
from ghost.mission.swarm import load_swarm_mission
from ghost.sitl.registry import Unlockstepped
from ghost.sitl.time import parse_time
from ghost.sitl.vehicles import HIGHEST_ID, LOWEST_ID
from ghost.telemetry.document import read_document


def load_swarm(
    path: Path,
    *,
    time: str | None = None,
    seed: int | None = None,
    out: Path | None = None,
    robots: Sequence[Path] = (),
    signing_key: Path | None = None,
    mavlink: PortPlan | None = None,
    shared: str | None = None,
    reproduce: str = "",
) -> Swarm:
    """Time and seed take the place of the file's own; mavlink gives links to who has none."""
    plain = read_document(path)
    try:
        found = _SWARM(plain, "")
        swarm = Swarm(
            scenario=load_scenario(
                found.get("scenario", "calm"), found.get("seed") if seed is None else seed
            ),
            time_plan=parse_time(time or found.get("time", "lockstep")),
            out=out,
            robots=robots,
            signing_key=signing_key,
            unlockstepped=Unlockstepped(found.get("unlockstepped", Unlockstepped.REFUSE)),
            shared_link=shared or found.get("shared_link"),
            reproduce=reproduce,
        )
        for index, entry in enumerate(found["vehicles"]):
            _spawn(swarm, entry, f"vehicles[{index}]", path.parent, mavlink)
        if "formation" in found:
            source = _beside(found["formation"], "swarms", path.parent)
            swarm.formation = load_swarm_mission(source)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return swarm


def _spawn(
    swarm: Swarm, entry: dict[str, Any], key: str, folder: Path, mavlink: PortPlan | None
) -> None:
    count = entry.get("count", 1)
    if count > 1 and "links" in entry:
        raise ConfigError(f"{key}.links are one vehicle's, and count is {count}; leave one out")
    mission = None
    if "mission" in entry:
        mission = load_mission(_beside(entry["mission"], "missions", folder))
    for index, place in enumerate(_places(entry, count, folder)):
        number = entry.get("id")
        number = swarm.bridge.vehicles.free_id() if number is None else number + index
        links = tuple(entry.get("links", mavlink.links(number) if mavlink else ()))
        try:
            swarm.spawn(
                entry["robot"],
                vehicle_id=number,
                place=place,
                simulator=entry.get("simulator"),
                firmware=entry.get("firmware", "embedded"),
                mission=mission,
                links=links,
            )
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None


def _beside(source: str, kind: str, folder: Path) -> Path:
    """A path begins where the file lies; anything else is the name of a shipped one."""
    is_path = "/" in source or source.endswith((".yaml", ".yml"))
    return folder / source if is_path else find_shipped(kind, source)


def _places(entry: dict[str, Any], count: int, folder: Path) -> list[Place]:
    """A layout begins at the entry's position."""
    layout = entry.get("layout", "grid")
    if layout.endswith((".yaml", ".yml")):
        layout = str(folder / layout)
    east_m, north_m, up_m = entry.get("position_enu_m", (0.0, 0.0, 0.0))
    turned_deg = entry.get("heading_deg", 0.0)
    return [
        ((place[0] + east_m, place[1] + north_m, place[2] + up_m), heading_deg + turned_deg)
        for place, heading_deg in read_layout(layout, count, entry.get("spacing_m", SPACING_M))
    ]


_VEHICLE = section(
    {
        "id": integer(LOWEST_ID, HIGHEST_ID),
        "robot": text,
        "count": integer(1, HIGHEST_ID),
        "simulator": text,
        "firmware": choice(*FIRMWARES),
        "position_enu_m": VECTOR,
        "heading_deg": number(-360.0, 360.0),
        "layout": text,
        "spacing_m": number(0.1, 1e4),
        "mission": text,
        "links": items(text, least=1, most=8),
    },
    required=("robot",),
)
_SWARM = section(
    {
        "name": text,
        "description": text,
        "scenario": text,
        "seed": integer(0, 2**64 - 1),
        "time": text,
        "unlockstepped": choice(*Unlockstepped),
        "shared_link": text,
        "formation": text,
        "vehicles": items(_VEHICLE, least=1, most=HIGHEST_ID),
    },
    required=("vehicles",),
)
