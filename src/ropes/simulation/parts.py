"""Boxes, cylinders and spheres, of which objects consist."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ropes.common.arrays import Floats
from ropes.simulation.joints import rotation

Colour = tuple[float, float, float]
Point = tuple[float, float, float]
#: Unit vectors of the world frame.
X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class Part:
    """A primitive shape of an object.

    Attributes:
        shape: box, cylinder (upright) or sphere.
        size: half the sides of a box; radius, radius and half the height of a cylinder; the radius of a sphere.
        place: position of its centre.
        colour: RGB in [0, 1].
        turn: rotation matrix (3, 3); None for the identity.
    """

    shape: Literal["box", "cylinder", "sphere"]
    size: Point
    place: Point
    colour: Colour
    turn: Floats | None = None


def transform(part: Part, place: Point, turn: float, scale: float) -> Part:
    """The part after its object is scaled, turned about z by `turn` radians and shifted by `place`."""
    rotated = about(Z, turn)
    centre = rotated @ (scale * np.array(part.place)) + np.array(place)
    size = (scale * part.size[0], scale * part.size[1], scale * part.size[2])
    return replace(part, size=size, place=point(centre), turn=rotated @ (np.eye(3) if part.turn is None else part.turn))


def point(values: Floats) -> Point:
    """Convert an array (3,) to a tuple."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def box(size: Point, place: Point, colour: Colour, turn: Floats | None = None) -> Part:
    """A box with the given half sides."""
    return Part("box", size, place, colour, turn)


def cylinder(radius: float, half: float, place: Point, colour: Colour, turn: Floats | None = None) -> Part:
    """An upright cylinder with the given radius and half height."""
    return Part("cylinder", (radius, radius, half), place, colour, turn)


def sphere(radius: float, place: Point, colour: Colour) -> Part:
    """A sphere with the given radius."""
    return Part("sphere", (radius, radius, radius), place, colour)


def about(axis: Floats, angle: float) -> Floats:
    """The rotation about an axis (3,) by an angle in radians, (3, 3)."""
    turn: Floats = rotation(axis, np.array([angle]))[0]
    return turn


def attached(hinge: Point, reach: Point, turn: Floats) -> Point:
    """The point at `reach` from a hinge, after a turn about the hinge."""
    return point(np.array(hinge) + turn @ np.array(reach))


def hinged(size: Point, hinge: Point, reach: Point, colour: Colour, turn: Floats) -> Part:
    """A box that turns about a hinge; `reach` leads from the hinge to its centre before the turn."""
    return box(size, attached(hinge, reach, turn), colour, turn)


def blend(one: Colour, other: Colour, share: float) -> Colour:
    """Linear interpolation between two colours."""
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(one, other, strict=True))
    return red, green, blue
