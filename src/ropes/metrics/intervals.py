"""Interval coverage and width, and AUROC of a detection score."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from ropes.metrics.correlation import Floats


def conformal_quantile(scores: ArrayLike, level: float) -> Floats:
    """The bound that a further score keeps with probability `level` at least: the ⌈(n + 1) level⌉-th smallest.

    That holds for exchangeable scores of any distribution (Vovk, Gammerman and Shafer 2005).

    Args:
        scores: (n, d), each column on its own; NaN for a sample that the column lacks, which does not count.
        level: in (0, 1).

    Returns:
        (d,); infinite where a column's scores are too few to promise that level.

    Raises:
        ValueError: a level outside (0, 1), or infinite scores.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, got {level}")
    if values.ndim != 2 or np.isinf(values).any():
        raise ValueError(f"expected scores (n, d) that are not infinite, got shape {values.shape}")
    number = np.isfinite(values).sum(axis=0)
    # Rounded, for (9 + 1) · 0.9 is 9, whatever the last bit of the product says.
    place = np.ceil(np.round((number + 1) * level, 9)).astype(np.int64)
    # NaN are sorted behind all numbers; the row of infinities is for columns that cannot promise the level.
    ranked = np.concatenate([np.sort(values, axis=0), np.full((1, values.shape[1]), np.inf)])
    return np.take_along_axis(ranked, np.where(place > number, len(values), place - 1)[None], axis=0)[0]


def left_out_residuals(estimates: ArrayLike, angles: ArrayLike) -> Floats:
    """What each sample would be off by if the least-squares line of each joint were fitted without it.

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
    away = x - x.mean(0)
    total = (away**2).sum(0)
    if (total == 0).any():
        raise ValueError("a coordinate does not vary")
    leverage = 1 / len(x) + away**2 / total
    if (leverage > 1 - 1e-9).any():
        raise ValueError("one sample alone determines a line")
    slope = (away * (y - y.mean(0))).sum(0) / total
    return np.asarray((slope * away + y.mean(0) - y) / (1 - leverage))


def coverage(low: ArrayLike, high: ArrayLike, truth: ArrayLike) -> Floats:
    """Share of the samples whose truth lies within its interval: three times (n, d) → (d,)."""
    value = np.asarray(truth)
    return np.asarray(((np.asarray(low) <= value) & (value <= np.asarray(high))).mean(axis=0))


def auroc(usual: ArrayLike, unusual: ArrayLike) -> float:
    """Probability that a draw of `unusual` lies above one of `usual`, half of it for ties: area under the ROC curve.

    Raises:
        ValueError: one of the two is empty, or a value is not a number.
    """
    low, high = np.asarray(usual, dtype=np.float64), np.asarray(unusual, dtype=np.float64)
    if not len(low) or not len(high) or np.isnan(low).any() or np.isnan(high).any():
        raise ValueError("expected at least one number of each kind")
    ranks = rankdata(np.concatenate([low, high]))[len(low) :]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(low) * len(high)))
