"""Solid things and vehicles as PyBullet's shapes, by the figures that are there already."""

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


def add_ground(client: Client, scenery: Scenery) -> int:
    """An endless plane, and tiles to see it by."""
    plane = client.createCollisionShape(pybullet.GEOM_PLANE)
    light, dark = (_tiles(client, scenery.ground_rgb, shade) for shade in (0, 1))
    number: int = client.createMultiBody(0.0, plane, light)
    client.createMultiBody(0.0, -1, dark)
    client.changeDynamics(number, -1, lateralFriction=scenery.friction, restitution=0.0)
    return number


def add_solid(client: Client, solid: Solid, friction: float) -> int:
    match solid.shape:
        case Box((x, y, z)):
            half = (0.5 * x, 0.5 * y, 0.5 * z)
            body = client.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half)
            looks = client.createVisualShape(
                pybullet.GEOM_BOX, halfExtents=half, rgbaColor=(*solid.rgb, 1.0)
            )
        case Cylinder(radius_m, height_m):
            body = client.createCollisionShape(
                pybullet.GEOM_CYLINDER, radius=radius_m, height=height_m
            )
            looks = client.createVisualShape(
                pybullet.GEOM_CYLINDER,
                radius=radius_m,
                length=height_m,
                rgbaColor=(*solid.rgb, 1.0),
            )
        case Mesh(corners_m, faces):
            corners, indices = list(corners_m), [index for face in faces for index in face]
            body = client.createCollisionShape(
                pybullet.GEOM_MESH,
                vertices=corners,
                indices=indices,
                flags=pybullet.GEOM_FORCE_CONCAVE_TRIMESH,
            )
            looks = _visual_mesh(client, corners, indices, solid.rgb)
    w, x, y, z = solid.attitude
    number: int = client.createMultiBody(
        0.0, body, looks, solid.position_enu_m, (x, y, z, w), useMaximalCoordinates=1
    )
    client.changeDynamics(number, -1, lateralFriction=friction, restitution=0.0)
    return number


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
