"""Transfer: regressors from codes to factors, learnt on some samples and tested on others that differ from them.

Source: Dittadi et al. 2021, Section 4.
"""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import spearmanr

from ropes.metrics.disentanglement.samples import least_in_a_leaf

Floats = NDArray[np.float64]
#: Factors may have been stored in float32 before they were scaled.
_SLACK = 1e-6
#: Samples from which on a tenth of them tells when to stop.
_FEWEST = 100
Regressor = Literal["trees", "mlp"]


def transfer_errors(
    learnt: tuple[ArrayLike, ArrayLike],
    *tested: tuple[ArrayLike, ArrayLike],
    regressor: Regressor = "trees",
    seed: int = 0,
    workers: int | None = None,
) -> Floats:
    """Mean absolute error of each factor, on one or several sets of samples that the regressors did not learn from.

    The transfer score is their mean over the factors but the one that shifts.

    Deviation: one network with an output for each factor stands for the paper's network a factor, and trees are
    LightGBM's.  Why: that is several times faster.  Effect: not measured.

    Deviation: codes are divided by their deviation over the samples to learn from.  Why: networks need inputs of one
    scale.  Effect: where a code hardly varies among these (the hue, learnt from red alone) codes of other hues lie far
    out: trees do not mind, networks do, and their OOD1-A errors are no finding about representations.

    Args:
        learnt: codes (n, k) and factors (n, f), in [0, 1], to learn from.
        tested: codes (m, k) and factors (m, f) of the others, set by set.
        regressor: gradient-boosted trees, or a network with two hidden layers of 256.
        seed: of the network; trees have no chance in them.
        workers: threads of the trees; None for all cores.

    Returns:
        (sets, f) values; a regressor that knows nothing errs by about a quarter of a factor's range.

    Raises:
        ValueError: shapes disagree, values not finite, factors outside [0, 1], or an unknown regressor.
    """
    (codes, factors), *others = (_checked(*part) for part in (learnt, *tested))
    if any(c.shape[1] != codes.shape[1] or f.shape[1] != factors.shape[1] for c, f in others):
        raise ValueError("samples to learn from and to test on have other numbers of codes or factors")
    centre, scale = codes.mean(axis=0), codes.std(axis=0)
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
        case "trees":
            from lightgbm import LGBMRegressor

            trees = [
                LGBMRegressor(
                    min_child_samples=least_in_a_leaf(len(codes)),
                    deterministic=True,
                    force_row_wise=True,
                    n_jobs=workers,
                    verbosity=-1,
                ).fit(codes, column)
                for column in factors.T
            ]
            return lambda new: np.stack([tree.predict(new) for tree in trees], axis=1)
        case "mlp":
            from sklearn.neural_network import MLPRegressor

            early = len(codes) >= _FEWEST  # with fewer there is nothing to stop by
            network: Any = MLPRegressor(hidden_layer_sizes=(256, 256), early_stopping=early, random_state=seed)
            _fit(network, codes, factors)
            return lambda new: network.predict(new).reshape(len(new), factors.shape[1])
    raise ValueError(f'unknown regressor "{name}": choose trees or mlp')


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


def _checked(codes: ArrayLike, factors: ArrayLike) -> tuple[Floats, Floats]:
    z, v = np.asarray(codes, dtype=np.float64), np.asarray(factors, dtype=np.float64)
    if z.ndim != 2 or v.ndim != 2 or len(z) != len(v) or not len(z):
        raise ValueError(f"expected codes (n, k) and factors (n, f) of the same samples, got {z.shape} and {v.shape}")
    if not np.isfinite(z).all() or not np.isfinite(v).all():
        raise ValueError("codes or factors are not finite")
    if v.min() < -_SLACK or v.max() > 1 + _SLACK:
        raise ValueError(f"factors must be scaled to [0, 1], they go from {v.min():g} to {v.max():g}")
    return z, v
