"""Counts the pixels that a joint's interventions move."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Ints
from ropes.evaluation.inspection.sample import Disturbance, Sample

#: Smallest change of a moved pixel of a rendering, in grey levels of 255.
LEVELS = 8
#: Smallest difference of two mean images at a moved pixel, in standard errors, if poses cannot be compared in pairs.
_ERRORS = 5.0


@dataclass(frozen=True)
class Motion:
    """Where a joint's interventions change the images.

    Attributes:
        share: (V,), share of each camera's pixels that move, mean over poses.
        heat: of each camera (H, W), share of the poses in which each pixel moves (if `paired`), or difference of the
            two policies' mean images in levels.  In colour the channel that changes most counts.
        paired: whether each pose is compared with its anchor's observational one, rather than mean with mean.
    """

    share: NDArray[np.float64]
    heat: tuple[NDArray[np.float64], ...]
    paired: bool


def motion(
    sample: Sample, observational: int | None, first: int, second: int, disturbance: Disturbance | None = None
) -> Motion:
    """Measure the motion of the joint whose two policies are the regimes `first` and `second`.

    In anchors of a causal setting, the joint's descendants move with it and count too; in chains they are held.  Of a
    recording only changes above the camera's noise count, and only in frames without passers-by, unless all frames of a
    camera have some.

    Args:
        sample: images of all regimes; of a recording registered, see `ropes.evaluation.inspection.sample`.
        observational: number of the observational regime, or None.
        first: number of policy 1's regime.
        second: number of policy 2's regime.
        disturbance: of a recording; None for renderings.
    """
    levels: tuple[float, ...] = (LEVELS,) * len(sample.images)
    crowded = np.zeros((len(sample), len(levels)), np.bool_)
    if disturbance is not None:
        levels, crowded = disturbance.levels, disturbance.crowded
    pose, anchor = pairs_with_anchors(sample, observational, first, second)
    if not len(pose):
        found = []
        for camera, crowd in zip(sample.images, crowded.T, strict=True):
            one, other = (rows[alone_or_all(~crowd[rows])] for rows in (sample.rows(first), sample.rows(second)))
            found.append(_means(camera[one], camera[other]))
        heats, shares = zip(*found, strict=True)
        return Motion(np.array(shares), heats, paired=False)
    heat = []
    for camera, level, crowd in zip(sample.images, levels, crowded.T, strict=True):
        alone = alone_or_all(~(crowd[pose] | crowd[anchor]))
        heat.append(_moved(camera, pose[alone], anchor[alone], level))
    return Motion(np.array([float(each.mean()) for each in heat]), tuple(heat), paired=True)


def alone_or_all(alone: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Poses that show the arm alone; all poses if none does."""
    return alone if alone.any() else ~alone


def _moved(images: NDArray[np.uint8], pose: Ints, anchor: Ints, level: float) -> NDArray[np.float64]:
    """Share of the poses in which each pixel of one camera differs from the anchor's observational one, (H, W)."""
    moved = np.zeros(images.shape[1:3])
    for k, rest in zip(pose, anchor, strict=True):
        moved += _over_channels(np.abs(images[k].astype(np.int16) - images[rest]) > level)
    return moved / len(pose)


def _over_channels(values: NDArray[Any]) -> NDArray[Any]:
    """The greatest value of each pixel's channels, (H, W)."""
    return values.max(axis=2) if values.ndim > 2 else values


def pairs_with_anchors(
    sample: Sample, observational: int | None, first: int | None, second: int | None
) -> tuple[Ints, Ints]:
    """Rows under the two policies, and the observational row of the same anchor if there is exactly one.

    Of chains: the rows after the moves under the two policies, and those before them.
    """
    if sample.chains:
        moved = np.concatenate([sample.rows(first), sample.rows(second)])
        return moved, moved - 1
    rows = sample.rows(observational)
    anchors, at, count = np.unique(sample.anchor[rows], return_index=True, return_counts=True)
    rest = dict(zip(anchors[count == 1].tolist(), rows[at[count == 1]].tolist(), strict=True))
    posed = np.concatenate([sample.rows(first), sample.rows(second)])
    posed = posed[np.isin(sample.anchor[posed], anchors[count == 1])]
    return posed, np.array([rest[int(anchor)] for anchor in sample.anchor[posed]], dtype=np.int64)


def _means(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> tuple[NDArray[np.float64], float]:
    """Heat and share of moved pixels of one camera, from the mean images of two policies."""

    def moments(images: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean = images.mean(axis=0)
        squares = np.mean([np.square(image, dtype=np.float64) for image in images], axis=0)
        return mean, np.maximum(squares - mean**2, 0) / len(images)

    (mean, error), (other, other_error) = moments(first), moments(second)
    heat = np.abs(mean - other)
    # A pixel's mean moves by less than the pixel itself does.
    moved = heat > np.maximum(LEVELS / 8, _ERRORS * np.sqrt(error + other_error))
    return _over_channels(heat), float(_over_channels(moved).mean())
