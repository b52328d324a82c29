"""Reads a URDF: the joint tree with limits, and the visual shapes."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError, suggestion
from ropes.simulation.joints import Joint, Mimic, follow, numbers, origin_of, read_joint

#: Children of a joint element that define its kinematics.
_KINEMATIC_TAGS = ("parent", "child", "origin", "axis", "limit", "mimic")


@dataclass(frozen=True, kw_only=True, eq=False)
class Visual:
    """A visible shape of a link: a mesh file, or the bounding box of a primitive.

    Attributes:
        origin: (4, 4) pose in the link's frame.
        mesh: path of the mesh file, None for a primitive.
        scale: (3,) scale of the mesh.
        corners: (8, 3) corners of a primitive's bounding box, in the shape's frame; empty for a mesh.
        kind: the URDF's element: "mesh", "box", "sphere", "cylinder" or "capsule".
        colour: (4,) red, green, blue and opacity in [0, 1]; None where the URDF names none.
    """

    link: str
    origin: Floats
    mesh: Path | None
    scale: Floats
    corners: Floats
    kind: str
    colour: Floats | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Urdf:
    """A parsed URDF file with its joints in topological order: parents first."""

    path: Path
    name: str
    base: str
    joints: tuple[Joint, ...]
    visuals: tuple[Visual, ...]

    @cached_property
    def moving(self) -> dict[str, Joint]:
        """The movable joints by name, parents first."""
        return {joint.name: joint for joint in self.joints if joint.moves}

    @cached_property
    def followers(self) -> dict[str, Mimic]:
        """What each joint follows that mimics another, by name."""
        return {joint.name: joint.mimic for joint in self.joints if joint.mimic is not None}

    @cached_property
    def links(self) -> tuple[str, ...]:
        """The names of all links, parents first; the base is the first."""
        return (self.base, *(joint.child for joint in self.joints))

    def require_link(self, name: str) -> None:
        """Check that there is a link called `name`.

        Raises:
            UserError: there is none; the message names the most similar link, or all of them.
        """
        if name not in self.links:
            hint = suggestion(name, self.links, f"its links are {', '.join(self.links)}")
            raise UserError(f"{self.path.name} has no link {name!r}: {hint}")

    def joint(self, name: str) -> Joint:
        """The movable joint called `name`.

        Raises:
            UserError: there is none; the message names the most similar joint, or all of them.
        """
        if name not in self.moving:
            hint = suggestion(name, self.moving, f"its movable joints are {', '.join(self.moving)}")
            raise UserError(f"{self.path.name} has no movable joint {name!r}: {hint}")
        return self.moving[name]

    def free_joint(self, name: str) -> Joint:
        """The movable joint called `name`, which can be set: it mimics no other.

        Raises:
            UserError: see `joint`, or the joint mimics another.
        """
        if (joint := self.joint(name)).mimic is not None:
            raise UserError(f"joint {name} of {self.path.name} mimics {joint.mimic.joint}; choose {joint.mimic.joint}")
        return joint

    def positions(self, joints: Sequence[str], angles: Floats, rest: Mapping[str, float]) -> dict[str, Floats]:
        """The values (n,) of all movable joints, by name; a joint that mimics another follows it in any case.

        Args:
            joints: names of the columns of `angles`.
            angles: (n, len(joints)) radians (metres for a prismatic joint).
            rest: values of the other joints by name; 0 by default.
        """
        column = {name: k for k, name in enumerate(joints)}
        values = {
            name: angles[:, column[name]] if name in column else np.full(len(angles), rest.get(name, 0.0))
            for name in self.moving
        }
        for name, mimic in self.followers.items():
            values[name] = mimic.multiplier * values[mimic.joint] + mimic.offset
        return values


def find_mesh(urdf: Path, name: str) -> Path:
    """The file of a mesh that a URDF calls `name`, which may be a "package://…" address.

    The search covers the folders above the URDF, first with the whole name, then without its leading parts.  It needs
    no installed package.

    Raises:
        UserError: no such file.
    """
    parts = Path(name.split("://", 1)[-1]).parts
    if Path(name).is_absolute() and Path(name).is_file():
        return Path(name)
    for start in range(len(parts)):
        for folder in urdf.parents:
            candidate = folder.joinpath(*parts[start:])
            if parts[start] != "/" and candidate.is_file():
                return candidate
    raise UserError(f"{urdf} names the mesh {name}, which is nowhere near it; put the meshes beside the URDF")


def read_urdf(path: Path) -> Urdf:
    """Parse the URDF file at `path`.

    As in PyBullet, a link without visual shapes shows its collision shapes.

    Raises:
        UserError: not a URDF file, a mesh is missing, the joints form no tree, or see `follow`.
    """
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, ValueError, LookupError) as error:  # the last two: an encoding that is not read
        raise UserError(f"{path} is not a URDF file: {error}") from error
    if root.tag != "robot":
        raise UserError(f"{path} is not a URDF file: its root is <{root.tag}>, not <robot>")
    if _is_xacro(root):
        raise UserError(f"{path} is a xacro file, from which a URDF is made; run xacro {path.name} > made.urdf")
    try:
        joints = [read_joint(element) for element in root.findall("joint")]
        colours = _colours(root)
        visuals = [read_shape(path, *shape, colours) for link in root.findall("link") for shape in shapes_of(link)]
        links = [link.attrib["name"] for link in root.findall("link")]
    except (KeyError, ValueError) as error:
        raise incomplete(path, error) from error
    base, ordered = _tree(path, links, joints)
    ordered = follow(path, ordered)
    return Urdf(path=path, name=root.get("name") or path.stem, base=base, joints=ordered, visuals=tuple(visuals))


def _is_xacro(root: ET.Element) -> bool:
    """Whether the file has macros or expressions that the program xacro replaces."""
    return any(
        "xacro}" in element.tag or any("${" in text for text in element.attrib.values()) for element in root.iter()
    )


def incomplete(path: Path, error: KeyError | ValueError) -> UserError:
    """The error of a URDF file whose element lacks an attribute (KeyError) or has a wrong value."""
    reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
    return UserError(f"{path} is not a complete URDF file: {reason}")


def shapes_of(link: ET.Element) -> Iterable[tuple[str, ET.Element]]:
    """The visible shapes of a link, each with the link's name."""
    return [(link.attrib["name"], shape) for shape in link.findall("visual") or link.findall("collision")]


def kinematics_of(path: Path) -> str:
    """The links and joints of a URDF file as the text of a URDF without shapes, materials or extensions.

    The text needs no other file and contains no path.

    Raises:
        UserError: see `read_urdf`.
    """
    read_urdf(path)
    root = ET.parse(path).getroot()
    robot = ET.Element("robot", name=root.get("name", path.stem))
    for link in root.findall("link"):
        ET.SubElement(robot, "link", name=link.attrib["name"])
    for joint in root.findall("joint"):
        copy = ET.SubElement(robot, "joint", name=joint.attrib["name"], type=joint.attrib["type"])
        for part in joint:
            if part.tag in _KINEMATIC_TAGS:
                ET.SubElement(copy, part.tag, part.attrib)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def _colours(root: ET.Element) -> dict[str, Floats]:
    """Material name → its colour (4,), from wherever the URDF gives it."""
    found = {}
    for material in root.iter("material"):
        colour = _own_colour(material)
        if colour is not None and (name := material.get("name")):
            found[name] = colour
    return found


def _own_colour(material: ET.Element) -> Floats | None:
    """The colour (4,) that a <material> itself gives."""
    colour = material.find("color")
    return None if colour is None else numbers(colour.get("rgba"), (1, 1, 1, 1))


def read_shape(path: Path, link: str, element: ET.Element, colours: Mapping[str, Floats]) -> Visual:
    """The shape that a <visual> or <collision> of a link describes.

    Args:
        path: the URDF file.
        link: name of the link.
        element: the shape.
        colours: material name → its colour (4,), for shapes that give none of their own.

    Raises:
        UserError: a mesh is missing.
        KeyError, ValueError: the element is not complete.
    """
    geometry = element.find("geometry")
    if geometry is None or not len(geometry):
        raise ValueError(f"a shape of link {link} has no geometry")
    shape, half, mesh, scale = geometry[0], None, None, np.ones(3)
    match shape.tag:
        case "mesh":
            mesh = find_mesh(path, shape.attrib["filename"])
            scale = _scale(shape.get("scale"))
        case "box":
            half = numbers(shape.attrib["size"], (0, 0, 0)) / 2
        case "sphere":
            half = np.full(3, float(shape.attrib["radius"]))
        case "cylinder" | "capsule":
            radius, length = float(shape.attrib["radius"]), float(shape.attrib["length"])
            caps = radius if shape.tag == "capsule" else 0.0
            half = np.array([radius, radius, length / 2 + caps])
        case _:
            raise ValueError(f"link {link} has a shape <{shape.tag}>, which URDF does not define")
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = np.empty((0, 3)) if half is None else signs * half
    material, origin = element.find("material"), origin_of(element)
    colour = None
    if material is not None and (colour := _own_colour(material)) is None:
        colour = colours.get(material.get("name", ""))
    return Visual(link=link, origin=origin, mesh=mesh, scale=scale, corners=corners, kind=shape.tag, colour=colour)


def _scale(text: str | None) -> Floats:
    """The scale (3,) of a mesh; as in PyBullet, a single number is that of all axes."""
    parts = text.split() if text else []
    return numbers(" ".join(parts * 3 if len(parts) == 1 else parts), (1, 1, 1))


def _tree(path: Path, links: list[str], joints: list[Joint]) -> tuple[str, tuple[Joint, ...]]:
    """The base link, and the joints sorted outwards from it."""
    children = {joint.child for joint in joints}
    bases = [link for link in links if link not in children]
    if len(bases) != 1:
        raise UserError(f"{path}: an arm has one base link, this file has {len(bases)}")
    unique = len(children) == len(joints)  # otherwise a cycle may be reachable from the base
    ordered = [joint for joint in joints if unique and joint.parent == bases[0]]
    for parent in ordered:  # the list grows in this loop
        ordered += [joint for joint in joints if joint.parent == parent.child]
    if len(ordered) != len(joints):
        raise UserError(f"{path}: its joints form no tree")
    return bases[0], tuple(ordered)
