"""Worlds: every kind gives the solids it says, and every mistake is named."""

from itertools import pairwise
from math import pi, sqrt
from pathlib import Path

import pytest
import yaml

from ghost.core.errors import ConfigError
from ghost.core.rotations import rotate, yaw_of
from ghost.deploy import find_shipped
from ghost.deploy.world import load_world, read_solids
from ghost.simulation.scenery import GRASS, GREY, Box, Cylinder, Mesh, Scenery, Solid

SHIPPED = ("empty", "forest", "room", "warehouse")
LEVEL = (1.0, 0.0, 0.0, 0.0)


def world_of(folder: Path, text: str) -> Scenery:
    path = folder / "world.yaml"
    path.write_text(f"name: test\n{text}", encoding="utf-8")
    return load_world(str(path))


def solids_of(folder: Path, text: str) -> tuple[Solid, ...]:
    return world_of(folder, f"solids:\n{text}").solids


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        world_of(folder, text)
    path = folder / "world.yaml"
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def east_north(solid: Solid) -> tuple[float, float]:
    return solid.position_enu_m[:2]


def radius_of(solid: Solid) -> float:
    assert isinstance(solid.shape, Cylinder)
    return solid.shape.radius_m


def distance(place: tuple[float, float], other: tuple[float, float]) -> float:
    return sqrt((place[0] - other[0]) ** 2 + (place[1] - other[1]) ** 2)


def along(points: list[tuple[float, float]], count: int = 200) -> list[tuple[float, float]]:
    """Places on the way from each point to the next."""
    return [
        (start[0] + (end[0] - start[0]) * i / count, start[1] + (end[1] - start[1]) * i / count)
        for start, end in pairwise(points)
        for i in range(count + 1)
    ]


# The shipped ones.


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_world_is_read(name: str) -> None:
    world = load_world(name)
    assert world.name == name
    assert bool(world.solids) == (name != "empty")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_vehicle_can_take_off_from_the_origin(name: str) -> None:
    """No solid comes within 2 m of it; a long one is told by its own axes."""
    for solid in load_world(name).solids:
        to_origin = [-part for part in solid.position_enu_m]
        w, x, y, z = solid.attitude
        seen = rotate((w, -x, -y, -z), to_origin).tolist()
        if isinstance(solid.shape, Box):
            size_m = solid.shape.size_m
            gaps = [max(abs(part) - size / 2, 0.0) for part, size in zip(seen, size_m, strict=True)]
            assert gaps[0] ** 2 + gaps[1] ** 2 > 4.0, solid.name
        else:
            assert distance((0.0, 0.0), east_north(solid)) - radius_of(solid) > 2.0, solid.name


def test_the_mission_square_can_be_flown_in_the_forest() -> None:
    plain = yaml.safe_load(find_shipped("missions", "square").read_text(encoding="utf-8"))
    (goto,) = (step["goto"] for step in plain["steps"] if "goto" in step)
    corners = [(point["east_m"], point["north_m"]) for point in goto["waypoints"]]
    path = along([(0.0, 0.0), *corners, (0.0, 0.0)])
    trees = load_world("forest").solids
    assert len(trees) == 150
    for tree in trees:
        assert min(distance(place, east_north(tree)) for place in path) - radius_of(tree) >= 2.0


def test_the_aisle_of_the_warehouse_is_free_for_its_whole_length() -> None:
    for solid in load_world("warehouse").solids:
        if isinstance(solid.shape, Box) and "rack" in solid.name:
            assert abs(solid.position_enu_m[1]) - solid.shape.size_m[1] / 2 > 3.49
        elif "pillar" in solid.name:
            assert abs(solid.position_enu_m[1]) - radius_of(solid) > 3.49


def test_a_name_that_is_not_shipped_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"^no shipped world named 'forrest'; did you mean fore"):
        load_world("forrest")


# What each kind means.


def test_the_ground_has_its_colour_and_friction(tmp_path: Path) -> None:
    bare = world_of(tmp_path, "")
    assert (bare.ground_rgb, bare.friction, bare.solids) == (GRASS, 0.7, ())
    world = world_of(tmp_path, "description: ice\nground: {rgb: [0.9, 0.9, 1], friction: 0.05}")
    assert world == Scenery("test", (), (0.9, 0.9, 1.0), 0.05)


def test_a_box_is_placed_by_its_middle_and_turned(tmp_path: Path) -> None:
    plain, turned = solids_of(
        tmp_path,
        "- box: {size_m: [1, 2, 3], position_enu_m: [4, 5, 6]}\n"
        "- box: {size_m: [1, 1, 1], position_enu_m: [0, 0, 0], heading_deg: 90, name: crate,\n"
        "        rgb: [1, 0, 0], landable: true}",
    )
    assert plain == Solid("box 1", Box((1.0, 2.0, 3.0)), (4.0, 5.0, 6.0), LEVEL, GREY)
    assert (turned.name, turned.rgb, turned.landable) == ("crate", (1.0, 0.0, 0.0), True)
    assert rotate(turned.attitude, (1.0, 0.0, 0.0)).tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_a_cylinder_is_placed_by_its_middle(tmp_path: Path) -> None:
    text = "- cylinder: {radius_m: 2, height_m: 8, position_enu_m: [1, 2, 3]}"
    assert solids_of(tmp_path, text) == (
        Solid("cylinder 1", Cylinder(2.0, 8.0), (1.0, 2.0, 3.0), LEVEL, GREY),
    )


@pytest.mark.parametrize(
    ("ends", "length_m", "yaw_rad"),
    [
        ("from_m: [0, 0], to_m: [6, 0]", 6.0, 0.0),
        ("from_m: [3, -4], to_m: [3, 4]", 8.0, pi / 2),
        ("from_m: [0, 0], to_m: [-2, 2]", 2.0 * sqrt(2.0), 0.75 * pi),
    ],
)
def test_a_wall_reaches_from_one_end_to_the_other(
    tmp_path: Path, ends: str, length_m: float, yaw_rad: float
) -> None:
    (wall,) = solids_of(tmp_path, f"- wall: {{{ends}, height_m: 3, thickness_m: 0.5}}")
    assert isinstance(wall.shape, Box)
    assert wall.shape.size_m == pytest.approx((length_m, 0.5, 3.0))
    assert yaw_of(wall.attitude) == pytest.approx(yaw_rad)
    half = rotate(wall.attitude, (length_m / 2, 0.0, 0.0)).tolist()
    told = yaml.safe_load(f"{{{ends}}}")
    start = [part - step for part, step in zip(wall.position_enu_m, half, strict=True)]
    end = [part + step for part, step in zip(wall.position_enu_m, half, strict=True)]
    assert start == pytest.approx([*told["from_m"], 1.5])
    assert end == pytest.approx([*told["to_m"], 1.5])


def test_a_wall_may_begin_above_the_ground(tmp_path: Path) -> None:
    text = "- wall: {from_m: [0, 0], to_m: [1, 0], height_m: 1, bottom_m: 2}"
    (wall,) = solids_of(tmp_path, text)
    assert wall.shape == Box((1.0, 0.2, 1.0))
    assert wall.position_enu_m == (0.5, 0.0, 2.5)


def test_poles_and_pads_stand_on_the_ground_and_a_pad_is_landable(tmp_path: Path) -> None:
    pole, thick, pad = solids_of(
        tmp_path,
        "- pole: {at_m: [1, 2], height_m: 6}\n"
        "- pole: {at_m: [3, 4], height_m: 6, radius_m: 1}\n"
        "- pad: {at_m: [5, 6]}",
    )
    assert pole == Solid("pole 1", Cylinder(0.1, 6.0), (1.0, 2.0, 3.0), LEVEL, GREY)
    assert (thick.name, thick.shape) == ("pole 2", Cylinder(1.0, 6.0))
    assert (pad.shape, pad.position_enu_m) == (Cylinder(0.5, 0.05), (5.0, 6.0, 0.025))
    assert pad.landable
    assert not pole.landable


def test_a_mesh_is_found_from_the_file_and_scaled(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    obj = "v 0 0 0\nv 100 0 0\nv 0 100 0\nf 1 2 3"
    (tmp_path / "parts" / "a.obj").write_text(obj, encoding="utf-8")
    text = "- mesh: {file: parts/a.obj, scale: 0.01, position_enu_m: [1, 2, 3], heading_deg: 90}"
    (solid,) = solids_of(tmp_path, text)
    shape = Mesh(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), ((0, 1, 2),))
    assert (solid.name, solid.shape) == ("mesh 1", shape)
    row = Scenery(solids=(solid,)).scene(0).triangles[0].tolist()
    assert row[:9] == pytest.approx([1, 2, 3, 1, 3, 3, 0, 2, 3])


def test_a_urdf_becomes_the_shapes_of_its_links(tmp_path: Path) -> None:
    (tmp_path / "table.urdf").write_text(
        """<robot name="table">
  <link name="top"><collision><geometry><box size="2 1 0.1"/></geometry></collision></link>
  <link name="leg">
    <collision><geometry><cylinder radius="0.1" length="0.7"/></geometry></collision>
  </link>
  <joint name="j" type="fixed">
    <origin xyz="0.8 0 -0.4"/><parent link="top"/><child link="leg"/>
  </joint>
</robot>""",
        encoding="utf-8",
    )
    common = "file: table.urdf, position_enu_m: [5, 5, 0.75]"
    top, leg, other_top, _ = solids_of(
        tmp_path,
        f"- urdf: {{{common}, heading_deg: 90, name: table, rgb: [0, 1, 0], landable: true}}\n"
        f"- urdf: {{{common}}}",
    )
    assert (top.name, leg.name, other_top.name) == ("table/top", "table/leg", "urdf 2/top")
    assert leg.shape == Cylinder(0.1, 0.7)
    assert leg.position_enu_m == pytest.approx((5.0, 5.8, 0.35))
    assert yaw_of(top.attitude) == pytest.approx(pi / 2)
    assert leg.landable
    assert (leg.rgb, other_top.rgb) == ((0.0, 1.0, 0.0), GREY)


def test_a_number_in_a_name_counts_all_of_its_kind(tmp_path: Path) -> None:
    pole = "- pole: {at_m: [0, 0], height_m: 1"
    solids = solids_of(
        tmp_path, f"{pole}}}\n{pole}, name: mast}}\n- pad: {{at_m: [0, 0]}}\n{pole}}}"
    )
    assert [solid.name for solid in solids] == ["pole 1", "mast", "pad 1", "pole 3"]


def test_a_list_of_solids_can_stand_elsewhere() -> None:
    plain = [{"pad": {"at_m": [1, 2]}}]
    assert read_solids(plain, "obstacles", Path())[0].position_enu_m == (1.0, 2.0, 0.025)
    with pytest.raises(ConfigError, match=r"^obstacles\[0\] is 7; expected one kind"):
        read_solids([7], "obstacles", Path())


# Forests.


def test_a_forest_is_upright_trunks_from_the_ground(tmp_path: Path) -> None:
    text = "- forest: {rectangle: [[5, 5], [9, 9]], count: 3, height_m: [4, 4], radius_m: [1, 1]"
    trees = solids_of(tmp_path, f"{text}, spacing_m: 0, rgb: [0, 1, 0]}}")
    assert [tree.name for tree in trees] == ["tree 1", "tree 2", "tree 3"]
    for tree in trees:
        assert (tree.shape, tree.attitude, tree.rgb) == (Cylinder(1.0, 4.0), LEVEL, (0.0, 1.0, 0.0))
        assert tree.position_enu_m[2] == 2.0
        assert not tree.landable


def test_trees_are_counted_on_through_all_forests_of_a_name(tmp_path: Path) -> None:
    few = "- forest: {rectangle: [[0, 0], [40, 30]], count: 2"
    trees = solids_of(tmp_path, f"{few}}}\n{few}, name: oak}}\n{few}}}")
    names = [tree.name for tree in trees]
    assert names == ["tree 1", "tree 2", "oak 1", "oak 2", "tree 3", "tree 4"]


def test_the_shipped_forest_stands_where_it_has_always_stood() -> None:
    """A change here changes every flight in it."""
    first, last = load_world("forest").solids[0], load_world("forest").solids[-1]
    assert (first.name, last.name) == ("tree 1", "tree 150")
    assert first.position_enu_m == (-23.757318570730014, 15.079291852131831, 5.007732782432729)


# Mistakes.

BOX = "box: {size_m: [1, 1, 1], position_enu_m: [0, 0, 0]"
WALL = "wall: {from_m: [0, 0], to_m: [1, 0], height_m: 2"
TREES = "forest: {rectangle: [[0, 0], [9, 9]], count: 2"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("solid: []", "unknown key solid; did you mean solids?"),
        ("ground: {colour: [0, 0, 0]}", "unknown key ground.colour; expected rgb, friction"),
        ("ground: {friction: -1}", "ground.friction is -1; expected 0 to 10"),
        ("ground: {rgb: [0, 0, 255]}", "ground.rgb[2] is 255; expected 0 to 1"),
        (
            "solids: [{forest: {rectangle: [[0, 0], [9, 9]], count: 60, spacing_m: 100}}]",
            (
                "solids[0].forest: 1 of 60 trees fit; expected fewer trees, a larger rectangle, "
                "less spacing_m or less to clear"
            ),
        ),
        ("solids: {}", "solids is {}; expected a list of 0 to 10000"),
        ("solids: [7]", "solids[0] is 7; expected one kind, such as box: {...}"),
        ("solids: [{}]", "solids[0] is {}; expected one kind, such as box: {...}"),
        (
            "solids: [{pad: {}, box: {}}]",
            "solids[0] is {'pad': {}, 'box': {}}; expected one kind, such as box: {...}",
        ),
        ("solids: [{boxx: {}}]", "unknown kind solids[0].boxx; did you mean box?"),
        (
            "solids: [{sphere: {}}]",
            (
                "unknown kind solids[0].sphere; "
                "expected box, cylinder, wall, pole, pad, forest, mesh, urdf"
            ),
        ),
        ("solids: [{box: {}}]", "solids[0].box.size_m is missing"),
        ("solids: [{box: 7}]", "solids[0].box is 7; expected keys and values"),
        (
            f"solids: [{{{BOX}, headng_deg: 1}}}}]",
            "unknown key solids[0].box.headng_deg; did you mean heading_deg?",
        ),
        (
            f"solids: [{{{BOX}, heading_deg: 400}}}}]",
            "solids[0].box.heading_deg is 400; expected -360 to 360",
        ),
        (
            f"solids: [{{{BOX}, landable: 1}}}}]",
            "solids[0].box.landable is 1; expected true or false",
        ),
        (f"solids: [{{{BOX}, name: ''}}}}]", "solids[0].box.name is ''; expected a text"),
        (
            "solids: [{box: {size_m: [1, -2, 1], position_enu_m: [0, 0, 0]}}]",
            "solids[0].box.size_m[1] is -2; expected 0.001 to 10000",
        ),
        (
            "solids: [{box: {size_m: [1, 1, 1], position_enu_m: [0, 0]}}]",
            "solids[0].box.position_enu_m has 2 entries; expected 3",
        ),
        (
            "solids: [{box: {size_m: [1, 1, 1], position_enu_m: [0, 0, .nan]}}]",
            "solids[0].box.position_enu_m[2] is nan; expected -100000 to 100000",
        ),
        (
            "solids: [{cylinder: {radius_m: 0, height_m: 1, position_enu_m: [0, 0, 0]}}]",
            "solids[0].cylinder.radius_m is 0; expected 0.001 to 10000",
        ),
        (
            "solids: [{wall: {from_m: [3, 4], to_m: [3, 4], height_m: 2}}]",
            "the length of solids[0].wall is 0.0; expected 0.001 to 10000",
        ),
        (
            f"solids: [{{{WALL}, thickness_m: 0}}}}]",
            "solids[0].wall.thickness_m is 0; expected 0.001 to 10000",
        ),
        (
            f"solids: [{{{WALL}, landable: true}}}}]",
            (
                "unknown key solids[0].wall.landable; "
                "expected from_m, to_m, height_m, thickness_m, bottom_m, name, rgb"
            ),
        ),
        ("solids: [{pole: {at_m: [0, 0]}}]", "solids[0].pole.height_m is missing"),
        ("solids: [{pad: {at_m: [0, 0, 0]}}]", "solids[0].pad.at_m has 3 entries; expected 2"),
        (
            f"solids: [{{{BOX}, name: a}}}}, {{{WALL}, name: a}}}}]",
            "solids[1].wall gives 'a', a name that solids[0].box already gives; names must differ",
        ),
        (
            f"solids: [{{{BOX}, name: box 2}}}}, {{{BOX}}}}}]",
            (
                "solids[1].box gives 'box 2', a name that solids[0].box already gives; "
                "names must differ"
            ),
        ),
        (
            f"solids: [{{{TREES}, seed: -1}}}}]",
            "solids[0].forest.seed is -1; expected an integer, 0 to 18446744073709551615",
        ),
        (
            f"solids: [{{{TREES}, radius_m: [0.3, 0.1]}}}}]",
            "solids[0].forest.radius_m is [0.3, 0.1]; expected the smaller first",
        ),
        (
            f"solids: [{{{TREES}, radius_m: 0.3}}}}]",
            "solids[0].forest.radius_m is 0.3; expected a list of 2",
        ),
        (
            f"solids: [{{{TREES}, clear: [{{radius_m: 3}}]}}}}]",
            "solids[0].forest.clear[0].points_m is missing",
        ),
        (
            f"solids: [{{{TREES}, clear: [{{point_m: [0, 0], radius_m: 3}}]}}}}]",
            "unknown key solids[0].forest.clear[0].point_m; did you mean points_m?",
        ),
        (
            "solids: [{mesh: {file: a.obj, scale: -1, position_enu_m: [0, 0, 0]}}]",
            "solids[0].mesh.scale is -1; expected 1e-06 to 1e+06",
        ),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text) == said


@pytest.mark.parametrize("kind", ["mesh", "urdf"])
def test_a_file_that_is_not_there_is_named_with_its_key(tmp_path: Path, kind: str) -> None:
    text = f"solids: [{{{kind}: {{file: sub/gone.obj, position_enu_m: [0, 0, 0]}}}}]"
    assert refusal(tmp_path, text) == (
        f"solids[0].{kind}.file: cannot read {tmp_path}/sub/gone.obj: No such file or directory"
    )


def test_what_is_wrong_in_a_file_is_named_with_key_and_file(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\nf 1 1 2", encoding="utf-8")
    said = refusal(tmp_path, "solids: [{mesh: {file: a.obj, position_enu_m: [0, 0, 0]}}]")
    assert said.startswith(f"solids[0].mesh.file: {tmp_path}/a.obj: line 2: a face has corner 2, ")


def test_a_world_without_end_is_refused(tmp_path: Path) -> None:
    trees = "- forest: {rectangle: [[0, 0], [9000, 9000]], count: 5001, spacing_m: 0}\n"
    assert refusal(tmp_path, f"solids:\n{trees * 2}") == (
        "solids[1].forest makes more than 10000 solids in all"
    )
    (tmp_path / "a.obj").write_text("v 0 0 0\n" + "f 1 1 1\n" * 100_001, encoding="utf-8")
    mesh = "- mesh: {file: a.obj, position_enu_m: [0, 0, 0]}\n"
    assert refusal(tmp_path, f"solids:\n{mesh * 2}") == (
        "solids[1].mesh makes more than 200000 faces in all"
    )
