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
    """Overlap coefficients ∫ min(p, q): 0 for disjoint distributions, 1 for equal ones.

    Attributes:
        policies: overlap of the two policies.
        observational: overlap of the observational distribution and the mean of the two policies; None if unknown.
        floor: Bayes floor of the contrast of the two policies, nats; None if unknown.
        source: recorded angles, described distributions, or an upper bound from a classifier of images.
    """

    policies: float
    observational: float | None
    floor: float | None
    source: Source


def of_angles(observational: Array, first: Array, second: Array, source: Source, floor: float | None = None) -> Overlap:
    """The overlap of samples of one joint's angle, radians, by histograms of 24 bins.

    Args:
        observational: (n,), may be empty.
        first: (m,), under policy 1.
        second: (k,), under policy 2.
        source: origin of the samples.
        floor: the exact Bayes floor; None to estimate it as ln 2 minus the histograms' Jensen-Shannon divergence.
    """
    angles = np.concatenate([observational, first, second])
    edges = np.linspace(angles.min(), angles.max() + 1e-9, _BINS + 1)
    p, q = (_shares(part, edges) for part in (first, second))
    mean = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = sum(0.5 * np.nansum(np.where(part > 0, part * np.log(part / mean), 0)) for part in (p, q))
    covered = float(np.minimum(_shares(observational, edges), mean).sum()) if len(observational) else None
    estimate = max(0.0, float(np.log(2) - divergence))
    return Overlap(float(np.minimum(p, q).sum()), covered, estimate if floor is None else floor, source)


def _shares(values: Array, edges: Array) -> Array:
    """The share of the values in each bin."""
    return np.asarray(np.histogram(values, edges)[0] / max(1, len(values)))


def of_images(policies: Contrast, observational: Contrast | None) -> Overlap:
    """An upper bound of the overlap: twice the error of a classifier, since no error is below half the overlap.

    Args:
        policies: contrast of policy 1 and policy 2.
        observational: contrast of the observational images and those of both policies; None if there are none.
    """
    covered = None if observational is None else min(1.0, 2 * observational.error)
    return Overlap(min(1.0, 2 * policies.error), covered, None, "images")
