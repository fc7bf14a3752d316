"""Solid things and vehicles as PyBullet's shapes, by the figures that are there already."""

from collections.abc import Iterator

import numpy as np

from ghost.core.exact import sine_cosine
from ghost.hal.airframe import Airframe, Vector
from ghost.simulation.pybullet.client import Client, pybullet
from ghost.simulation.scenery import Box, Cylinder, Mesh, Quaternion, Scenery, Solid

_DISC_CORNERS = 8
_HALF_DISC_M = 0.01
_TILE_M, _TILES = 10.0, 24
_FRAME_RGB, _DISC_RGB, _FRONT_RGB = (0.2, 0.2, 0.22), (0.5, 0.52, 0.55), (0.85, 0.25, 0.15)
_FACES = [0, 1, 2, 2, 1, 3]
_MOST_FACES = 40_000  # of one body: Bullet takes 131,072 corners and 524,288 indices


def add_ground(client: Client, scenery: Scenery) -> int:
    """An endless plane, and tiles to see it by."""
    plane = client.createCollisionShape(pybullet.GEOM_PLANE)
    light, dark = (_tiles(client, scenery.ground_rgb, shade) for shade in (0, 1))
    number: int = client.createMultiBody(0.0, plane, light)
    client.createMultiBody(0.0, -1, dark)
    client.changeDynamics(number, -1, lateralFriction=scenery.friction, restitution=0.0)
    return number


def add_solid(client: Client, solid: Solid, friction: float) -> list[int]:
    """One body, or several for a mesh with more faces than Bullet takes at once."""
    rgba = (*solid.rgb, 1.0)
    match solid.shape:
        case Box((x, y, z)):
            half = (0.5 * x, 0.5 * y, 0.5 * z)
            body = client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half)
            looks = client.createVisualShape(pybullet.GEOM_BOX, halfExtents=half, rgbaColor=rgba)
            parts = [(body, looks)]
        case Cylinder(radius_m, height_m):
            kind = pybullet.GEOM_CYLINDER
            body = client.createCollisionShape(kind, radius=radius_m, height=height_m)
            looks = client.createVisualShape(kind, radius=radius_m, length=height_m, rgbaColor=rgba)
            parts = [(body, looks)]
        case Mesh():
            parts = [_mesh(client, *piece, solid.rgb) for piece in _pieces(solid.shape)]
    w, x, y, z = solid.attitude
    numbers: list[int] = []
    for body, looks in parts:
        number = client.createMultiBody(
            0.0, body, looks, solid.position_enu_m, (x, y, z, w), useMaximalCoordinates=1
        )
        client.changeDynamics(number, -1, lateralFriction=friction, restitution=0.0)
        numbers.append(number)
    return numbers


def add_vehicle(
    client: Client, airframe: Airframe, position_enu_m: list[float], attitude: Quaternion
) -> int:
    """A convex hull around rotors and legs, with the mass and the inertia that are declared."""
    hull = client.createCollisionShape(pybullet.GEOM_MESH, vertices=_hull(airframe))
    number: int = client.createMultiBody(
        airframe.mass_kg, hull, vehicle_looks(client, airframe), position_enu_m, attitude
    )
    client.changeDynamics(
        number,
        -1,
        localInertiaDiagonal=airframe.inertia_kgm2,
        linearDamping=0.0,
        angularDamping=0.0,
        lateralFriction=1.0,  # what it stands on decides: Bullet multiplies
        restitution=0.0,
        maxJointVelocity=1000.0,
    )
    return number


def vehicle_looks(client: Client, airframe: Airframe) -> int:
    """Arms, discs where rotors turn, legs; the front arms are red."""
    radius_m = rotor_radius_m(airframe)
    thin_m = 0.08 * radius_m
    parts: list[tuple[int, float, float, Vector, Vector, tuple[float, ...]]] = []
    for rotor in airframe.rotors:
        x, y, z = rotor.position_flu_m
        disc_rgb = _FRONT_RGB if x > 0.25 * radius_m else _DISC_RGB
        parts.append((pybullet.GEOM_CYLINDER, radius_m, 0.01, (x, y, z), (0.0, 0.0, 1.0), disc_rgb))
        parts.append(_rod((0.0, 0.0, 0.0), (x, y, z), thin_m))
    parts += [
        _rod((0.4 * x, 0.4 * y, 0.0), (x, y, z), 0.7 * thin_m) for x, y, z in airframe.legs_flu_m
    ]
    number: int = client.createVisualShapeArray(
        shapeTypes=[part[0] for part in parts],
        radii=[part[1] for part in parts],
        lengths=[part[2] for part in parts],
        halfExtents=[(0.0, 0.0, 0.0)] * len(parts),
        visualFramePositions=[part[3] for part in parts],
        visualFrameOrientations=[_upright_to(part[4]) for part in parts],
        rgbaColors=[(*part[5], 1.0) for part in parts],
    )
    return number


def rotor_radius_m(airframe: Airframe) -> float:
    """As large as neighbours leave room for."""
    hubs = [rotor.position_flu_m for rotor in airframe.rotors]
    apart_m = min(
        float(np.sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])))
        for index, a in enumerate(hubs)
        for b in hubs[:index]
    )
    return 0.45 * apart_m


def _hull(airframe: Airframe) -> list[Vector]:
    radius_m = rotor_radius_m(airframe)
    corners = list(airframe.legs_flu_m)
    for rotor in airframe.rotors:
        x, y, z = rotor.position_flu_m
        for corner in range(_DISC_CORNERS):
            sine, cosine = sine_cosine(corner * 2.0 * np.pi / _DISC_CORNERS)
            at_x, at_y = x + radius_m * cosine, y + radius_m * sine
            corners += [(at_x, at_y, z - _HALF_DISC_M), (at_x, at_y, z + _HALF_DISC_M)]
    return corners


def _rod(
    begin: Vector, end: Vector, radius_m: float
) -> tuple[int, float, float, Vector, Vector, tuple[float, ...]]:
    along = tuple(b - a for a, b in zip(begin, end, strict=True))
    length_m = max(float(np.sqrt(sum(part * part for part in along))), 1e-3)
    middle = (0.5 * (begin[0] + end[0]), 0.5 * (begin[1] + end[1]), 0.5 * (begin[2] + end[2]))
    axis = (along[0] / length_m, along[1] / length_m, along[2] / length_m)
    return (pybullet.GEOM_CYLINDER, radius_m, length_m, middle, axis, _FRAME_RGB)


def _upright_to(axis: Vector) -> tuple[float, float, float, float]:
    """The shortest turn that takes z to an axis, w last."""
    x, y, z = axis
    if z < -0.999999:
        return (1.0, 0.0, 0.0, 0.0)
    norm = float(np.sqrt(2.0 * (1.0 + z)))
    return (-y / norm, x / norm, 0.0, 0.5 * norm)


def _tiles(client: Client, rgb: Vector, shade: int) -> int:
    corners: list[Vector] = []
    indices: list[int] = []
    for row in range(-_TILES, _TILES):
        for column in range(-_TILES, _TILES):
            if (row + column) % 2 != shade:
                continue
            first = len(corners)
            low_x, low_y = row * _TILE_M, column * _TILE_M
            corners += [
                (low_x, low_y, 0.0),
                (low_x + _TILE_M, low_y, 0.0),
                (low_x, low_y + _TILE_M, 0.0),
                (low_x + _TILE_M, low_y + _TILE_M, 0.0),
            ]
            indices += [first + index for index in _FACES]
    light = 0.92 if shade else 1.0
    tint = (rgb[0] * light, rgb[1] * light, rgb[2] * light)
    return _visual_mesh(client, corners, indices, tint)


def _visual_mesh(client: Client, corners: list[Vector], indices: list[int], rgb: Vector) -> int:
    number: int = client.createVisualShape(
        pybullet.GEOM_MESH, vertices=corners, indices=indices, rgbaColor=(*rgb, 1.0)
    )
    return number


def _mesh(
    client: Client, corners: list[Vector], indices: list[int], rgb: Vector
) -> tuple[int, int]:
    body: int = client.createCollisionShape(
        pybullet.GEOM_MESH,
        vertices=corners,
        indices=indices,
        flags=pybullet.GEOM_FORCE_CONCAVE_TRIMESH,
    )
    # The renderer leaves out faces that it sees from behind, and files turn theirs anyhow.
    return body, _visual_mesh(client, corners, indices + indices[::-1], rgb)


def _pieces(mesh: Mesh) -> Iterator[tuple[list[Vector], list[int]]]:
    """Corners, and three indices of them for each face."""
    for first in range(0, len(mesh.faces), _MOST_FACES):
        places: dict[int, int] = {}
        indices = [
            places.setdefault(corner, len(places))
            for face in mesh.faces[first : first + _MOST_FACES]
            for corner in face
        ]
        yield [mesh.corners_m[corner] for corner in places], indices
