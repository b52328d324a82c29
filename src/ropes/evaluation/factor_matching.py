"""Latents matched one by one to the factors of a task: MCC, and violations of that measurement model."""

from collections.abc import Iterable

import numpy as np

from ropes.common.arrays import Floats
from ropes.metrics import assignment, tmex
from ropes.metrics.disentanglement import Undefined, association


def matched_correlation(latents: Floats, factors: Floats, unordered: Iterable[int] = ()) -> float:
    """Mean absolute correlation of factors and latents after one-to-one assignment; 0 for factors without a latent.

    Classes take part in the assignment, by their correlation ratio, but not in the mean: the literature's MCC is a mean
    of correlations.  It is undefined if no factor has an order.

    Args:
        latents: (n, k).
        factors: (n, f).
        unordered: columns of classes whose numbers say nothing, as in `FactorTask`.

    Raises:
        ValueError: as `association`.
    """
    classes = frozenset(unordered)
    matrix = association(latents, factors, classes)
    ordered = [column for column in range(matrix.shape[1]) if column not in classes]
    if not ordered:
        return Undefined("no factor has an order")
    if len(matrix) < matrix.shape[1]:
        matrix = np.pad(matrix, ((0, matrix.shape[1] - len(matrix)), (0, 0)))
    chosen = assignment(matrix, "hungarian")
    return float(matrix[chosen, np.arange(len(chosen))][ordered].mean())


def violations(
    latents: Floats, factors: Floats, categorical: Iterable[int] = (), unordered: Iterable[int] = ()
) -> float:
    """T-MEX of the latents that are matched to the factors one by one; undefined for fewer latents than factors.

    Args:
        latents: (n, k).
        factors: (n, f).
        categorical: columns of factors that the tests treat as classes.
        unordered: columns that the assignment treats as classes, as in `FactorTask`.

    Raises:
        ValueError: as `association` and `tmex`.
    """
    if latents.shape[1] < factors.shape[1]:
        return Undefined(f"{latents.shape[1]} latents cannot measure {factors.shape[1]} factors one by one")
    matched = latents[:, assignment(association(latents, factors, unordered), "hungarian")]
    return float(tmex(matched, factors, categorical=categorical, expected=np.eye(factors.shape[1])).score)
