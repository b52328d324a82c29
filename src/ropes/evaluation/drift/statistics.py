"""Tests whether differences of read and logged angles have an offset or a trend beyond the estimator's own errors.

Neighbouring frames have similar errors, so n frames count as fewer.  Two estimates of the error of a mean are compared,
and the larger one counts: one from the differences themselves, by their slow variations over time, and one from the
estimator's stored standard deviations, by the number of distinct poses.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ropes.common.seeds import generator

Array = NDArray[np.float64]
#: Probability that any joint raises a false alarm.
LEVEL = 0.05
#: Fewest frames that are tested, and fewest on each side of a change.
FEWEST_FRAMES, _FEWEST_SIDE = 30, 10
#: Poses that differ by less than about this have similar errors, radians.
SIMILAR_POSES = 0.5
#: Number of cosines: this share of n^(2/3) (Lazarus, Lewis, Stock and Watson, 2018); within these bounds.
_SHARE, _FEWEST_TERMS, _MOST_TERMS = 0.4, 4, 40
#: Places of a step that are tried; simulated recordings behind the bound of a trend, and their longest length.
_PLACES, _SIMULATIONS, _SIMULATED_FRAMES = 40, 10_000, 200
#: Huber's bound in standard deviations, and rounds of the robust fit.
_HUBER, _ROUNDS = 1.345, 20
#: Standard deviation of a normal distribution over its median absolute deviation.
_TO_STD = 1.4826


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with its standard error and simultaneous interval.

    Attributes:
        value: in the unit of the differences.
        error: standard error.
        low, high: ends of the interval; it excludes 0 where the value is significant.
    """

    value: float
    error: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return not self.low <= 0 <= self.high


@dataclass(frozen=True, kw_only=True)
class Zero:
    """Median difference of a joint where all is well, and its standard error, radians."""

    value: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Offset and trend of one joint's differences.

    Attributes:
        offset: median of the differences, less that where all is well, radians.
        trend: change of a robust line from the first frame to the last, radians.
        effective: number of independent frames with the same error of the median.
        change: index of the first frame after the change; None without a significant trend, or where a line fits better
            than a step.
        before, after: the same on both sides of the change, radians; None without one.
    """

    offset: Estimate
    trend: Estimate
    effective: float
    change: int | None
    before: float | None
    after: float | None

    @property
    def drifted(self) -> bool:
        """Whether the offset or the trend is significant."""
        return self.offset.significant or self.trend.significant


def drift(
    differences: Array,
    stds: Array,
    angles: Array,
    times: Array,
    *,
    tests: int,
    zero: Zero = Zero(value=0.0, error=0.0),
    level: float = LEVEL,
) -> Drift:
    """Test the differences of one joint for an offset and a trend.

    Each of the two tests is at level / tests (Bonferroni): that of the offset against Student's t with as many degrees
    of freedom as `long_run_variance` has terms, that of the trend against `trend_bound`.  Variances of both:

        max(Ω / n, wᵀ S C S w) + zero.error²

    with Ω by `long_run_variance` of the influences and wᵀ S C S w by `shared_variance`; a trend has no error of zero.

    Args:
        differences: read minus logged angle, (n,), radians.
        stds: standard deviations of the estimator's errors, (n,), radians.
        angles: logged angles of all joints, (n, d), radians.
        times: in ascending order, (n,), seconds.
        tests: number of tests that share the level, two for each joint.
        zero: median difference where all is well.
        level: probability of a false alarm in any of the tests.

    Raises:
        ValueError: fewer than `FEWEST_FRAMES` frames, or arrays of different lengths.
    """
    n = len(differences)
    if n < FEWEST_FRAMES or not len(stds) == len(angles) == len(times) == n:
        raise ValueError(f"{n} frames; at least {FEWEST_FRAMES} are needed, with a value for each")
    similarity = similar_errors(angles)
    position = (times - times[0]) / max(float(times[-1] - times[0]), 1e-9) - 0.5  # from the first frame to the last
    centred = position - position.mean()
    squares = float((centred**2).sum())

    slope, influence = robust_slope(differences, centred)
    influence = without_step(influence[None], centred)[0]
    terms = number_of_terms(influence)
    bound = trend_bound(min(n, _SIMULATED_FRAMES), terms, level / tests)
    own = long_run_variance(influence, terms) / squares
    error = float(np.sqrt(max(own, shared_variance(centred / squares, stds, similarity))))
    trend = Estimate(value=slope, error=error, low=slope - bound * error, high=slope + bound * error)

    median = float(np.median(differences))
    influence = median_influence(differences, median)
    own = long_run_variance(influence - influence.mean(), terms) / n
    bound = float(stats.t.ppf(1 - level / (2 * tests), terms))
    shared = shared_variance(np.full(n, 1 / n), stds, similarity)
    effective = float(np.clip(influence.var() / max(own, shared, 1e-30), 1, n))
    error, value = float(np.sqrt(max(own, shared) + zero.error**2)), median - zero.value
    offset = Estimate(value=value, error=error, low=value - bound * error, high=value + bound * error)

    change = change_point(differences, centred) if trend.significant else None
    before, after = (
        (None, None)
        if change is None
        else (float(np.median(differences[:change])) - zero.value, float(np.median(differences[change:])) - zero.value)
    )
    return Drift(offset=offset, trend=trend, effective=effective, change=change, before=before, after=after)


def number_of_terms(values: Array) -> int:
    """Number of cosines of `long_run_variance`: fewer for values with a stronger autocorrelation.

    0.4 n^(2/3), but at most n / (4 τ), for the autocorrelation time τ = (1 + ρ) / (1 − ρ) of a first-order process.

    Args:
        values: (n,).
    """
    n, centred = len(values), values - values.mean()
    rho = float(np.clip(centred[1:] @ centred[:-1] / max(float(centred @ centred), 1e-30), 0, 0.999))
    return int(np.clip(min(_SHARE * n ** (2 / 3), n * (1 - rho) / (4 * (1 + rho))), _FEWEST_TERMS, _MOST_TERMS))


def long_run_variance(values: Array, terms: int) -> float:
    """Spectral density at frequency 0, times 2π, of autocorrelated values: n times the variance of their mean.

        Ω = (1 / K) Σ_k (√(2 / n) Σ_t z_t cos(π k (t − ½) / n))²,    k = 1 … K

    A mean over its error by Ω is distributed as Student's t with K degrees of freedom, for values that are correlated
    over much less than n / K of them (Müller 2007; Lazarus, Lewis, Stock and Watson 2018).

    Args:
        values: z with mean 0, (n,).
        terms: K.
    """
    return float(((_cosines(len(values), terms) @ values) ** 2).mean())


def _cosines(n: int, terms: int) -> Array:
    """Orthonormal cosines, (K, n)."""
    return np.asarray(np.sqrt(2 / n) * np.cos(np.pi * np.arange(1, terms + 1)[:, None] * (np.arange(n) + 0.5) / n))


def without_step(values: Array, position: Array) -> Array:
    """Residuals of a line and of the step that fits best beside it, of each row: (m, n) → (m, n).

    The error of a trend comes from these residuals.  A step is a trend too, and must not count as slow noise.

    Args:
        values: (m, n).
        position: (n,), with mean 0.
    """
    n = len(position)
    line = np.linalg.qr(np.stack([np.ones(n), position], axis=1))[0]
    places = np.unique(np.linspace(_FEWEST_SIDE, n - _FEWEST_SIDE, _PLACES).round().astype(int))
    steps = (np.arange(n) >= places[:, None]).astype(np.float64)
    steps -= steps @ line @ line.T
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    residuals = values - values @ line @ line.T
    scores = residuals @ steps.T
    best = np.abs(scores).argmax(1)
    return np.asarray(residuals - np.take_along_axis(scores, best[:, None], axis=1) * steps[best])


@cache
def trend_bound(n: int, terms: int, level: float) -> float:
    """Value that the ratio of a trend to its error exceeds with probability `level` in white noise, by simulation.

    Args:
        n: number of frames.
        terms: of `long_run_variance`.
        level: of the two-sided test.
    """
    position = np.linspace(-0.5, 0.5, n)
    noise = generator(0, "trend bound", n).normal(size=(_SIMULATIONS, n))
    slopes = noise @ position / np.sqrt((position**2).sum())
    variances = ((without_step(noise, position) @ _cosines(n, terms).T) ** 2).mean(1)
    return float(np.quantile(np.abs(slopes) / np.sqrt(variances), 1 - level))


def similar_errors(angles: Array, length: float = SIMILAR_POSES) -> Array:
    """Correlation of the estimator's errors at each pair of poses, (n, n).

        C_tu = exp(−Σ_k (q_tk − q_uk)² / (2 ℓ²))

    Args:
        angles: q, (n, d), radians.
        length: ℓ, radians.
    """
    squares = (angles**2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * angles @ angles.T
    return np.exp(-np.maximum(distances, 0) / (2 * length**2))


def shared_variance(weights: Array, stds: Array, similarity: Array) -> float:
    """Variance of a weighted sum of errors, wᵀ S C S w, for the standard deviations S and correlations C.

    Where the arm stands still all errors are the same one, and the mean of many frames is no better than one frame.

    Args:
        weights: w, (n,).
        stds: diagonal of S, (n,).
        similarity: C, (n, n), see `similar_errors`.
    """
    scaled = weights * stds
    return float(scaled @ similarity @ scaled)


def median_influence(values: Array, median: float) -> Array:
    """Influence of each value on the median, sign(x − m) / (2 f(m)), (n,); the density f(m) from the quartiles.

    1 / f(m) is estimated by (x₇₅ − x₂₅) / ½, which is 8% too much for a normal distribution.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    return np.asarray(np.sign(values - median) * (high - low))


def robust_slope(values: Array, position: Array) -> tuple[float, Array]:
    """Slope of a line by Huber's M-estimator, and the bounded residuals ψ / mean(ψ'), (n,).

    Args:
        values: (n,).
        position: (n,), with mean 0.
    """
    line = np.stack([np.ones_like(position), position], axis=1)
    fitted = np.array([np.median(values), 0.0])
    for _ in range(_ROUNDS):
        residuals = values - line @ fitted
        scale = max(_TO_STD * float(np.median(np.abs(residuals))), 1e-12)
        weight = 1 / np.maximum(np.abs(residuals) / (_HUBER * scale), 1)
        fitted = np.linalg.solve(line.T @ (weight[:, None] * line), line.T @ (weight * values))
    residuals = values - line @ fitted
    bounded = np.clip(residuals, -_HUBER * scale, _HUBER * scale)
    inside = max(float((np.abs(residuals) < _HUBER * scale).mean()), 0.1)
    return float(fitted[1]), bounded / inside


def change_point(values: Array, position: Array) -> int | None:
    """Index of the first value after the step that fits best; None where a line fits better, by squared errors.

    Args:
        values: (n,).
        position: (n,), with mean 0.
    """
    n = len(values)
    centred = values - values.mean()
    sums = np.cumsum(centred)[:-1]
    counts = np.arange(1, n)
    explained = sums**2 * n / (counts * (n - counts))  # Σ (x − x̄)² minus that around the two means
    explained[: _FEWEST_SIDE - 1] = explained[n - _FEWEST_SIDE :] = 0
    best = int(explained.argmax())
    by_line = (position @ centred) ** 2 / (position**2).sum()
    return best + 1 if explained[best] > by_line else None
