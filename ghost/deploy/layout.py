"""Where the vehicles of a swarm stand at the start."""

import math
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError
from ghost.core.fields import items, number, section
from ghost.core.rotations import from_yaw
from ghost.simulation.adapter import Start, Vector
from ghost.telemetry.document import read_document

SPACING_M = 5.0
MOST = 254

Place = tuple[Vector, float]
"""Position, ENU in metres, and heading in degrees from the east."""


def read_layout(source: str, count: int, spacing_m: float = SPACING_M) -> tuple[Place, ...]:
    """grid, circle, or the path of a YAML file with a place for each."""
    if not 0.0 < spacing_m < float("inf"):
        raise ConfigError(f"spacing is {spacing_m} m; expected above 0")
    match source:
        case "grid":
            return grid(count, spacing_m)
        case "circle":
            return circle(count, spacing_m)
    if not source.endswith((".yaml", ".yml")):
        raise ConfigError(f"layout is {source!r}; expected grid, circle, or a .yaml file")
    return _from_file(Path(source), count)


def grid(count: int, spacing_m: float = SPACING_M) -> tuple[Place, ...]:
    """As square as can be, filled row by row from the origin to the east and north."""
    columns = math.isqrt(max(count - 1, 0)) + 1
    return tuple(
        ((index % columns * spacing_m, index // columns * spacing_m, 0.0), 0.0)
        for index in range(count)
    )


def circle(count: int, spacing_m: float = SPACING_M) -> tuple[Place, ...]:
    """Around the origin, neighbours a spacing apart, each looking outwards."""
    if count == 1:
        return (((0.0, 0.0, 0.0), 0.0),)
    step_deg = 360.0 / count
    radius_m = spacing_m / 2.0 / _sin(step_deg / 2.0)
    places = []
    for index in range(count):
        heading_deg = index * step_deg
        east_m, north_m = radius_m * _sin(heading_deg + 90.0), radius_m * _sin(heading_deg)
        places.append(((east_m, north_m, 0.0), heading_deg))
    return tuple(places)


def start_at(place: Place, charge: float = 1.0) -> Start:
    position_enu_m, heading_deg = place
    w, x, y, z = from_yaw(heading_deg * math.pi / 180.0).tolist()
    return Start(position_enu_m, (w, x, y, z), charge=charge)


def _sin(angle_deg: float) -> float:
    """To the micrometre on a circle of kilometres, and with the same bits on every machine, which
    the last digits of a library's sine are not.
    """
    return round(math.sin(angle_deg * math.pi / 180.0), 9)


def _from_file(path: Path, count: int) -> tuple[Place, ...]:
    try:
        read = section({"vehicles": items(_place, least=1, most=MOST)}, required=("vehicles",))
        places: tuple[Place, ...] = tuple(read(read_document(path), "")["vehicles"])
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if len(places) < count:
        raise ConfigError(f"{path} has places for {len(places)} vehicles, and there are {count}")
    return places[:count]


def _place(plain: Any, path: str) -> Place:
    found = section(
        {"position_enu_m": VECTOR, "heading_deg": number(-360.0, 360.0)},
        required=("position_enu_m",),
    )(plain, path)
    east_m, north_m, up_m = found["position_enu_m"]
    return (east_m, north_m, up_m), found.get("heading_deg", 0.0)


VECTOR = items(number(-1e5, 1e5), least=3, most=3)
