"""Metrics from predicting factors by latents: DCI, SAP and explicitness.

The factors of a robot are ordered and continuous: they are regressed, but for those that are named as classes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.disentanglement.samples import (
    BINS,
    Classes,
    Floats,
    as_classes,
    checked,
    least_in_a_leaf,
    normalised,
    require_columns,
)

#: Share of the samples that informativeness, SAP of classes and explicitness are tested on.
_TESTED = 0.25
_FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class DCI:
    """What `dci` finds.

    Attributes:
        disentanglement: 1 where each latent is of use for one factor alone.
        completeness: 1 where each factor needs one latent alone.
        informativeness: how well the factors are told on samples that were not learnt from; R², at least 0, or
            accuracy of classes.
        importance: (k, f), of each latent for each factor; each column sums to 1, also that of a factor which latents
            tell by chance alone (look at `informativeness_of`), or to 0 where the trees found no split.
        informativeness_of: of each factor, (f,).
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importance: Floats
    informativeness_of: Floats


def dci(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    categorical: Iterable[int] = (),
    seed: int = 0,
    trees: int = 100,
    depth: int = 3,
    workers: int | None = None,
) -> DCI:
    """Disentanglement, completeness and informativeness.

    A factor that no latent tells weighs as much as another one; one such factor of seven, finger and cube's rotation,
    keeps every model well below 1.

    Source: Eastwood and Williams 2018, with importances of gradient-boosted trees as in disentanglement_lib.

    Deviation: trees regress ordered factors, where disentanglement_lib classifies all.  Why: classes forget that a
    robot's factors have an order.  Effect: informativeness is the mean of six R² and one accuracy.

    Deviation: trees are LightGBM's, and an importance is the gain of a latent's splits.  Why: they are many times
    faster than scikit-learn's.  Effect: not measured.

    Args:
        latents: (n, k).
        factors: (n, f).
        categorical: columns of factors that are classes without an order.
        seed: of the split; the trees have no chance in them.
        trees: of each factor.
        depth: of a tree.
        workers: threads; None for all cores.

    Raises:
        ValueError: fewer than 20 samples, or what `checked` refuses.
    """
    from lightgbm import LGBMClassifier, LGBMRegressor

    z, v = checked(latents, factors, _FEWEST)
    classes = require_columns(categorical, v)
    learn, test = _split(len(z), seed)

    def of_factor(column: int) -> tuple[Floats, float]:
        target = np.unique(v[:, column], return_inverse=True)[1] if column in classes else v[:, column]
        kind: Any = LGBMClassifier if column in classes else LGBMRegressor
        model = kind(
            n_estimators=trees,
            max_depth=depth,
            num_leaves=2**depth,
            min_child_samples=least_in_a_leaf(len(learn)),
            importance_type="gain",
            deterministic=True,
            force_row_wise=True,
            n_jobs=workers,
            verbosity=-1,
        ).fit(z[learn], target[learn])
        gain = model.feature_importances_.astype(np.float64)
        return gain / max(gain.sum(), 1e-300), max(0.0, float(model.score(z[test], target[test])))

    found = [of_factor(column) for column in range(v.shape[1])]
    importance = np.stack([own for own, _ in found], axis=1)
    told = np.array([score for _, score in found])
    return DCI(
        disentanglement=disentanglement(importance),
        completeness=completeness(importance),
        informativeness=float(told.mean()),
        importance=importance,
        informativeness_of=told,
    )


def disentanglement(importance: ArrayLike) -> float:
    """1 − entropy (base f) of each latent's importances (k, f), weighted by how important it is altogether."""
    matrix = np.asarray(importance, dtype=np.float64)
    return _concentration(matrix)


def completeness(importance: ArrayLike) -> float:
    """1 − entropy (base k) of each factor's importances (k, f), weighted by how much importance there is."""
    matrix = np.asarray(importance, dtype=np.float64)
    return _concentration(matrix.T)


def _concentration(matrix: Floats) -> float:
    """Of each row 1 − entropy of its shares in base of their number, weighted by its sum; 0 where all is 0."""
    total = matrix.sum()
    if total == 0:
        return 0.0
    sums = matrix.sum(axis=1, keepdims=True)
    share = matrix / np.where(sums > 0, sums, 1.0)
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
    base = np.log(matrix.shape[1]) if matrix.shape[1] > 1 else 1.0
    return float(np.sum((1 - entropy / base) * sums[:, 0]) / total)


def sap(latents: ArrayLike, factors: ArrayLike, *, categorical: Iterable[int] = (), seed: int = 0) -> float:
    """Separated attribute predictability: how much better the best latent tells a factor than the second best.

    Of a continuous factor a latent's score is their squared correlation, of classes what a linear SVM on that latent
    alone gets right of samples that it did not learn from.

    Source: Kumar et al. 2018.

    Deviation: an ordered factor counts by the squared correlation, one of classes by a linear SVM on standardised
    latents; disentanglement_lib takes SVMs on raw latents for all.  Why: an SVM forgets the order, and its C depends on
    the scale.  Effect: SAP separates models here (.13 and .6) and does not in the paper; do not hold the two against
    each other.

    Args:
        latents: (n, k), k at least 2.
        factors: (n, f).
        categorical: columns of factors that are classes without an order.
        seed: of the split.

    Returns:
        Mean gap over factors, in [0, 1].

    Raises:
        ValueError: fewer than two latents or 20 samples, or what `checked` refuses.
    """
    z, v = checked(latents, factors, _FEWEST)
    if z.shape[1] < 2:
        raise ValueError("a gap needs at least two latents, got 1")
    classes = require_columns(categorical, v)
    unit = normalised(z)
    scores = (unit.T @ normalised(v) / len(z)) ** 2
    for column in sorted(classes):
        scores[:, column] = _accuracies(unit, np.unique(v[:, column], return_inverse=True)[1], seed)
    second, first = np.sort(scores, axis=0)[-2:]
    return float(np.mean(first - second))


def _accuracies(latents: Floats, classes: Classes, seed: int) -> Floats:
    """Share of held-out samples that a linear SVM on each latent alone gets right, (k,)."""
    from sklearn.svm import LinearSVC

    learn, test = _split(len(latents), seed)
    found = []
    for own in latents.T:
        machine = LinearSVC(C=0.01, class_weight="balanced", random_state=seed)
        machine.fit(own[learn, None], classes[learn])
        found.append(float(machine.score(own[test, None], classes[test])))
    return np.array(found)


def explicitness(latents: ArrayLike, factors: ArrayLike, *, bins: int = BINS, seed: int = 0) -> float:
    """How well all latents together tell the factors, by logistic regression: its AUC, one value against the rest.

    The mean over values, then over factors.

    Source: Ridgeway and Mozer 2018, with the plain AUC as in disentanglement_lib.

    Deviation: a factor with more values than bins is binned into as many parts of equal share.  Why: one AUC a value
    needs samples of every value.  Effect: not measured.

    Args:
        latents: (n, k).
        factors: (n, f).
        bins: of factors with more values.
        seed: of the split.

    Returns:
        A value in [0, 1], a half where nothing is told.

    Raises:
        ValueError: fewer than 20 samples, a value that only one has, or what `checked` refuses.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    z, v = checked(latents, factors, _FEWEST)
    unit = normalised(z)
    found = []
    for column, classes in enumerate(as_classes(v, bins, equal_shares=True).T):
        learn, test = _split_each(classes, seed)
        _require_values(classes, learn, test, column)
        regression = LogisticRegression(max_iter=200).fit(unit[learn], classes[learn])
        shares = regression.predict_proba(unit[test])
        areas = [
            roc_auc_score(classes[test] == value, shares[:, place]) for place, value in enumerate(regression.classes_)
        ]
        found.append(float(np.mean(areas)))
    return float(np.mean(found))


def _require_values(classes: Classes, learn: Classes, test: Classes, column: int) -> None:
    """Check that every value of a factor is on both sides of a split."""
    for value in np.unique(classes):
        if not (classes[learn] == value).any() or not (classes[test] == value).any():
            raise ValueError(
                f"factor column {column} has a value too seldom to be learnt and tested; give more samples"
            )


def _split(samples: int, seed: int) -> tuple[Classes, Classes]:
    """Rows to learn from, and rows to test on."""
    order = np.random.default_rng(seed).permutation(samples)
    tested = round(_TESTED * samples)
    return order[tested:], order[:tested]


def _split_each(classes: Classes, seed: int) -> tuple[Classes, Classes]:
    """Rows to learn from, and rows to test on: of every class the same share, of a rare one at least one."""
    order = np.random.default_rng(seed).permutation(len(classes))
    _, number, count = np.unique(classes[order], return_inverse=True, return_counts=True)
    sorted_rows = np.argsort(number, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[sorted_rows] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    tested = place < np.maximum(1, np.round(_TESTED * count))[number]
    return order[~tested], order[tested]
