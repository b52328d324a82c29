"""Metrics that fix one factor: BetaVAE and FactorVAE scores.

They need samples in which the other factors vary as ever whatever one factor is: where factors depend on one another,
as with a finger that cannot stand in its cube, no samples can show that, and there is no score.
"""

import math
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2_contingency

from ropes.metrics.disentanglement.samples import BINS, Classes, Floats, as_classes, checked

Rows = NDArray[np.int64]
#: Latents of smaller deviation tell nothing (disentanglement_lib).
_PRUNED = 0.05
#: Bins of the test that factors are independent, and its level.
_COARSE, _LEVEL = 6, 1e-6


class Undefined(float):
    """NaN in the place of a score, and why.

    Attributes:
        reason: in words.
    """

    reason: str

    def __new__(cls, reason: str) -> Self:
        """NaN with a reason."""
        made = super().__new__(cls, math.nan)
        made.reason = reason
        return made


def beta_vae_score(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    points: int = 5_000,
    pairs: int = 64,
    bins: int = BINS,
    complete: bool = True,
    seed: int = 0,
) -> float:
    """How often a linear classifier tells which factor two samples share, by how far their latents are apart.

    A point is the mean of |z − z'| over some pairs that share the value of one factor, with that factor as its label.

    Source: Higgins et al. 2017, App. A.4.

    Deviation: samples are drawn from those given, and values of factors with more values than bins share a bin.  Why:
    the score then needs no renderer.  Effect: pairs that share a bin may differ a little in the factor that they should
    share.

    Deviation: the features of the classifier are standardised.  Why: it converges sooner.  Effect: its regularisation
    no longer depends on the scale of the latents.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        points: to learn from, and as many to test on.
        pairs: in a point.
        bins: of factors with more values.
        complete: whether every combination of the factors' values exists; where not, there is no score.  Two factors
            that depend on one another are noticed, three that do so only together are not.
        seed: of what is drawn.

    Returns:
        Accuracy on new points, or `Undefined`: NaN with a reason.

    Raises:
        ValueError: fewer than two factors, or what `checked` refuses.
    """
    from sklearn.linear_model import LogisticRegression

    z, groups = _groups(latents, factors, bins, complete)
    if isinstance(groups, Undefined):
        return groups
    rng = np.random.default_rng(seed)
    label = rng.integers(len(groups), size=2 * points)
    features = np.empty((2 * points, z.shape[1]))
    for point, factor in enumerate(label):
        one, other = groups[factor].pairs(rng, pairs)
        features[point] = np.abs(z[one] - z[other]).mean(axis=0)
    scale = np.where(np.ptp(features, axis=0) > 0, features.std(axis=0), 1.0)
    features = (features - features.mean(axis=0)) / scale
    machine = LogisticRegression(max_iter=500).fit(features[:points], label[:points])
    return float(machine.score(features[points:], label[points:]))


def factor_vae_score(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    points: int = 5_000,
    batch: int = 64,
    bins: int = BINS,
    complete: bool = True,
    seed: int = 0,
) -> float:
    """How often the latent that varies least tells which factor is held still, by majority.

    Of a batch that shares the value of one factor, each latent's variance is taken in units of its variance over all;
    latents of a deviation below .05 are left out, and where none is left the score is 0.

    Source: Kim and Mnih 2018, Section 4.

    Deviation: samples are drawn from those given, and values of factors with more values than bins share a bin.  Why:
    the score then needs no renderer.  Effect: pairs that share a bin may differ a little in the factor that they should
    share.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        points: batches to vote by, and as many to test on.
        batch: samples in each.
        bins: of factors with more values.
        complete: whether every combination of the factors' values exists; where not, there is no score.  Two factors
            that depend on one another are noticed, three that do so only together are not.
        seed: of what is drawn.

    Returns:
        Accuracy on new batches, or `Undefined`: NaN with a reason.

    Raises:
        ValueError: fewer than two factors, or what `checked` refuses.
    """
    z, groups = _groups(latents, factors, bins, complete)
    if isinstance(groups, Undefined):
        return groups
    active = z.std(axis=0) >= _PRUNED
    if not active.any():
        return 0.0
    z = z[:, active]
    variance = z.var(axis=0)
    rng = np.random.default_rng(seed)
    label = rng.integers(len(groups), size=2 * points)
    least = np.empty(2 * points, dtype=np.int64)
    for point, factor in enumerate(label):
        rows = groups[factor].batch(rng, batch)
        least[point] = np.argmin(z[rows].var(axis=0) / variance)
    votes = np.zeros((z.shape[1], len(groups)))
    np.add.at(votes, (least[:points], label[:points]), 1.0)
    return float(np.mean(votes.argmax(axis=1)[least[points:]] == label[points:]))


class _Groups:
    """Samples of one factor, by its values."""

    def __init__(self, classes: Classes) -> None:
        self.order = np.argsort(classes, kind="stable")
        self.count = np.bincount(classes)
        self.first = np.cumsum(self.count) - self.count
        self.classes = classes

    def batch(self, rng: np.random.Generator, size: int) -> Rows:
        """Rows that all share the value of one random sample, (size,)."""
        value = self.classes[rng.integers(len(self.classes))]
        return self._of(np.full(size, value), rng)

    def pairs(self, rng: np.random.Generator, size: int) -> Rows:
        """Pairs of rows, each of which shares the value of a random sample of its own, (2, size)."""
        values = self.classes[rng.integers(len(self.classes), size=size)]
        return np.stack([self._of(values, rng) for _ in range(2)])

    def _of(self, values: Classes, rng: np.random.Generator) -> Rows:
        """A row of each of some values."""
        return self.order[self.first[values] + rng.integers(self.count[values])]


def _groups(
    latents: ArrayLike, factors: ArrayLike, bins: int, complete: bool
) -> tuple[Floats, tuple[_Groups, ...] | Undefined]:
    """Checked latents, and the samples of each factor by its values; or why no factor can be held still by itself.

    Raises:
        ValueError: fewer than two factors, or what `checked` refuses.
    """
    z, v = checked(latents, factors)
    if v.shape[1] < 2:
        raise ValueError("which factor is held still needs at least two of them, got 1")
    if not complete:
        return z, Undefined("some combinations of factors do not exist: none can be held still while all others vary")
    if reason := _dependence(v):
        return z, Undefined(reason)
    return z, tuple(_Groups(classes) for classes in as_classes(v, bins).T)


def _dependence(factors: Floats) -> str | None:
    """Which two factors depend on one another by a chi-squared test of their coarse bins; None for none."""
    coarse = as_classes(factors, _COARSE)
    for one, other in combinations(range(coarse.shape[1]), 2):
        counts = np.zeros((coarse[:, one].max() + 1, coarse[:, other].max() + 1))
        np.add.at(counts, (coarse[:, one], coarse[:, other]), 1.0)
        counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
        if chi2_contingency(counts).pvalue < _LEVEL:
            return (
                f"factors {one} and {other} depend on one another ({int((counts == 0).sum())} of {counts.size} "
                "combinations of their coarse values are not among the samples): neither can be held still alone"
            )
    return None
