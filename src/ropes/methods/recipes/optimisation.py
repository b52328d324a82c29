"""Optimiser settings, and the names of presets."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ropes.errors import UserError
from ropes.methods.recipes.base import renamed

Preset = Literal["compact", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How a stage is optimised.

    Attributes:
        epochs: passes over the stage's training samples.
        min_samples: lower bound on the samples seen, for small training sets.
        batch: samples a step.
        learning_rate: peak learning rate of Adam.
        weight_decay: decoupled weight decay.
        clip: bound on the norm of the gradient; None for none.
        schedule: constant; one cycle (rise over a tenth of the steps, then a cosine down to zero); or halved after
            three and after six eighths of the steps.
    """

    epochs: float
    batch: int
    learning_rate: float
    weight_decay: float = 0.0
    clip: float | None = None
    min_samples: int = renamed("at_least", 0)
    schedule: Literal["constant", "one-cycle", "halved"] = "one-cycle"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UserError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("weight_decay", "min_samples"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UserError(f"{name} must be at least 0, got {getattr(self, name)}")
        if self.clip is not None and not self.clip > 0:
            raise UserError(f"clip must be positive, got {self.clip}; leave it out for no bound")

    def steps(self, samples: int) -> int:
        """Number of optimiser steps for `samples` training samples."""
        return max(1, round(max(self.epochs * samples, self.min_samples) / self.batch))


def require_name(name: str, known: Sequence[str], kind: str) -> None:
    """Check that `name` is one of the `known` names of a kind of thing.

    Raises:
        UserError: it is not; names the one that was meant.
    """
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
        raise UserError(f"unknown {kind} {name!r}: {hint}")
