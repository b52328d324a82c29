"""Distinguishes recordings from renderings, and frames with passers-by from those of the arm alone."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

#: Where a camera's noise or light varies, few pixels have exactly their median in most frames; in renderings most have:
#: quantile over pixels, and share of frames.
_QUANTILE, _REPEATED = 0.75, 0.5
#: Least share of pixels, neither black nor white, that this counts on.
_FEWEST = 0.2
#: Frames whose changed area exceeds the arm's mean area by this many standard deviations show more than the arm.
_MORE_AREA = 4.0


def are_recorded(images: Tensor) -> bool:
    """Whether a real camera took the frames: even where nothing moves, pixels hardly ever repeat exactly.

    Args:
        images: uint8 (n, P, H, W).
    """
    median = images.median(dim=0).values
    repeated = (images == median).float().mean(0)
    usable = (median > 2) & (median < 253)  # saturated pixels repeat in recordings too
    if usable.float().mean() >= _FEWEST:
        repeated = repeated[usable]
    return float(repeated.flatten().quantile(_QUANTILE)) < _REPEATED


def crowded(areas: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames of which a larger share differs from the background than the arm alone changes.

    The smallest areas show what the arm alone changes, even where most frames show more: the mean and the standard
    deviation of a normal distribution come from its 5% and 20% quantiles.

    Args:
        areas: share of each frame's changed pixels, (n, cameras).
    """
    low, middle = np.quantile(areas, [0.05, 0.2], axis=0)
    deviation = np.maximum(np.maximum((middle - low) / 0.80, 0.1 * middle), 1e-3)
    crowd: NDArray[np.bool_] = areas > middle + (0.84 + _MORE_AREA) * deviation
    return crowd
