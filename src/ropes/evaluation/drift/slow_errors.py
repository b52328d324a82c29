"""The errors of offsets and of trends of autocorrelated differences, from their own slow variations.

Neighbouring frames have similar errors, so n frames count as fewer.  How many fewer is the same question for all joints
of a recording, because the arm's motion decides it: their answers are combined, which makes bounds much smaller than
those of each joint alone.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import signal

from ropes.common.arrays import Floats, Ints
from ropes.common.seeds import generator

#: Number of cosines: this share of n^(2/3) (Lazarus, Lewis, Stock and Watson, 2018); within these bounds.
_SHARE, _FEWEST_TERMS, _MOST_TERMS = 0.4, 4, 40
#: Fewest frames on each side of a step, and places of a step that are tried.
FEWEST_SIDE, _PLACES = 10, 40
#: Joints of which most are as usual where one drifts.
_FEWEST_JOINTS = 3
#: Simulated recordings behind the bounds, the longest of them in frames, and groups of them with similar slowness.
_SIMULATIONS, _FRAMES, _GROUPS = 6_000, 200, 10
#: Simulated errors have n / (4 τ) from this on.
_SLOWEST = 0.4


@dataclass(frozen=True, kw_only=True)
class SlowErrors:
    """Standard errors of the offsets and trends of recordings' joints.

    Attributes:
        offset, trend: standard errors, (..., d).
        independent: n / 4R by the ratio R of long-run variance to variance, (2, ...): a quarter of the number of
            independent frames, as it decides the bound of an offset and that of a trend.
    """

    offset: Floats
    trend: Floats
    independent: Floats


def slow_errors(medians: Floats, slopes: Floats, position: Floats) -> SlowErrors:
    """Standard errors of medians and slopes of the joints of recordings.

    The variance of a mean of n autocorrelated values is R / n times their variance, for

        R = median over joints of Ω_j / γ_j,     Ω_j = (1 / K) Σ_k (√(2 / n) Σ_t z_jt cos(π k (t − ½) / n))²

    with the variance γ_j of the influences z_j (Müller 2007; Lazarus, Lewis, Stock and Watson 2018).  K is .4 n^(2/3),
    but at most n / 4R, and from 4 to 40.  The median leaves out joints that drift.  For slopes, the influences have no
    line, so the first cosine is left out, and γ_j is that without the step that fits best; so is R where there are too
    few joints for a median.

    Args:
        medians: influences of the values on the medians, with mean 0, (..., d, n).
        slopes: influences of the values on the slopes, (..., d, n), in units of the values.
        position: of the frames in time, (n,), with mean 0 and a distance of 1 from the first frame to the last.
    """
    n = medians.shape[-1]
    straight = _without_line(slopes, position)
    level = without_step(slopes.reshape(-1, n), position).reshape(slopes.shape)
    many, of_medians = slopes.shape[-2] >= _FEWEST_JOINTS, _ratio(medians, first=1)
    of_slopes = _ratio(straight if many else level, first=2)
    return SlowErrors(
        offset=np.sqrt((medians**2).mean(-1) * of_medians[..., None] / n),
        trend=np.sqrt((level**2).mean(-1) * of_slopes[..., None] / (position**2).sum()),
        independent=n / (4 * np.stack([of_medians, of_medians if many else of_slopes])),
    )


def _ratio(values: Floats, first: int) -> Floats:
    """R of `slow_errors`, (...), by the cosines from number `first` on, of values (..., d, n)."""
    n = values.shape[-1]
    squares = (values @ _cosines(n, first + _MOST_TERMS - 1)[first - 1 :].T) ** 2
    sums = np.cumsum(squares, axis=-1) / np.maximum((values**2).mean(-1), 1e-30)[..., None]
    rough = np.median(sums[..., _FEWEST_TERMS - 1], axis=-1) / _FEWEST_TERMS
    most = np.minimum(_SHARE * n ** (2 / 3), n / (4 * np.maximum(rough, 1e-30)))
    terms = np.clip(most, _FEWEST_TERMS, _MOST_TERMS).astype(np.int64)
    chosen = np.take_along_axis(sums, terms[..., None, None] - 1, axis=-1)[..., 0]
    return np.asarray(np.maximum(np.median(chosen, axis=-1) / terms, 1e-30))


def _cosines(n: int, terms: int) -> Floats:
    """Orthonormal cosines, (K, n)."""
    return np.asarray(np.sqrt(2 / n) * np.cos(np.pi * np.arange(1, terms + 1)[:, None] * (np.arange(n) + 0.5) / n))


def _without_line(values: Floats, position: Floats) -> Floats:
    """Residuals of a line through values (..., n) at positions (n,)."""
    line = np.linalg.qr(np.stack([np.ones(len(position)), position], axis=1))[0]
    return np.asarray(values - values @ line @ line.T)


def without_step(values: Floats, position: Floats) -> Floats:
    """Residuals of a line and of the step that fits best beside it, of each row: (m, n) → (m, n).

    Args:
        values: (m, n).
        position: (n,), with mean 0.
    """
    n = len(position)
    places = np.unique(np.linspace(FEWEST_SIDE, n - FEWEST_SIDE, _PLACES).round().astype(int))
    steps = _without_line((np.arange(n) >= places[:, None]).astype(np.float64), position)
    steps /= np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1e-9)  # 0 where a line is the step, at a gap
    residuals = _without_line(values, position)
    scores = residuals @ steps.T
    best = np.abs(scores).argmax(1)
    return np.asarray(residuals - np.take_along_axis(scores, best[:, None], axis=1) * steps[best])


def median_influence(values: Floats) -> Floats:
    """Influence of each value on the median along the last axis, sign(x − m) / (2 f(m)); density f(m) from quartiles.

    1 / f(m) is estimated by (x₇₅ − x₂₅) / ½, which is 8% too much for a normal distribution.
    """
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75], axis=-1, keepdims=True)
    return np.asarray(np.sign(values - median) * (high - low))


def bounds(frames: int, joints: int, independent: Floats, level: float) -> tuple[float, float]:
    """Ratios of a median and of a slope to their errors that noise exceeds with probability `level`, by simulation.

    The noise is of first order, with autocorrelation times of all sizes; those recordings count whose `independent` is
    about the given one.

    Args:
        frames: of the recording.
        joints: by which its errors were estimated.
        independent: see `SlowErrors`, (2,).
        level: of the two-sided test.
    """
    simulated = _simulated(min(frames, _FRAMES), joints, level)
    offset, trend = (float(np.interp(own, *each)) for own, each in zip(np.log(independent), simulated, strict=True))
    return offset, trend


@cache
def _simulated(frames: int, joints: int, level: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Of offset and of trend: log(independent) in ascending order, and the bounds there, (groups,) each."""
    rng = generator(0, "slow errors", frames, joints)
    time = frames / (4 * np.exp(rng.uniform(np.log(_SLOWEST), np.log(frames / 4), _SIMULATIONS)))
    position = np.linspace(-0.5, 0.5, frames)
    independent, ratios = [], []
    for part in np.array_split(time, max(1, _SIMULATIONS * joints * frames // 4_000_000)):
        noise = _first_order(rng, (part - 1) / (part + 1), joints, frames)
        influence = median_influence(noise)
        errors = slow_errors(influence - influence.mean(-1, keepdims=True), noise, position)
        slopes = noise @ position / (position**2).sum()
        independent.append(errors.independent)
        ratios.append(np.abs(np.stack([np.median(noise, -1) / errors.offset, slopes / errors.trend])))
    offset, trend = (
        _bounds_by_group(np.log(own), ratio, level)
        for own, ratio in zip(np.concatenate(independent, axis=1), np.concatenate(ratios, axis=1), strict=True)
    )
    return offset, trend


def _bounds_by_group(at: Floats, ratio: Floats, level: float) -> tuple[Floats, Floats]:
    """Mean of `at` (m,) in groups of similar ones, and what a share `level` of their ratios (m, d) exceeds."""
    groups: list[Ints] = np.array_split(np.argsort(at), _GROUPS)
    found = np.array([np.quantile(ratio[group], 1 - level) for group in groups])
    # Slower errors never have smaller bounds.
    return np.array([at[group].mean() for group in groups]), np.maximum.accumulate(found[::-1])[::-1]


def _first_order(rng: np.random.Generator, rho: Floats, joints: int, frames: int) -> Floats:
    """Noise of variance 1 with correlations rho (m,) from frame to frame, (m, joints, frames)."""
    noise = rng.normal(size=(len(rho), joints, frames))
    noise[..., 1:] *= np.sqrt(1 - rho**2)[:, None, None]
    for one, each in zip(rho, noise, strict=True):
        each[:] = signal.lfilter([1.0], [1.0, -one], each, axis=-1)
    return noise
