"""Metrics from predicting factors by latents: DCI, SAP and explicitness.

Factors are ordered and regressed, except for those named as categorical.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.disentanglement.samples import (
    BINS,
    TESTED,
    Classes,
    Floats,
    as_classes,
    checked,
    normalised,
    require_columns,
    split_rows,
    tree_options,
)

#: Fewest samples.
_FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class DCI:
    """Results of `dci`.

    Attributes:
        disentanglement: 1 if each latent is important for one factor only.
        completeness: 1 if each factor needs one latent only.
        informativeness: mean over factors of the test score: R², at least 0, or accuracy of a categorical factor.
        importance: (k, f), of each latent for each factor.  Each column sums to 1, also for a factor predicted at
            chance level (see `informativeness_of`), or to 0 if the trees have no split.
        informativeness_of: informativeness of each factor, (f,).
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

    All factors have equal weight, also one that no latent predicts.  The rotation of the cube, one factor of seven, is
    such a factor and keeps every model well below 1.

    Source: Eastwood and Williams 2018, with importances of gradient-boosted trees as in disentanglement_lib.

    Deviation: trees regress ordered factors, where disentanglement_lib classifies all.  Why: classes forget that a
    robot's factors have an order.  Effect: informativeness is the mean of six R² and one accuracy.

    Deviation: trees are LightGBM's, and an importance is the gain of a latent's splits.  Why: they are many times
    faster than scikit-learn's.  Effect: D and C differ by up to .2 from those of disent (docs/metrics.md).

    Args:
        latents: (n, k).
        factors: (n, f).
        categorical: columns of factors that are classes without an order.
        seed: seed of the split; the trees are deterministic.
        trees: trees per factor.
        depth: depth of a tree.
        workers: threads; None for OpenMP's default.

    Raises:
        ValueError: fewer than 20 samples, or as `checked`.
    """
    from lightgbm import LGBMClassifier, LGBMRegressor

    z, v = checked(latents, factors, _FEWEST)
    classes = require_columns(categorical, v)
    train, test = split_rows(len(z), seed)
    importances, scores = [], []
    for column in range(v.shape[1]):
        target = np.unique(v[:, column], return_inverse=True)[1] if column in classes else v[:, column]
        kind: Any = LGBMClassifier if column in classes else LGBMRegressor
        options = {"n_estimators": trees, "max_depth": depth, "num_leaves": 2**depth, "importance_type": "gain"}
        model = kind(**options, **tree_options(len(train), workers)).fit(z[train], target[train])
        gain = model.feature_importances_.astype(np.float64)
        importances.append(gain / max(gain.sum(), 1e-300))
        scores.append(max(0.0, float(model.score(z[test], target[test]))))
    importance, informativeness = np.stack(importances, axis=1), np.array(scores)
    return DCI(
        disentanglement=disentanglement(importance),
        completeness=completeness(importance),
        informativeness=float(informativeness.mean()),
        importance=importance,
        informativeness_of=informativeness,
    )


def disentanglement(importance: ArrayLike) -> float:
    """1 − entropy (base f) of each latent's importances (k, f), weighted by the latent's total importance."""
    return _concentration(np.asarray(importance, dtype=np.float64))


def completeness(importance: ArrayLike) -> float:
    """1 − entropy (base k) of each factor's importances (k, f), weighted by the factor's total importance."""
    return _concentration(np.asarray(importance, dtype=np.float64).T)


def _concentration(matrix: Floats) -> float:
    """Mean over rows, weighted by their sums, of 1 − normalised entropy of the row's shares; 0 for a zero matrix."""
    total = matrix.sum()
    if total == 0:
        return 0.0
    sums = matrix.sum(axis=1, keepdims=True)
    share = matrix / np.where(sums > 0, sums, 1.0)
    entropy = -np.sum(share * np.log(np.where(share > 0, share, 1.0)), axis=1)
    base = np.log(matrix.shape[1]) if matrix.shape[1] > 1 else 1.0
    return float(np.sum((1 - entropy / base) * sums[:, 0]) / total)


def sap(latents: ArrayLike, factors: ArrayLike, *, categorical: Iterable[int] = (), seed: int = 0) -> float:
    """Separated attribute predictability: mean gap between the scores of the best and the second best latent.

    A latent's score is its squared correlation with an ordered factor, or the test accuracy of a linear SVM on that
    latent alone for a categorical factor.

    Source: Kumar et al. 2018.

    Deviation: ordered factors use the squared correlation, categorical ones a linear SVM on standardised latents;
    disentanglement_lib uses SVMs on raw latents for all.  Why: an SVM forgets the order, and its C depends on the
    scale.  Effect: SAP separates models here (medians: .12 to .14 unsupervised, .52 weakly supervised) and does not in
    the paper; the values are not comparable.

    Args:
        latents: (n, k), k at least 2.
        factors: (n, f).
        categorical: columns of factors that are classes without an order.
        seed: seed of the split.

    Returns:
        Mean gap over factors, in [0, 1].

    Raises:
        ValueError: fewer than two latents or 20 samples, or as `checked`.
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
    """Test accuracy of a linear SVM on each latent alone, (k,)."""
    from sklearn.svm import LinearSVC

    train, test = split_rows(len(latents), seed)
    scores = []
    for latent in latents.T:
        machine = LinearSVC(C=0.01, class_weight="balanced", random_state=seed)
        machine.fit(latent[train, None], classes[train])
        scores.append(float(machine.score(latent[test, None], classes[test])))
    return np.array(scores)


def explicitness(latents: ArrayLike, factors: ArrayLike, *, bins: int = BINS, seed: int = 0) -> float:
    """One-versus-rest AUC of a logistic regression from all latents, averaged over values, then over factors.

    Source: Ridgeway and Mozer 2018, with the plain AUC as in disentanglement_lib.

    Deviation: latents are standardised; disentanglement_lib takes them as they are.  Why: the regression is
    regularised, and so depends on their scale.  Effect: not measured.

    Deviation: a factor with more values than bins is binned into bins of equal counts.  Why: one AUC per value needs
    samples of every value.  Effect: not measured.

    Args:
        latents: (n, k).
        factors: (n, f).
        bins: bins of factors with more values.
        seed: seed of the split.

    Returns:
        A value in [0, 1]; 0.5 at chance level.

    Raises:
        ValueError: fewer than 20 samples, a value of a single sample, or as `checked`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    z, v = checked(latents, factors, _FEWEST)
    unit = normalised(z)
    means = []
    for column, classes in enumerate(as_classes(v, bins, equal_shares=True).T):
        train, test = _stratified_split(classes, seed)
        if len(np.unique(classes[train])) < len(np.unique(classes)):
            raise ValueError(f"factor column {column} has a value too seldom to fit and test on; give more samples")
        regression = LogisticRegression(max_iter=200).fit(unit[train], classes[train])
        probabilities = regression.predict_proba(unit[test]).T
        areas = [
            roc_auc_score(classes[test] == value, probability)
            for value, probability in zip(regression.classes_, probabilities, strict=True)
        ]
        means.append(float(np.mean(areas)))
    return float(np.mean(means))


def _stratified_split(classes: Classes, seed: int) -> tuple[Classes, Classes]:
    """Training rows and test rows: the same share of every class, and at least one test row of each."""
    order = np.random.default_rng(seed).permutation(len(classes))
    _, number, count = np.unique(classes[order], return_inverse=True, return_counts=True)
    by_class = np.argsort(number, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[by_class] = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    tested = rank < np.maximum(1, np.round(TESTED * count))[number]
    return order[~tested], order[tested]
