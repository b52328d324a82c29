"""Transfer errors: regressors from codes to factors, fitted on some samples and tested on shifted ones.

Source: Dittadi et al. 2021, Section 4.
"""

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, spearmanr

from ropes.metrics.disentanglement.samples import least_in_a_leaf

Floats = NDArray[np.float64]
#: Factors may have been stored in float32 before they were scaled.
_SLACK = 1e-6
#: Samples from which on a tenth of them tells when to stop.
_FEWEST = 100
Regressor = Literal["trees", "forest", "mlp1", "mlp", "mlp3"]
#: The study's: gradient-boosted trees, random forests, and networks with one, two and three hidden layers.
REGRESSORS: tuple[Regressor, ...] = get_args(Regressor)
_DEPTHS = {"mlp1": 1, "mlp": 2, "mlp3": 3}
_HIDDEN = 256
#: Of LightGBM, for a random forest: each tree of a share of the samples, each split of a third of the codes.
_FOREST: dict[str, Any] = {
    "boosting_type": "rf",
    "subsample": 0.632,
    "subsample_freq": 1,
    "colsample_bynode": 1 / 3,
    "num_leaves": 255,
}
#: Of the classifier's trees.
_DEPTH = 3


def transfer_errors(
    learnt: tuple[ArrayLike, ArrayLike],
    *tested: tuple[ArrayLike, ArrayLike],
    regressor: Regressor = "trees",
    trained: ArrayLike | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Floats:
    """Mean absolute error of each factor, on one or several sets of samples that the regressors did not learn from.

    The transfer score is their mean over the factors but the one that shifts.

    Deviation: one network with an output for each factor stands for the paper's network a factor, and trees and forests
    are LightGBM's; a forest has 100 trees of at most 255 leaves.  Why: that is several times faster, and the paper
    names no sizes.  Effect: not measured.

    Deviation: codes are divided by their deviation over up to 10,000 images of the encoder's training (of an arm over
    those that regressors learn from).  Why: networks need inputs of one scale, and the paper names none.  Effect: none
    for trees; not measured for networks.

    Args:
        learnt: codes (n, k) and factors (n, f), in [0, 1], to learn from.
        tested: codes (m, k) and factors (m, f) of the others, set by set.
        regressor: "trees", gradient-boosted; "forest", random; or a network with hidden layers of 256, "mlp1" with one,
            "mlp" with two, "mlp3" with three.
        trained: codes (t, k) by whose mean and deviation all are standardised; None: those to learn from.
        seed: of networks and forests; boosted trees have no chance in them.
        workers: threads of the trees; None for all cores.

    Returns:
        (sets, f) values; a regressor that knows nothing errs by about a quarter of a factor's range.

    Raises:
        ValueError: shapes disagree, values not finite, factors outside [0, 1], or an unknown regressor.
    """
    (codes, factors), *others = (_checked(*part) for part in (learnt, *tested))
    if any(c.shape[1] != codes.shape[1] or f.shape[1] != factors.shape[1] for c, f in others):
        raise ValueError("samples to learn from and to test on have other numbers of codes or factors")
    usual = codes if trained is None else np.asarray(trained, dtype=np.float64)
    if usual.ndim != 2 or usual.shape[1] != codes.shape[1] or not len(usual) or not np.isfinite(usual).all():
        raise ValueError(f"codes to standardise by must be finite and (t, {codes.shape[1]}), got {usual.shape}")
    centre, scale = usual.mean(axis=0), usual.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    tell = _regressor(regressor, (codes - centre) / scale, factors, seed, workers)
    found: Floats = np.stack(
        [np.abs(tell((their_codes - centre) / scale) - theirs).mean(axis=0) for their_codes, theirs in others]
    )
    return found


def _regressor(name: str, codes: Floats, factors: Floats, seed: int, workers: int | None) -> Callable[[Floats], Floats]:
    """What tells factors (m, f) from codes (m, k), learnt from these.

    Raises:
        ValueError: no such regressor.
    """
    match name:
        case "trees" | "forest":
            from lightgbm import LGBMRegressor

            drawn: dict[str, Any] = {"min_child_samples": least_in_a_leaf(len(codes))}
            if name == "forest":
                drawn = _FOREST | {"min_child_samples": max(1, least_in_a_leaf(len(codes)) // 4), "random_state": seed}
            trees = [
                LGBMRegressor(**drawn, deterministic=True, force_row_wise=True, n_jobs=workers, verbosity=-1).fit(
                    codes, column
                )
                for column in factors.T
            ]
            return lambda new: np.stack([tree.predict(new) for tree in trees], axis=1)
        case "mlp1" | "mlp" | "mlp3":
            from sklearn.neural_network import MLPRegressor

            early = len(codes) >= _FEWEST  # with fewer there is nothing to stop by
            hidden = (_HIDDEN,) * _DEPTHS[name]
            network: Any = MLPRegressor(hidden_layer_sizes=hidden, early_stopping=early, random_state=seed)
            _fit(network, codes, factors if factors.shape[1] > 1 else factors[:, 0])
            return lambda new: network.predict(new).reshape(len(new), factors.shape[1])
    raise ValueError(f'unknown regressor "{name}": choose one of {", ".join(REGRESSORS)}')


def classifier_errors(
    learnt: tuple[ArrayLike, ArrayLike], tested: tuple[ArrayLike, ArrayLike], *, workers: int | None = None
) -> Floats:
    """Share of samples whose value of each factor a classifier gets wrong; gradient-boosted trees of depth 3.

    Source: Dittadi et al. 2021, Fig. 3 (right), whose classifier learns from 10,000 samples.

    Deviation: trees are LightGBM's, 100 of depth 3 for each value.  Why: the paper names no sizes, and these are
    disentanglement_lib's.  Effect: not measured.

    Args:
        learnt: codes (n, k) and factors (n, f) of few values each, in [0, 1], to learn from.
        tested: the same of the others.
        workers: threads; None for all cores.

    Returns:
        (f,) values in [0, 1].

    Raises:
        ValueError: shapes disagree, values not finite, or factors outside [0, 1].
    """
    from lightgbm import LGBMClassifier

    (codes, factors), (new, theirs) = (_checked(*part) for part in (learnt, tested))
    if new.shape[1] != codes.shape[1] or theirs.shape[1] != factors.shape[1]:
        raise ValueError("samples to learn from and to test on have other numbers of codes or factors")
    found = []
    for column in range(factors.shape[1]):
        known, classes = np.unique(factors[:, column], return_inverse=True)
        trees: Any = LGBMClassifier(
            max_depth=_DEPTH,
            num_leaves=2**_DEPTH,
            min_child_samples=max(1, least_in_a_leaf(len(codes) // len(known))),
            deterministic=True,
            force_row_wise=True,
            n_jobs=workers,
            verbosity=-1,
        )
        trees.fit(codes, classes)
        found.append(float((known[trees.predict(new)] != theirs[:, column]).mean()))
    return np.array(found)


def _fit(network: Any, codes: Floats, factors: Floats) -> None:
    """Fit; a training that has not converged after all its epochs is taken as it is, one that was interrupted is not.

    Raises:
        KeyboardInterrupt: interrupted, which scikit-learn only warns of.
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
    """Spearman's correlation of every column with every other over the rows that have both: (n, c) → (c, c).

    NaN where a column does not vary over these rows, or fewer than three rows have both.

    Raises:
        ValueError: no table (n, c).
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"expected a table (n, c), got {values.shape}")
    found = np.full((values.shape[1],) * 2, np.nan)
    for one in range(values.shape[1]):
        for other in range(one + 1):
            both = values[np.isfinite(values[:, [one, other]]).all(axis=1)][:, [one, other]]
            if len(both) >= 3 and (np.ptp(both, axis=0) > 0).all():
                found[one, other] = found[other, one] = spearmanr(both[:, 0], both[:, 1]).statistic
    return found


class RankCorrelation(NamedTuple):
    """Spearman's correlation over so many pairs with its 95% interval; NaN where it is not defined."""

    value: float
    low: float
    high: float
    pairs: int


def rank_correlation(one: ArrayLike, other: ArrayLike) -> RankCorrelation:
    """Spearman's correlation of two columns (n,), over the rows that have both, and how sure it is.

    Source: Bonett and Wright 2000, standard error √((1 + r²/2) / (n − 3)) of artanh r; undefined below four rows, or
    where all ranks agree.

    Raises:
        ValueError: columns of other lengths.
    """
    pair = [np.asarray(column, dtype=np.float64) for column in (one, other)]
    if pair[0].ndim != 1 or pair[0].shape != pair[1].shape:
        raise ValueError(f"expected two columns of one length, got {pair[0].shape} and {pair[1].shape}")
    table = np.stack(pair, axis=1)
    value, count = float(rank_correlations(table)[0, 1]), int(np.isfinite(table).all(axis=1).sum())
    if count < 4 or not abs(value) < 1 - _SLACK:
        return RankCorrelation(value, np.nan, np.nan, count)
    wide = norm.ppf(0.975) * np.sqrt((1 + value**2 / 2) / (count - 3))
    low, high = np.tanh(np.arctanh(value) + np.array([-wide, wide])).tolist()
    return RankCorrelation(value, low, high, count)


def _checked(codes: ArrayLike, factors: ArrayLike) -> tuple[Floats, Floats]:
    z, v = np.asarray(codes, dtype=np.float64), np.asarray(factors, dtype=np.float64)
    if z.ndim != 2 or v.ndim != 2 or len(z) != len(v) or not len(z):
        raise ValueError(f"expected codes (n, k) and factors (n, f) of the same samples, got {z.shape} and {v.shape}")
    if not np.isfinite(z).all() or not np.isfinite(v).all():
        raise ValueError("codes or factors are not finite")
    if v.min() < -_SLACK or v.max() > 1 + _SLACK:
        raise ValueError(f"factors must be scaled to [0, 1], they go from {v.min():g} to {v.max():g}")
    return z, v
