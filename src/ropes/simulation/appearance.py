"""Appearance that all objects share: colour, size, dirt, shards."""

import colorsys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ropes.simulation.parts import Colour, Part, Point, Z, about, box, point, sphere

#: What an open thing shows inside, an unlit lamp or screen, dirt, and metal.
INSIDE, UNLIT, DIRT, STEEL = (0.06, 0.05, 0.05), (0.16, 0.17, 0.19), (0.3, 0.2, 0.1), (0.62, 0.64, 0.67)
#: What shines.
LAMP, GLOW, SCREEN = (1.0, 0.93, 0.5), (1.0, 0.35, 0.1), (0.75, 0.93, 1.0)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What varies between two things of the same noun, and stays when it is acted upon.

    Attributes:
        body, accent: colours.
        mirrored: whether it opens to the other side.
        seed: of where dirt lies and how it breaks.
    """

    body: Colour
    accent: Colour
    mirrored: bool
    seed: int

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Look":
        """One at random."""
        body = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.15, 0.7), rng.uniform(0.55, 0.95))
        accent = colorsys.hsv_to_rgb(rng.random(), rng.uniform(0.3, 0.9), rng.uniform(0.45, 0.9))
        mirrored, seed = bool(rng.random() < 0.5), int(rng.integers(2**31))
        return cls(body=body, accent=accent, mirrored=mirrored, seed=seed)


#: State of a thing: how far each of its variables is, in [0, 1].
State = Mapping[str, float]
Build = Callable[[Look, State], Iterator[Part]]


def spots(look: Look, dirt: float, centre: Point, across: Point, up: Point) -> Iterator[Part]:
    """Dirt on a rectangle: as many spots as there is of it, always the same ones first."""
    rng = np.random.default_rng(look.seed)
    for _ in range(round(9 * dirt)):
        a, b = rng.uniform(-1, 1, 2)
        radius = rng.uniform(0.05, 0.1)
        place = np.array(centre) + a * np.array(across) + b * np.array(up)
        yield sphere(radius, point(place), DIRT)


def shards(look: Look, count: int) -> Iterator[Part]:
    """What is left of a thing that is broken, on the floor."""
    rng = np.random.default_rng(look.seed)
    for _ in range(count):
        x, y = rng.uniform(-0.55, 0.55, 2)
        size = point(rng.uniform(0.05, 0.16, 3) * np.array([1, 1, 0.35]))
        yield box(size, (x, y, 0.05), look.body, about(Z, rng.uniform(0, np.pi)))
