"""The objects of `action-pairs` and their shape in each state.

An object stands on the floor at the origin, is about one unit wide and faces −y.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import product

import numpy as np

from ropes.simulation.actions import VARIABLES
from ropes.simulation.appearance import Appearance, Build, State
from ropes.simulation.articulated_objects import ARTICULATED_OR_SWITCHABLE
from ropes.simulation.manipulable_objects import MANIPULABLE
from ropes.simulation.parts import Part

#: Noun of `ropes.simulation.actions.THINGS` → function that builds the parts of the object.
BUILDERS: Mapping[str, Build] = {**ARTICULATED_OR_SWITCHABLE, **MANIPULABLE}
#: Appearances and states of each object that enter the digest.
_DRAWN = 20


def parts_of(noun: str, look: Appearance, state: State) -> tuple[Part, ...]:
    """The parts of an object."""
    return tuple(BUILDERS[noun](look, state))


def objects_digest() -> str:
    """SHA-256 of the parts of every object, in appearances and states drawn from a fixed seed."""
    rng = np.random.default_rng(0)
    shapes: list[object] = []
    for noun, _ in product(sorted(BUILDERS), range(_DRAWN)):
        look, state = Appearance.sample(rng), {name: float(rng.random()) for name in VARIABLES}
        shapes.append([noun, *map(_numbers, parts_of(noun, look, state))])
    return sha256(json.dumps(shapes).encode()).hexdigest()


def _numbers(part: Part) -> list[str | list[float]]:
    """A part as numbers, rounded so that all processors agree."""
    turn = np.eye(3) if part.turn is None else part.turn
    values = np.concatenate([part.size, part.place, part.colour, turn.ravel()])
    return [part.shape, (np.round(values, 6) + 0.0).tolist()]
