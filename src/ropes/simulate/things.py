"""Things that can be acted upon: what each looks like in each of its states.

A thing stands on the floor at the origin, about a unit wide, its front towards −y.
"""

import colorsys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ropes.simulate.parts import Colour, Part, Point, X, Y, Z, about, box, cylinder, hinged, mixed, moved, point, sphere

#: What an open thing shows inside, an unlit lamp or screen, dirt, and what lights up.
INSIDE, UNLIT, DIRT = (0.06, 0.05, 0.05), (0.16, 0.17, 0.19), (0.3, 0.2, 0.1)
LIT: Mapping[str, Colour] = {"lamp": (1.0, 0.93, 0.5), "burner": (1.0, 0.35, 0.1), "screen": (0.75, 0.93, 1.0)}
_STEEL = (0.62, 0.64, 0.67)


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


def parts_of(noun: str, look: Look, state: State) -> tuple[Part, ...]:
    """What a thing consists of."""
    return tuple(_BUILDERS[noun](look, state))


def _spots(look: Look, dirt: float, centre: Point, across: Point, up: Point) -> Iterator[Part]:
    """Dirt on a rectangle: as many spots as there is of it, always the same ones first."""
    rng = np.random.default_rng(look.seed)
    for _ in range(round(9 * dirt)):
        a, b = rng.uniform(-1, 1, 2)
        radius = rng.uniform(0.05, 0.1)
        place = np.array(centre) + a * np.array(across) + b * np.array(up)
        yield sphere(radius, point(place), DIRT)


def _drawer(look: Look, state: State) -> Iterator[Part]:
    out = 0.55 * state["opened"]
    yield box((0.5, 0.35, 0.06), (0, 0, 0.06), look.body)
    yield box((0.5, 0.35, 0.06), (0, 0, 0.74), look.body)
    for side in (-1, 1):
        yield box((0.05, 0.35, 0.4), (0.45 * side, 0, 0.4), look.body)
    yield box((0.4, 0.33, 0.28), (0, 0.02, 0.4), INSIDE)
    yield box((0.41, 0.32, 0.2), (0, -0.04 - out, 0.36), look.accent)
    yield box((0.36, 0.28, 0.01), (0, -0.04 - out, 0.565), INSIDE)
    yield box((0.43, 0.025, 0.3), (0, -0.37 - out, 0.4), look.accent)
    yield box((0.12, 0.02, 0.025), (0, -0.42 - out, 0.45), _STEEL)


def _cabinet(look: Look, state: State) -> Iterator[Part]:
    side = -1 if look.mirrored else 1
    yield box((0.45, 0.3, 0.5), (0, 0, 0.5), look.body)
    yield box((0.4, 0.01, 0.44), (0, -0.3, 0.5), INSIDE)
    turn = about(Z, side * 1.9 * state["opened"])
    yield hinged((0.42, 0.02, 0.46), (0.42 * side, -0.33, 0.5), (-0.42 * side, 0, 0), look.accent, turn)
    knob = np.array([0.42 * side, -0.33, 0.5]) + turn @ np.array([-0.74 * side, -0.05, 0])
    yield sphere(0.04, point(knob), _STEEL)
    yield from _spots(look, state["dirt"], (0, 0, 1.0), (0.38, 0, 0), (0, 0.22, 0))


def _window(look: Look, state: State) -> Iterator[Part]:
    side = -1 if look.mirrored else 1
    yield box((0.55, 0.06, 0.45), (0, 0.08, 0.5), look.body)
    yield box((0.47, 0.01, 0.37), (0, 0.01, 0.5), INSIDE)
    slid = 0.5 * state["opened"]
    yield box((0.24, 0.015, 0.37), (-0.24 * side, -0.01, 0.5), look.accent)
    yield box((0.24, 0.015, 0.37), (0.24 * side - slid * side, -0.05, 0.5), look.accent)
    yield box((0.02, 0.015, 0.08), ((0.08 - slid) * side, -0.075, 0.5), _STEEL)
    yield from _spots(look, state["dirt"], (-0.24 * side, -0.07, 0.5), (0.19, 0, 0), (0, 0, 0.3))


def _chest(look: Look, state: State) -> Iterator[Part]:
    yield box((0.48, 0.32, 0.22), (0, 0, 0.22), look.body)
    yield box((0.43, 0.27, 0.01), (0, 0, 0.44), INSIDE)
    turn = about(X, -1.8 * state["opened"])
    yield hinged((0.5, 0.34, 0.04), (0, 0.33, 0.48), (0, -0.33, 0), look.accent, turn)


def _laptop(look: Look, state: State) -> Iterator[Part]:
    yield box((0.5, 0.35, 0.03), (0, 0, 0.03), look.body)
    yield box((0.43, 0.16, 0.005), (0, 0.1, 0.065), INSIDE)
    turn = about(X, -1.85 * state["opened"])
    hinge = (0, 0.35, 0.09)
    yield hinged((0.5, 0.35, 0.02), hinge, (0, -0.35, 0), look.body, turn)
    screen = mixed(UNLIT, LIT["screen"], state["lit"])
    yield hinged((0.45, 0.3, 0.005), hinge, (0, -0.35, -0.026), screen, turn)


def _lamp(look: Look, state: State) -> Iterator[Part]:
    yield cylinder(0.25, 0.03, (0, 0, 0.03), look.accent)
    yield cylinder(0.035, 0.4, (0, 0, 0.43), _STEEL)
    yield sphere(0.3, (0, 0, 0.95), mixed(UNLIT, LIT["lamp"], state["lit"]))


def _burner(look: Look, state: State) -> Iterator[Part]:
    yield box((0.5, 0.45, 0.12), (0, 0, 0.12), look.body)
    yield cylinder(0.3, 0.02, (0, 0.02, 0.26), mixed(UNLIT, LIT["burner"], state["lit"]))
    yield cylinder(0.14, 0.025, (0, 0.02, 0.27), mixed(UNLIT, LIT["burner"], state["lit"]))
    yield cylinder(0.05, 0.03, (0.3, -0.46, 0.12), _STEEL, about(X, np.pi / 2))
    yield from _spots(look, state["dirt"], (0, -0.46, 0.12), (0.42, 0, 0), (0, 0, 0.08))
    yield from _spots(look, state["dirt"], (0, -0.38, 0.25), (0.42, 0, 0), (0, 0.03, 0))


def _monitor(look: Look, state: State) -> Iterator[Part]:
    yield box((0.25, 0.18, 0.025), (0, 0, 0.025), look.accent)
    yield box((0.04, 0.03, 0.2), (0, 0.03, 0.2), look.accent)
    yield box((0.6, 0.04, 0.38), (0, 0, 0.7), look.body)
    yield box((0.54, 0.01, 0.32), (0, -0.045, 0.7), mixed(UNLIT, LIT["screen"], state["lit"]))
    yield from _spots(look, state["dirt"], (0, -0.07, 0.7), (0.45, 0, 0), (0, 0, 0.25))


def _lever(look: Look, state: State) -> Iterator[Part]:
    yield box((0.3, 0.4, 0.1), (0, 0, 0.1), look.body)
    turn = about(X, 0.85 - 1.7 * state["far"])
    yield cylinder(0.05, 0.4, point(np.array([0, 0, 0.2]) + turn @ np.array([0, 0, 0.4])), _STEEL, turn)
    yield sphere(0.13, point(np.array([0, 0, 0.2]) + turn @ np.array([0, 0, 0.85])), look.accent)


def _slider(look: Look, state: State) -> Iterator[Part]:
    yield box((0.2, 0.65, 0.06), (0, 0, 0.06), look.body)
    yield box((0.05, 0.6, 0.01), (0, 0, 0.125), INSIDE)
    yield box((0.24, 0.09, 0.12), (0, -0.5 + state["far"], 0.24), look.accent)


def _block(look: Look, state: State) -> Iterator[Part]:
    yield box((0.75, 0.03, 0.01), (0, -0.05, 0.01), look.body)
    yield box((0.26, 0.22, 0.24), (0, -0.55 + 1.1 * state["far"], 0.25), look.accent)


def _button(look: Look, state: State) -> Iterator[Part]:
    yield box((0.4, 0.4, 0.15), (0, 0, 0.15), look.body)
    yield cylinder(0.25, 0.14, (0, 0, 0.42 - 0.24 * state["pressed"]), look.accent)


def _bell(look: Look, state: State) -> Iterator[Part]:
    yield cylinder(0.42, 0.05, (0, 0, 0.05), look.body)
    yield sphere(0.32, (0, 0, 0.12), _STEEL)
    yield cylinder(0.1, 0.16, (0, 0, 0.56 - 0.24 * state["pressed"]), look.accent)


def _pedal(look: Look, state: State) -> Iterator[Part]:
    yield box((0.35, 0.45, 0.05), (0, 0, 0.05), look.body)
    turn = about(X, 0.75 * (state["pressed"] - 1))
    yield hinged((0.3, 0.4, 0.04), (0, 0.4, 0.16), (0, -0.4, 0), look.accent, turn)


def _cut(look: Look, state: State, half: float, radius: float, inside: Colour) -> Iterator[Part]:
    """A loaf along x in two pieces, that are one where it is not sliced."""
    along = about(Y, np.pi / 2)
    apart = 0.28 * state["sliced"]
    for side in (-1, 1):
        piece = (side * (half / 2 + apart), 0, radius)
        yield cylinder(radius, half / 2, piece, look.accent, along)
        face = (side * (apart + 0.002), 0, radius)
        yield cylinder(0.88 * radius, 0.004, face, inside, along)


def _bread(look: Look, state: State) -> Iterator[Part]:
    yield box((0.7, 0.4, 0.02), (0, 0, 0.02), look.body)
    yield from (moved(part, (0, 0, 0.04), 0, 1) for part in _cut(look, state, 0.45, 0.26, (0.97, 0.9, 0.7)))


def _cucumber(look: Look, state: State) -> Iterator[Part]:
    yield from _cut(look, state, 0.55, 0.16, (0.85, 0.95, 0.7))


def _melon(look: Look, state: State) -> Iterator[Part]:
    yield from _cut(look, state, 0.5, 0.36, (0.95, 0.25, 0.3))


def _shards(look: Look, count: int) -> Iterator[Part]:
    """What is left of a thing that is broken, on the floor."""
    rng = np.random.default_rng(look.seed)
    for _ in range(count):
        x, y = rng.uniform(-0.55, 0.55, 2)
        size = point(rng.uniform(0.05, 0.16, 3) * np.array([1, 1, 0.35]))
        yield box(size, (x, y, 0.05), look.body, about(Z, rng.uniform(0, np.pi)))


def _vase(look: Look, state: State) -> Iterator[Part]:
    if state["broken"] > 0.5:
        yield from _shards(look, 12)
        return
    yield cylinder(0.16, 0.06, (0, 0, 0.06), look.body)
    yield sphere(0.3, (0, 0, 0.38), look.body)
    yield cylinder(0.13, 0.2, (0, 0, 0.8), look.body)
    yield cylinder(0.18, 0.03, (0, 0, 1.0), look.accent)


def _plate(look: Look, state: State) -> Iterator[Part]:
    if state["broken"] > 0.5:
        yield from _shards(look, 10)
        return
    yield cylinder(0.5, 0.03, (0, 0, 0.03), look.body)
    yield cylinder(0.36, 0.01, (0, 0, 0.065), look.accent)
    yield from _spots(look, state["dirt"], (0, 0, 0.05), (0.27, 0, 0), (0, 0.27, 0))


def _mug(look: Look, state: State) -> Iterator[Part]:
    if state["broken"] > 0.5:
        yield from _shards(look, 10)
        return
    yield cylinder(0.3, 0.35, (0, 0, 0.35), look.body)
    yield cylinder(0.25, 0.01, (0, 0, 0.7), INSIDE)
    side = -1 if look.mirrored else 1
    yield box((0.12, 0.04, 0.04), (0.38 * side, 0, 0.5), look.accent)
    yield box((0.12, 0.04, 0.04), (0.38 * side, 0, 0.2), look.accent)
    yield box((0.03, 0.04, 0.19), (0.47 * side, 0, 0.35), look.accent)
    yield from _spots(look, state["dirt"], (0, -0.29, 0.35), (0.12, 0, 0), (0, 0, 0.28))


_BUILDERS: Mapping[str, Build] = {
    "bell": _bell,
    "block": _block,
    "bread": _bread,
    "burner": _burner,
    "button": _button,
    "cabinet": _cabinet,
    "chest": _chest,
    "cucumber": _cucumber,
    "drawer": _drawer,
    "lamp": _lamp,
    "laptop": _laptop,
    "lever": _lever,
    "melon": _melon,
    "monitor": _monitor,
    "mug": _mug,
    "pedal": _pedal,
    "plate": _plate,
    "slider": _slider,
    "vase": _vase,
    "window": _window,
}
