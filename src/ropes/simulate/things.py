"""Things that can be acted upon: what each looks like in each of its states.

A thing stands on the floor at the origin, about a unit wide, its front towards −y.
"""

from collections.abc import Mapping

from ropes.simulate.handled import HANDLED
from ropes.simulate.looks import Build, Look, State
from ropes.simulate.opened_or_lit import OPENED_OR_LIT
from ropes.simulate.parts import Part

_BUILDERS: Mapping[str, Build] = {**OPENED_OR_LIT, **HANDLED}


def parts_of(noun: str, look: Look, state: State) -> tuple[Part, ...]:
    """What a thing consists of."""
    return tuple(_BUILDERS[noun](look, state))
