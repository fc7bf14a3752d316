"""The rows that a viewer draws a world from."""

import math

import pytest

from ghost.simulation.scenery import Box, Cylinder, Mesh, Scenery, Solid

RED = (1.0, 0.0, 0.0)
QUARTER = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))


def test_nothing_gives_no_rows_of_the_right_width() -> None:
    scene = Scenery().scene(5)
    assert scene.stamp_ns == 5
    assert scene.boxes.shape == scene.cylinders.shape == (0, 13)
    assert scene.triangles.shape == (0, 12)


def test_a_box_and_a_cylinder_are_pose_size_and_colour() -> None:
    scene = Scenery(
        solids=(
            Solid("a", Box((1.0, 2.0, 3.0)), (4.0, 5.0, 6.0), QUARTER, RED),
            Solid("b", Cylinder(0.5, 8.0), (7.0, 8.0, 9.0), rgb=RED),
        )
    ).scene(0)
    assert scene.boxes.tolist() == [[4.0, 5.0, 6.0, *QUARTER, 1.0, 2.0, 3.0, *RED]]
    upright = (1.0, 0.0, 0.0, 0.0)
    assert scene.cylinders.tolist() == [[7.0, 8.0, 9.0, *upright, 1.0, 1.0, 8.0, *RED]]


def test_a_mesh_is_its_triangles_turned_and_moved() -> None:
    corners = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 3.0))
    mesh = Mesh(corners, ((0, 1, 2), (0, 3, 1)))
    scene = Scenery(solids=(Solid("a", mesh, (10.0, 20.0, 0.0), QUARTER, RED),)).scene(0)
    first, second = scene.triangles.tolist()
    assert first == pytest.approx([10, 20, 0, 10, 21, 0, 8, 20, 0, *RED])
    assert second == pytest.approx([10, 20, 0, 10, 20, 3, 10, 21, 0, *RED])
