"""Input checks and binning that all disentanglement metrics share."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]
#: Equal-width bins of what is continuous, as in the literature.
BINS = 20


def checked(latents: ArrayLike, factors: ArrayLike, at_least: int = 2) -> tuple[Floats, Floats]:
    """Both as finite float64, (n, k) and (n, f).

    Raises:
        ValueError: shapes disagree, too few samples, values not finite, or a factor that never changes.
    """
    z, v = np.asarray(latents, dtype=np.float64), np.asarray(factors, dtype=np.float64)
    if z.ndim != 2 or v.ndim != 2 or not z.shape[1] or not v.shape[1]:
        raise ValueError(f"expected latents (n, k) and factors (n, f), got {z.shape} and {v.shape}")
    if len(z) != len(v):
        raise ValueError(f"latents and factors differ in length: {len(z)} and {len(v)} samples")
    if len(z) < at_least:
        raise ValueError(f"at least {at_least} samples are needed, got {len(z)}")
    for name, values in (("latents", z), ("factors", v)):
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            raise ValueError(f"{name} are not finite: row {bad[0, 0]}, column {bad[0, 1]}")
    still = np.flatnonzero(np.ptp(v, axis=0) == 0)
    if still.size:
        raise ValueError(f"factor column {still[0]} never changes, so nothing can stand for it; leave it out")
    return z, v


def require_columns(columns: Iterable[int], factors: Floats) -> frozenset[int]:
    """Columns of factors that are classes without an order.

    Raises:
        ValueError: there is no such column.
    """
    chosen = frozenset(columns)
    if chosen - set(range(factors.shape[1])):
        raise ValueError(f"categorical columns {sorted(chosen)} are not all among the {factors.shape[1]} factors")
    return chosen


def binned(values: Floats, bins: int) -> Classes:
    """Equal-width bins of each column between its least and its greatest value, (n, c); 0 where it never changes.

    Raises:
        ValueError: fewer than two bins.
    """
    if bins < 2:
        raise ValueError(f"at least two bins are needed, got {bins}")
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    place = (values - low) / np.where(width > 0, width, 1.0) * bins
    return np.minimum(place.astype(np.int64), bins - 1)


def as_classes(factors: Floats, bins: int, *, equal_shares: bool = False) -> Classes:
    """Each factor as classes (n, f): its own values where they are few, else bins, of equal width or of equal shares.

    Raises:
        ValueError: fewer than two bins.
    """
    columns = []
    measured = rankdata(factors, axis=0) if equal_shares else factors
    for values, coarse in zip(factors.T, binned(measured, bins).T, strict=True):
        own, number = np.unique(values, return_inverse=True)
        columns.append(number if len(own) <= bins else coarse)
    return np.stack(columns, axis=1).astype(np.int64)


def normalised(values: Floats) -> Floats:
    """Columns of mean 0 and deviation 1; a constant column becomes 0."""
    centred, spread = values - values.mean(axis=0), values.std(axis=0)
    constant = np.ptp(values, axis=0) == 0
    result: Floats = np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))
    return result


def least_in_a_leaf(samples: int) -> int:
    """Samples that a leaf of boosted trees has at least: LightGBM's 20, a quarter where there are few to learn from."""
    return max(1, min(20, samples // 4))
