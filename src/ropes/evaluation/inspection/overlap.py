"""Checks whether a joint's two policies and its observational distribution cover the same angles."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ropes.evaluation.inspection.contrast import Contrast

Array = NDArray[np.float64]
Source = Literal["angles", "distributions", "images"]
_BINS = 24


@dataclass(frozen=True)
class Overlap:
    """Overlap coefficients, ∫ min(p, q): 0 for distributions with nothing in common, 1 for equal ones.

    Attributes:
        policies: of the two policies.
        observational: of the observational distribution with the mean of the two policies; None where unknown.
        floor: Bayes floor of the contrast of the two policies, nats; None where unknown.
        source: read off recorded angles, off described distributions, or bounded from above by a classifier of images.
    """

    policies: float
    observational: float | None
    floor: float | None
    source: Source


def of_angles(observational: Array, first: Array, second: Array, source: Source, floor: float | None = None) -> Overlap:
    """From samples of one joint's angle, radians, by histograms of 24 bins.

    Args:
        observational: (n,), may be empty.
        first: (m,), under policy 1.
        second: (k,), under policy 2.
        source: what the samples are.
        floor: the exact one where known; otherwise ln 2 less the histograms' Jensen-Shannon divergence.
    """
    every = np.concatenate([observational, first, second])
    edges = np.linspace(every.min(), every.max() + 1e-9, _BINS + 1)
    p, q = (_shares(part, edges) for part in (first, second))
    mean = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = sum(0.5 * np.nansum(np.where(part > 0, part * np.log(part / mean), 0)) for part in (p, q))
    covered = float(np.minimum(_shares(observational, edges), mean).sum()) if len(observational) else None
    about = max(0.0, float(np.log(2) - divergence))
    return Overlap(float(np.minimum(p, q).sum()), covered, about if floor is None else floor, source)


def _shares(values: Array, edges: Array) -> Array:
    return np.asarray(np.histogram(values, edges)[0] / max(1, len(values)))


def of_images(policies: Contrast, observational: Contrast | None) -> Overlap:
    """Bounds from above: no classifier errs less often than half the overlap, so twice its error is at least that.

    Args:
        policies: policy 1 against policy 2.
        observational: the observational images against those of both policies; None where there are none.
    """
    covered = None if observational is None else min(1.0, 2 * observational.error)
    return Overlap(min(1.0, 2 * policies.error), covered, None, "images")
