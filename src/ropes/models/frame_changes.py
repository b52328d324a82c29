"""Distinguishes recordings from renderings, and frames with passers-by from those of the arm alone."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ropes.common.arrays import Images

#: Standard deviation of a normal distribution over its median absolute deviation.
MAD_TO_STD = 1.4826
#: Difference from the background, in levels of 255, of a pixel that has changed.
CHANGED = 8
#: Standard deviations of the difference of two noisy pixels above which the pixel has moved.
_DEVIATIONS = 3.0
#: Where a camera's noise or light varies, few pixels have exactly their median in most frames; in renderings most have:
#: quantile over pixels, and share of frames.
_QUANTILE, _REPEATED = 0.75, 0.5
#: Least share of pixels, neither black nor white, that this counts on.
_FEWEST = 0.2
#: Frames whose logarithmic changed area exceeds the arm's mean by this many standard deviations show more than the arm.
_MORE_AREA = 2.5
#: Quantiles that give this distribution, and their standard normal values.
_QUANTILES, _NORMAL = (0.1, 0.4), (-1.282, -0.253)
#: Standard deviations of an arm's logarithmic area: the upper halves of simulated arms have 0.24 to 0.48, and the lower
#: halves, from which it is estimated, sometimes less.
_FEWEST_STD, _MOST_STD = 0.25, 0.45
#: Share of the frames, and number at least, with which the search for the frames without passers-by begins.
_FIRST, _FEWEST_FRAMES = 0.05, 5
#: Least standard deviation of the frames that this search has found.
_LEAST_STD = 0.1
#: Smallest area at the lower quantile: below it, the arm is out of view.
_LEAST_AREA = 1e-3


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


def camera_planes(images: Images) -> Tensor:
    """Images of one camera, uint8 (n, H, W) or (n, H, W, 3), as planes (n, C, H, W)."""
    planes = torch.from_numpy(images)
    return planes.unsqueeze(1) if planes.ndim == 3 else planes.permute(0, 3, 1, 2).contiguous()


def explained_by_noise(noise: Tensor) -> float:
    """Greatest difference of two frames that noise explains, grey levels; at least `CHANGED`.

    Args:
        noise: standard deviations of pixels, in units of white.
    """
    return max(float(CHANGED), _DEVIATIONS * 2**0.5 * 255 * float(noise.median()))


def levels_of(background: Tensor) -> Tensor:
    """A background in units of white as registered frames show it, uint8 of the same shape."""
    return background.mul(255).round_().to(torch.uint8)


def parts_with(pixels: Tensor, views: int, side: int) -> Tensor:
    """The parts of each view with such a pixel in a channel: bool (B, P, S, S) → bool (B, V, side, side).

    The last parts are smaller where `side` does not divide S.
    """
    of_view, size = pixels.unflatten(1, (views, -1)).any(2), pixels.shape[-1]
    return functional.max_pool2d(of_view.float(), -(-size // side), ceil_mode=bool(size % side)) > 0


def changed_areas(frames: Tensor, background: Tensor, channels: int) -> NDArray[np.float64]:
    """Share of each view's pixels that differ from the background in a channel, (n, V).

    Args:
        frames: registered, uint8 (n, P, H, W).
        background: in units of white, (P, H, W).
        channels: planes of a view.
    """
    levels = levels_of(background).to(frames.device, torch.int16)
    changed = (frames.to(torch.int16) - levels).abs_() > CHANGED
    of_view = changed.unflatten(1, (-1, channels)).any(2).flatten(2)
    areas: NDArray[np.float64] = of_view.count_nonzero(2).double().div_(of_view.shape[2]).cpu().numpy()
    return areas


def crowded(areas: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames of which a larger share differs from the background than the arm alone changes.

    The smallest areas show what the arm alone changes, even where most frames show more: mean and standard deviation of
    a log-normal distribution come from the 10% and 40% quantiles.  A view in which the arm is often out of sight has no
    such frames, since its smallest areas are not the arm's.

    Args:
        areas: share of each frame's changed pixels, (n, cameras), or (n,) of one.
    """
    logarithm = np.log(np.maximum(areas, _LEAST_AREA))
    mean, std, low = _usual(logarithm)
    bound = mean + _MORE_AREA * np.maximum(std, _FEWEST_STD)
    crowd: NDArray[np.bool_] = (logarithm > bound) & (low > np.log(_LEAST_AREA))
    return crowd


def crowded_share(areas: NDArray[np.float64]) -> float:
    """Share of the frames that are crowded; NaN where it cannot be estimated.

    If most frames have passers-by, the 40% quantile of `crowded` is not the arm's: areas vary more than those of any
    arm, and no frame would exceed them.  Then the frames with the smallest areas count as those of the arm alone: the
    set grows by each frame within the same bound of its own mean until the next frames are farther off.  The share is
    NaN where this set is most of the frames or varies more than an arm: passers-by of all sizes look like an arm.

    Args:
        areas: share of each frame's changed pixels, (n,), of one camera.
    """
    logarithm = np.sort(np.log(np.maximum(areas, _LEAST_AREA)))
    _, spread, low = _usual(logarithm)
    if spread <= _MOST_STD or low <= np.log(_LEAST_AREA):
        return float(crowded(areas).mean())
    before, number = 0, max(_FEWEST_FRAMES, round(_FIRST * len(areas)))
    while before < number:
        alone = logarithm[:number]
        std = max(float(alone.std()), _LEAST_STD)
        bound = float(alone.mean()) + _MORE_AREA * std
        before, number = number, max(number, int(np.searchsorted(logarithm, bound, side="right")))
    unknown = std > _MOST_STD or 2 * number > len(areas)
    return float("nan") if unknown else 1 - number / len(areas)


def _usual(logarithm: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the arm's logarithmic areas by their quantiles, and the lower quantile."""
    low, middle = np.quantile(logarithm, _QUANTILES, axis=0)
    std = (middle - low) / (_NORMAL[1] - _NORMAL[0])
    return middle - _NORMAL[1] * std, std, low
