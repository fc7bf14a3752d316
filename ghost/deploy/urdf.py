"""URDF files as furniture: the collision shapes of their links, held together by fixed joints."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from ghost.core.errors import ConfigError, shown
from ghost.core.fields import Reader, items, number
from ghost.core.rotations import from_euler_zyx, multiply, normalize, rotate
from ghost.deploy.mesh import read_file, read_mesh
from ghost.simulation.scenery import Box, Cylinder, Quaternion, Shape, Solid, Vector

Pose = tuple[Vector, Quaternion]

_HERE: Pose = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def read_urdf(path: Path, pose: Pose) -> tuple[Solid, ...]:
    """A solid per collision, named after its link; pose is where the root link stands."""
    content = read_file(path)
    try:
        return _solids(_parsed(content), pose, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


class _PlainTree(ET.TreeBuilder):
    """Entities are declared in a DOCTYPE and can blow up a parser; a URDF needs neither."""

    def doctype(self, *_: object) -> None:
        raise ConfigError("it has a DOCTYPE; remove it")


def _parsed(content: bytes) -> Element:
    try:
        robot = ET.fromstring(content, ET.XMLParser(target=_PlainTree()))  # noqa: S314 - see above
    except (ET.ParseError, LookupError, ValueError) as error:  # the latter two of encodings
        raise ConfigError(f"it is not XML: {error}") from None
    if robot.tag != "robot":
        raise ConfigError(f"its root is {shown(robot.tag)}; expected robot")
    if any("xacro" in element.tag for element in robot.iter()):
        raise ConfigError("it is written in xacro; expand it first")
    return robot


def _solids(robot: Element, pose: Pose, folder: Path) -> tuple[Solid, ...]:
    links = _links(robot)
    poses = _poses(links, _joints(robot, links), pose)
    solids: list[Solid] = []
    for name, link in links.items():
        solids += _collisions(name, link, poses[name], folder)
    if not solids:
        raise ConfigError("no link has a collision")
    return tuple(solids)


def _links(robot: Element) -> dict[str, Element]:
    links: dict[str, Element] = {}
    for link in robot.iterfind("link"):
        name = _attribute(link, "name", "a link")
        if name in links:
            raise ConfigError(f"link {shown(name)} stands twice")
        links[name] = link
    return links


def _joints(robot: Element, links: dict[str, Element]) -> dict[str, tuple[str, Pose]]:
    """By child: the parent, and where the child is seen from it."""
    joints: dict[str, tuple[str, Pose]] = {}
    for joint in robot.iterfind("joint"):
        where = f"joint {shown(_attribute(joint, 'name', 'a joint'))}"
        if (kind := _attribute(joint, "type", where)) != "fixed":
            raise ConfigError(f"{where} is {shown(kind)}; expected fixed: a world stands still")
        parent, child = (_end(joint, tag, links, where) for tag in ("parent", "child"))
        if child in joints:
            raise ConfigError(f"{where} holds link {shown(child)}, which another joint holds")
        joints[child] = (parent, _origin(joint, where))
    return joints


def _end(joint: Element, tag: str, links: dict[str, Element], where: str) -> str:
    element = joint.find(tag)
    if element is None:
        raise ConfigError(f"{where}: {tag} is missing")
    name = _attribute(element, "link", f"{where}: {tag}")
    if name not in links:
        raise ConfigError(f"{where}: {tag} is link {shown(name)}, which isn't there")
    return name


def _poses(
    links: dict[str, Element], joints: dict[str, tuple[str, Pose]], pose: Pose
) -> dict[str, Pose]:
    """From the root outwards; what can't be reached from there is a loop of joints."""
    roots = [name for name in links if name not in joints]
    if len(roots) > 1:
        raise ConfigError(f"no joint joins links {shown(roots[0])} and {shown(roots[1])}")
    children: dict[str, list[str]] = {name: [] for name in links}
    for child, (parent, _) in joints.items():
        children[parent].append(child)
    poses = dict.fromkeys(roots, pose)
    waiting = roots
    while waiting:
        parent = waiting.pop()
        for child in children[parent]:
            poses[child] = _composed(poses[parent], joints[child][1])
            waiting.append(child)
    for name in links:
        if name not in poses:
            raise ConfigError(f"link {shown(name)} hangs on a loop of joints")
    return poses


def _collisions(name: str, link: Element, pose: Pose, folder: Path) -> list[Solid]:
    where = f"link {shown(name)}"
    collisions = link.findall("collision")
    names = [name] if len(collisions) == 1 else [f"{name} {i + 1}" for i in range(len(collisions))]
    solids = []
    for collision, solid_name in zip(collisions, names, strict=True):
        position, attitude = _composed(pose, _origin(collision, where))
        solids.append(Solid(solid_name, _shape(collision, where, folder), position, attitude))
    return solids


def _shape(collision: Element, where: str, folder: Path) -> Shape:
    shapes = collision.findall("geometry/*")
    if len(shapes) != 1:
        raise ConfigError(f"{where}: a collision has {len(shapes)} shapes; expected 1")
    (shape,) = shapes
    match shape.tag:
        case "box":
            return Box(_numbers(shape, "size", _SIZES, where))
        case "cylinder":
            (radius_m,) = _numbers(shape, "radius", _SIZE, where)
            (height_m,) = _numbers(shape, "length", _SIZE, where)
            return Cylinder(radius_m, height_m)
        case "mesh":
            return _mesh(shape, where, folder)
    raise ConfigError(f"{where} has a {shape.tag}; expected a box, cylinder or mesh")


def _mesh(shape: Element, where: str, folder: Path) -> Shape:
    file = _attribute(shape, "filename", f"{where}: mesh")
    if "://" in file:
        raise ConfigError(
            f"{where}: mesh filename is {shown(file)}; expected a path from the URDF's folder"
        )
    scale = _numbers(shape, "scale", _SCALE, where) if shape.get("scale") else (1.0, 1.0, 1.0)
    try:
        return read_mesh(folder / file, scale)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _origin(element: Element, where: str) -> Pose:
    """Roll, pitch and yaw about the axes of the parent."""
    origin = element.find("origin")
    if origin is None:
        return _HERE
    position = _numbers(origin, "xyz", _POINT, where) if origin.get("xyz") else _HERE[0]
    if not origin.get("rpy"):
        return (position, _HERE[1])
    roll, pitch, yaw = _numbers(origin, "rpy", _ANGLES, where)
    w, x, y, z = from_euler_zyx(roll, pitch, yaw).tolist()
    return (position, (w, x, y, z))


def _composed(parent: Pose, child: Pose) -> Pose:
    (east, north, up), attitude = parent
    x, y, z = rotate(attitude, child[0]).tolist()
    qw, qx, qy, qz = normalize(multiply(attitude, child[1])).tolist()
    return ((east + x, north + y, up + z), (qw, qx, qy, qz))


def _attribute(element: Element, name: str, where: str) -> str:
    value = element.get(name)
    if not value:
        raise ConfigError(f"{where}: {name} is missing")
    return value


def _numbers(element: Element, name: str, read: Reader, where: str) -> Any:
    words = _attribute(element, name, f"{where}: {element.tag}").split()
    return read([_number(word) for word in words], f"{where}: {element.tag} {name}")


def _number(word: str) -> float | str:
    """What is no number stays as it is, for the reader to refuse."""
    try:
        return float(word)
    except ValueError:
        return word


_SIZE = items(number(1e-3, 1e4), least=1, most=1)
_SIZES = items(number(1e-3, 1e4), least=3, most=3)
_SCALE = items(number(1e-6, 1e6), least=3, most=3)
_POINT = items(number(-1e5, 1e5), least=3, most=3)
_ANGLES = items(number(-1e3, 1e3), least=3, most=3)
