"""Input checks, binning, splits, tree options and undefined scores of the disentanglement metrics."""

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.correlation import correlation_matrix

Floats = NDArray[np.float64]
Classes = NDArray[np.int64]
#: Equal-width bins of continuous values, as in the literature.
BINS = 20
#: Share of test samples for informativeness, explicitness, and SAP of categorical factors.
TESTED = 0.25


class Undefined(float):
    """NaN in place of an undefined score.

    Attributes:
        reason: why the score is undefined.
    """

    reason: str

    def __new__(cls, reason: str) -> Self:
        """NaN with a reason."""
        undefined = super().__new__(cls, math.nan)
        undefined.reason = reason
        return undefined


def checked(latents: ArrayLike, factors: ArrayLike, at_least: int = 2) -> tuple[Floats, Floats]:
    """Check latents (n, k) and factors (n, f); return them as float64.

    Raises:
        ValueError: shapes disagree, too few samples, values not finite, or a constant factor.
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
    constant = np.flatnonzero(np.ptp(v, axis=0) == 0)
    if constant.size:
        raise ValueError(f"factor column {constant[0]} never changes, so no latent can represent it; omit it")
    return z, v


def require_columns(columns: Iterable[int], factors: Floats) -> frozenset[int]:
    """Check the columns of categorical factors.

    Raises:
        ValueError: there is no such column.
    """
    categorical = frozenset(columns)
    if categorical - set(range(factors.shape[1])):
        raise ValueError(f"categorical columns {sorted(categorical)} are not all among the {factors.shape[1]} factors")
    return categorical


def binned(values: Floats, bins: int) -> Classes:
    """Equal-width bins of each column between its minimum and maximum, (n, c); 0 for a constant column.

    Raises:
        ValueError: fewer than two bins.
    """
    if bins < 2:
        raise ValueError(f"at least two bins are needed, got {bins}")
    low, width = values.min(axis=0), np.ptp(values, axis=0)
    place = (values - low) / np.where(width > 0, width, 1.0) * bins
    return np.minimum(place.astype(np.int64), bins - 1)


def as_classes(factors: Floats, bins: int | None, *, equal_shares: bool = False) -> Classes:
    """Each factor as classes (n, f): its values if there are at most `bins`, else bins of equal width or equal counts.

    Without `bins`, every distinct value is a class.

    Raises:
        ValueError: fewer than two bins, or without bins a factor that takes no value twice.
    """
    from scipy.stats import rankdata

    if bins is None:
        numbers = [np.unique(values, return_inverse=True)[1] for values in factors.T]
        for column, number in enumerate(numbers):
            if len(number) == number.max() + 1:
                raise ValueError(f"factor column {column} takes no value twice; its values are not classes, bin them")
        return np.stack(numbers, axis=1).astype(np.int64)

    columns = []
    measured = rankdata(factors, axis=0) if equal_shares else factors
    for values, coarse in zip(factors.T, binned(measured, bins).T, strict=True):
        distinct, number = np.unique(values, return_inverse=True)
        columns.append(number if len(distinct) <= bins else coarse)
    return np.stack(columns, axis=1).astype(np.int64)


def normalised(values: Floats) -> Floats:
    """Columns scaled to mean 0 and standard deviation 1; a constant column becomes 0."""
    constant = np.ptp(values, axis=0) == 0
    result: Floats = np.where(
        constant, 0.0, (values - values.mean(axis=0)) / np.where(constant, 1.0, values.std(axis=0))
    )
    return result


def indicators(column: Floats) -> Floats:
    """An indicator of each class of a categorical factor (n,), in ascending order, (n, classes)."""
    return (column[:, None] == np.unique(column)).astype(np.float64)


def association(latents: ArrayLike, factors: ArrayLike, categorical: Iterable[int] = ()) -> Floats:
    """How strongly each latent depends on each factor, (k, f): absolute correlation, or η for categorical factors.

    The correlation ratio η is the square root of the share of a latent's variance that lies between the classes:
    η² = Σ_c n_c (z̄_c − z̄)² / Σ_n (z_n − z̄)².  It is 0 for a constant latent.  For two classes it is |correlation|.

    Args:
        latents: (n, k).
        factors: (n, f).
        categorical: columns of factors that are classes without an order.

    Raises:
        ValueError: there is no such column, or as `checked`.
    """
    z, v = checked(latents, factors)
    result, unit = correlation_matrix(z, v), normalised(z) / np.sqrt(len(z))
    for column in require_columns(categorical, v):
        member = indicators(v[:, column])
        result[:, column] = np.minimum(np.linalg.norm((member / np.sqrt(member.sum(axis=0))).T @ unit, axis=0), 1.0)
    return result


def split_rows(samples: int, seed: int) -> tuple[Classes, Classes]:
    """Training rows and test rows, drawn at random."""
    order = np.random.default_rng(seed).permutation(samples)
    count = round(TESTED * samples)
    return order[count:], order[:count]


def tree_options(samples: int, workers: int | None) -> dict[str, Any]:
    """LightGBM options for reproducible trees; leaves have at least 20 samples, or a quarter of a small data set.

    Without a number of workers OpenMP chooses the threads: OMP_NUM_THREADS, or one per core.  LightGBM's own choice is
    every core, whatever other processes do; on busy cores small trees then take a hundred times as long.
    """
    least = max(1, min(20, samples // 4))
    return {
        "min_child_samples": least,
        "deterministic": True,
        "force_row_wise": True,
        "n_jobs": workers or 0,
        "verbosity": -1,
    }
