"""Meshes: corners and faces from OBJ and STL, and every broken file named."""

import struct
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ghost.core.errors import ConfigError
from ghost.deploy.mesh import parse_obj, parse_stl, read_mesh
from ghost.simulation.scenery import Mesh

UNIT = (1.0, 1.0, 1.0)
CORNERS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
FACET = """facet normal 0 0 1
  outer loop
    vertex 0 0 0
    vertex 1 0 0
    vertex 0 1e0 0
  endloop
endfacet
"""


def read(folder: Path, content: str | bytes, name: str = "thing.obj") -> Mesh:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_mesh(path, UNIT)


def binary_stl(*triangles: tuple[float, ...]) -> bytes:
    rows = (struct.pack("<12fH", 0.0, 0.0, 1.0, *triangle, 0) for triangle in triangles)
    return b"solid, or so it says".ljust(80) + struct.pack("<I", len(triangles)) + b"".join(rows)


def refusal(folder: Path, content: str | bytes, name: str = "thing.obj") -> str:
    with pytest.raises(ConfigError) as caught:
        read(folder, content, name)
    return str(caught.value).removeprefix(f"{folder / name}: ")


# OBJ.


@pytest.mark.parametrize(
    ("faces", "meaning"),
    [
        ("f 1 2 3", ((0, 1, 2),)),
        ("f 1 2 3 4", ((0, 1, 2), (0, 2, 3))),
        ("f -4 -3 -1", ((0, 1, 3),)),
        ("f 1/7 2/8 3/9\nf 1//7 2//8 4//9", ((0, 1, 2), (0, 1, 3))),
        ("f 1/7/7 2/8/8 3/9/9 # a comment\r", ((0, 1, 2),)),
        ("f 1 2 3\nv 9 9 9\nf -1 1 2", ((0, 1, 2), (4, 0, 1))),
    ],
)
def test_faces_are_read_in_every_form(
    tmp_path: Path, faces: str, meaning: tuple[tuple[int, int, int], ...]
) -> None:
    mesh = read(tmp_path, CORNERS + faces)
    assert mesh.faces == meaning
    assert mesh.corners_m[:3] == ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0))


def test_what_is_not_solid_is_passed_over(tmp_path: Path) -> None:
    dressed = f"# by hand\nmtllib a.mtl\no chair\ng top\nvt 0 0\nvn 0 0 1\n{CORNERS}"
    latin = dressed.encode() + "usemtl blé\n".encode("latin-1") + b"s off\nl 1 2\nf 1 2 3"
    assert read(tmp_path, latin).faces == ((0, 1, 2),)


def test_a_corner_may_carry_a_weight_or_a_colour(tmp_path: Path) -> None:
    mesh = read(tmp_path, "v 1 2 3 1\nv 4 5 6 0.1 0.2 0.3\nv 7 8 9\nf 1 2 3")
    assert mesh.corners_m == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0))


def test_a_mesh_is_scaled_along_each_axis(tmp_path: Path) -> None:
    (tmp_path / "thing.obj").write_text("v 1 1 1\nv 2 0 0\nv 0 2 0\nf 1 2 3", encoding="utf-8")
    mesh = read_mesh(tmp_path / "thing.obj", (2.0, 3.0, 4.0))
    assert mesh.corners_m == ((2.0, 3.0, 4.0), (4.0, 0.0, 0.0), (0.0, 6.0, 0.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has no faces"),
        (CORNERS, "it has no faces"),
        ("v 0 0", "line 1: a corner is '0 0'; expected 3 numbers"),
        ("\nv 0 0 up", "line 2: a corner is '0 0 up'; expected 3 numbers"),
        (
            CORNERS + "f 1 2 5",
            (
                "line 5: a face has corner 5, and there are 4 before it; "
                "expected one of them, counted from 1 or backwards from -1"
            ),
        ),
        (
            CORNERS + "f 1 2 -5",
            (
                "line 5: a face has corner -5, and there are 4 before it; "
                "expected one of them, counted from 1 or backwards from -1"
            ),
        ),
        (
            CORNERS + "f 0 1 2",
            (
                "line 5: a face has corner 0, and there are 4 before it; "
                "expected one of them, counted from 1 or backwards from -1"
            ),
        ),
        (CORNERS + "f 1 2 a", "line 5: a face has corner 'a'; expected an integer"),
        (CORNERS + "f 1 2 /3", "line 5: a face has corner '/3'; expected an integer"),
        (CORNERS + "f 1 2", "line 5: a face has 2 corners; expected 3 or more"),
        (CORNERS + "curv 0 1 2", "line 5: unknown statement 'curv'"),
        (
            "v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3",
            "corner 2 is at (1.0, 0.0, nan); expected within 100000 m of the origin",
        ),
        (
            "v 0 0 0\nv 1 0 0\nv 0 1e300 0\nf 1 2 3",
            "corner 3 is at (0.0, 1e+300, 0.0); expected within 100000 m of the origin",
        ),
    ],
)
def test_a_broken_obj_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text) == said


LINES = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["v", "f", "#", "1", "-1", "0", "2/1", "//", "nan", "1e9"])).map(
        " ".join
    ),
    st.tuples(*[st.floats(width=32)] * 3).map(lambda corner: "v {} {} {}".format(*corner)),
    st.lists(st.integers(-4, 4), max_size=5).map(lambda face: f"f {' '.join(map(str, face))}"),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=12).map("\n".join))
@example("f " + "9" * 5000 + " 1 2")
def test_any_text_is_a_mesh_or_refused(text: str) -> None:
    try:
        corners, faces = parse_obj(text)
    except ConfigError:
        return
    assert all(0 <= index < len(corners) for face in faces for index in face)


# STL.


def test_ascii_and_binary_stl_mean_the_same(tmp_path: Path) -> None:
    ascii_mesh = read(tmp_path, f"solid a\n{FACET}endsolid a\n", "a.stl")
    binary_mesh = read(tmp_path, binary_stl((0, 0, 0, 1, 0, 0, 0, 1, 0)), "b.STL")
    assert ascii_mesh == binary_mesh
    assert ascii_mesh.corners_m == ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert ascii_mesh.faces == ((0, 1, 2),)


def test_triangles_of_an_stl_share_their_corners(tmp_path: Path) -> None:
    stl = binary_stl((0, 0, 0, 1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 1, 0, 0, 1, 0))
    mesh = read(tmp_path, stl, "a.stl")
    assert len(mesh.corners_m) == 4
    assert mesh.faces == ((0, 1, 2), (1, 3, 2))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"solid a\nendsolid a", "it has no faces"),
        (
            b"solid a\nfacet\nouter loop\nvertex 0 0",
            "line 4: a corner is '0 0'; expected 3 numbers",
        ),
        (
            b"solid a\nvertex 0 0 0\nvertex 0 0 1\nendloop",
            "line 4: a facet has 2 corners; expected 3",
        ),
        (b"solid a\nvertex 0 0 0", "it ends within a facet"),
        (b"solid a\nvortex 0 0 0", "line 2: unknown statement 'vortex'"),
        (
            binary_stl((0, 0, 0, 1, 0, 0, 0, 1, 0)).replace(b"solid", b"Solid")[:-1],
            (
                "neither ASCII nor binary STL: it doesn't begin with solid, and 133 bytes "
                "aren't the 134 of the 1 triangles that its header tells of"
            ),
        ),
        (
            b"",
            (
                "neither ASCII nor binary STL: it doesn't begin with solid, and 0 bytes "
                "aren't the 84 of the 0 triangles that its header tells of"
            ),
        ),
    ],
)
def test_a_broken_stl_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    assert refusal(tmp_path, content, "a.stl") == said


@settings(deadline=None)
@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda tail: b"solid\n" + tail))
def test_any_bytes_are_an_stl_or_refused(content: bytes) -> None:
    try:
        triangles = parse_stl(content)
    except ConfigError:
        return
    assert all(len(triangle) == 3 for triangle in triangles)


# Files.


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_mesh(tmp_path / "gone.obj", UNIT)
    assert str(caught.value) == f"cannot read {tmp_path}/gone.obj: No such file or directory"
    with pytest.raises(ConfigError, match=r"cannot read 'a\\x00b': embedded null byte"):
        read_mesh(Path("a\0b"), UNIT)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "", "a.dae") == "it ends in '.dae'; expected .obj or .stl"


def test_too_many_faces_are_refused(tmp_path: Path) -> None:
    many = CORNERS + "f 1 2 3\n" * 200_001
    assert refusal(tmp_path, many) == "line 200005: it has more than 200000 faces"


def test_too_large_a_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "thing.obj").open("wb") as file:
        file.truncate(64_000_001)
    with pytest.raises(ConfigError) as caught:
        read_mesh(tmp_path / "thing.obj", UNIT)
    assert str(caught.value) == f"{tmp_path}/thing.obj is larger than 64 MB"
