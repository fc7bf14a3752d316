"""The solid things of a simulated world, as data for any simulator that has room for them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ghost.core.rotations import rotate
from ghost.hal import Scene

FloatArray = NDArray[np.float64]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

GREY: Vector = (0.6, 0.6, 0.6)
GRASS: Vector = (0.45, 0.55, 0.38)


@dataclass(frozen=True, slots=True)
class Box:
    size_m: Vector


@dataclass(frozen=True, slots=True)
class Cylinder:
    """It stands along its own z axis."""

    radius_m: float
    height_m: float


@dataclass(frozen=True, slots=True)
class Mesh:
    """Triangles, each as three indices of corners."""

    corners_m: tuple[Vector, ...]
    faces: tuple[tuple[int, int, int], ...]


Shape: TypeAlias = Box | Cylinder | Mesh


@dataclass(frozen=True, slots=True)
class Solid:
    """position_enu_m is the middle of a box or a cylinder, and the origin of a mesh. A vehicle may
    stand on what is landable; to touch anything else is a collision.
    """

    name: str
    shape: Shape
    position_enu_m: Vector
    attitude: Quaternion = (1.0, 0.0, 0.0, 0.0)
    rgb: Vector = GREY
    landable: bool = False


@dataclass(frozen=True, slots=True)
class Scenery:
    """Flat ground at z = 0, and what stands on it."""

    name: str = "empty"
    solids: tuple[Solid, ...] = ()
    ground_rgb: Vector = GRASS
    friction: float = 0.7

    def scene(self, stamp_ns: int) -> Scene:
        boxes: list[list[float]] = []
        cylinders: list[list[float]] = []
        triangles: list[list[float]] = []
        for solid in self.solids:
            pose = (*solid.position_enu_m, *solid.attitude)
            match solid.shape:
                case Box(size_m):
                    boxes.append([*pose, *size_m, *solid.rgb])
                case Cylinder(radius_m, height_m):
                    width_m = 2.0 * radius_m
                    cylinders.append([*pose, width_m, width_m, height_m, *solid.rgb])
                case Mesh(corners_m, faces):
                    placed = [_placed(corner, solid) for corner in corners_m]
                    triangles += [
                        [*placed[a], *placed[b], *placed[c], *solid.rgb] for a, b, c in faces
                    ]
        return Scene(
            stamp_ns,
            _rows(boxes, 13),
            _rows(cylinders, 13),
            _rows(triangles, 12),
        )


def of_scene(scene: Scene, ground_rgb: Vector = GRASS) -> Scenery:
    """The world that a log holds; names, what may be landed on, and the ground are not in it."""
    solids = [
        *(
            Solid(f"box {index}", Box(_three(row[7:10])), *_pose(row), _three(row[10:]))
            for index, row in enumerate(scene.boxes.tolist())
        ),
        *(
            Solid(
                f"cylinder {index}",
                Cylinder(0.5 * row[7], row[9]),
                *_pose(row),
                _three(row[10:]),
            )
            for index, row in enumerate(scene.cylinders.tolist())
        ),
        *(
            Solid(
                f"triangle {index}",
                Mesh((_three(row[:3]), _three(row[3:6]), _three(row[6:9])), ((0, 1, 2),)),
                (0.0, 0.0, 0.0),
                rgb=_three(row[9:]),
            )
            for index, row in enumerate(scene.triangles.tolist())
        ),
    ]
    return Scenery("logged", tuple(solids), ground_rgb)


def _three(parts: list[float]) -> Vector:
    x, y, z = parts
    return (x, y, z)


def _pose(row: list[float]) -> tuple[Vector, Quaternion]:
    w, x, y, z = row[3:7]
    return _three(row[:3]), (w, x, y, z)


def _placed(corner_m: Vector, solid: Solid) -> list[float]:
    turned = rotate(solid.attitude, corner_m)
    return [part + at for part, at in zip(turned.tolist(), solid.position_enu_m, strict=True)]


def _rows(rows: list[list[float]], width: int) -> FloatArray:
    return np.array(rows, np.float64).reshape(-1, width)


NOTHING = Scenery()
