"""Boxes, cylinders and spheres, the parts of objects."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.urdf import rotation

Array = NDArray[np.float64]
Colour = tuple[float, float, float]
Point = tuple[float, float, float]
#: The axes of the world.
X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class Part:
    """A primitive of a thing.

    Attributes:
        shape: box, cylinder (upright) or sphere.
        size: half the sides of a box; radius, radius and half the height of a cylinder; the radius of a sphere.
        place: of its centre.
        colour: RGB in [0, 1].
        turn: rotation matrix, (3, 3); None for none.
    """

    shape: Literal["box", "cylinder", "sphere"]
    size: Point
    place: Point
    colour: Colour
    turn: Array | None = None


def moved(part: Part, place: Point, turn: float, scale: float) -> Part:
    """The same part of a thing that is `scale` times as large and stands elsewhere, turned about z by radians."""
    about = rotation(Z, np.array([turn]))[0]
    centre = about @ (scale * np.array(part.place)) + np.array(place)
    size = (scale * part.size[0], scale * part.size[1], scale * part.size[2])
    own = np.eye(3) if part.turn is None else part.turn
    return replace(part, size=size, place=point(centre), turn=about @ own)


def point(values: Array) -> Point:
    """An array (3,) as a tuple."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def box(size: Point, place: Point, colour: Colour, turn: Array | None = None) -> Part:
    """A box by half its sides."""
    return Part("box", size, place, colour, turn)


def cylinder(radius: float, half: float, place: Point, colour: Colour, turn: Array | None = None) -> Part:
    """An upright cylinder by its radius and half its height."""
    return Part("cylinder", (radius, radius, half), place, colour, turn)


def sphere(radius: float, place: Point, colour: Colour) -> Part:
    """A sphere by its radius."""
    return Part("sphere", (radius, radius, radius), place, colour)


def about(axis: Array, angle: float) -> Array:
    """The rotation about an axis (3,) by an angle in radians, (3, 3)."""
    turn: Array = rotation(axis, np.array([angle]))[0]
    return turn


def hinged(size: Point, hinge: Point, reach: Point, colour: Colour, turn: Array) -> Part:
    """A board that turns about a hinge: `reach` leads from there to its centre when it is not turned."""
    return box(size, point(np.array(hinge) + turn @ np.array(reach)), colour, turn)


def mixed(one: Colour, other: Colour, share: float) -> Colour:
    """A colour between two, at a share of the way."""
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(one, other, strict=True))
    return red, green, blue
