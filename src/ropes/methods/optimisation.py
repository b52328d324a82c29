"""Optimiser settings, preset names, and checks of a recipe's values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ropes.errors import UserError
from ropes.methods.recipe import renamed

Preset = Literal["compact", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
Range = Literal["positive", "at least 0", "between 0 and 1", "above 0 and below 1", "above 0 and at most 1"]
_RANGES: Mapping[Range, Callable[[float], bool]] = {
    "positive": lambda value: 0 < value < math.inf,
    "at least 0": lambda value: 0 <= value < math.inf,
    "between 0 and 1": lambda value: 0 <= value <= 1,
    "above 0 and below 1": lambda value: 0 < value < 1,
    "above 0 and at most 1": lambda value: 0 < value <= 1,
}


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """Optimiser settings of a training stage.

    Attributes:
        epochs: passes over the training samples of this stage.
        min_samples: train on at least this many samples, whatever epochs gives; for small training sets.
        batch: batch size, in samples.
        learning_rate: peak learning rate of AdamW.
        weight_decay: decoupled weight decay.
        clip: gradient norm clipping; None for none.
        schedule: learning rate schedule: constant; one-cycle (warm-up over a tenth of the steps, then decay to zero);
            or halved after 3/8 and after 6/8 of the steps.
    """

    epochs: float
    batch: int
    learning_rate: float
    weight_decay: float = 0.0
    clip: float | None = None
    min_samples: int = renamed("at_least", 0)
    schedule: Literal["constant", "one-cycle", "halved"] = "one-cycle"

    def __post_init__(self) -> None:
        require("positive", self, "epochs", "batch", "learning_rate")
        require("at least 0", self, "weight_decay", "min_samples")
        if self.clip is not None and not self.clip > 0:
            raise UserError(f"clip must be positive, got {self.clip}; leave it out for no bound")

    def steps(self, samples: int) -> int:
        """Number of optimiser steps for `samples` training samples."""
        return max(1, round(max(self.epochs * samples, self.min_samples) / self.batch))

    def shortened(self, share: float) -> "Optimisation":
        """These settings for a share of the samples, above 0 and at most 1."""
        return replace(self, epochs=self.epochs * share, min_samples=round(self.min_samples * share))


def require(range_: Range, recipe: Any, *names: str) -> None:
    """Check that fields of a recipe lie in a range.

    Raises:
        UserError: names the field, the range and the value.
    """
    for name in names:
        if not _RANGES[range_](value := getattr(recipe, name)):
            raise UserError(f"{name} must be {range_}, got {value}")


def require_anchors(count: int | None) -> None:
    """Check a recipe's number of anchors, None for all.

    Raises:
        UserError: fewer than two: one to learn from and one held out.
    """
    if count is not None and count < 2:
        raise UserError(f"anchors must be at least 2, got {count}; leave it out for all")
