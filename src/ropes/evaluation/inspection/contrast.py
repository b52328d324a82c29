"""How far a joint's two policies differ: a linear probe on small images, and the overlap of distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ropes.common.arrays import Floats, Ints

Source = Literal["angles", "distributions", "images"]
#: Bins of the overlap's histograms.
_BINS = 24
_SIDE, _COMPONENTS, _FOLDS, _PENALTY = 16, 150, 4, 1e-3


@dataclass(frozen=True)
class Contrast:
    """Cross-validated figures of a classifier of two regimes, with equal weight of both.

    Attributes:
        nats: cross-entropy; chance is ln 2 = 0.693, and the Bayes floor the minimum.
        error: share of the images that are misclassified.
        uncertainty: standard error of `nats`.
    """

    nats: float
    error: float
    uncertainty: float


def features(images: Sequence[NDArray[np.uint8]]) -> Floats:
    """Principal components of images averaged to 16×16, over all cameras and channels: (n, at most 150).

    Their unit is the standard deviation of the first, so that a ridge penalty shrinks the small ones most.

    Args:
        images: of each camera, (n, H, W) or (n, H, W, 3).
    """
    small = np.concatenate([_small(camera).reshape(len(camera), -1) for camera in images], axis=1)
    centred = small - small.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    return np.asarray(centred @ directions[:, : -_COMPONENTS - 1 : -1] / max(values[-1], 1e-12) ** 0.5)


def _small(images: NDArray[np.uint8]) -> Floats:
    """Images of one camera averaged to 16×16, (n, 16, 16[, 3])."""
    return np.array(
        [Image.fromarray(image).resize((_SIDE, _SIDE), Image.Resampling.BOX) for image in images], dtype=np.float64
    )


def contrast(values: Floats, first: Ints, second: Ints, anchor: Ints) -> Contrast | None:
    """Discriminate two regimes by ridge-penalised logistic regression, cross-validated by anchor in four folds.

    Args:
        values: features of all images, (n, k).
        first: rows of one regime.
        second: rows of the other.
        anchor: anchor of every row, (n,).

    Returns:
        None if a regime has too few anchors for four folds.
    """
    from sklearn.linear_model import LogisticRegression

    rows = np.concatenate([first, second])
    label = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    weight = np.concatenate([np.full(len(part), 0.5 / max(1, len(part))) for part in (first, second)])
    if min(len(np.unique(anchor[part])) for part in (first, second)) < 2 * _FOLDS:
        return None
    # An anchor of both regimes goes to one fold only.
    fold = np.unique(anchor[rows], return_inverse=True)[1] % _FOLDS
    logits = np.empty(len(rows))
    for number in range(_FOLDS):
        out = fold == number
        if len(np.unique(label[~out])) < 2:
            return None
        regression = LogisticRegression(C=1 / _PENALTY, solver="newton-cholesky", tol=1e-8)
        regression.fit(values[rows[~out]], label[~out], weight[~out] / weight[~out].sum())
        logits[out] = regression.decision_function(values[rows[out]])
    losses = np.logaddexp(0, np.where(label > 0, -logits, logits))
    wrong = (logits > 0) != (label > 0)
    spread = [losses[label == kind].var() / (label == kind).sum() for kind in (0, 1)]
    return Contrast(float(weight @ losses), float(weight @ wrong), float(sum(spread) ** 0.5 / 2))


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


def overlap_of_angles(
    observational: Floats, first: Floats, second: Floats, source: Source, floor: float | None = None
) -> Overlap:
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


def _shares(values: Floats, edges: Floats) -> Floats:
    """The share of the values in each bin."""
    return np.asarray(np.histogram(values, edges)[0] / max(1, len(values)))


def overlap_of_images(policies: Contrast, observational: Contrast | None) -> Overlap:
    """An upper bound of the overlap: twice the error of a classifier, since no error is below half the overlap.

    Args:
        policies: contrast of policy 1 and policy 2.
        observational: contrast of the observational images and those of both policies; None if there are none.
    """
    covered = None if observational is None else min(1.0, 2 * observational.error)
    return Overlap(min(1.0, 2 * policies.error), covered, None, "images")
