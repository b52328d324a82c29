"""Tests whether differences of read and logged angles have an offset or a trend beyond the estimator's own errors.

Neighbouring frames have similar errors, so n frames count as fewer.  Two estimates of the error of a mean are compared,
and the larger one counts: one from the differences themselves, by their slow variations over time, and one from the
estimator's stored standard deviations, by the number of distinct poses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import Floats
from ropes.evaluation.drift.slow_errors import FEWEST_SIDE, SlowErrors, bounds, median_influence, slow_errors
from ropes.models.frame_changes import MAD_TO_STD

#: Probability that any joint raises a false alarm.
LEVEL = 0.05
#: Ratio of the spread of differences to the usual one above which errors do not explain it.
UNEXPLAINED = 3.0
#: Fewest frames that are tested.
FEWEST_FRAMES = 30
#: Poses that differ by less than about this have similar errors, radians.
SIMILAR_POSES = 0.5
#: A quarter of the number of independent frames below which a note asks for a longer recording.
_FEW = 2.0
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

    @property
    def half(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, kw_only=True)
class ReferenceOffset:
    """Median difference of a joint without a drift, by a reference or by the calibration.

    Attributes:
        value: radians.
        half: half its simultaneous interval, radians.
        spread: half the distance from the 16% to the 84% quantile of the differences, radians; 0 where it is not known.
        few: whether the reference has too few independent frames, see `Drift`.
    """

    value: float
    half: float
    spread: float = 0.0
    few: bool = False


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Offset, trend and spread of one joint's differences.

    Attributes:
        offset: median of the differences less that of the reference, radians; its error is the recording's alone.
        trend: change of a robust line from the first frame to the last, radians.
        effective: number of independent frames with the same error of the median.
        few: whether the recording has fewer than about eight independent frames; the intervals are then much wider.
        change: index of the first frame after the change; None without a significant trend, or where a line fits better
            than a step.
        before, after: the same on both sides of the change, radians; None without one.
        spread: half the distance from the 16% to the 84% quantile of the differences, less the change or trend that was
            found, radians.
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


def drifts(
    differences: Floats,
    stds: Floats,
    angles: Floats,
    times: Floats,
    *,
    usual: Sequence[ReferenceOffset],
    level: float = LEVEL,
) -> tuple[Drift, ...]:
    """Test the differences of each joint for an offset and a trend.

    Each of the 2 d tests of d joints is at level / 2 d (Bonferroni).  Half the intervals of an offset and a trend are

        offset: √(b² max(e², wᵀ S C S w) + h²)     trend: √(b² max(e², wᵀ S C S w))

    with the errors e and their bounds b by `slow_errors` and `bounds`; half the interval of the reference's offset, h;
    and wᵀ S C S w by `shared_variance`, for positions x in the recording from −½ to ½ less their mean, and weights w of
    1 / n or x / Σ x².

    Args:
        differences: read minus logged angles, (n, d), radians.
        stds: standard deviations of the estimator's errors, (n, d), radians.
        angles: logged angles of all joints, (n, joints), radians.
        times: in ascending order, (n,), seconds.
        usual: median difference of each joint without a drift, with intervals of the same level.
        level: probability of a false alarm in any of the tests.

    Raises:
        ValueError: fewer than `FEWEST_FRAMES` frames, or arrays of different lengths.
    """
    n, joints = differences.shape
    if n < FEWEST_FRAMES or stds.shape != differences.shape or not len(angles) == len(times) == n:
        raise ValueError(f"{n} frames; at least {FEWEST_FRAMES} are needed, with a value for each")
    position = (times - times[0]) / max(float(times[-1] - times[0]), 1e-9) - 0.5  # from the first frame to the last
    centred = position - position.mean()
    slopes, bent = zip(*(robust_slope(column, centred) for column in differences.T), strict=True)
    influences = median_influence(differences.T)
    errors = slow_errors(influences - influences.mean(-1, keepdims=True), np.stack(bent), centred)
    bound = bounds(n, joints, errors.independent, level / (2 * joints))
    similarity = similar_errors(angles)
    return tuple(
        _drift(differences[:, k], stds[:, k], similarity, centred, slopes[k], k, errors, bound, influences[k], each)
        for k, each in enumerate(usual)
    )


def _drift(
    differences: Floats,
    stds: Floats,
    similarity: Floats,
    centred: Floats,
    slope: float,
    joint: int,
    errors: SlowErrors,
    bound: tuple[float, float],
    influence: Floats,
    usual: ReferenceOffset,
) -> Drift:
    """The tests of one joint; see `drifts`."""
    n = len(differences)
    shared = shared_variance(centred / float((centred**2).sum()), stds, similarity)
    error = float(np.sqrt(max(float(errors.trend[joint]) ** 2, shared)))
    trend = Estimate(value=slope, error=error, low=slope - bound[1] * error, high=slope + bound[1] * error)

    median, own = float(np.median(differences)), float(errors.offset[joint]) ** 2
    variance = max(own, shared_variance(np.full(n, 1 / n), stds, similarity))
    error, value = float(np.sqrt(variance)), median - usual.value
    half = float(np.hypot(bound[0] * error, usual.half))
    offset = Estimate(value=value, error=error, low=value - half, high=value + half)

    change, before, after, rest = None, None, None, differences
    if trend.significant:
        change = change_point(differences, centred)
        rest = differences - slope * centred
    if change is not None:
        parts = differences[:change], differences[change:]
        rest = np.concatenate([part - np.median(part) for part in parts])
        before, after = (float(np.median(part)) - usual.value for part in parts)
    return Drift(
        offset=offset,
        trend=trend,
        effective=float(np.clip(influence.var() / max(variance, 1e-30), 1, n)),
        few=bool(errors.independent.min() < _FEW),
        change=change,
        before=before,
        after=after,
        spread=float(spread_of(rest)),
        usual_spread=max(float(np.sqrt((stds**2).mean())), usual.spread),
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
