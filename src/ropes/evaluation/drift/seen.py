"""What a calibrated run sees in frames with logged angles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from ropes.common.arrays import Bools, Floats
from ropes.data.views import Views, planes, squares
from ropes.errors import UserError
from ropes.evaluation.drift.frames import LoggedFrames
from ropes.evaluation.drift.statistics import FEWEST_FRAMES, LEVEL, ReferenceOffset, drifts, spread_of
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import Reading

#: Median error of a joint whose radians come from commanded distributions, as a share of its σ: no label has fixed its
#: zero.  Those of panda-2c were up to 0.27 in distribution.
LABEL_FREE_ZERO = 0.25


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Readings of n frames.

    Attributes:
        read: angles by the estimator, (n, d), radians.
        stds: standard deviations of its errors, (n, d), radians.
        flagged: frames that are out of distribution, bool (n,).
        pixels: images as the network gets them, before registration, uint8 (n, P, s, s).
    """

    read: Floats
    stds: Floats
    flagged: Bools
    pixels: Tensor

    @property
    def tested(self) -> Bools:
        """Frames in distribution; all where these are too few, bool (n,)."""
        inside = ~self.flagged
        return inside if inside.sum() >= FEWEST_FRAMES else np.ones(len(inside), bool)


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


def reference_offsets(frames: LoggedFrames, seen: Seen) -> list[ReferenceOffset]:
    """Median differences of each joint in a reference, with their intervals at `LEVEL`."""
    rows, nothing = seen.tested, [ReferenceOffset(value=0.0, half=0.0)] * seen.read.shape[1]
    differences = (seen.read - frames.angles)[rows]
    found = drifts(differences, seen.stds[rows], frames.angles[rows], frames.times[rows], usual=nothing)
    spreads = spread_of(differences).tolist()
    return [
        ReferenceOffset(value=each.offset.value, half=each.offset.half, spread=spread, few=each.few)
        for each, spread in zip(found, spreads, strict=True)
    ]
