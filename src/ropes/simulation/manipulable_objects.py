"""Shapes of the manipulable objects: those that can be pushed, pressed, sliced or broken."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from ropes.simulation.appearance import INSIDE, STEEL, Appearance, Build, State, shards, spots
from ropes.simulation.parts import Colour, Part, X, Y, about, attached, box, cylinder, hinged, sphere, transform


def _lever(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.3, 0.4, 0.1), (0, 0, 0.1), look.body)
    turn = about(X, 0.85 - 1.7 * state["far"])
    yield cylinder(0.05, 0.4, attached((0, 0, 0.2), (0, 0, 0.4), turn), STEEL, turn)
    yield sphere(0.13, attached((0, 0, 0.2), (0, 0, 0.85), turn), look.accent)


def _slider(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.2, 0.65, 0.06), (0, 0, 0.06), look.body)
    yield box((0.05, 0.6, 0.01), (0, 0, 0.125), INSIDE)
    yield box((0.24, 0.09, 0.12), (0, -0.5 + state["far"], 0.24), look.accent)


def _block(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.75, 0.03, 0.01), (0, -0.05, 0.01), look.body)
    yield box((0.26, 0.22, 0.24), (0, -0.55 + 1.1 * state["far"], 0.25), look.accent)


def _button(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.4, 0.4, 0.15), (0, 0, 0.15), look.body)
    yield cylinder(0.25, 0.14, (0, 0, 0.42 - 0.24 * state["pressed"]), look.accent)


def _bell(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.42, 0.05, (0, 0, 0.05), look.body)
    yield sphere(0.32, (0, 0, 0.12), STEEL)
    yield cylinder(0.1, 0.16, (0, 0, 0.56 - 0.24 * state["pressed"]), look.accent)


def _pedal(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.35, 0.45, 0.05), (0, 0, 0.05), look.body)
    turn = about(X, 0.75 * (state["pressed"] - 1))
    yield hinged((0.3, 0.4, 0.04), (0, 0.4, 0.16), (0, -0.4, 0), look.accent, turn)


def _loaf(look: Appearance, state: State, half: float, radius: float, inside: Colour) -> Iterator[Part]:
    """A loaf along x in two halves; unsliced, the halves touch."""
    along = about(Y, np.pi / 2)
    apart = 0.28 * state["sliced"]
    for side in (-1, 1):
        piece = (side * (half / 2 + apart), 0, radius)
        yield cylinder(radius, half / 2, piece, look.accent, along)
        face = (side * (apart + 0.002), 0, radius)
        yield cylinder(0.88 * radius, 0.004, face, inside, along)


def _bread(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.7, 0.4, 0.02), (0, 0, 0.02), look.body)
    yield from (transform(part, (0, 0, 0.04), 0, 1) for part in _loaf(look, state, 0.45, 0.26, (0.97, 0.9, 0.7)))


def _breakable(whole: Build, pieces: int) -> Build:
    """An object that is whole, or broken into this number of pieces."""

    def build(look: Appearance, state: State) -> Iterator[Part]:
        return shards(look, pieces) if state["broken"] > 0.5 else whole(look, state)

    return build


def _vase(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.16, 0.06, (0, 0, 0.06), look.body)
    yield sphere(0.3, (0, 0, 0.38), look.body)
    yield cylinder(0.13, 0.2, (0, 0, 0.8), look.body)
    yield cylinder(0.18, 0.03, (0, 0, 1.0), look.accent)


def _plate(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.5, 0.03, (0, 0, 0.03), look.body)
    yield cylinder(0.36, 0.01, (0, 0, 0.065), look.accent)
    yield from spots(look, state["dirt"], (0, 0, 0.05), (0.27, 0, 0), (0, 0.27, 0))


def _mug(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.3, 0.35, (0, 0, 0.35), look.body)
    yield cylinder(0.25, 0.01, (0, 0, 0.7), INSIDE)
    yield box((0.12, 0.04, 0.04), (0.38 * look.side, 0, 0.5), look.accent)
    yield box((0.12, 0.04, 0.04), (0.38 * look.side, 0, 0.2), look.accent)
    yield box((0.03, 0.04, 0.19), (0.47 * look.side, 0, 0.35), look.accent)
    yield from spots(look, state["dirt"], (0, -0.29, 0.35), (0.12, 0, 0), (0, 0, 0.28))


def _cart(look: Appearance, state: State) -> Iterator[Part]:
    along = -0.5 + 1.0 * state["far"]
    yield box((0.32, 0.28, 0.18), (0, along, 0.4), look.body)
    yield box((0.28, 0.24, 0.01), (0, along, 0.575), INSIDE)
    for x, y in ((-0.34, -0.2), (-0.34, 0.2), (0.34, -0.2), (0.34, 0.2)):
        yield cylinder(0.12, 0.03, (x, along + y, 0.12), look.accent, about(Y, np.pi / 2))


def _car(look: Appearance, state: State) -> Iterator[Part]:
    along = -0.45 + 0.9 * state["far"]
    yield box((0.24, 0.42, 0.11), (0, along, 0.21), look.body)
    yield box((0.2, 0.2, 0.1), (0, along + 0.05, 0.42), look.accent)
    for x, y in ((-0.24, -0.26), (-0.24, 0.26), (0.24, -0.26), (0.24, 0.26)):
        yield cylinder(0.11, 0.04, (x, along + y, 0.11), INSIDE, about(Y, np.pi / 2))


def _chair(look: Appearance, state: State) -> Iterator[Part]:
    along = -0.45 + 0.9 * state["far"]
    for x, y in ((-0.25, -0.22), (-0.25, 0.22), (0.25, -0.22), (0.25, 0.22)):
        yield box((0.035, 0.035, 0.22), (x, along + y, 0.22), look.accent)
    yield box((0.3, 0.28, 0.04), (0, along, 0.47), look.body)
    yield box((0.3, 0.035, 0.3), (0, along + 0.25, 0.8), look.body)


def _toaster(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.48, 0.28, 0.34), (0, 0, 0.34), look.body)
    for y in (-0.12, 0.12):
        yield box((0.36, 0.05, 0.01), (0, y, 0.68), INSIDE)
    yield box((0.03, 0.01, 0.24), (0, -0.285, 0.36), INSIDE)
    yield box((0.14, 0.07, 0.05), (0, -0.35, 0.55 - 0.36 * state["pressed"]), look.accent)


def _pump(look: Appearance, state: State) -> Iterator[Part]:
    top = 0.95 - 0.22 * state["pressed"]
    yield cylinder(0.28, 0.32, (0, 0, 0.32), look.body)
    yield cylinder(0.05, 0.16, (0, 0, top - 0.17), STEEL)
    yield cylinder(0.12, 0.05, (0, 0, top), look.accent)
    yield box((0.04, 0.14, 0.035), (0, -0.2, top), look.accent)


def _stamp(look: Appearance, state: State) -> Iterator[Part]:
    low = 0.24 * (1 - state["pressed"])
    yield box((0.5, 0.4, 0.03), (0, 0, 0.03), look.body)
    yield box((0.26, 0.2, 0.06), (0, 0, 0.12 + low), INSIDE)
    yield cylinder(0.08, 0.16, (0, 0, 0.34 + low), look.accent)
    yield sphere(0.14, (0, 0, 0.54 + low), look.accent)


def _carrot(look: Appearance, state: State) -> Iterator[Part]:
    yield from _loaf(look, state, 0.5, 0.11, (1.0, 0.6, 0.2))
    yield sphere(0.09, (-0.56 - 0.28 * state["sliced"], 0, 0.11), (0.3, 0.6, 0.25))


def _cheese(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.62, 0.02, (0, 0, 0.02), look.body)
    apart = 0.24 * state["sliced"]
    for side in (-1, 1):
        yield box((0.2, 0.3, 0.2), (side * (0.2 + apart), 0, 0.24), look.accent)
        yield box((0.004, 0.27, 0.17), (side * (apart + 0.002), 0, 0.24), (1.0, 0.9, 0.5))


def _bowl(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.25, 0.05, (0, 0, 0.05), look.body)
    yield cylinder(0.5, 0.14, (0, 0, 0.24), look.body)
    yield cylinder(0.44, 0.01, (0, 0, 0.38), look.accent)
    yield from spots(look, state["dirt"], (0, 0, 0.4), (0.31, 0, 0), (0, 0.31, 0))


def _glass(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.26, 0.02, (0, 0, 0.02), look.body)
    yield cylinder(0.035, 0.22, (0, 0, 0.26), look.body)
    yield cylinder(0.24, 0.22, (0, 0, 0.68), look.body)
    yield cylinder(0.2, 0.01, (0, 0, 0.9), look.accent)


def _bottle(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.24, 0.36, (0, 0, 0.36), look.body)
    yield sphere(0.24, (0, 0, 0.72), look.body)
    yield cylinder(0.08, 0.16, (0, 0, 1.0), look.body)
    yield cylinder(0.1, 0.04, (0, 0, 1.16), look.accent)


MANIPULABLE: Mapping[str, Build] = {
    "bell": _bell,
    "block": _block,
    "bottle": _breakable(_bottle, 13),
    "bowl": _breakable(_bowl, 11),
    "bread": _bread,
    "button": _button,
    "car": _car,
    "carrot": _carrot,
    "cart": _cart,
    "chair": _chair,
    "cheese": _cheese,
    "cucumber": partial(_loaf, half=0.55, radius=0.16, inside=(0.85, 0.95, 0.7)),
    "glass": _breakable(_glass, 9),
    "lever": _lever,
    "melon": partial(_loaf, half=0.5, radius=0.36, inside=(0.95, 0.25, 0.3)),
    "mug": _breakable(_mug, 10),
    "pedal": _pedal,
    "plate": _breakable(_plate, 10),
    "pump": _pump,
    "slider": _slider,
    "stamp": _stamp,
    "toaster": _toaster,
    "vase": _breakable(_vase, 12),
}
