"""What a calibrated run sees in frames with logged angles."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from ropes.common.arrays import Bools, Floats
from ropes.data.views import Views, planes, squares
from ropes.errors import UserError
from ropes.evaluation.drift.frames import LoggedFrames
from ropes.evaluation.drift.statistics import FEWEST_FRAMES, LEVEL, Drift, ReferenceOffset, drifts, spread_of
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import Reading

#: Median error of a joint whose radians come from commanded distributions, as a share of its σ: no label has fixed its
#: zero.  Those of panda-2c were up to 0.27 in distribution.
LABEL_FREE_ZERO = 0.25
#: Distance from a learnt range that does not count as outside, as a share of the range.
BEYOND = 0.05


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Readings of n frames.

    Attributes:
        read: angles by the estimator, (n, d), radians.
        stds: standard deviations of its errors, (n, d), radians.
        flagged: frames that are out of distribution, bool (n,).
        pixels: images as the network gets them, before registration, uint8 (n, P, s, s).
        low, high: ends of the intervals of the angles, (n, d), radians.
        ranges: lowest and highest angle that the run learnt of each joint, (d, 2), radians; None where unknown.
    """

    read: Floats
    stds: Floats
    flagged: Bools
    pixels: Tensor
    low: Floats
    high: Floats
    ranges: Floats | None

    @property
    def tested(self) -> Bools:
        """Frames in distribution; all where these are too few, bool (n,)."""
        inside = ~self.flagged
        return inside if inside.sum() >= FEWEST_FRAMES else np.ones(len(inside), bool)

    def outside(self, angles: Floats) -> Bools:
        """Logged angles (n, d) outside the ranges that the run learnt, bool (n, d); none where these are unknown."""
        if self.ranges is None:
            return np.zeros(angles.shape, bool)
        low, high = self.ranges.T
        beyond = BEYOND * (high - low)
        return np.asarray((angles < low - beyond) | (angles > high + beyond))


def tested_by_joint(tested: Bools, outside: Bools) -> Bools:
    """Frames by which each joint is tested: those of `tested` (n,) that are not outside its range; bool (n, d).

    If these are too few, all of `tested`.
    """
    rows = tested[:, None] & ~outside
    return np.where(rows.sum(0) >= FEWEST_FRAMES, rows, tested[:, None])


def calibration_of(estimator: Estimator) -> tuple[Calibration, Intervals]:
    """The map to radians and the intervals.

    Raises:
        UserError: one is missing; the message names the command that makes it.
    """
    folder = estimator.run.folder or "RUN"
    if estimator.calibration is None:
        raise UserError(
            f"{folder} is not calibrated, and a check needs radians: run ropes calibrate {folder} --data DATA "
            "--samples 100, or with --commanded without labels"
        )
    if estimator.intervals is None:
        raise UserError(
            f"{folder} has no standard deviations to compare with: run ropes calibrate {folder} --data DATA "
            "--samples 100"
        )
    return estimator.calibration, estimator.intervals


def see(estimator: Estimator, frames: LoggedFrames) -> Seen:
    """Read the angles of all frames.

    Raises:
        UserError: see `calibration_of` and `LoggedFrames.images`.
    """
    calibration, intervals = calibration_of(estimator)
    readings, pixels = [], []
    for images in frames.images():
        readings.append(estimator.read(images))
        pixels.append(network_planes(estimator, images))
    coordinates = np.concatenate([each.coordinates for each in readings])
    distance = _whole(readings, "distance")
    low, high = intervals.around(coordinates, _whole(readings, "deviation"), calibration.angles)
    return Seen(
        read=calibration.angles(coordinates),
        stds=np.maximum(intervals.ratio * (high - low) / 2, 1e-9),
        flagged=np.zeros(len(frames), bool) if distance is None else distance > 1,
        pixels=torch.cat(pixels),
        low=low,
        high=high,
        ranges=calibration.ranges,
    )


def _whole(parts: Sequence[Reading], name: str) -> Floats | None:
    values = [getattr(part, name) for part in parts]
    return None if values[0] is None else np.concatenate(values)


def network_planes(estimator: Estimator, images: Views) -> Tensor:
    """Images as the network gets them, before registration: uint8 (n, P, s, s)."""
    return torch.from_numpy(np.ascontiguousarray(planes(squares(images, estimator.networks[0].size))))


def calibrated_offsets(estimator: Estimator, stds: Floats) -> list[ReferenceOffset]:
    """Median differences of each joint without a reference: 0, with the interval of the calibration at `LEVEL`.

    The standard error is σ / √N for N labelled poses, and `LABEL_FREE_ZERO` of σ without labels.

    Args:
        estimator: calibrated.
        stds: standard deviations of the errors, (n, d), radians.
    """
    calibration, intervals = calibration_of(estimator)
    labels = intervals.samples if estimator.is_supervised else calibration.samples
    share = 1 / np.sqrt(labels) if labels else LABEL_FREE_ZERO
    halves = share * ndtri(1 - LEVEL / (4 * stds.shape[1])) * np.sqrt((stds**2).mean(0))
    return [ReferenceOffset(value=0.0, half=half) for half in halves.tolist()]


def joint_drifts(frames: LoggedFrames, seen: Seen, usual: Sequence[ReferenceOffset]) -> tuple[Drift, ...]:
    """The tests of each joint by its own frames, see `tested_by_joint`; changes count among those of `seen.tested`."""
    own, found, place = tested_by_joint(seen.tested, seen.outside(frames.angles)), [], np.cumsum(seen.tested) - 1
    cache: dict[bytes, tuple[Drift, ...]] = {}
    for k, rows in enumerate(own.T):
        if (key := rows.tobytes()) not in cache:
            differences = (seen.read - frames.angles)[rows]
            cache[key] = drifts(differences, seen.stds[rows], frames.angles[rows], frames.times[rows], usual=usual)
        each = cache[key][k]
        change = None if each.change is None else int(place[np.flatnonzero(rows)[each.change]])
        found.append(replace(each, change=change))
    return tuple(found)


def reference_offsets(frames: LoggedFrames, seen: Seen) -> list[ReferenceOffset]:
    """Median differences of each joint in a reference, with their intervals at `LEVEL`."""
    own, differences = tested_by_joint(seen.tested, seen.outside(frames.angles)), seen.read - frames.angles
    found = joint_drifts(frames, seen, [ReferenceOffset(value=0.0, half=0.0)] * seen.read.shape[1])
    return [
        ReferenceOffset(
            value=each.offset.value,
            half=each.offset.half,
            spread=float(spread_of(differences[own[:, k], k])),
            few=each.few,
        )
        for k, each in enumerate(found)
    ]
