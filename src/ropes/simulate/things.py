"""Things that can be acted upon: what each looks like in each of its states.

A thing stands on the floor at the origin, about a unit wide, its front towards −y.
"""

from ropes.simulate.furniture import FURNITURE
from ropes.simulate.looks import Look, State
from ropes.simulate.parts import Part
from ropes.simulate.utensils import UTENSILS


def parts_of(noun: str, look: Look, state: State) -> tuple[Part, ...]:
    """What a thing consists of."""
    return tuple((FURNITURE | UTENSILS)[noun](look, state))
