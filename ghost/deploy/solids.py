"""Solid things as lists of plain data: each entry has one key, its kind.

Apart from ghost.deploy.world, so that a scenario can list obstacles of the same form.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ghost.core.errors import ConfigError, shown
from ghost.core.exact import arctangent2
from ghost.core.fields import (
    Reader,
    flag,
    integer,
    items,
    joined,
    nearest,
    number,
    radians,
    section,
    text,
)
from ghost.core.rotations import from_yaw
from ghost.deploy.forest import Clearing, Forest, grow
from ghost.deploy.mesh import read_mesh
from ghost.deploy.site import MAX_SOLIDS, Site
from ghost.deploy.urdf import read_urdf
from ghost.simulation.scenery import Box, Cylinder, Quaternion, Shape, Solid, Vector

BARK: Vector = (0.36, 0.27, 0.2)
YELLOW: Vector = (0.9, 0.75, 0.2)
LEVEL: Quaternion = (1.0, 0.0, 0.0, 0.0)


def read_solids(plain: Any, path: str, folder: Path) -> tuple[Solid, ...]:
    """The path leads to the list, for errors; files in it are looked for from folder."""
    site = Site(folder)

    def read(entry: Any, at: str) -> None:
        solids = _entry(entry, at, site)
        site.admit(solids, joined(at, next(iter(entry))))

    items(read, least=0, most=MAX_SOLIDS)(plain, path)
    return tuple(site.solids)


def _entry(plain: Any, path: str, site: Site) -> list[Solid]:
    if not isinstance(plain, dict) or len(plain) != 1:
        raise ConfigError(f"{path} is {shown(plain)}; expected one kind, such as box: {{...}}")
    ((kind, settings),) = plain.items()
    if kind not in _KINDS:
        raise ConfigError(f"unknown kind {joined(path, kind)}{nearest(kind, _KINDS)}")
    return _KINDS[kind](settings, joined(path, kind), site)


def _box(plain: Any, path: str, site: Site) -> list[Solid]:
    found = section(
        {"size_m": _SIZES, **_PLACED, **_LOOKS, "landable": flag},
        required=("size_m", "position_enu_m"),
    )(plain, path)
    shape = Box(found.pop("size_m"))
    return [_solid(shape, found, site.numbered("box"))]


def _cylinder(plain: Any, path: str, site: Site) -> list[Solid]:
    found = section(
        {
            "radius_m": _SIZE,
            "height_m": _SIZE,
            "position_enu_m": _POINT,
            **_LOOKS,
            "landable": flag,
        },
        required=("radius_m", "height_m", "position_enu_m"),
    )(plain, path)
    shape = Cylinder(found.pop("radius_m"), found.pop("height_m"))
    return [_solid(shape, found, site.numbered("cylinder"))]


def _wall(plain: Any, path: str, site: Site) -> list[Solid]:
    found = section(
        {
            "from_m": _PLACE,
            "to_m": _PLACE,
            "height_m": _SIZE,
            "thickness_m": _SIZE,
            "bottom_m": _METRES,
            **_LOOKS,
        },
        required=("from_m", "to_m", "height_m"),
    )(plain, path)
    (east, north), (to_east, to_north) = found.pop("from_m"), found.pop("to_m")
    run_east, run_north = to_east - east, to_north - north
    length_m = math.sqrt(run_east * run_east + run_north * run_north)
    number(_SMALLEST, _LARGEST)(length_m, f"the length of {path}")
    height_m = found.pop("height_m")
    up = found.pop("bottom_m", 0.0) + 0.5 * height_m
    found["position_enu_m"] = (0.5 * (east + to_east), 0.5 * (north + to_north), up)
    found["attitude"] = _attitude(arctangent2(run_north, run_east))
    shape = Box((length_m, found.pop("thickness_m", 0.2), height_m))
    return [_solid(shape, found, site.numbered("wall"))]


def _pole(plain: Any, path: str, site: Site) -> list[Solid]:
    return [_standing(plain, path, site.numbered("pole"), {"radius_m": 0.1})]


def _pad(plain: Any, path: str, site: Site) -> list[Solid]:
    defaults = {"radius_m": 0.5, "height_m": 0.05, "rgb": YELLOW, "landable": True}
    return [_standing(plain, path, site.numbered("pad"), defaults)]


def _forest(plain: Any, path: str, site: Site) -> list[Solid]:
    clearing = section(
        {"points_m": items(_PLACE, least=1, most=1000), "radius_m": number(0.0, _LARGEST)},
        required=("points_m", "radius_m"),
    )
    found = section(
        {
            "rectangle": items(_PLACE, least=2, most=2),
            "count": integer(1, MAX_SOLIDS),
            "seed": integer(0, 2**64 - 1),
            "radius_m": _span,
            "height_m": _span,
            "spacing_m": number(0.0, _LARGEST),
            "clear": items(lambda listed, at: Clearing(**clearing(listed, at)), least=0, most=1000),
            **_LOOKS,
        },
        required=("rectangle", "count"),
    )(plain, path)
    stem = found.pop("name", "tree")
    rgb = found.pop("rgb", BARK)
    try:
        trees = grow(Forest(**found))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return [
        Solid(
            site.numbered(stem),
            Cylinder(tree.radius_m, tree.height_m),
            (tree.east_m, tree.north_m, 0.5 * tree.height_m),
            rgb=rgb,
        )
        for tree in trees
    ]


def _mesh(plain: Any, path: str, site: Site) -> list[Solid]:
    found = section(
        {"file": text, "scale": number(1e-6, 1e6), **_PLACED, **_LOOKS, "landable": flag},
        required=("file", "position_enu_m"),
    )(plain, path)
    scale = found.pop("scale", 1.0)
    try:
        shape = read_mesh(site.folder / found.pop("file"), (scale, scale, scale))
    except ConfigError as error:
        raise ConfigError(f"{path}.file: {error}") from None
    return [_solid(shape, found, site.numbered("mesh"))]


def _urdf(plain: Any, path: str, site: Site) -> list[Solid]:
    """A solid per collision of a link, named after the entry and the link."""
    found = section(
        {"file": text, **_PLACED, **_LOOKS, "landable": flag}, required=("file", "position_enu_m")
    )(plain, path)
    name = found.pop("name", site.numbered("urdf"))
    pose = (found.pop("position_enu_m"), found.pop("heading_deg", LEVEL))
    try:
        pieces = read_urdf(site.folder / found.pop("file"), pose)
    except ConfigError as error:
        raise ConfigError(f"{path}.file: {error}") from None
    return [replace(piece, name=f"{name}/{piece.name}", **found) for piece in pieces]


def _standing(plain: Any, path: str, name: str, defaults: dict[str, Any]) -> Solid:
    """A cylinder on the ground."""
    sizes = ("radius_m", "height_m")
    found = section(
        {"at_m": _PLACE, **dict.fromkeys(sizes, _SIZE), **_LOOKS},
        required=("at_m", *(size for size in sizes if size not in defaults)),
    )(plain, path)
    found = defaults | found
    shape = Cylinder(found.pop("radius_m"), found.pop("height_m"))
    found["position_enu_m"] = (*found.pop("at_m"), 0.5 * shape.height_m)
    return _solid(shape, found, name)


def _solid(shape: Shape, found: dict[str, Any], name: str) -> Solid:
    """From what is left of an entry when its shape has been taken out."""
    if "heading_deg" in found:
        found["attitude"] = found.pop("heading_deg")
    return Solid(shape=shape, **({"name": name} | found))


def _heading(plain: Any, path: str) -> Quaternion:
    return _attitude(radians(-360.0, 360.0)(plain, path))


def _attitude(heading_rad: float) -> Quaternion:
    w, x, y, z = from_yaw(heading_rad).tolist()
    return (w, x, y, z)


def _span(plain: Any, path: str) -> tuple[float, float]:
    low, high = items(_SIZE, least=2, most=2)(plain, path)
    if low > high:
        raise ConfigError(f"{path} is {shown(plain)}; expected the smaller first")
    return (low, high)


_SMALLEST, _LARGEST = 1e-3, 1e4
_SIZE = number(_SMALLEST, _LARGEST)
_SIZES = items(_SIZE, least=3, most=3)
_METRES = number(-1e5, 1e5)
_PLACE = items(_METRES, least=2, most=2)
_POINT = items(_METRES, least=3, most=3)
COLOUR = items(number(0.0, 1.0), least=3, most=3)
_LOOKS: dict[str, Reader] = {"name": text, "rgb": COLOUR}
_PLACED: dict[str, Reader] = {"position_enu_m": _POINT, "heading_deg": _heading}
_KINDS: dict[str, Callable[[Any, str, Site], list[Solid]]] = {
    "box": _box,
    "cylinder": _cylinder,
    "wall": _wall,
    "pole": _pole,
    "pad": _pad,
    "forest": _forest,
    "mesh": _mesh,
    "urdf": _urdf,
}
