"""Shapes of the articulated and switchable objects: those that open or light up."""

from collections.abc import Iterator, Mapping

import numpy as np

from ropes.simulation.appearance import GLOW, INSIDE, LAMP, SCREEN, STEEL, UNLIT, Appearance, Build, State, spots
from ropes.simulation.parts import Part, X, Y, Z, about, attached, blend, box, cylinder, hinged, point, sphere

_PAPER = (0.95, 0.93, 0.88)


def _drawer(look: Appearance, state: State) -> Iterator[Part]:
    out = 0.55 * state["opened"]
    yield box((0.5, 0.35, 0.06), (0, 0, 0.06), look.body)
    yield box((0.5, 0.35, 0.06), (0, 0, 0.74), look.body)
    for side in (-1, 1):
        yield box((0.05, 0.35, 0.4), (0.45 * side, 0, 0.4), look.body)
    yield box((0.4, 0.33, 0.28), (0, 0.02, 0.4), INSIDE)
    yield box((0.41, 0.32, 0.2), (0, -0.04 - out, 0.36), look.accent)
    yield box((0.36, 0.28, 0.01), (0, -0.04 - out, 0.565), INSIDE)
    yield box((0.43, 0.025, 0.3), (0, -0.37 - out, 0.4), look.accent)
    yield box((0.12, 0.02, 0.025), (0, -0.42 - out, 0.45), STEEL)


def _cabinet(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.45, 0.3, 0.5), (0, 0, 0.5), look.body)
    yield box((0.4, 0.01, 0.44), (0, -0.3, 0.5), INSIDE)
    turn = about(Z, look.side * 1.9 * state["opened"])
    yield hinged((0.42, 0.02, 0.46), (0.42 * look.side, -0.33, 0.5), (-0.42 * look.side, 0, 0), look.accent, turn)
    yield sphere(0.04, attached((0.42 * look.side, -0.33, 0.5), (-0.74 * look.side, -0.05, 0), turn), STEEL)
    yield from spots(look, state["dirt"], (0, 0, 1.0), (0.38, 0, 0), (0, 0.22, 0))


def _window(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.55, 0.06, 0.45), (0, 0.08, 0.5), look.body)
    yield box((0.47, 0.01, 0.37), (0, 0.01, 0.5), INSIDE)
    slid = 0.5 * state["opened"]
    yield box((0.24, 0.015, 0.37), (-0.24 * look.side, -0.01, 0.5), look.accent)
    yield box((0.24, 0.015, 0.37), (0.24 * look.side - slid * look.side, -0.05, 0.5), look.accent)
    yield box((0.02, 0.015, 0.08), ((0.08 - slid) * look.side, -0.075, 0.5), STEEL)
    yield from spots(look, state["dirt"], (-0.24 * look.side, -0.07, 0.5), (0.19, 0, 0), (0, 0, 0.3))


def _chest(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.48, 0.32, 0.22), (0, 0, 0.22), look.body)
    yield box((0.43, 0.27, 0.01), (0, 0, 0.44), INSIDE)
    turn = about(X, -1.8 * state["opened"])
    yield hinged((0.5, 0.34, 0.04), (0, 0.33, 0.48), (0, -0.33, 0), look.accent, turn)


def _laptop(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.5, 0.35, 0.03), (0, 0, 0.03), look.body)
    yield box((0.43, 0.16, 0.005), (0, 0.1, 0.065), INSIDE)
    turn = about(X, -1.85 * state["opened"])
    hinge = (0, 0.35, 0.09)
    yield hinged((0.5, 0.35, 0.02), hinge, (0, -0.35, 0), look.body, turn)
    screen = blend(UNLIT, SCREEN, state["lit"])
    yield hinged((0.45, 0.3, 0.005), hinge, (0, -0.35, -0.026), screen, turn)


def _lamp(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.25, 0.03, (0, 0, 0.03), look.accent)
    yield cylinder(0.035, 0.4, (0, 0, 0.43), STEEL)
    yield sphere(0.3, (0, 0, 0.95), blend(UNLIT, LAMP, state["lit"]))


def _burner(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.5, 0.45, 0.12), (0, 0, 0.12), look.body)
    yield cylinder(0.3, 0.02, (0, 0.02, 0.26), blend(UNLIT, GLOW, state["lit"]))
    yield cylinder(0.14, 0.025, (0, 0.02, 0.27), blend(UNLIT, GLOW, state["lit"]))
    yield cylinder(0.05, 0.03, (0.3, -0.46, 0.12), STEEL, about(X, np.pi / 2))
    yield from spots(look, state["dirt"], (0, -0.46, 0.12), (0.42, 0, 0), (0, 0, 0.08))
    yield from spots(look, state["dirt"], (0, -0.38, 0.25), (0.42, 0, 0), (0, 0.03, 0))


def _monitor(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.25, 0.18, 0.025), (0, 0, 0.025), look.accent)
    yield box((0.04, 0.03, 0.2), (0, 0.03, 0.2), look.accent)
    yield box((0.6, 0.04, 0.38), (0, 0, 0.7), look.body)
    yield box((0.54, 0.01, 0.32), (0, -0.045, 0.7), blend(UNLIT, SCREEN, state["lit"]))
    yield from spots(look, state["dirt"], (0, -0.07, 0.7), (0.45, 0, 0), (0, 0, 0.25))


def _door(look: Appearance, state: State) -> Iterator[Part]:
    for place in (-0.42, 0.42):
        yield box((0.05, 0.06, 0.54), (place, 0, 0.54), look.body)
    yield box((0.47, 0.06, 0.05), (0, 0, 1.1), look.body)
    yield box((0.37, 0.01, 0.51), (0, 0.05, 0.53), INSIDE)
    turn = about(Z, look.side * 1.9 * state["opened"])
    yield hinged((0.37, 0.025, 0.51), (0.37 * look.side, -0.04, 0.53), (-0.37 * look.side, 0, 0), look.accent, turn)
    yield sphere(0.04, attached((0.37 * look.side, -0.04, 0.53), (-0.65 * look.side, -0.05, 0), turn), STEEL)


def _suitcase(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.5, 0.3, 0.1), (0, 0, 0.1), look.body)
    yield box((0.46, 0.26, 0.005), (0, 0, 0.2), INSIDE)
    turn = about(X, -1.9 * state["opened"])
    yield hinged((0.5, 0.3, 0.1), (0, 0.3, 0.21), (0, -0.3, 0.1), look.body, turn)
    yield hinged((0.12, 0.02, 0.03), (0, 0.3, 0.21), (0, -0.63, 0.08), look.accent, turn)


def _bin(look: Appearance, state: State) -> Iterator[Part]:
    yield cylinder(0.34, 0.32, (0, 0, 0.32), look.body)
    yield cylinder(0.29, 0.01, (0, 0, 0.64), INSIDE)
    turn = about(X, -1.4 * state["opened"])
    yield cylinder(0.36, 0.035, attached((0, 0.34, 0.68), (0, -0.34, 0), turn), look.accent, turn)


def _book(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.3, 0.4, 0.05), (0.3 * look.side, 0, 0.05), look.body)
    yield box((0.28, 0.37, 0.01), (0.3 * look.side, 0, 0.105), _PAPER)
    turn = about(Y, look.side * 3.0 * state["opened"])
    yield hinged((0.3, 0.4, 0.03), (0, 0, 0.12), (0.3 * look.side, 0, 0.03), look.accent, turn.T)
    yield hinged((0.28, 0.37, 0.005), (0, 0, 0.12), (0.3 * look.side, 0, -0.006), _PAPER, turn.T)


def _oven(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.48, 0.38, 0.5), (0, 0.05, 0.5), look.body)
    yield box((0.4, 0.01, 0.3), (0, -0.335, 0.42), blend(INSIDE, GLOW, state["lit"]))
    for place in (-0.3, 0, 0.3):
        yield cylinder(0.05, 0.03, (place, -0.35, 0.87), STEEL, about(X, np.pi / 2))
    turn = about(X, 1.5 * state["opened"])
    hinge = (0, -0.36, 0.1)
    yield hinged((0.43, 0.02, 0.33), hinge, (0, 0, 0.33), look.accent, turn)
    yield hinged((0.3, 0.005, 0.18), hinge, (0, -0.024, 0.3), blend(UNLIT, GLOW, state["lit"]), turn)


def _television(look: Appearance, state: State) -> Iterator[Part]:
    for place in (-0.4, 0.4):
        yield box((0.04, 0.16, 0.06), (place, 0, 0.06), look.accent)
    yield box((0.68, 0.05, 0.4), (0, 0, 0.52), look.body)
    yield box((0.62, 0.01, 0.34), (0, -0.055, 0.52), blend(UNLIT, SCREEN, state["lit"]))
    yield from spots(look, state["dirt"], (0, -0.08, 0.52), (0.52, 0, 0), (0, 0, 0.28))


def _torch(look: Appearance, state: State) -> Iterator[Part]:
    along = about(X, np.pi / 2)
    yield cylinder(0.13, 0.4, (0, 0.2, 0.26), look.body, along)
    yield cylinder(0.25, 0.1, (0, -0.28, 0.26), look.accent, along)
    yield cylinder(0.22, 0.01, (0, -0.39, 0.26), blend(UNLIT, LAMP, state["lit"]), along)
    yield box((0.04, 0.08, 0.02), (0, 0.1, 0.4), STEEL)


def _lantern(look: Appearance, state: State) -> Iterator[Part]:
    yield box((0.32, 0.32, 0.06), (0, 0, 0.06), look.body)
    yield cylinder(0.22, 0.3, (0, 0, 0.42), blend(UNLIT, LAMP, state["lit"]))
    for x, y in ((-0.27, -0.27), (-0.27, 0.27), (0.27, -0.27), (0.27, 0.27)):
        yield box((0.03, 0.03, 0.32), (x, y, 0.42), look.accent)
    yield box((0.32, 0.32, 0.05), (0, 0, 0.77), look.body)
    yield cylinder(0.12, 0.06, (0, 0, 0.88), STEEL)


def _phone(look: Appearance, state: State) -> Iterator[Part]:
    lean = about(X, -0.35)
    yield box((0.3, 0.2, 0.04), (0, 0.05, 0.04), look.accent)
    yield box((0.36, 0.03, 0.55), (0, 0.05, 0.58), look.body, lean)
    front = attached((0, 0.05, 0.58), (0, -0.035, 0), lean)
    yield box((0.31, 0.01, 0.46), front, blend(UNLIT, SCREEN, state["lit"]), lean)
    up = point(lean @ np.array([0, 0, 0.38]))
    yield from spots(look, state["dirt"], attached(front, (0, -0.02, 0), lean), (0.24, 0, 0), up)


ARTICULATED_OR_SWITCHABLE: Mapping[str, Build] = {
    "bin": _bin,
    "book": _book,
    "burner": _burner,
    "cabinet": _cabinet,
    "chest": _chest,
    "door": _door,
    "drawer": _drawer,
    "lamp": _lamp,
    "lantern": _lantern,
    "laptop": _laptop,
    "monitor": _monitor,
    "oven": _oven,
    "phone": _phone,
    "suitcase": _suitcase,
    "television": _television,
    "torch": _torch,
    "window": _window,
}
