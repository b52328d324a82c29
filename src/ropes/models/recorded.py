"""Distinguishes recordings from renderings, and frames with passers-by from those of the arm alone."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

#: Difference from the background, in levels of 255, of a pixel that has changed.
CHANGED = 8
#: Where a camera's noise or light varies, few pixels have exactly their median in most frames; in renderings most have:
#: quantile over pixels, and share of frames.
_QUANTILE, _REPEATED = 0.75, 0.5
#: Least share of pixels, neither black nor white, that this counts on.
_FEWEST = 0.2
#: Frames whose logarithmic changed area exceeds the arm's mean by this many standard deviations show more than the arm.
_MORE_AREA = 2.5
#: Quantiles that give this distribution, and their standard normal values.
_QUANTILES, _NORMAL = (0.05, 0.3), (-1.645, -0.524)
#: Least standard deviation of the logarithm, and smallest area at the lower quantile: below it, the arm is out of view.
_LEAST_STD, _LEAST_AREA = 0.1, 1e-3


def are_recorded(images: Tensor, views: int = 1) -> bool:
    """Whether a real camera took the frames of any view: even where nothing moves, pixels hardly ever repeat exactly.

    Args:
        images: uint8 (n, P, H, W).
        views: number of cameras, each with P / views planes.
    """
    return any(_is_recorded(view) for view in images.chunk(views, dim=1))


def _is_recorded(images: Tensor) -> bool:
    """Whether a real camera took the frames of one view, uint8 (n, C, H, W)."""
    median = images.median(dim=0).values
    repeated = (images == median).float().mean(0)
    usable = (median > 2) & (median < 253)  # saturated pixels repeat in recordings too
    if usable.float().mean() >= _FEWEST:
        repeated = repeated[usable]
    return float(repeated.flatten().quantile(_QUANTILE)) < _REPEATED


def changed_areas(frames: Tensor, background: Tensor, channels: int) -> NDArray[np.float64]:
    """Share of each view's pixels that differ from the background in a channel, (n, V).

    Args:
        frames: registered, uint8 (n, P, H, W).
        background: in units of white, (P, H, W).
        channels: planes of a view.
    """
    levels = background.mul(255).round().to(frames.device, torch.int16)
    changed = (frames.to(torch.int16) - levels).abs_() > CHANGED
    of_view = changed.unflatten(1, (-1, channels)).any(2).flatten(2)
    areas: NDArray[np.float64] = of_view.count_nonzero(2).double().div_(of_view.shape[2]).cpu().numpy()
    return areas


def crowded(areas: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames of which a larger share differs from the background than the arm alone changes.

    The smallest areas show what the arm alone changes, even where most frames show more: mean and standard deviation of
    a log-normal distribution come from the 5% and 30% quantiles.  A view in which the arm is often out of sight has no
    such frames, since its smallest areas are not the arm's.

    Args:
        areas: share of each frame's changed pixels, (n, cameras), or (n,) of one.
    """
    logarithm = np.log(np.maximum(areas, _LEAST_AREA))
    low, middle = np.quantile(logarithm, _QUANTILES, axis=0)
    std = np.maximum((middle - low) / (_NORMAL[1] - _NORMAL[0]), _LEAST_STD)
    mean = middle - _NORMAL[1] * std
    crowd: NDArray[np.bool_] = (logarithm > mean + _MORE_AREA * std) & (low > np.log(_LEAST_AREA))
    return crowd
