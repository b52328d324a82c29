"""The error of an offset and of a trend of autocorrelated values, from their own slow variations."""

from functools import cache

import numpy as np
from scipy import signal, stats

from ropes.common.arrays import Floats
from ropes.common.seeds import generator

#: Number of cosines: this share of n^(2/3) (Lazarus, Lewis, Stock and Watson, 2018); within these bounds.
_SHARE, _FEWEST_TERMS, _MOST_TERMS = 0.4, 4, 40
#: n / (4 τ) of the slow noise that widens intervals of too few independent frames.
_SLOWEST = 0.5
#: The autocorrelation ρ of n residuals of `without_step` is too small by this times (1 + 2 ρ) / n, by simulation.
_BIAS = 7.5
#: Fewest frames on each side of a step, and places of a step that are tried.
FEWEST_SIDE, _PLACES = 10, 40
#: Simulated recordings behind each bound.
_SIMULATIONS = 10_000


def number_of_terms(values: Floats) -> tuple[int, bool]:
    """Number of cosines of `long_run_variance`: fewer for values with a stronger autocorrelation.

    0.4 n^(2/3), but at most n / (4 τ), for the autocorrelation time τ = (1 + ρ) / (1 − ρ) of a first-order process; at
    least 4, at most 40.

    Args:
        values: residuals of `without_step`, (n,).

    Returns:
        The number, and whether n / (4 τ) is less than 4: there are too few independent values.
    """
    n, centred = len(values), values - values.mean()
    rho = float(centred[1:] @ centred[:-1] / max(float(centred @ centred), 1e-30))
    rho = float(np.clip((rho + _BIAS / n) / (1 - 2 * _BIAS / n), 0, 0.999))
    slow = n * (1 - rho) / (4 * (1 + rho))
    return int(np.clip(min(_SHARE * n ** (2 / 3), slow), _FEWEST_TERMS, _MOST_TERMS)), slow < _FEWEST_TERMS


def long_run_variance(values: Floats, terms: int) -> float:
    """Spectral density at frequency 0, times 2π, of autocorrelated values: n times the variance of their mean.

        Ω = (1 / K) Σ_k (√(2 / n) Σ_t z_t cos(π k (t − ½) / n))²,    k = 1 … K

    A mean over its error by Ω is distributed as Student's t with K degrees of freedom, for values that are correlated
    over much less than n / K of them (Müller 2007; Lazarus, Lewis, Stock and Watson 2018).

    Args:
        values: z with mean 0, (n,).
        terms: K.
    """
    return float(((_cosines(len(values), terms) @ values) ** 2).mean())


def _cosines(n: int, terms: int) -> Floats:
    """Orthonormal cosines, (K, n)."""
    return np.asarray(np.sqrt(2 / n) * np.cos(np.pi * np.arange(1, terms + 1)[:, None] * (np.arange(n) + 0.5) / n))


def without_step(values: Floats, position: Floats) -> Floats:
    """Residuals of a line and of the step that fits best beside it, of each row: (m, n) → (m, n).

    The error of a trend comes from these residuals.  A step is a trend too, and must not count as slow noise.

    Args:
        values: (m, n).
        position: (n,), with mean 0.
    """
    n = len(position)
    line = np.linalg.qr(np.stack([np.ones(n), position], axis=1))[0]
    places = np.unique(np.linspace(FEWEST_SIDE, n - FEWEST_SIDE, _PLACES).round().astype(int))
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
    return _trend_quantile(generator(0, "trend bound", n).normal(size=(_SIMULATIONS, n)), terms, level)


@cache
def slow_factors(n: int, level: float, few: bool) -> tuple[float, float]:
    """Factors of the errors of an offset and of a trend, so that slow noise exceeds their bounds with this probability.

    The noise is of first order with n / (4 τ) = ½, by simulation.

    Args:
        n: number of frames.
        level: of the two-sided test.
        few: whether there are too few independent frames; both factors are 1 if not.
    """
    if not few:
        return 1.0, 1.0
    time = n / (4 * _SLOWEST)
    rho = (time - 1) / (time + 1)
    noise = generator(0, "slow noise", n).normal(size=(_SIMULATIONS, n))
    noise[:, 1:] *= np.sqrt(1 - rho**2)
    noise = signal.lfilter([1.0], [1.0, -rho], noise, axis=1)
    mean = noise.mean(1, keepdims=True)
    errors = np.sqrt((((noise - mean) @ _cosines(n, _FEWEST_TERMS).T) ** 2).mean(1) / n)
    offset = float(np.quantile(np.abs(mean[:, 0]) / errors, 1 - level)) / float(
        stats.t.ppf(1 - level / 2, _FEWEST_TERMS)
    )
    return offset, _trend_quantile(noise, _FEWEST_TERMS, level) / trend_bound(n, _FEWEST_TERMS, level)


def _trend_quantile(noise: Floats, terms: int, level: float) -> float:
    """Value that the ratio of a trend to its error exceeds in a share `level` of noise (m, n)."""
    n = noise.shape[1]
    position = np.linspace(-0.5, 0.5, n)
    slopes = noise @ position / np.sqrt((position**2).sum())
    variances = ((without_step(noise, position) @ _cosines(n, terms).T) ** 2).mean(1)
    return float(np.quantile(np.abs(slopes) / np.sqrt(variances), 1 - level))
