"""Tests whether differences of read and logged angles have an offset or a trend beyond the estimator's own errors.

Neighbouring frames have similar errors, so n frames count as fewer.  Two estimates of the error of a mean are compared,
and the larger one counts: one from the differences themselves, by their slow variations over time, and one from the
estimator's stored standard deviations, by the number of distinct poses.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ropes.common.arrays import Floats
from ropes.evaluation.drift.slow_errors import (
    FEWEST_SIDE,
    long_run_variance,
    number_of_terms,
    slow_factors,
    trend_bound,
    without_step,
)
from ropes.models.frame_changes import MAD_TO_STD

#: Probability that any joint raises a false alarm.
LEVEL = 0.05
#: Ratio of the spread of differences to the usual one above which errors do not explain it.
UNEXPLAINED = 3.0
#: Fewest frames that are tested.
FEWEST_FRAMES = 30
#: Poses that differ by less than about this have similar errors, radians.
SIMILAR_POSES = 0.5
#: Longest recording of the simulations behind the bounds, frames.
_SIMULATED_FRAMES = 200
#: Huber's bound in standard deviations, and rounds of the robust fit.
_HUBER, _ROUNDS = 1.345, 20


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
    """Median difference of a joint where all is well, its standard error, and the spread of the differences, radians.

    The spread is half the distance from the 16% to the 84% quantile; 0 where it is not known.
    """

    value: float
    error: float
    spread: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Offset, trend and spread of one joint's differences.

    Attributes:
        offset: median of the differences, less that where all is well, radians.
        trend: change of a robust line from the first frame to the last, radians.
        effective: number of independent frames with the same error of the median.
        few: whether these are too few for an exact test; the intervals are then wider.
        change: index of the first frame after the change; None without a significant trend, or where a line fits better
            than a step.
        before, after: the same on both sides of the change, radians; None without one.
        spread: half the distance from the 16% to the 84% quantile of the differences, radians.
        usual_spread: what the estimator's errors, or the reference, explain of it, radians.
    """

    offset: Estimate
    trend: Estimate
    effective: float
    few: bool
    change: int | None
    before: float | None
    after: float | None
    spread: float = 0.0
    usual_spread: float = 0.0

    @property
    def unexplained(self) -> bool:
        """Whether the differences are `UNEXPLAINED` times as large as errors explain: the log is not of this motion.

        So are those of a dead or mirrored encoder, of two exchanged joints, and of an offset for a part of the time.
        """
        return self.spread > UNEXPLAINED * self.usual_spread > 0

    @property
    def drifted(self) -> bool:
        """Whether the offset or the trend is significant, or the spread unexplained."""
        return self.offset.significant or self.trend.significant or self.unexplained


def drift(
    differences: Floats,
    stds: Floats,
    angles: Floats,
    times: Floats,
    *,
    tests: int,
    zero: Zero = Zero(value=0.0, error=0.0),
    level: float = LEVEL,
) -> Drift:
    """Test the differences of one joint for an offset and a trend.

    Each of the two tests is at level / tests (Bonferroni): that of the offset against Student's t with as many degrees
    of freedom as `long_run_variance` has terms, that of the trend against `trend_bound`.  Their variances are

        offset: max(Ω / n, wᵀ S C S w) + zero.error²     trend: max(Ω / Σ_t x_t², wᵀ S C S w)

    with positions x from −½ to ½, less their mean; Ω by `long_run_variance` of the influences, larger by `slow_factors`
    where independent frames are too few; and wᵀ S C S w by `shared_variance`.

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
    terms, few = number_of_terms(influence)
    length = min(n, _SIMULATED_FRAMES)
    bound, (wider, steeper) = trend_bound(length, terms, level / tests), slow_factors(length, level / tests, few)
    own = steeper**2 * long_run_variance(influence, terms) / squares
    error = float(np.sqrt(max(own, shared_variance(centred / squares, stds, similarity))))
    trend = Estimate(value=slope, error=error, low=slope - bound * error, high=slope + bound * error)

    median = float(np.median(differences))
    influence = median_influence(differences, median)
    own = wider**2 * long_run_variance(influence - influence.mean(), terms) / n
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
    usual = max(float(np.sqrt((stds**2).mean())), zero.spread)
    return Drift(
        offset=offset,
        trend=trend,
        effective=effective,
        few=few,
        change=change,
        before=before,
        after=after,
        spread=float(spread_of(differences)),
        usual_spread=usual,
    )


def spread_of(values: Floats) -> Floats:
    """Half the distance from the 16% to the 84% quantile of each column; σ of a normal distribution.

    Args:
        values: (n,) or (n, d).

    Returns:
        A number, or (d,).
    """
    low, high = np.quantile(values, [0.16, 0.84], axis=0)
    return np.asarray((high - low) / 2)


def similar_errors(angles: Floats, length: float = SIMILAR_POSES) -> Floats:
    """Correlation of the estimator's errors at each pair of poses, (n, n).

        C_tu = exp(−Σ_k (q_tk − q_uk)² / (2 ℓ²))

    Args:
        angles: q, (n, d), radians.
        length: ℓ, radians.
    """
    squares = (angles**2).sum(1)
    distances = squares[:, None] + squares[None] - 2 * angles @ angles.T
    return np.exp(-np.maximum(distances, 0) / (2 * length**2))


def shared_variance(weights: Floats, stds: Floats, similarity: Floats) -> float:
    """Variance of a weighted sum of errors, wᵀ S C S w, for the standard deviations S and correlations C.

    Where the arm stands still all errors are the same one, and the mean of many frames is no better than one frame.

    Args:
        weights: w, (n,).
        stds: diagonal of S, (n,).
        similarity: C, (n, n), see `similar_errors`.
    """
    scaled = weights * stds
    return float(scaled @ similarity @ scaled)


def median_influence(values: Floats, median: float) -> Floats:
    """Influence of each value on the median, sign(x − m) / (2 f(m)), (n,); the density f(m) from the quartiles.

    1 / f(m) is estimated by (x₇₅ − x₂₅) / ½, which is 8% too much for a normal distribution.
    """
    low, high = np.quantile(values, [0.25, 0.75])
    return np.asarray(np.sign(values - median) * (high - low))


def robust_slope(values: Floats, position: Floats) -> tuple[float, Floats]:
    """Slope of a line by Huber's M-estimator, and the bounded residuals ψ / mean(ψ'), (n,).

    Args:
        values: (n,).
        position: (n,), with mean 0 and a distance of 1 from the first value to the last.

    Returns:
        Slope, in the unit of the values from the first one to the last; bounded residuals in the same unit.
    """
    line = np.stack([np.ones_like(position), position], axis=1)
    fitted = np.array([np.median(values), 0.0])
    for _ in range(_ROUNDS):
        residuals = values - line @ fitted
        scale = max(MAD_TO_STD * float(np.median(np.abs(residuals))), 1e-12)
        weight = 1 / np.maximum(np.abs(residuals) / (_HUBER * scale), 1)
        fitted = np.linalg.solve(line.T @ (weight[:, None] * line), line.T @ (weight * values))
    residuals = values - line @ fitted
    bounded = np.clip(residuals, -_HUBER * scale, _HUBER * scale)
    inside = max(float((np.abs(residuals) < _HUBER * scale).mean()), 0.1)
    return float(fitted[1]), bounded / inside


def change_point(values: Floats, position: Floats) -> int | None:
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
    explained[: FEWEST_SIDE - 1] = explained[n - FEWEST_SIDE :] = 0
    best = int(explained.argmax())
    by_line = (position @ centred) ** 2 / (position**2).sum()
    return best + 1 if explained[best] > by_line else None
