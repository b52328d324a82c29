"""Effects of a joint on another that are not linear."""

from collections.abc import Callable, Collection, Mapping
from typing import Literal, get_args

import numpy as np

from ropes.common.arrays import Floats

#: Name of a function of the cause's angle, radians.
Effect = Literal["sin", "tanh"]
EFFECTS: dict[Effect, Callable[[Floats], Floats]] = {"sin": np.sin, "tanh": np.tanh}


def require_effects(effects: Mapping[tuple[str, str], Effect], weighted: Collection[tuple[str, str]]) -> None:
    """Check the effects of a model.

    Args:
        effects: (parent, child) → its effect.
        weighted: the pairs with a weight.

    Raises:
        ValueError: an unknown effect, or one of a pair without a weight.
    """
    if unweighted := set(effects) - set(weighted):
        raise ValueError(f"no weight for the effects {sorted(unweighted)}")
    if other := set(effects.values()) - set(EFFECTS):
        raise ValueError(f"no such effects: {sorted(other)}; there are {', '.join(get_args(Effect))}")
