"""Errors of poses: position, orientation, and mean distance of model points (ADD)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.calibration import draws, linear_calibration
from ropes.metrics.correlation import Floats

#: Upper end of the thresholds of `add_auc` in the robot-pose literature, mm (DREAM, Section V).
THRESHOLD = 100.0
_MM = 1000.0


@dataclass(frozen=True, kw_only=True)
class PoseErrors:
    """Errors of n poses.

    Attributes:
        position: (n,) mm.
        orientation: (n,) degrees, 0 to 180.
        add: (n,) mm.
    """

    position: Floats
    orientation: Floats
    add: Floats

    def summary(self) -> Floats:
        """Mean position error (mm), mean orientation error (degrees), mean ADD (mm) and ADD's AUC, (4,)."""
        return np.array([self.position.mean(), self.orientation.mean(), self.add.mean(), add_auc(self.add)])


def position_error(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Distance of the two frames' origins, ‖t̂ − t‖.

    Args:
        estimated: (n, 4, 4) poses in any one frame, metres.
        true: (n, 4, 4), in the same frame.

    Returns:
        (n,) mm.

    Raises:
        ValueError: shapes disagree, or values not finite.
    """
    found, wanted = _paired(estimated, true, (4, 4))
    return np.asarray(_MM * np.linalg.norm(found[:, :3, 3] - wanted[:, :3, 3], axis=1))


def orientation_error(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Angle of the rotation that takes one orientation to the other.

    From ‖R̂ − R‖² = 8 sin²(θ / 2), the Frobenius norm, which is exact for small angles too, where the arc cosine of the
    trace loses half the digits.

    Args:
        estimated: (n, 4, 4) poses in any one frame.
        true: (n, 4, 4), in the same frame.

    Returns:
        (n,) degrees, 0 to 180.

    Raises:
        ValueError: shapes disagree, or values not finite.
    """
    found, wanted = _paired(estimated, true, (4, 4))
    apart = np.linalg.norm(found[:, :3, :3] - wanted[:, :3, :3], axis=(1, 2))
    return np.asarray(np.degrees(2 * np.arcsin(np.minimum(apart / np.sqrt(8), 1))))


def add(estimated: ArrayLike, true: ArrayLike) -> Floats:
    """Average distance of model points: mean_k ‖p̂_k − p_k‖ (Hinterstoisser et al. 2012; DREAM, Section V).

    Deviation: points are compared in the frame of the robot's base.  Why: it is known here.  Effect: an error of the
    camera's pose does not count; DREAM and RoboPEPP compare in the camera's frame, where it does.

    Args:
        estimated: (n, k, 3) points of the model under the estimated poses, metres.
        true: (n, k, 3) the same points under the true poses.

    Returns:
        (n,) mm.

    Raises:
        ValueError: shapes disagree, no point, or values not finite.
    """
    found, wanted = np.asarray(estimated, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if found.ndim != 3 or not found.shape[1]:
        raise ValueError(f"expected (n, k, 3) with at least one point, got {found.shape}")
    found, wanted = _paired(found, wanted, (found.shape[1], 3))
    return np.asarray(_MM * np.linalg.norm(found - wanted, axis=2).mean(axis=1))


def add_auc(distances: ArrayLike, threshold: float = THRESHOLD) -> float:
    """Area under the curve of accuracy against threshold, as a share of what there is below `threshold`.

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
    given = np.asarray(distances, dtype=np.float64)
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("expected at least one distance, all finite and none negative")
    if not threshold > 0:
        raise ValueError(f"the threshold must be positive, got {threshold}")
    return float(np.maximum(0, 1 - given / threshold).mean())


def pose_errors(
    estimated: ArrayLike, true: ArrayLike, estimated_points: ArrayLike, true_points: ArrayLike
) -> PoseErrors:
    """All three errors: of the poses (n, 4, 4) of one link, and of the model's points (n, k, 3); metres, one frame.

    Raises:
        ValueError: see `position_error`, `add`.
    """
    return PoseErrors(
        position=position_error(estimated, true),
        orientation=orientation_error(estimated, true),
        add=add(estimated_points, true_points),
    )


def calibrated_draws(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    repeats: int,
    fit: int,
    test: int,
    known: Callable[[Floats], Floats] | None = None,
) -> list[tuple[Floats, np.ndarray]]:
    """Test angles of each repeat of `ropes.metrics.protocol`, as its lines read them, for the same generator.

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.
        rng: as `protocol` was given, freshly seeded.
        repeats: how many draws.
        fit: labelled poses for the lines.
        test: poses to read.
        known: as of `protocol`.

    Returns:
        For each repeat the angles read, (test, d) radians, and the rows that they are of, (test,).
    """
    estimate, angle = np.asarray(estimates, dtype=np.float64), np.asarray(angles, dtype=np.float64)
    read = []
    for fitting, testing in draws(rng, len(estimate), repeats, fit, test):
        if known is not None:
            read.append((known(estimate[testing]), testing))
            continue
        slope, intercept = linear_calibration(estimate[fitting], angle[fitting])
        read.append((slope * estimate[testing] + intercept, testing))
    return read


def _paired(estimated: ArrayLike, true: ArrayLike, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    found, wanted = np.asarray(estimated, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if found.shape != wanted.shape or found.ndim != 3 or found.shape[1:] != shape:
        raise ValueError(f"expected two arrays of shape {('n', *shape)}, got {found.shape} and {wanted.shape}")
    if not (np.isfinite(found).all() and np.isfinite(wanted).all()):
        raise ValueError("every value must be finite")
    return found, wanted
