"""Triangle meshes from Wavefront OBJ and from STL, ASCII or binary.

Only what is solid is read: corners and faces. Materials, normals and textures are passed over;
a statement that nobody knows is refused, since it could be a surface.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from ghost.core.errors import ConfigError, shown
from ghost.simulation.scenery import Mesh, Vector

Face = tuple[int, int, int]
Triangle = tuple[Vector, ...]

MAX_FACES = 200_000
_MAX_BYTES = 64_000_000
_FARTHEST_M = 1e5


def read_mesh(path: Path, scale: Vector) -> Mesh:
    """The axes are taken as they stand in the file: z is up."""
    content = read_file(path)
    try:
        corners, faces = _parsed(content, path.suffix.lower())
        return Mesh(_scaled(corners, scale), tuple(faces))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def read_file(path: Path) -> bytes:
    """Of no more than 64 MB: a wrong path may well lead to something endless."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise ConfigError(f"cannot read {shown(str(path))}: {error}") from None
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{path} is larger than {_MAX_BYTES // 1_000_000} MB")
    return content


def _parsed(content: bytes, suffix: str) -> tuple[list[Vector], list[Face]]:
    if suffix == ".obj":
        # Names and comments may be in any encoding; numbers are ASCII.
        corners, faces = parse_obj(content.decode("utf-8", "replace"))
    elif suffix == ".stl":
        corners, faces = _merged(parse_stl(content))
    else:
        raise ConfigError(f"it ends in {suffix!r}; expected .obj or .stl")
    if not faces:
        raise ConfigError("it has no faces")
    return corners, faces


def _scaled(corners: Iterable[Vector], scale: Vector) -> tuple[Vector, ...]:
    scaled = []
    for index, (x, y, z) in enumerate(corners, 1):
        corner = (x * scale[0], y * scale[1], z * scale[2])
        if not all(abs(part) <= _FARTHEST_M for part in corner):  # NaN fails it
            raise ConfigError(
                f"corner {index} is at {corner}; expected within {_FARTHEST_M:g} m of the origin"
            )
        scaled.append(corner)
    return tuple(scaled)


def parse_obj(content: str) -> tuple[list[Vector], list[Face]]:
    """Polygons become fans of triangles about their first corner."""
    corners: list[Vector] = []
    faces: list[Face] = []

    def read(word: str, values: list[str]) -> None:
        if word == "v":
            corners.append(_vector(values[:3]))
        elif word == "f":
            faces.extend(_fan([_index(value, len(corners)) for value in values]))
            _refuse_too_many(len(faces))
        elif word not in _PASSED_OVER:
            raise ConfigError(f"unknown statement {shown(word)}")

    _read_lines(content, read)
    return corners, faces


def _index(value: str, count: int) -> int:
    """OBJ counts from 1, or backwards from -1; texture and normal come after slashes."""
    try:
        index = int(value.partition("/")[0])
    except ValueError:
        raise ConfigError(f"a face has corner {shown(value)}; expected an integer") from None
    if not 1 <= abs(index) <= count:
        raise ConfigError(
            f"a face has corner {shown(index)}, and there are {count} before it; "
            "expected one of them, counted from 1 or backwards from -1"
        )
    return index - 1 if index > 0 else count + index


def _fan(indices: list[int]) -> Iterator[Face]:
    if len(indices) < 3:
        raise ConfigError(f"a face has {len(indices)} corners; expected 3 or more")
    return ((indices[0], second, third) for second, third in pairwise(indices[1:]))


def parse_stl(content: bytes) -> list[Triangle]:
    """Binary if its length is just what its own count says: either kind may begin with "solid"."""
    count = int.from_bytes(content[80:84], "little")
    if len(content) >= 84 and len(content) == 84 + 50 * count:
        _refuse_too_many(count)
        rows = struct.iter_unpack("<12fH", content[84:])
        return [(row[3:6], row[6:9], row[9:12]) for row in rows]
    if content.lstrip().startswith(b"solid"):
        return _parse_ascii_stl(content.decode("utf-8", "replace"))
    raise ConfigError(
        f"neither ASCII nor binary STL: it doesn't begin with solid, and {len(content)} bytes "
        f"aren't the {84 + 50 * count} of the {count} triangles that its header tells of"
    )


def _parse_ascii_stl(content: str) -> list[Triangle]:
    triangles: list[Triangle] = []
    corners: list[Vector] = []

    def read(word: str, values: list[str]) -> None:
        if word == "vertex":
            corners.append(_vector(values))
        elif word == "endloop":
            triangles.append(_triangle(corners))
            corners.clear()
            _refuse_too_many(len(triangles))
        elif word not in _STL_FRAME:
            raise ConfigError(f"unknown statement {shown(word)}")

    _read_lines(content, read)
    if corners:
        raise ConfigError("it ends within a facet")
    return triangles


def _read_lines(content: str, read: Callable[[str, list[str]], None]) -> None:
    for line_number, line in enumerate(content.split("\n"), 1):
        word, *values = line.partition("#")[0].split() or [""]
        try:
            read(word, values)
        except ConfigError as error:
            raise ConfigError(f"line {line_number}: {error}") from None


def _triangle(corners: list[Vector]) -> Triangle:
    if len(corners) != 3:
        raise ConfigError(f"a facet has {len(corners)} corners; expected 3")
    return tuple(corners)


def _merged(triangles: list[Triangle]) -> tuple[list[Vector], list[Face]]:
    """STL writes a corner anew for every triangle that it belongs to."""
    places: dict[Vector, int] = {}
    faces = [
        (
            places.setdefault(first, len(places)),
            places.setdefault(second, len(places)),
            places.setdefault(third, len(places)),
        )
        for first, second, third in triangles
    ]
    return list(places), faces


def _vector(values: list[str]) -> Vector:
    try:
        x, y, z = (float(value) for value in values)
    except ValueError:
        raise ConfigError(f"a corner is {shown(' '.join(values))}; expected 3 numbers") from None
    return (x, y, z)


def _refuse_too_many(face_count: int) -> None:
    if face_count > MAX_FACES:
        raise ConfigError(f"it has more than {MAX_FACES} faces")


_PASSED_OVER = ("", "vn", "vt", "vp", "o", "g", "s", "mg", "l", "p", "usemtl", "mtllib")
_STL_FRAME = ("", "solid", "facet", "outer", "endfacet", "endsolid")
