"""The monotone map from readings of an angle to its known distribution."""

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.correlation import Floats

if TYPE_CHECKING:
    from scipy.interpolate import PchipInterpolator

#: Probability bins whose means are matched; finer in both tails, where the map is nonlinear.
_EDGES = np.array([0, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1])


def matched_means(read: ArrayLike, drawn: ArrayLike) -> Floats:
    """Knots of the monotone map that transforms values to a target distribution.

    Both samples are sorted and split into the same probability bins.  A knot maps the mean of a bin to the mean of its
    counterpart; means are less noisy than quantiles.

    Args:
        read: (n,) values to map.
        drawn: (m,) values of the target distribution.

    Returns:
        (2, 8): inputs and outputs; each strictly increasing.

    Raises:
        ValueError: fewer than 40 values, values not finite, or too many equal values.
    """
    knots = np.stack([_bin_means(np.asarray(values, dtype=np.float64)) for values in (read, drawn)])
    if not (np.diff(knots) > 0).all():
        raise ValueError("too many values are equal")
    return knots


def posterior_shrinkage(read: ArrayLike, drawn: ArrayLike) -> float:
    """Standard deviation of posterior means as a share of that of the angles, from readings with noise.

    Readings x = z + n of angles z, with noise n of mean zero, vary more than the angles.  If both are normal, the
    posterior mean is E[z | x] = E[z] + ρ² (x − E[x]) with ρ² = Var(z) / Var(x), and its standard deviation is ρ times
    that of z.  Readings that are a curved function of the angles, steeper towards the ends, look like noise here.

    Args:
        read: (n,) readings, radians.
        drawn: (m,) values of the angles' distribution, radians.

    Returns:
        ρ, above 0 and at most 1.

    Raises:
        ValueError: the readings are all equal, or the angles are.
    """
    deviations = [float(np.std(np.asarray(values, dtype=np.float64))) for values in (read, drawn)]
    if min(deviations) <= 0:
        raise ValueError("all values are equal")
    return min(1.0, deviations[1] / deviations[0])


def bend(values: ArrayLike, knots: Floats) -> Floats:
    """Apply the monotone map of `matched_means` to values of any shape.

    Between the knots it is a monotone cubic (PCHIP); beyond them it is the line through the last two.
    """
    x, (inputs, outputs) = np.asarray(values, dtype=np.float64), knots
    inside = np.clip(x, inputs[0], inputs[-1])
    slopes = np.diff(outputs)[[0, -1]] / np.diff(inputs)[[0, -1]]
    return np.asarray(_cubic(tuple(inputs), tuple(outputs))(inside) + (x - inside) * np.where(x < inputs[0], *slopes))


@lru_cache(maxsize=256)
def _cubic(inputs: tuple[float, ...], outputs: tuple[float, ...]) -> "PchipInterpolator":
    """The monotone cubic through knots; to construct it takes twenty times as long as to evaluate it at one value."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(inputs, outputs)


def _bin_means(values: Floats) -> Floats:
    if values.ndim != 1 or len(values) < 40 or not np.isfinite(values).all():
        raise ValueError(f"expected at least 40 finite values in a row, got shape {values.shape}")
    edges = np.round(_EDGES * len(values)).astype(np.int64)
    ordered = np.sort(values)
    return np.array([ordered[first:last].mean() for first, last in pairwise(edges)])
