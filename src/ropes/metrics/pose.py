"""Errors of link poses: position, orientation, and average distance of model points (ADD)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.calibration import calibrated, draws
from ropes.metrics.correlation import Floats

#: Largest threshold of `add_auc` in the robot-pose literature, mm (DREAM, Section V).
THRESHOLD = 100.0
_MM = 1000.0


def position_error(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Distance between the origins of two frames, ‖t̂ − t‖.

    Args:
        estimated: (n, 4, 4) poses, metres.
        true: (n, 4, 4), in the same frame.

    Returns:
        (n,) mm.

    Raises:
        ValueError: shapes disagree, or values not finite.
    """
    estimate, truth = _paired(estimated, true, (4, 4))
    return np.asarray(_MM * np.linalg.norm(estimate[:, :3, 3] - truth[:, :3, 3], axis=1))


def orientation_error(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Angle of the rotation between two orientations.

    It solves ‖R̂ − R‖² = 8 sin²(θ / 2) in the Frobenius norm.  For small angles the arc cosine of the trace would lose
    half the digits.

    Args:
        estimated: (n, 4, 4) poses.
        true: (n, 4, 4), in the same frame.

    Returns:
        (n,) degrees, 0 to 180.

    Raises:
        ValueError: shapes disagree, or values not finite.
    """
    estimate, truth = _paired(estimated, true, (4, 4))
    distance = np.linalg.norm(estimate[:, :3, :3] - truth[:, :3, :3], axis=(1, 2))
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(distance / np.sqrt(8), 1))))


def add(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Average distance of model points: mean_k ‖p̂_k − p_k‖ (Hinterstoisser et al. 2012; DREAM, Section V).

    Deviation: points are compared in the robot's base frame.  Why: it is known here.  Effect: an error of the camera's
    pose does not count; DREAM and RoboPEPP compare in the camera's frame, where it does.

    Args:
        estimated: (n, k, 3) points of the model under the estimated poses, metres.
        true: (n, k, 3) the same points under the true poses.

    Returns:
        (n,) mm.

    Raises:
        ValueError: shapes disagree, no point, or values not finite.
    """
    shape = np.shape(estimated)
    if len(shape) != 3 or not shape[1]:
        raise ValueError(f"expected (n, k, 3) with at least one point, got {shape}")
    estimate, truth = _paired(estimated, true, (shape[1], 3))
    return np.asarray(_MM * np.linalg.norm(estimate - truth, axis=2).mean(axis=1))


def add_auc(distances: ArrayLike, threshold: float = THRESHOLD) -> float:
    """Normalised area under the curve of accuracy against threshold, up to `threshold`.

    With accuracy(t) the share of distances of at most t,

        AUC = 1/T ∫₀ᵀ accuracy(t) dt = mean(max(0, 1 − distance / T))

    Deviation: ADD-AUC is the integral itself, where DREAM sums rectangles of .01 mm.  Why: it has a closed form.
    Effect: below the third digit.

    Args:
        distances: (n,) ADD, mm.
        threshold: T, mm.

    Returns:
        In [0, 1]; 1 is perfect.

    Raises:
        ValueError: no distance, one that is negative or not finite, or a threshold that is not positive.
    """
    values = np.asarray(distances, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("expected at least one distance, all finite and none negative")
    if not threshold > 0:
        raise ValueError(f"the threshold must be positive, got {threshold}")
    return float(np.maximum(0, 1 - values / threshold).mean())


def pose_errors(estimated: ArrayLike, true: ArrayLike, estimated_points: ArrayLike, true_points: ArrayLike) -> Floats:
    """Errors of one link's poses (n, 4, 4) and of model points (n, k, 3) in the same frame, metres.

    Returns:
        Mean position error (mm), mean orientation error (degrees), mean ADD (mm) and ADD's AUC, (4,).

    Raises:
        ValueError: see `position_error`, `add`.
    """
    distance = add(estimated_points, true_points)
    position, orientation = position_error(estimated, true), orientation_error(estimated, true)
    return np.array([position.mean(), orientation.mean(), distance.mean(), add_auc(distance)])


def calibrated_draws(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    repeats: int,
    fit: int,
    test: int,
    known: Callable[[Floats], Floats] | None = None,
) -> list[tuple[Floats, np.ndarray]]:
    """Calibrated test angles of each repeat of `ropes.metrics.protocol`.

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.
        rng: in the state at the call of `protocol`.
        repeats: number of draws.
        fit: labelled poses for the lines.
        test: poses to test on.
        known: as in `protocol`.

    Returns:
        For each repeat the calibrated angles, (test, d) radians, and their rows, (test,).
    """
    estimate, angle = np.asarray(estimates, dtype=np.float64), np.asarray(angles, dtype=np.float64)
    return [
        (calibrated(estimate[test_rows], estimate[fit_rows], angle[fit_rows], known), test_rows)
        for fit_rows, test_rows in draws(rng, len(estimate), repeats, fit, test)
    ]


def _paired(estimated: ArrayLike, true: ArrayLike, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    estimate, truth = np.asarray(estimated, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if estimate.shape != truth.shape or estimate.ndim != 3 or estimate.shape[1:] != shape:
        raise ValueError(f"expected two arrays of shape {('n', *shape)}, got {estimate.shape} and {truth.shape}")
    if not (np.isfinite(estimate).all() and np.isfinite(truth).all()):
        raise ValueError("every value must be finite")
    return estimate, truth
