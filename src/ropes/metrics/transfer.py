"""Regression of factors on codes, also under distribution shift, and of coordinates on angles; rank correlations.

Source: Dittadi et al. 2021, Section 4.
"""

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.disentanglement.samples import checked, tree_options

Floats = NDArray[np.float64]
#: Tolerance for factors stored in float32 before scaling.
_SLACK = 1e-6
#: From this number of samples on, a tenth of them is a validation split for early stopping.
_EARLY_STOPPING = 100
#: Fewest samples of `explained`.
_FEWEST = 20
Regressor = Literal["trees", "forest", "mlp1", "mlp", "mlp3"]
#: The study's regressors: gradient-boosted trees, random forests, and networks with one, two and three hidden layers.
REGRESSORS: tuple[Regressor, ...] = get_args(Regressor)
_DEPTHS = {"mlp1": 1, "mlp": 2, "mlp3": 3}
_HIDDEN = 256
#: LightGBM's options for a random forest: a share of the samples for each tree, a third of the codes for each split.
_FOREST: dict[str, Any] = {
    "boosting_type": "rf",
    "subsample": 0.632,
    "subsample_freq": 1,
    "colsample_bynode": 1 / 3,
    "num_leaves": 255,
}
#: Depth of the classifier's trees.
_DEPTH = 3


def transfer_errors(
    train: tuple[ArrayLike, ArrayLike],
    *tests: tuple[ArrayLike, ArrayLike],
    regressor: Regressor = "trees",
    trained: ArrayLike | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Floats:
    """Mean absolute error of each factor on one or several test sets.

    The transfer score is the mean over all factors but the shifted one.

    Deviation: one network with an output for each factor replaces the paper's one network per factor, and trees and
    forests are LightGBM's; a forest has 100 trees of at most 255 leaves.  Why: that is several times faster, and the
    paper names no sizes.  Effect: not measured.

    Deviation: from 100 samples on, networks are fitted on nine tenths of them and stop when the R² of the last tenth no
    longer rises.  Why: fits are shorter, and the paper names no rule.  Effect: not measured.

    Deviation: codes are divided by their standard deviation over up to 10,000 training images of the encoder (for an
    arm, over the images that regressors are fitted on).  Why: networks need inputs of one scale, and the paper names
    none.  Effect: none for trees; not measured for networks.

    Args:
        train: codes (n, k) and factors (n, f), in [0, 1], to fit on.
        tests: codes (m, k) and factors (m, f) of each test set.
        regressor: "trees", gradient-boosted; "forest", random; or a network with hidden layers of 256, "mlp1" with one,
            "mlp" with two, "mlp3" with three.
        trained: codes (t, k) whose mean and standard deviation standardise all codes; by default those to fit on.
        seed: seed of networks and forests; boosted trees are deterministic.
        workers: threads of the trees; None for OpenMP's default.

    Returns:
        (sets, f) values; the error of a constant prediction is about a quarter of a factor's range.

    Raises:
        ValueError: shapes disagree, values not finite, factors outside [0, 1], or an unknown regressor.
    """
    (codes, factors), *test_sets = _checked(train, *tests)
    reference = codes if trained is None else np.asarray(trained, dtype=np.float64)
    fits = reference.ndim == 2 and reference.shape[1] == codes.shape[1] and len(reference) > 0
    if not fits or not np.isfinite(reference).all():
        raise ValueError(f"codes to standardise by must be finite and (t, {codes.shape[1]}), got {reference.shape}")
    centre, scale = reference.mean(axis=0), reference.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    predict = _regressor(regressor, (codes - centre) / scale, factors, seed, workers)
    errors = [np.abs(predict((test_codes - centre) / scale) - true).mean(axis=0) for test_codes, true in test_sets]
    return np.stack(errors)


def _regressor(name: str, codes: Floats, factors: Floats, seed: int, workers: int | None) -> Callable[[Floats], Floats]:
    """Fit a regressor; the function from codes (m, k) to predicted factors (m, f).

    Raises:
        ValueError: no such regressor.
    """
    match name:
        case "trees" | "forest":
            from lightgbm import LGBMRegressor

            options = tree_options(len(codes), workers)
            if name == "forest":
                options |= _FOREST | {"min_child_samples": max(1, options["min_child_samples"] // 4)}
                options["random_state"] = seed
            trees = [LGBMRegressor(**options).fit(codes, column) for column in factors.T]
            return lambda new: np.stack([tree.predict(new) for tree in trees], axis=1)
        case "mlp1" | "mlp" | "mlp3":
            from sklearn.neural_network import MLPRegressor

            early, hidden = len(codes) >= _EARLY_STOPPING, (_HIDDEN,) * _DEPTHS[name]
            network: Any = MLPRegressor(hidden_layer_sizes=hidden, early_stopping=early, random_state=seed)
            _fit(network, codes, factors if factors.shape[1] > 1 else factors[:, 0])
            return lambda new: network.predict(new).reshape(len(new), factors.shape[1])
    raise ValueError(f'unknown regressor "{name}": choose one of {", ".join(REGRESSORS)}')


def classifier_errors(
    train: tuple[ArrayLike, ArrayLike], test: tuple[ArrayLike, ArrayLike], *, workers: int | None = None
) -> Floats:
    """Classification error of each factor by gradient-boosted trees of depth 3.

    Source: Dittadi et al. 2021, Fig. 3 (right), whose classifier is fitted on 10,000 samples.

    Deviation: trees are LightGBM's, 100 of depth 3 for each value.  Why: the paper names no sizes, and these are
    disentanglement_lib's.  Effect: not measured.

    Args:
        train: codes (n, k) and factors (n, f) of few values each, in [0, 1], to fit on.
        test: codes and factors to test on.
        workers: threads; None for OpenMP's default.

    Returns:
        (f,) values in [0, 1].

    Raises:
        ValueError: shapes disagree, values not finite, or factors outside [0, 1].
    """
    from lightgbm import LGBMClassifier

    (codes, factors), (test_codes, true) = _checked(train, test)
    errors = []
    for column in range(factors.shape[1]):
        values, classes = np.unique(factors[:, column], return_inverse=True)
        options = tree_options(len(codes) // len(values), workers)
        trees: Any = LGBMClassifier(max_depth=_DEPTH, num_leaves=2**_DEPTH, **options).fit(codes, classes)
        errors.append(float((values[trees.predict(test_codes)] != true[:, column]).mean()))
    return np.array(errors)


def explained(coordinate: ArrayLike, angles: ArrayLike, *, seed: int = 0, workers: int | None = None) -> float:
    """R² of a coordinate given angles, by gradient-boosted trees fitted on one half and tested on the other.

    Args:
        coordinate: (n,).
        angles: (n, d), radians.
        seed: seed of the halves.
        workers: threads; None for OpenMP's default.

    Returns:
        At most 1; negative if the mean of the test half predicts better; 0 for a constant coordinate.

    Raises:
        ValueError: fewer than 20 samples, lengths that differ, or values not finite.
    """
    from lightgbm import LGBMRegressor

    column = np.asarray(coordinate, dtype=np.float64).reshape(-1, 1)
    if column.size and np.ptp(column) == 0:
        checked(angles, np.arange(len(column))[:, None], _FEWEST)  # a constant coordinate would be refused
        return 0.0
    z, v = checked(angles, column, _FEWEST)
    train, test = np.split(np.random.default_rng(seed).permutation(len(z)), [len(z) // 2])
    trees = LGBMRegressor(**tree_options(len(train), workers)).fit(z[train], v[train, 0])
    return float(trees.score(z[test], v[test, 0]))


def _fit(network: Any, codes: Floats, factors: Floats) -> None:
    """Fit a network; a fit that has not converged after all its epochs is accepted.

    Raises:
        KeyboardInterrupt: the fit was interrupted, for which scikit-learn only issues a warning.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        warnings.filterwarnings("error", message="Training interrupted")
        try:
            network.fit(codes, factors)
        except UserWarning as warned:
            raise warned.__context__ or KeyboardInterrupt from None


def rank_correlations(table: ArrayLike) -> Floats:
    """Spearman's correlation of every pair of columns over the rows with finite values in both: (n, c) → (c, c).

    NaN for a column that is constant over these rows, or fewer than three of them.

    Raises:
        ValueError: not a table (n, c).
    """
    from scipy.stats import spearmanr

    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"expected a table (n, c), got {values.shape}")
    matrix = np.full((values.shape[1],) * 2, np.nan)
    for one in range(values.shape[1]):
        for other in range(one + 1):
            both = values[np.isfinite(values[:, [one, other]]).all(axis=1)][:, [one, other]]
            if len(both) >= 3 and (np.ptp(both, axis=0) > 0).all():
                matrix[one, other] = matrix[other, one] = spearmanr(both[:, 0], both[:, 1]).statistic
    return matrix


class RankCorrelation(NamedTuple):
    """Spearman's correlation with its 95% interval and the number of pairs; NaN where it is undefined."""

    value: float
    low: float
    high: float
    pairs: int


def rank_correlation(one: ArrayLike, other: ArrayLike) -> RankCorrelation:
    """Spearman's correlation of two columns (n,) over the rows with finite values in both, with its 95% interval.

    Source: Bonett and Wright 2000, standard error √((1 + r²/2) / (n − 3)) of artanh r.  The interval is undefined for
    fewer than four rows, or if all ranks agree.

    Raises:
        ValueError: columns of different lengths.
    """
    pair = [np.asarray(column, dtype=np.float64) for column in (one, other)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        raise ValueError(f"expected two columns of one length, got {pair[0].shape} and {pair[1].shape}")
    table = np.stack(pair, axis=1)
    value, count = float(rank_correlations(table)[0, 1]), int(np.isfinite(table).all(axis=1).sum())
    if count < 4 or not abs(value) < 1 - _SLACK:
        return RankCorrelation(value, np.nan, np.nan, count)
    half_width = _half_width(value, count)
    low, high = np.tanh(np.arctanh(value) + np.array([-half_width, half_width])).tolist()
    return RankCorrelation(value, low, high, count)


def least_significant_correlation(pairs: int) -> float:
    """The absolute value from which on the interval of `rank_correlation` excludes zero; NaN below four pairs."""
    from scipy.optimize import brentq

    if pairs < 4:
        return float("nan")
    return float(brentq(lambda value: np.arctanh(value) - _half_width(value, pairs), _SLACK, 1 - _SLACK))


def _half_width(value: float, pairs: int) -> float:
    """Half of the 95% interval of artanh r."""
    from scipy.stats import norm

    return float(norm.ppf(0.975) * np.sqrt((1 + value**2 / 2) / (pairs - 3)))


def _checked(*sets: tuple[ArrayLike, ArrayLike]) -> list[tuple[Floats, Floats]]:
    """Check sets of codes and factors, which must agree in their columns; return them as float64."""
    checked_sets = []
    for codes, factors in sets:
        z, v = np.asarray(codes, dtype=np.float64), np.asarray(factors, dtype=np.float64)
        if z.ndim != 2 or v.ndim != 2 or len(z) != len(v) or not len(z):
            raise ValueError(f"expected codes (n, k) and factors (n, f) of the same samples, got {z.shape}, {v.shape}")
        if not np.isfinite(z).all() or not np.isfinite(v).all():
            raise ValueError("codes or factors are not finite")
        if v.min() < -_SLACK or v.max() > 1 + _SLACK:
            raise ValueError(f"factors must be scaled to [0, 1], they go from {v.min():g} to {v.max():g}")
        checked_sets.append((z, v))
    if len({(z.shape[1], v.shape[1]) for z, v in checked_sets}) > 1:
        raise ValueError("training and test samples have other numbers of codes or factors")
    return checked_sets
