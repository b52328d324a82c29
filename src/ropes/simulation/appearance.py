"""Appearance common to all objects: colours, dirt, shards."""

import colorsys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ropes.simulation.parts import Colour, Part, Point, Z, about, box, point, sphere

#: Colours of an interior, an unlit lamp or screen, dirt, and metal.
INSIDE, UNLIT, DIRT, STEEL = (0.06, 0.05, 0.05), (0.16, 0.17, 0.19), (0.3, 0.2, 0.1), (0.62, 0.64, 0.67)
#: Colours of light sources.
LAMP, GLOW, SCREEN = (1.0, 0.93, 0.5), (1.0, 0.35, 0.1), (0.75, 0.93, 1.0)


@dataclass(frozen=True, kw_only=True)
class Appearance:
    """The appearance of one object: it differs between objects of the same noun and no action changes it.

    Attributes:
        body, accent: colours.
        mirrored: whether the object opens to the other side.
        seed: seed of the positions of dirt and shards.
    """

    body: Colour
    accent: Colour
    mirrored: bool
    seed: int

    @property
    def side(self) -> int:
        """The side to which the object opens: 1, or −1 if mirrored."""
        return -1 if self.mirrored else 1

    @classmethod
    def sample(cls, rng: np.random.Generator) -> "Appearance":
        """Draw one at random."""
        body = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.15, 0.7), rng.uniform(0.55, 0.95))
        accent = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.3, 0.9), rng.uniform(0.45, 0.9))
        mirrored, seed = bool(rng.random() < 0.5), int(rng.integers(2**31))
        return cls(body=body, accent=accent, mirrored=mirrored, seed=seed)


#: State of an object: variable → value in [0, 1].
State = Mapping[str, float]
Build = Callable[[Appearance, State], Iterator[Part]]


def spots(look: Appearance, dirt: float, centre: Point, across: Point, up: Point) -> Iterator[Part]:
    """Spots of dirt on a rectangle; more dirt adds spots to the same first ones."""
    rng = np.random.default_rng(look.seed)
    for _ in range(round(9 * dirt)):
        a, b = rng.uniform(-1, 1, 2)
        radius = rng.uniform(0.05, 0.1)
        place = np.array(centre) + a * np.array(across) + b * np.array(up)
        yield sphere(radius, point(place), DIRT)


def shards(look: Appearance, count: int) -> Iterator[Part]:
    """The pieces of a broken object, on the floor."""
    rng = np.random.default_rng(look.seed)
    for _ in range(count):
        x, y = rng.uniform(-0.55, 0.55, 2)
        size = point(rng.uniform(0.05, 0.16, 3) * np.array([1, 1, 0.35]))
        yield box(size, (x, y, 0.05), look.body, about(Z, rng.uniform(0, np.pi)))
