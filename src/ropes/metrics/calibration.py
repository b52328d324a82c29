"""Linear calibration to radians on labelled poses, and the error that remains."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.correlation import Floats, Matching, Method, assignment, correlation_matrix, mcc, paired


@dataclass(frozen=True, kw_only=True)
class ProtocolSizes:
    """How much `protocol` draws; the defaults are the paper's (Section 4 "Evaluation Metrics").

    Attributes:
        repeats: draws, at least 1.
        fit: labelled poses for the line in each draw, at least 2.
        test: other poses to test on in each draw, at least 2.
    """

    repeats: int = 15
    fit: int = 1000
    test: int = 500


#: As in the paper.
PAPER_SIZES = ProtocolSizes()


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What `protocol` measured, per joint.

    Attributes:
        mcc_mean, mcc_std: (d,) over the repeats, in [0, 1].
        mcc_matched: (d,) mean over the repeats, of the best one-to-one assignment of coordinates to joints.
        mse_mean, mse_std: (d,) over the repeats, rad².
        best_estimate, best_angle: (d, test) calibrated estimates and true angles, radians, of each joint's
            own repeat of highest correlation (the paper's scatter plots show that one).
        best_mcc, best_mse: (d,) of that repeat.
    """

    mcc_mean: Floats
    mcc_std: Floats
    mcc_matched: Floats
    mse_mean: Floats
    mse_std: Floats
    best_estimate: Floats
    best_angle: Floats
    best_mcc: Floats
    best_mse: Floats


def linear_calibration(estimates: ArrayLike, angles: ArrayLike) -> tuple[Floats, Floats]:
    """Least-squares line from coordinate i to joint i: z_i ≈ slope_i ẑ_i + intercept_i.

    A coordinate that never changes gets slope 0: the best guess is then the mean angle.

    Args:
        estimates: (n, d) coordinates, any unit.
        angles: (n, d) true angles, radians.

    Returns:
        slope (d,) in radians per unit of the coordinate, intercept (d,) in radians.

    Raises:
        ValueError: shapes disagree, fewer than two samples, or values not finite.
    """
    estimate, angle = _same_shape(estimates, angles)
    if len(estimate) < 2:
        raise ValueError(f"a line needs at least two labelled samples, got {len(estimate)}")
    constant = np.ptp(estimate, axis=0) == 0
    centre, mean = estimate.mean(axis=0), angle.mean(axis=0)
    # Scaled before squaring, so that a coordinate of tiny spread does not underflow to a zero variance.
    spread = np.where(constant, 1.0, np.ptp(estimate, axis=0))
    moved = np.where(constant, 0.0, (estimate - centre) / spread)
    variance = np.where(constant, 1.0, (moved**2).sum(axis=0))
    slope = (moved * (angle - mean)).sum(axis=0) / variance / spread
    return slope, mean - slope * centre


def commanded_calibration(first: ArrayLike, second: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats]:
    """The line from coordinate i to joint i that needs no label, only what the two policies were told to do.

    It gives the poses under each policy on joint i the mean angle that the policy was commanded with:

        slope_i = (μ_i¹ − μ_i²) / (E¹[ẑ_i] − E²[ẑ_i]),    intercept_i = μ_i¹ − slope_i E¹[ẑ_i]

    Noise in a coordinate that is no part of the angle leaves both means, and so the line, where they are.

    Args:
        first: (n, d), coordinate i of poses under policy 1 on joint i in column i, any unit.
        second: (m, d), the same under policy 2.
        means: (2, d) commanded mean angles under policy 1 and 2, radians.

    Returns:
        slope (d,) in radians per unit of the coordinate, intercept (d,) in radians.

    Raises:
        ValueError: shapes disagree, values not finite, or a coordinate whose means under both policies are equal.
    """
    one, two, commanded = (np.asarray(values, dtype=np.float64) for values in (first, second, means))
    if one.ndim != 2 or two.ndim != 2 or not one.shape[1] == two.shape[1] == commanded.shape[-1]:
        raise ValueError(f"expected (n, d), (m, d) and (2, d), got {one.shape}, {two.shape} and {commanded.shape}")
    if not len(one) or not len(two) or not all(np.isfinite(values).all() for values in (one, two, commanded)):
        raise ValueError("each policy needs at least one pose, and every value must be finite")
    apart = one.mean(axis=0) - two.mean(axis=0)
    if (apart == 0).any():
        raise ValueError(f"coordinate {int(np.flatnonzero(apart == 0)[0])} is the same under both policies")
    slope = (commanded[0] - commanded[1]) / apart
    return slope, commanded[0] - slope * one.mean(axis=0)


def calibrated_mse(estimates: ArrayLike, angles: ArrayLike, slope: ArrayLike, intercept: ArrayLike) -> Floats:
    """Mean squared error per joint after the line of `linear_calibration`: mean_n (slope ẑ + intercept - z)².

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.
        slope: (d,) radians per unit of the coordinate.
        intercept: (d,) radians.

    Returns:
        (d,) rad², at least 0.

    Raises:
        ValueError: shapes disagree, no sample, or values not finite.
    """
    estimate, angle = _same_shape(estimates, angles)
    if len(estimate) < 1:
        raise ValueError("no sample to test on")
    error = np.asarray(slope) * estimate + np.asarray(intercept) - angle
    return np.asarray((error**2).mean(axis=0))


def protocol(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    repeats: int = 15,
    fit: int = 1000,
    test: int = 500,
    method: Method = "pearson",
    matching: Matching = "identity",
    known: Callable[[Floats], Floats] | None = None,
    elsewhere: tuple[ArrayLike, ArrayLike, np.random.Generator] | None = None,
) -> Evaluation:
    """The paper's evaluation: fit a line per joint on some poses, test on others, repeat with fresh ones.

    Source: ROPES, Section 4 "Evaluation Metrics". Each repeat draws `fit + test` different poses. A Hungarian
    matching is found on the fitting poses, so that the test poses choose nothing.

    Deviation: coordinate i is mapped to joint i only.  Why: the paper does not say whether its regressor sees all
    coordinates, and a joint that is read from another one's coordinate should earn nothing.  Effect: errors are larger
    than those of a regressor that sees all, but for chance.

    Standard deviations are over the repeats, in their population form; several training seeds come as further rows of
    the results.

    Args:
        estimates: (n, k) coordinates.
        angles: (n, d) true angles, radians.
        rng: draws the poses of every repeat.
        repeats: how many draws, at least 1.
        fit: labelled poses for the line, at least 2.
        test: poses for both figures, at least 2.
        method: see `ropes.metrics.mcc`.
        matching: see `ropes.metrics.mcc`.
        known: from coordinates (n, d) to radians (n, d), for estimates that need no line; the poses to fit on are
            drawn all the same, so that others are tested alike.
        elsewhere: coordinates (m, k) and angles (m, d) of other poses, and what draws from them: the line is fitted on
            poses from there, and the same poses are tested as without.

    Returns:
        The figures per joint.

    Raises:
        ValueError: fewer than `fit + test` poses, or as `mcc`.
    """
    estimate, angle = paired(estimates, angles)
    if repeats < 1 or fit < 2 or test < 2:
        raise ValueError(f"need repeats >= 1, fit >= 2, test >= 2; got {repeats}, {fit}, {test}")
    if len(estimate) < fit + test:
        raise ValueError(f"the evaluation needs {fit + test} poses ({fit} to fit, {test} to test), got {len(estimate)}")
    given = estimate, angle
    if elsewhere is not None:
        given = paired(*elsewhere[:2])
        if len(given[0]) < fit + test:
            raise ValueError(f"the line needs {fit + test} poses to draw {fit} from, got {len(given[0])}")
    places = list(draws(rng, len(estimate), repeats, fit, test))
    given_places = places if elsewhere is None else draws(elsewhere[2], len(given[0]), repeats, fit, test)
    pairs, scores, matched, errors = [], [], [], []
    for (fitting, _), (_, testing) in zip(given_places, places, strict=True):
        read_there, true_there = given[0][fitting], given[1][fitting]
        correlations = correlation_matrix(read_there, true_there, method)
        chosen, best_ones = (assignment(correlations, kind) for kind in (matching, "hungarian"))
        tested = estimate[testing][:, chosen]
        if known is None:
            slope, intercept = linear_calibration(read_there[:, chosen], true_there)
            read = slope * tested + intercept
        else:
            read = known(tested)
        scores.append(mcc(tested, angle[testing], method))
        matched.append(mcc(estimate[testing][:, best_ones], angle[testing], method))
        errors.append(np.mean((read - angle[testing]) ** 2, axis=0))
        pairs.append(np.stack([read, angle[testing]]))
    score, error = np.stack(scores), np.stack(errors)
    best, joints = score.argmax(axis=0), np.arange(angle.shape[1])
    chosen_pairs = np.stack([pairs[trial][:, :, joint] for joint, trial in enumerate(best)])
    return Evaluation(
        mcc_mean=score.mean(axis=0),
        mcc_std=score.std(axis=0),
        mcc_matched=np.mean(matched, axis=0),
        mse_mean=error.mean(axis=0),
        mse_std=error.std(axis=0),
        best_estimate=chosen_pairs[:, 0],
        best_angle=chosen_pairs[:, 1],
        best_mcc=score[best, joints],
        best_mse=error[best, joints],
    )


def draws(
    rng: np.random.Generator, count: int, repeats: int, fit: int, test: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The poses of every repeat of `protocol`: rows to fit on, (fit,), and others to test on, (test,), of `count`."""
    for _ in range(repeats):
        drawn = rng.permutation(count)[: fit + test]
        yield drawn[:fit], drawn[fit:]


def _same_shape(estimates: ArrayLike, angles: ArrayLike) -> tuple[Floats, Floats]:
    estimate, angle = paired(estimates, angles)
    if estimate.shape != angle.shape:
        raise ValueError(f"expected one coordinate a joint, got {estimate.shape} for {angle.shape}")
    return estimate, angle
