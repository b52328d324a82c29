"""The objects of `action-pairs`, and their shape in each state.

A thing stands on the floor at the origin, about a unit wide, its front towards −y.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import product

import numpy as np

from ropes.simulation.actions import VARIABLES
from ropes.simulation.appearance import Build, Look, State
from ropes.simulation.articulated_objects import OPENED_OR_LIT
from ropes.simulation.manipulable_objects import HANDLED
from ropes.simulation.parts import Part

_BUILDERS: Mapping[str, Build] = {**OPENED_OR_LIT, **HANDLED}
#: Looks, each in a state, that a digest asks of each thing.
_DRAWN = 20


def parts_of(noun: str, look: Look, state: State) -> tuple[Part, ...]:
    """What a thing consists of."""
    return tuple(_BUILDERS[noun](look, state))


def things_digest() -> str:
    """SHA-256 of what every thing consists of, in some states and looks drawn by a fixed seed."""
    rng = np.random.default_rng(0)
    seen: list[object] = []
    for noun, _ in product(sorted(_BUILDERS), range(_DRAWN)):
        look, state = Look.drawn(rng), {name: float(rng.random()) for name in VARIABLES}
        seen.append([noun, *map(_described, parts_of(noun, look, state))])
    return sha256(json.dumps(seen).encode()).hexdigest()


def _described(part: Part) -> list[str | list[float]]:
    """A part in figures, rounded so that processors agree on them."""
    turn = np.eye(3) if part.turn is None else part.turn
    figures = np.concatenate([part.size, part.place, part.colour, turn.ravel()])
    return [part.shape, (np.round(figures, 6) + 0.0).tolist()]
