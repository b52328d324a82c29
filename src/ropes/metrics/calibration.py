"""Linear calibration of coordinates to radians, their error, and label efficiency."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.correlation import Floats, Matching, assignment, correlation_matrix, paired
from ropes.metrics.joints import CALIBRATED, JOINT_METRICS, Estimates, Evaluation, over_draws


@dataclass(frozen=True, kw_only=True)
class ProtocolSizes:
    """Sample sizes of `protocol`; the defaults are the paper's (Section 4 "Evaluation Metrics").

    Attributes:
        repeats: number of draws, at least 1.
        fit: labelled poses for the line in each draw, at least 2.
        test: other poses to test on in each draw, at least 2.
    """

    repeats: int = 15
    fit: int = 1000
    test: int = 500


PAPER_SIZES = ProtocolSizes()


def linear_calibration(estimates: ArrayLike, angles: ArrayLike) -> tuple[Floats, Floats]:
    """Least-squares line from coordinate i to joint i: z_i ≈ slope_i ẑ_i + intercept_i.

    A constant coordinate gets slope 0, and the intercept is the mean angle.

    Args:
        estimates: (n, d) coordinates, any unit.
        angles: (n, d) true angles, radians.

    Returns:
        slope (d,) in radians per unit of the coordinate, intercept (d,) in radians.

    Raises:
        ValueError: shapes disagree, fewer than two samples, or values not finite.
    """
    estimate, angle = paired(estimates, angles)
    if estimate.shape != angle.shape:
        raise ValueError(f"expected one coordinate a joint, got {estimate.shape} for {angle.shape}")
    if len(estimate) < 2:
        raise ValueError(f"a line needs at least two labelled samples, got {len(estimate)}")
    constant = np.ptp(estimate, axis=0) == 0
    centre, mean = estimate.mean(axis=0), angle.mean(axis=0)
    # Scaling before squaring keeps the variance of a coordinate of tiny range from underflowing to zero.
    scale = np.where(constant, 1.0, np.ptp(estimate, axis=0))
    centred = np.where(constant, 0.0, (estimate - centre) / scale)
    variance = np.where(constant, 1.0, (centred**2).sum(axis=0))
    slope = (centred * (angle - mean)).sum(axis=0) / variance / scale
    return slope, mean - slope * centre


def commanded_calibration(first: ArrayLike, second: ArrayLike, means: ArrayLike) -> tuple[Floats, Floats]:
    """Line from coordinate i to joint i from known policy distributions, without labels.

    It maps the mean coordinate under each policy on joint i to the policy's mean angle:

        slope_i = (μ_i¹ − μ_i²) / (E¹[ẑ_i] − E²[ẑ_i]),    intercept_i = μ_i¹ − slope_i E¹[ẑ_i]

    Noise of mean zero in a coordinate does not change the line.

    Args:
        first: (n, d), coordinate i of poses under policy 1 on joint i in column i, any unit.
        second: (m, d), the same under policy 2.
        means: (2, d) mean angles of policies 1 and 2, radians.

    Returns:
        slope (d,) in radians per unit of the coordinate, intercept (d,) in radians.

    Raises:
        ValueError: shapes disagree, values not finite, or equal means of a coordinate under both policies.
    """
    one, two, angle = (np.asarray(values, dtype=np.float64) for values in (first, second, means))
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1] or angle.shape != (2, one.shape[1]):
        raise ValueError(f"expected (n, d), (m, d) and (2, d), got {one.shape}, {two.shape} and {angle.shape}")
    if not len(one) or not len(two) or not all(np.isfinite(values).all() for values in (one, two, angle)):
        raise ValueError("each policy needs at least one pose, and every value must be finite")
    difference = one.mean(axis=0) - two.mean(axis=0)
    if (difference == 0).any():
        raise ValueError(f"coordinate {int(np.flatnonzero(difference == 0)[0])} is the same under both policies")
    slope = (angle[0] - angle[1]) / difference
    return slope, angle[0] - slope * one.mean(axis=0)


def calibrated(
    tested: Floats, estimates: Floats, angles: Floats, known: Callable[[Floats], Floats] | None = None
) -> Floats:
    """Angles (m, d) in radians of coordinates (m, d): by lines fitted on other poses, (n, d) each, or by `known`."""
    if known is not None:
        return known(tested)
    slope, intercept = linear_calibration(estimates, angles)
    return slope * tested + intercept


def protocol(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    repeats: int = 15,
    fit: int = 1000,
    test: int = 500,
    matching: Matching = "identity",
    known: Callable[[Floats], Floats] | None = None,
    elsewhere: tuple[ArrayLike, ArrayLike, np.random.Generator] | None = None,
) -> Evaluation:
    """The paper's evaluation: fit a line per joint on random poses, test it on others, and repeat.

    The figures are those of `ropes.metrics.joints.JOINT_METRICS`.

    Source: ROPES, Section 4 "Evaluation Metrics".  Each repeat draws `fit + test` different poses.  A Hungarian
    matching uses the fitting poses only.

    Deviation: coordinate i is mapped to joint i only.  Why: the paper does not say whether its regressor sees all
    coordinates, and a joint that is read from another one's coordinate should earn nothing.  Effect: errors are larger
    than those of a regressor that sees all coordinates, up to sampling noise.

    Deviation: scatter plots show the repeat with the highest correlation of each joint.  Why: the paper shows "the
    single best run", which may be one for all joints.  Effect: the correlation in a plot is at least that of one run
    for all joints; tables have means over all repeats.

    Standard deviations are over the repeats, in their population form.

    Args:
        estimates: (n, k) coordinates.
        angles: (n, d) true angles, radians.
        rng: draws the poses of every repeat.
        repeats: number of draws, at least 1.
        fit: labelled poses for the line, at least 2.
        test: poses to test on, at least 2.
        matching: see `ropes.metrics.mcc`.
        known: a calibration from coordinates (n, d) to radians (n, d) that replaces the lines; the test poses stay the
            same.
        elsewhere: coordinates (m, k) and angles (m, d) of other poses to fit the lines on, and their generator; the
            test poses stay the same.

    Returns:
        The results per joint.

    Raises:
        ValueError: fewer than `fit + test` poses, or as `mcc`.
    """
    estimate, angle = paired(estimates, angles)
    if repeats < 1 or fit < 2 or test < 2:
        raise ValueError(f"need repeats >= 1, fit >= 2, test >= 2; got {repeats}, {fit}, {test}")
    _require_poses(len(estimate), fit, test)
    repeated = list(draws(rng, len(estimate), repeats, fit, test))
    fit_estimate, fit_angle, fit_draws = estimate, angle, iter(repeated)
    if elsewhere is not None:
        fit_estimate, fit_angle = paired(*elsewhere[:2])
        if len(fit_estimate) < fit + test:
            raise ValueError(f"the line needs {fit + test} poses to draw {fit} from, got {len(fit_estimate)}")
        fit_draws = draws(elsewhere[2], len(fit_estimate), repeats, fit, test)
    pairs, measured = [], []
    for (fit_rows, _), (_, test_rows) in zip(fit_draws, repeated, strict=True):
        x, z, true = fit_estimate[fit_rows], fit_angle[fit_rows], angle[test_rows]
        correlations = correlation_matrix(x, z)
        order, best_order = (assignment(correlations, kind) for kind in (matching, "hungarian"))
        tested = estimate[test_rows][:, order]
        found = calibrated(tested, x[:, order], z, known)
        compared: dict[Estimates, Floats] = {
            "coordinates": tested,
            "assigned": estimate[test_rows][:, best_order],
            "calibrated": found,
        }
        measured.append({metric.mean: metric.compute(compared[metric.estimates], true) for metric in JOINT_METRICS})
        pairs.append(np.stack([found, true]))
    score, error = (np.stack([draw[name] for draw in measured]) for name in ("mcc_mean", "mse_mean"))
    best, joints = score.argmax(axis=0), np.arange(angle.shape[1])
    best_pairs = np.stack([pairs[repeat][:, :, joint] for joint, repeat in enumerate(best)])
    return Evaluation(
        **over_draws(JOINT_METRICS, measured),
        best_estimate=best_pairs[:, 0],
        best_angle=best_pairs[:, 1],
        best_mcc=score[best, joints],
        best_mse=error[best, joints],
    )


def draws(
    rng: np.random.Generator, count: int, repeats: int, fit: int, test: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The rows of every repeat of `protocol` out of `count`: (fit,) to fit on, and (test,) others to test on."""
    for _ in range(repeats):
        rows = rng.permutation(count)[: fit + test]
        yield rows[:fit], rows[fit:]


def few_labels(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    counts: Sequence[int],
    *,
    known: Callable[[Floats], Floats] | None = None,
    repeats: int = 15,
    fit: int = 1000,
    test: int = 500,
) -> dict[int, dict[str, Floats]]:
    """The figures of `protocol` that labels change, with lines fitted on the first `count` of its `fit` poses only.

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.
        rng: in the state at the call of `protocol`, so that the test poses are the same.
        counts: labelled poses for the lines, each from 2 to `fit`.
        known: a calibration without labels from coordinates (n, d) to radians (n, d); tested as count 0.
        repeats: as in `protocol`.
        fit: as in `protocol`.
        test: as in `protocol`.

    Returns:
        Count → field of a metric of `ropes.metrics.joints.CALIBRATED` → figure, (d,).

    Raises:
        ValueError: a count out of range, too few poses, shapes disagree, or values not finite.
    """
    estimate, angle = paired(estimates, angles)
    if wrong := [count for count in counts if not 2 <= count <= fit]:
        raise ValueError(f"a line needs 2 to {fit} labelled poses, got {wrong[0]}")
    _require_poses(len(estimate), fit, test)
    measured: dict[int, list[dict[str, Floats]]] = {count: [] for count in ((0,) if known else ()) + tuple(counts)}
    for fit_rows, test_rows in draws(rng, len(estimate), repeats, fit, test):
        tested, true = estimate[test_rows], angle[test_rows]
        for count, values in measured.items():
            labelled = fit_rows[:count]
            found = calibrated(tested, estimate[labelled], angle[labelled], None if count else known)
            values.append({metric.mean: metric.compute(found, true) for metric in CALIBRATED})
    return {count: over_draws(CALIBRATED, values) for count, values in measured.items()}


def _require_poses(count: int, fit: int, test: int) -> None:
    if count < fit + test:
        raise ValueError(f"the evaluation needs {fit + test} poses ({fit} to fit, {test} to test), got {count}")
