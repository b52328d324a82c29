"""Conformal quantiles, leave-one-out residuals, interval coverage, and AUROC of a detection score."""

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.correlation import Floats


def conformal_quantile(scores: ArrayLike, level: float) -> Floats:
    """Conformal quantile of each column: the ⌈(n + 1) level⌉-th smallest score.

    A new score stays below it with probability `level` at least, for exchangeable scores of any distribution (Vovk,
    Gammerman and Shafer 2005).

    Args:
        scores: (n, d), separate columns; NaN for missing samples, which do not count.
        level: in (0, 1).

    Returns:
        (d,); infinite for a column with too few scores for this level.

    Raises:
        ValueError: a level outside (0, 1), or infinite scores.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, got {level}")
    if values.ndim != 2 or np.isinf(values).any():
        raise ValueError(f"expected scores (n, d) that are not infinite, got shape {values.shape}")
    number = np.isfinite(values).sum(axis=0)
    # Rounding removes floating-point errors: (9 + 1) · 0.9 must be 9.
    rank = np.ceil(np.round((number + 1) * level, 9)).astype(np.int64)
    # NaN are sorted last; the added row of infinities is for columns with too few scores.
    ordered = np.concatenate([np.sort(values, axis=0), np.full((1, values.shape[1]), np.inf)])
    return np.take_along_axis(ordered, np.where(rank > number, len(values), rank - 1)[None], axis=0)[0]


def leave_one_out_residuals(estimates: ArrayLike, angles: ArrayLike) -> Floats:
    """Leave-one-out residuals of the least-squares line of each joint.

        r_n / (1 − h_n),    h_n = 1 / N + (x_n − x̄)² / Σ (x − x̄)²

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.

    Returns:
        (n, d) radians, signed: estimate minus angle.

    Raises:
        ValueError: shapes disagree, fewer than three samples, or a sample that alone determines a line.
    """
    x, y = np.asarray(estimates, dtype=np.float64), np.asarray(angles, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape or len(x) < 3:
        raise ValueError(f"expected three samples or more of one coordinate a joint, got {x.shape} for {y.shape}")
    centred = x - x.mean(0)
    total = (centred**2).sum(0)
    if (total == 0).any():
        raise ValueError("a coordinate does not vary")
    leverage = 1 / len(x) + centred**2 / total
    if (leverage > 1 - 1e-9).any():
        raise ValueError("one sample alone determines a line")
    slope = (centred * (y - y.mean(0))).sum(0) / total
    return np.asarray((slope * centred + y.mean(0) - y) / (1 - leverage))


def coverage(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> Floats:
    """Share of samples whose true value is in its interval: bounds and truth (n, d) → (d,)."""
    value = np.asarray(truth)
    return np.asarray(((np.asarray(low) <= value) & (value <= np.asarray(high))).mean(axis=0))


def auroc(negatives: ArrayLike, positives: ArrayLike) -> float:
    """Area under the ROC curve: probability that a score of `positives` exceeds one of `negatives`; ties count half.

    Raises:
        ValueError: one of the two is empty, or a value is NaN.
    """
    from scipy.stats import rankdata

    low, high = np.asarray(negatives, dtype=np.float64), np.asarray(positives, dtype=np.float64)
    if not len(low) or not len(high) or np.isnan(low).any() or np.isnan(high).any():
        raise ValueError("expected at least one number of each kind")
    ranks = rankdata(np.concatenate([low, high]))[len(low) :]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(low) * len(high)))
