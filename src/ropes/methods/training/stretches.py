"""Registers recordings in which a background changed for good: each stretch has a background of its own."""

import sys
from collections.abc import Sequence

import numpy as np
from torch import Tensor

from ropes.common.arrays import Ints
from ropes.common.hardware import device_kind
from ropes.data.batches import TrainingImages
from ropes.models.pushes import PARTS
from ropes.models.registration import Registration
from ropes.models.stretches import backgrounds_of, follow

#: Most that the shares of the regimes in a part of the recording may differ from those in all of it (total variation).
_DIFFERENT = 0.25


def following(
    images: TrainingImages,
    rows: Ints,
    frames: Tensor,
    registration: Registration,
    parameters: Tensor,
    cameras: Sequence[str],
) -> Registration:
    """The registration for the newest stretch, with those for the earlier ones; the given one if nothing changed.

    Lasting changes are searched for in recordings of interventions whose regimes are mixed in time.  Elsewhere the arm
    may stay in one part of the view for a part of the recording, and looks like a lasting change.  A line on standard
    error names each camera whose background changed.

    Args:
        images: of the training split, in the order of recording.
        rows: of the frames, (n,).
        frames: uint8 (n, P, N, N).
        registration: adapted to them.
        parameters: of the frames, see `Registration.estimate`.
        cameras: names.
    """
    if not mixed_in_time(images.regime[rows[0] : rows[-1] + 1]) or (np.diff(images.anchor) < 0).any():
        return registration
    frames = frames.to(device_kind())
    numbers = backgrounds_of(registration, frames, parameters)
    if not numbers.any():
        return registration
    *earlier, newest = follow(registration, frames, numbers)
    starts = np.flatnonzero((numbers.diff(dim=0) > 0).any(1).cpu().numpy()) + 1
    newest.earlier = tuple((int(images.anchor[rows[k]]), part) for k, part in zip(starts, earlier, strict=True))
    for camera, number in zip(cameras, numbers.T.cpu().numpy(), strict=True):
        if number[-1]:
            anchors = " and ".join(str(images.anchor[rows[k + 1]]) for k in np.flatnonzero(np.diff(number)))
            print(
                f"ropes: the background of camera {camera} changed for good at anchor {anchors}; earlier frames are "
                "compared with the earlier background",
                file=sys.stderr,
            )
    return newest


def mixed_in_time(regime: Ints) -> bool:
    """Whether there are several regimes, with about the same shares in all parts of the recording."""
    count = int(regime.max()) + 1
    if count < 2:
        return False
    shares = np.bincount(regime, minlength=count) / len(regime)
    parts = [np.bincount(part, minlength=count) / max(1, len(part)) for part in np.array_split(regime, PARTS)]
    return max(float(np.abs(part - shares).sum()) / 2 for part in parts) <= _DIFFERENT
