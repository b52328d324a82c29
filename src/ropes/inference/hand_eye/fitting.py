"""Fits a camera to moving parts of images: starts over the sphere, then Levenberg–Marquardt from blurred to sharp."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.transform import Rotation

from ropes.common.arrays import Floats
from ropes.inference.hand_eye.candidate import LARGEST, STEPS, Candidate
from ropes.inference.hand_eye.surface_points import PosedPoints, blurred, changes, coverage

#: Angle between neighbouring starts around the arm, their angles above the horizon, and turns about the line of sight.
_YAWS, _PITCHES, _ROLLS = 16, (-20.0, 5.0, 30.0, 55.0, 80.0), (0.0, 90.0, 180.0, 270.0)
#: Distances of the starts, in units of an estimate; a point of the arm moves if it travels this share of the most.
_FAR, _TRAVEL = (0.75, 1.0, 1.33), 0.3
#: Poses of the first comparison.
_FIRST_POSES = 24
#: Mean and standard deviation of the logarithm of an unknown focal length, in units of the longer side: 55 degrees.
FOCAL, _FOCAL_STD = 0.96, 0.3
#: Weight of that prior, as a share of the squared differences of all pixels.
_PRIOR = 1 / 30
#: Two fits are the same where rotations differ by less than so many radians.
_SAME = 0.15


@dataclass(frozen=True)
class Level:
    """One resolution of the fit.

    Attributes:
        side: longer side of the images, pixels.
        blur: standard deviation, pixels.
        points: number of points of the surface.
        kept: number of starts that go on from the level before.
        steps: most steps of the fit.
        share: a start goes on if its overlap is at least this share of the best one's.
    """

    side: int
    blur: float
    points: int
    kept: int
    steps: int
    share: float = 0.0


LEVELS = (Level(32, 2.0, 500, 12, 10), Level(64, 1.5, 2_000, 4, 8), Level(128, 1.0, 8_000, 2, 15, share=0.85))


class Target:
    """What a camera saw: the moving parts of its images, and the points of the arm in the same poses.

    Args:
        moving: (n, height, width) in [0, 1], how far each pixel differs from the median image.
        posed: points at the same poses.
    """

    def __init__(self, moving: Floats, posed: PosedPoints) -> None:
        self.moving, self.posed = moving, posed

    def __len__(self) -> int:
        return len(self.moving)

    def at(self, level: Level) -> "Target":
        """The target at a level's resolution."""
        every = max(1, self.posed.points.shape[1] // level.points)
        height, width = self.moving.shape[1:]
        scale = level.side / max(height, width)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        small = np.stack([_resized(image, size) for image in self.moving])
        return Target(blurred(small, level.blur), self.posed.of(slice(None), every))

    def of(self, poses: slice | NDArray[np.int64]) -> "Target":
        """Some of the poses."""
        return Target(self.moving[poses], self.posed.of(poses))


def _resized(image: Floats, size: tuple[int, int]) -> Floats:
    picture = Image.fromarray(image.astype(np.float32))
    return np.asarray(picture.resize(size, Image.Resampling.BOX), dtype=np.float64)


def overlap(target: Target, view: Candidate, level: Level) -> float:
    """Soft intersection over union of predicted and seen changes, mean over the poses, in [0, 1]."""
    predicted, weight = changes(coverage(target.posed, view, level.side, level.blur))
    both = (weight * np.minimum(predicted, target.moving)).sum(axis=(1, 2))
    either = (weight * np.maximum(predicted, target.moving)).sum(axis=(1, 2))
    return float((both / np.maximum(either, 1e-9)).mean())


def search(
    target: Target, view: Candidate, *, fit_focal: bool, count: Callable[[int], None] = lambda done: None
) -> list[tuple[float, Candidate]]:
    """Fit from starts all around the arm.

    A focal length is fitted in sharp images only; in blurred ones it would become too long.

    Args:
        target: what the camera saw.
        view: with the intrinsics of the first guess.
        fit_focal: whether to fit the focal length too.
        count: called with the number of fits so far.

    Returns:
        Fits of the last level that differ in their rotation, with their overlaps, the best first.
    """
    coarse = LEVELS[0]
    few = np.unique(np.linspace(0, len(target) - 1, _FIRST_POSES).round().astype(np.int64))
    small = target.of(few).at(coarse)
    found = [(overlap(small, start, coarse), start) for start in starts(small, view)]
    done = 0
    for level in LEVELS:
        last = level is LEVELS[-1]
        seen = target.at(level)
        fitted = []
        for score, start in distinct(found)[: level.kept]:
            if score >= level.share * max(each for each, _ in found):
                fitted.append(fit(seen, start, level, fit_focal=fit_focal and last))
            done += 1
            count(done)
        found = [(overlap(seen, each, level), each) for each in fitted]
    return distinct(found)


def distinct(found: list[tuple[float, Candidate]]) -> list[tuple[float, Candidate]]:
    """Fits from the best to the worst, without those that turn the arm nearly as a better one."""
    ordered = sorted(found, key=lambda each: -each[0])
    rotations = np.array([view.rotation for _, view in ordered]).reshape(-1, 3, 3)
    # The trace of a rotation by an angle a is 1 + 2 cos a.
    same = np.einsum("aij,bij->ab", rotations, rotations) >= 1 + 2 * np.cos(_SAME)
    kept: list[int] = []
    for number in range(len(ordered)):
        if not same[number, kept].any():
            kept.append(number)
    return [ordered[number] for number in kept]


def starts(target: Target, view: Candidate) -> list[Candidate]:
    """Views from all sides, each at places and distances at which moving parts move as the changes do."""
    height, width = target.moving.shape[1:]
    side = max(height, width)
    rows, columns = np.mgrid[:height, :width] + 0.5
    mass = target.moving.sum(axis=(1, 2))
    seen = np.flatnonzero(mass > 0.25 * np.median(mass))
    total = mass[seen, None]
    at = np.concatenate(
        [(target.moving[seen] * grid).sum(axis=(1, 2))[:, None] / total for grid in (columns, rows)], axis=1
    )
    at = at / side - view.principal
    points = target.posed.points
    travel = np.linalg.norm(points.std(axis=0), axis=1)
    middles = points[np.ix_(seen, np.flatnonzero(travel > _TRAVEL * travel.max()))].mean(axis=1).astype(np.float64)
    middle, place = np.median(middles, axis=0), np.median(at, axis=0)
    move = np.median(np.linalg.norm(at - place, axis=1))
    found = []
    for rotation in _rotations():
        moves = np.linalg.norm(((middles - middle) @ rotation.T)[:, :2], axis=1)
        depth = float(view.focal.mean() * np.median(moves) / max(move, 1e-6))
        found += [replace(view, rotation=rotation, middle=middle, at=place, depth=depth * far) for far in _FAR]
    return found


def _rotations() -> list[Floats]:
    """From the base frame to cameras all around it; a pitch above 0 looks down."""
    found = []
    for pitch in np.radians(_PITCHES):
        for yaw in 2 * np.pi * np.arange(_YAWS) / _YAWS:
            forward = -np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)])
            right = np.cross(forward, [0.0, 0.0, 1.0])
            right /= np.linalg.norm(right)
            upright = np.stack([right, np.cross(forward, right), forward])
            found += [Rotation.from_euler("z", roll, degrees=True).as_matrix() @ upright for roll in _ROLLS]
    return found


def fit(target: Target, view: Candidate, level: Level, *, fit_focal: bool) -> Candidate:
    """Least squares between predicted and seen changes, by Levenberg and Marquardt's method.

    Frames whose error is large, for example with people in them, count less (Geman and McClure, 1987).

    The prior of a focal length is a normal distribution of its logarithm.  It weighs as much as one of 30 poses, since
    the differences of the pixels of a pose depend on one another.

    Args:
        target: at the resolution of the level.
        view: the first guess.
        level: resolution, blur and most steps.
        fit_focal: whether to fit the focal length too.
    """
    count = 7 if fit_focal else 6
    damping = 1e-2

    predicted, weight = changes(coverage(target.posed, view, level.side, level.blur))
    for _ in range(level.steps):
        weight = weight * _of_frames(predicted - target.moving, weight)[:, None, None]
        error = predicted - target.moving
        squares = float((weight * error**2).sum())
        share = _PRIOR * squares if fit_focal else 0.0
        cost = squares + share * _prior(view) ** 2
        slopes = np.stack(
            [
                ((changes(coverage(target.posed, view.moved(step), level.side, level.blur))[0] - predicted) / step[k])
                for k, step in enumerate(np.diag(STEPS)[:count, :count])
            ]
        ).reshape(count, -1)
        normal = (slopes * weight.reshape(-1)) @ slopes.T
        gradient = slopes @ (weight * error).reshape(-1)
        if fit_focal:
            normal[6, 6] += share / _FOCAL_STD**2
            gradient[6] += share * _prior(view) / _FOCAL_STD
        for _ in range(6):
            damped = normal + damping * np.diag(np.diag(normal) + 1e-9)
            step = np.linalg.solve(damped, -gradient)
            step /= max(1.0, float((np.abs(step) / LARGEST[:count]).max()))
            candidate = view.moved(step)
            tried, counted = changes(coverage(target.posed, candidate, level.side, level.blur))
            if float((weight * (tried - target.moving) ** 2).sum()) + share * _prior(candidate) ** 2 < cost:
                break
            damping *= 8
        else:
            return view
        damping = max(damping / 4, 1e-6)
        view, predicted, weight = candidate, tried, counted
        if float((np.abs(step) / STEPS[:count]).max()) < 0.02:
            break
    return view


def _prior(view: Candidate) -> float:
    """How far a focal length is from the usual one, in standard deviations."""
    return float(np.log(view.focal.max() / FOCAL)) / _FOCAL_STD


def _of_frames(error: Floats, weight: Floats) -> Floats:
    """The weight of each frame, (n,)."""
    squares = (weight * error**2).mean(axis=(1, 2))
    return np.asarray(1 / (1 + squares / (3 * np.median(squares) + 1e-12)) ** 2)
