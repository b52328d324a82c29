"""Monotone calibration by quantile matching."""

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

Floats = NDArray[np.float64]
#: Bins of probability whose means are matched: finer at both ends, where values are sparse and bends are.
_EDGES = np.array([0, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1])


def matched_means(read: ArrayLike, drawn: ArrayLike) -> Floats:
    """Knots of the monotone map that gives values the distribution of others.

    Both are sorted and cut at the same shares; a knot leads from the mean of one part to the mean of its counterpart,
    which is less noisy than from quantile to quantile.

    Args:
        read: (n,) values to map.
        drawn: (m,) values distributed as they should be.

    Returns:
        (2, 8): from, to; each strictly increasing.

    Raises:
        ValueError: fewer than 40 values, values that are not finite, or too many equal ones.
    """
    knots = np.stack([_bin_means(np.asarray(values, dtype=np.float64)) for values in (read, drawn)])
    if not (np.diff(knots) > 0).all():
        raise ValueError("too many values are equal")
    return knots


def bend(values: ArrayLike, knots: Floats) -> Floats:
    """Values through the monotone map of `matched_means`: any shape → the same.

    Between the knots it is a monotone cubic; beyond them the line through the last two.
    """
    given, (start, end) = np.asarray(values, dtype=np.float64), knots
    inside = np.clip(given, start[0], start[-1])
    slopes = np.diff(end)[[0, -1]] / np.diff(start)[[0, -1]]
    return np.asarray(PchipInterpolator(start, end)(inside) + (given - inside) * np.where(given < start[0], *slopes))


def _bin_means(values: Floats) -> Floats:
    if values.ndim != 1 or len(values) < 40 or not np.isfinite(values).all():
        raise ValueError(f"expected at least 40 finite values in a row, got shape {values.shape}")
    at = np.round(_EDGES * len(values)).astype(np.int64)
    ordered = np.sort(values)
    return np.array([ordered[first:last].mean() for first, last in pairwise(at)])
