"""The solid things of a simulated world as Foxglove's scene: one entity that stays for ever."""

from itertools import groupby
from typing import Any

import numpy as np
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
from numpy.typing import NDArray

from ghost.hal import Scene
from ghost.telemetry.form import (
    Form,
    put_quaternion,
    put_stamp,
    put_vector,
    quaternion_of,
    stamp_ns_of,
    vector_of,
)

FloatArray = NDArray[np.float64]

_ID = "scene"  # the next scene on the channel takes its place


def _encode_scene(scene: Scene, proto: Any) -> None:
    # Without a lifetime it stays until the next; locked to its frame it needs no transform of its
    # own time, and a log may begin with it.
    entity = proto.entities.add(id=_ID, frame_id=scene.frame_id, frame_locked=True)
    put_stamp(entity.timestamp, scene.stamp_ns)
    for row in scene.boxes:
        _put_solid(entity.cubes.add(), row)
    for row in scene.cylinders:
        _put_solid(entity.cylinders.add(bottom_scale=1.0, top_scale=1.0), row)
    for _, facets in groupby(scene.triangles, key=lambda row: row[9:].tobytes()):
        _put_facets(entity.triangles.add(), np.stack(list(facets)))


def _decode_scene(proto: Any) -> dict[str, Any]:
    (entity,) = proto.entities
    facets = [_facets(each) for each in entity.triangles]
    return {
        "stamp_ns": stamp_ns_of(entity.timestamp),
        "frame_id": entity.frame_id,
        "boxes": np.array([_solid(each) for each in entity.cubes]).reshape(-1, 13),
        "cylinders": np.array([_solid(each) for each in entity.cylinders]).reshape(-1, 13),
        "triangles": np.concatenate(facets) if facets else np.empty((0, 12)),
    }


def _put_solid(primitive: Any, row: FloatArray) -> None:
    put_vector(primitive.pose.position, row[:3])
    put_quaternion(primitive.pose.orientation, row[3:7])
    put_vector(primitive.size, row[7:10])
    _put_colour(primitive.color, row[10:])


def _solid(primitive: Any) -> list[float]:
    pose = primitive.pose
    return [
        *vector_of(pose.position),
        *quaternion_of(pose.orientation),
        *vector_of(primitive.size),
        *_colour(primitive.color),
    ]


def _put_facets(primitive: Any, facets: FloatArray) -> None:
    """Triangles of one colour, each with corners of its own."""
    primitive.pose.orientation.w = 1.0
    _put_colour(primitive.color, facets[0, 9:])
    for corner in facets[:, :9].reshape(-1, 3):
        put_vector(primitive.points.add(), corner)


def _facets(primitive: Any) -> FloatArray:
    corners = np.array([vector_of(point) for point in primitive.points]).reshape(-1, 9)
    colours = np.tile(_colour(primitive.color), (len(corners), 1))
    return np.concatenate([corners, colours], axis=1)


def _put_colour(target: Any, rgb: FloatArray) -> None:
    target.r, target.g, target.b = rgb.tolist()
    target.a = 1.0


def _colour(source: Any) -> list[float]:
    return [source.r, source.g, source.b]


SCENE_FORM = Form(
    SceneUpdate,
    ("stamp_ns", "frame_id", "boxes", "cylinders", "triangles"),
    _encode_scene,
    _decode_scene,
)
