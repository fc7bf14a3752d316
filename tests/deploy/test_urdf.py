"""URDF files: where their shapes stand, and what is refused."""

from math import pi
from pathlib import Path

import pytest

from ghost.core.errors import ConfigError
from ghost.core.rotations import rotate
from ghost.deploy.urdf import Pose, read_urdf
from ghost.simulation.scenery import Box, Cylinder, Mesh, Solid

HERE: Pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
BOX = '<collision><geometry><box size="1 2 3"/></geometry></collision>'


def read(folder: Path, body: str, pose: Pose = HERE) -> tuple[Solid, ...]:
    path = folder / "thing.urdf"
    path.write_text(f'<robot name="thing">{body}</robot>', encoding="utf-8")
    return read_urdf(path, pose)


def refusal(folder: Path, body: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, body)
    return str(caught.value).removeprefix(f"{folder}/thing.urdf: ")


def link(name: str, body: str = BOX) -> str:
    return f'<link name="{name}">{body}</link>'


def joint(parent: str, child: str, origin: str = "", kind: str = "fixed") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{parent}-{child}" type="{kind}">{origin}{ends}</joint>'


def shape(inside: str, origin: str = "") -> str:
    return link("a", f"<collision>{origin}<geometry>{inside}</geometry></collision>")


def test_every_shape_is_read(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 1\nf 1 2 3"
    (tmp_path / "parts" / "a.obj").write_text(obj, encoding="utf-8")
    (box,) = read(tmp_path, shape('<box size="1 2 3"/>'))
    (cylinder,) = read(tmp_path, shape('<cylinder radius="0.5" length="4"/>'))
    (mesh,) = read(tmp_path, shape('<mesh filename="parts/a.obj" scale="2 3 4"/>'))
    assert box == Solid("a", Box((1.0, 2.0, 3.0)), (0.0, 0.0, 0.0))
    assert cylinder.shape == Cylinder(0.5, 4.0)
    assert isinstance(mesh.shape, Mesh)
    assert mesh.shape.corners_m == ((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 3.0, 4.0))


def test_fixed_joints_are_chained_whatever_their_order(tmp_path: Path) -> None:
    """Up a metre and turned left; from there a metre on, and lying on its side."""
    turned = f'<origin xyz="0 0 1" rpy="0 0 {pi / 2}"/>'
    onward = f'<origin xyz="1 0 0" rpy="{pi / 2} 0 0"/>'
    body = link("leaf") + link("root", "") + link("arm")
    body += joint("arm", "leaf", onward) + joint("root", "arm", turned)
    leaf, arm = read(tmp_path, body, ((10.0, 20.0, 30.0), (1.0, 0.0, 0.0, 0.0)))
    assert (leaf.name, arm.name) == ("leaf", "arm")
    assert arm.position_enu_m == pytest.approx((10.0, 20.0, 31.0))
    assert leaf.position_enu_m == pytest.approx((10.0, 21.0, 31.0))
    assert rotate(leaf.attitude, (1.0, 0.0, 0.0)).tolist() == pytest.approx([0.0, 1.0, 0.0])
    assert rotate(leaf.attitude, (0.0, 0.0, 1.0)).tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_roll_pitch_and_yaw_turn_about_the_axes_of_the_parent(tmp_path: Path) -> None:
    rpy = f'<origin rpy="{pi / 2} {pi / 2} 0"/>'
    (solid,) = read(tmp_path, shape('<box size="1 1 1"/>', rpy))
    # Roll takes y to z; pitch then takes z to x.
    assert rotate(solid.attitude, (0.0, 1.0, 0.0)).tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_the_origin_of_a_collision_is_seen_from_its_link(tmp_path: Path) -> None:
    quarter_left = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    body = shape('<box size="1 1 1"/>', '<origin xyz="2 0 0"/>')
    (solid,) = read(tmp_path, body, ((1.0, 0.0, 0.0), quarter_left))
    assert solid.position_enu_m == pytest.approx((1.0, 2.0, 0.0))
    assert solid.attitude == pytest.approx(quarter_left)


def test_several_collisions_of_a_link_are_numbered(tmp_path: Path) -> None:
    assert [solid.name for solid in read(tmp_path, link("a", BOX + BOX))] == ["a 1", "a 2"]


def test_what_does_not_collide_plays_no_part(tmp_path: Path) -> None:
    extra = '<visual><geometry><sphere radius="1"/></geometry></visual><inertial/>'
    body = '<material name="m"/><gazebo><joint name="j" type="revolute"/></gazebo><!-- hm -->'
    assert len(read(tmp_path, body + link("a", BOX + extra))) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "no link has a collision"),
        (link("a", ""), "no link has a collision"),
        (f"<link>{BOX}</link>", "a link: name is missing"),
        (link("a") + link("a"), "link 'a' stands twice"),
        (
            link("a") + link("b") + joint("a", "b", kind="revolute"),
            "joint 'a-b' is 'revolute'; expected fixed: a world stands still",
        ),
        (link("a") + joint("a", "b"), "joint 'a-b': child is link 'b', which isn't there"),
        (link("a") + '<joint name="j" type="fixed"/>', "joint 'j': parent is missing"),
        (link("a") + '<joint name="j"/>', "joint 'j': type is missing"),
        (
            link("a") + link("b") + link("c") + joint("a", "c") + joint("b", "c"),
            "joint 'b-c' holds link 'c', which another joint holds",
        ),
        (link("a") + link("b"), "no joint joins links 'a' and 'b'"),
        (link("a") + joint("a", "a"), "link 'a' hangs on a loop of joints"),
        (
            link("a") + link("b") + link("c") + joint("b", "c") + joint("c", "b"),
            "link 'b' hangs on a loop of joints",
        ),
        (
            link("a") + link("b") + joint("a", "b", '<origin xyz="0 0"/>'),
            "joint 'a-b': origin xyz has 2 entries; expected 3",
        ),
        (shape('<sphere radius="1"/>'), "link 'a' has a sphere; expected a box, cylinder or mesh"),
        (shape(""), "link 'a': a collision has 0 shapes; expected 1"),
        (shape("<box/><box/>"), "link 'a': a collision has 2 shapes; expected 1"),
        (shape("<box/>"), "link 'a': box: size is missing"),
        (
            shape('<box size="1 -1 1"/>'),
            "link 'a': box size[1] is -1.0; expected 0.001 to 10000",
        ),
        (shape('<box size="1 1 x"/>'), "link 'a': box size[2] is 'x'; expected a number"),
        (
            shape('<cylinder radius="1" length="nan"/>'),
            "link 'a': cylinder length[0] is nan; expected 0.001 to 10000",
        ),
        (
            shape('<box size="1 1 1"/>', '<origin rpy="0 0 inf"/>'),
            "link 'a': origin rpy[2] is inf; expected -1000 to 1000",
        ),
        (
            shape('<mesh filename="package://chair/seat.stl"/>'),
            (
                "link 'a': mesh filename is 'package://chair/seat.stl'; "
                "expected a path from the URDF's folder"
            ),
        ),
        (
            shape('<mesh filename="a.obj" scale="1 -1 1"/>'),
            "link 'a': mesh scale[1] is -1.0; expected 1e-06 to 1e+06",
        ),
        (
            '<xacro:macro xmlns:xacro="http://www.ros.org/wiki/xacro" name="m"/>' + link("a"),
            "it is written in xacro; expand it first",
        ),
        ("<link>", "it is not XML: mismatched tag: line 1, column 28"),
    ],
)
def test_what_can_not_stand_still_or_collide_is_refused(
    tmp_path: Path, body: str, said: str
) -> None:
    assert refusal(tmp_path, body) == said


def test_a_missing_mesh_is_named_with_its_link(tmp_path: Path) -> None:
    said = f"link 'a': cannot read {tmp_path}/gone.obj: No such file or directory"
    assert refusal(tmp_path, shape('<mesh filename="gone.obj"/>')) == said


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_doctype_is_refused_before_its_entities_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "thing.urdf"
    laughs = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot name="&b;"/>'
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{laughs}', encoding=encoding)
    with pytest.raises(ConfigError, match=r"thing\.urdf: it has a DOCTYPE; remove it$"):
        read_urdf(path, HERE)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<sdf/>", "its root is 'sdf'; expected robot"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', "it is not XML: unknown encoding"),
        (b"", "it is not XML: no element found"),
        (b"\xff\xfe\x00", "it is not XML: "),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "thing.urdf"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_urdf(path, HERE)
    assert str(caught.value).startswith(f"{path}: {said}")
