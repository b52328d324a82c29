"""Counts the pixels that a joint's interventions move."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.evaluation.inspection.sample import Ints, Sample

#: Grey levels of 255 by which a pixel must change to count as moved.
_LEVELS = 8
#: Standard errors by which two mean images must differ there, where no two poses can be compared.
_ERRORS = 5.0


@dataclass(frozen=True)
class Motion:
    """Where a joint's interventions change the images.

    Attributes:
        share: (V,), share of each camera's pixels that move, on average over poses.
        heat: (V, H, W), how often each pixel moves (where `paired`), or by how many grey levels the mean images of
            the two policies differ.
        paired: each pose was compared with its anchor's observational one; otherwise only means could be.
    """

    share: NDArray[np.float64]
    heat: NDArray[np.float64]
    paired: bool


def motion(sample: Sample, observational: int | None, first: int, second: int) -> Motion:
    """Measure the motion of the joint whose two policies are the regimes `first` and `second`.

    What follows the joint, in a causal setting, moves with it and counts too.

    Args:
        sample: images of all regimes.
        observational: its number among the regimes, or None.
        first: policy 1's.
        second: policy 2's.
    """
    pose, anchor = _pairs(sample, observational, first, second)
    if not len(pose):
        return _means(sample.images[sample.rows(first)], sample.images[sample.rows(second)])
    moved = np.zeros(sample.images.shape[1:])
    for k, rest in zip(pose, anchor, strict=True):
        moved += np.abs(sample.images[k].astype(np.int16) - sample.images[rest]) > _LEVELS
    heat = moved / len(pose)
    return Motion(heat.mean(axis=(1, 2)), heat, paired=True)


def _pairs(sample: Sample, observational: int | None, first: int, second: int) -> tuple[Ints, Ints]:
    """Rows under the two policies, and the observational row of the same anchor, where there is one and only one."""
    empty = np.empty(0, np.int64)
    if observational is None:
        return empty, empty
    rows = sample.rows(observational)
    anchors, at, count = np.unique(sample.anchor[rows], return_index=True, return_counts=True)
    rest = dict(zip(anchors[count == 1].tolist(), rows[at[count == 1]].tolist(), strict=True))
    posed = np.concatenate([sample.rows(first), sample.rows(second)])
    posed = posed[np.isin(sample.anchor[posed], anchors[count == 1])]
    return posed, np.array([rest[int(anchor)] for anchor in sample.anchor[posed]], dtype=np.int64)


def _means(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> Motion:
    def moments(images: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean = images.mean(axis=0)
        squares = np.mean([np.square(image, dtype=np.float64) for image in images], axis=0)
        return mean, np.maximum(squares - mean**2, 0) / len(images)

    (mean, error), (other, other_error) = moments(first), moments(second)
    heat = np.abs(mean - other)
    # A pixel's mean moves by less than the pixel itself does.
    moved = heat > np.maximum(_LEVELS / 8, _ERRORS * np.sqrt(error + other_error))
    return Motion(moved.mean(axis=(1, 2)), heat, paired=False)
