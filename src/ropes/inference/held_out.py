"""Intervals of a level from a run's held-out anchors, or the highest level that they allow."""

import math

import numpy as np

from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.conformal import Intervals


def held_out_intervals(estimator: Estimator, level: float, *, labels: int = 0) -> Intervals | None:
    """Intervals from the run's held-out anchors, or held-out labels; None for a run without any.

    n scores give intervals of a level up to n / (n + 1).

    Args:
        estimator: of the run.
        level: coverage of the intervals.
        labels: number of labelled samples, which are too few for the level.

    Raises:
        UserError: the level is too high for them; the message has the highest level.
    """
    if (intervals := estimator.held_out_intervals(level)) is not None:
        return intervals
    if estimator.trust is None or estimator.trust.scores is None:
        return None
    held_out = int(np.isfinite(estimator.trust.scores).sum(axis=0).min())
    most = max(held_out, labels)
    highest = math.floor(1e6 * most / (most + 1)) / 1e6
    samples = f" and {labels} samples" if labels else ""
    raise UserError(
        f"level is {level}, and {held_out} held-out anchors{samples} give intervals of a level up to {highest:g}"
    )
