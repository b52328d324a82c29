"""Metrics that fix one factor: BetaVAE and FactorVAE scores.

They need factors that are independent of each other.  The scores are undefined for dependent factors, such as those of
a finger that cannot intersect its cube.
"""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.disentanglement.samples import BINS, Classes, Floats, Undefined, as_classes, checked

Rows = NDArray[np.int64]
#: Latents of smaller standard deviation are pruned by default (disentanglement_lib).
_PRUNED = 0.05
#: Bins and level of the test for independent factors.
_COARSE, _LEVEL = 6, 1e-6


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
    """Accuracy of a linear classifier that predicts, from differences of latents, which factor two samples share.

    A point is the mean of |z − z'| over some pairs that share the value of one factor; its label is that factor.

    Source: Higgins et al. 2017, App. A.4.

    Deviation: samples are drawn from the data set, and values of factors with more values than bins share a bin.  Why:
    the score then needs no renderer.  Effect: pairs that share a bin may differ a little in the factor that they should
    share.

    Deviation: the features of the classifier are standardised.  Why: it converges sooner.  Effect: its regularisation
    no longer depends on the scale of the latents.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        points: training points, and as many test points.
        pairs: pairs per point.
        bins: bins of factors with more values.
        complete: whether every combination of the factors' values exists; if not, the score is undefined.  A test also
            detects dependent pairs of factors, but not three factors that are dependent only together.
        seed: seed of the draws.

    Returns:
        Accuracy on the test points, or `Undefined`: NaN with a reason.

    Raises:
        ValueError: fewer than two factors, or as `checked`.
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
    pruned: float = _PRUNED,
    complete: bool = True,
    seed: int = 0,
) -> float:
    """Accuracy of a majority vote that predicts the fixed factor from the latent with the least variance.

    In a batch that shares the value of one factor, each latent's variance is divided by its variance over all samples.
    Latents with a standard deviation below `pruned` are left out.  The default is for VAEs, whose prior has variance 1;
    latents of another scale need another bound.

    Source: Kim and Mnih 2018, Section 4.

    Deviation: samples are drawn from the data set, and values of factors with more values than bins share a bin.  Why:
    the score then needs no renderer.  Effect: pairs that share a bin may differ a little in the factor that they should
    share.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        points: batches for the vote, and as many to test on.
        batch: samples per batch.
        bins: bins of factors with more values.
        pruned: smallest standard deviation of a latent that counts, in the unit of the latents.
        complete: see `beta_vae_score`.
        seed: seed of the draws.

    Returns:
        Accuracy on the test batches, or `Undefined`: NaN with a reason.

    Raises:
        ValueError: fewer than two factors, or as `checked`.
    """
    z, groups = _groups(latents, factors, bins, complete)
    if isinstance(groups, Undefined):
        return groups
    stds = z.std(axis=0)
    active = (stds >= pruned) & (stds > 0)
    if not active.any():
        return Undefined(f"the standard deviation of every latent is below {pruned:g} (at most {stds.max():.2g})")
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
    """The samples grouped by the values of one factor."""

    def __init__(self, classes: Classes) -> None:
        self.order = np.argsort(classes, kind="stable")
        self.count = np.bincount(classes)
        self.first = np.cumsum(self.count) - self.count
        self.classes = classes

    def batch(self, rng: np.random.Generator, size: int) -> Rows:
        """Random rows with the value of one random sample, (size,)."""
        value = self.classes[rng.integers(len(self.classes))]
        return self._rows_with(np.full(size, value), rng)

    def pairs(self, rng: np.random.Generator, size: int) -> Rows:
        """Pairs of random rows; both rows of a pair have the value of one random sample, (2, size)."""
        values = self.classes[rng.integers(len(self.classes), size=size)]
        return np.stack([self._rows_with(values, rng) for _ in range(2)])

    def _rows_with(self, values: Classes, rng: np.random.Generator) -> Rows:
        """A random row for each value."""
        return self.order[self.first[values] + rng.integers(self.count[values])]


def _groups(
    latents: ArrayLike, factors: ArrayLike, bins: int, complete: bool
) -> tuple[Floats, tuple[_Groups, ...] | Undefined]:
    """Checked latents, and the samples grouped by each factor or the reason why no factor can be fixed alone.

    Raises:
        ValueError: fewer than two factors, or as `checked`.
    """
    z, v = checked(latents, factors)
    if v.shape[1] < 2:
        raise ValueError("predicting the fixed factor needs at least two factors, got 1")
    if not complete:
        return z, Undefined("some combinations of factors do not exist: none can be held still while all others vary")
    if reason := _dependence(v):
        return z, Undefined(reason)
    return z, tuple(_Groups(classes) for classes in as_classes(v, bins).T)


def _dependence(factors: Floats) -> str | None:
    """The first dependent pair of factors by a chi-squared test of coarse bins, in words; None if there is none."""
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import crosstab

    coarse = as_classes(factors, _COARSE)
    for one, other in combinations(range(coarse.shape[1]), 2):
        counts = crosstab(coarse[:, one], coarse[:, other]).count
        if chi2_contingency(counts).pvalue < _LEVEL:
            return (
                f"factors {one} and {other} depend on one another ({int((counts == 0).sum())} of {counts.size} "
                "combinations of their coarse values are not among the samples): neither can be held still alone"
            )
    return None
