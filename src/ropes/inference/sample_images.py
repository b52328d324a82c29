"""Synthetic images for comparing an exported estimator when no data set is given: bars before the background."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ropes.common.arrays import Images
from ropes.common.png import bars
from ropes.data.pictures import enlarge
from ropes.data.views import Views, from_planes, joined
from ropes.inference.estimator import Estimator

#: Bars in each image, about as many pixels as an arm.
_BARS = 3


def made_up_images(estimator: Estimator, count: int) -> Views:
    """Images with bars at random places, in the sizes that the estimator reads.

    Args:
        estimator: of a run.
        count: number of poses.
    """
    rng, run = np.random.default_rng(0), estimator.run
    reader, registration = estimator.networks
    background = _background([*([] if registration is None else [registration]), *reader.networks()])
    squares = np.full((len(run.cameras) * run.channels, reader.size, reader.size), 255, np.uint8)
    if background is not None:
        squares = background.clamp(0, 1).mul(255).round().byte().cpu().numpy()
    views = from_planes(squares[None], run.channels)[0]
    return joined(
        [
            np.stack([_with_bars(_of_size(view, shape), rng) for _ in range(count)])
            for view, shape in zip(views, run.shapes, strict=True)
        ]
    )


def _background(networks: list[nn.Module]) -> Tensor | None:
    """The first background that a network knows, levels in [0, 1], (P, S, S)."""
    found = (buffer for each in networks for name, buffer in each.named_buffers() if name.endswith("background"))
    return next((buffer for buffer in found if buffer.is_floating_point()), None)


def _of_size(square: Images, shape: tuple[int, ...]) -> Images:
    """A letterboxed square (S, S) or (S, S, 3) in a camera's height and width."""
    (height, width), side = shape[:2], max(shape[:2])
    if square.ndim == 3:
        return np.stack([_of_size(square[..., channel], shape) for channel in range(3)], axis=-1)
    top, left = bars(height, width)
    large = enlarge(square, side) if side >= square.shape[-1] else square
    return large[top : top + height, left : left + width]


def _with_bars(image: Images, rng: np.random.Generator) -> Images:
    """An image with bars of one level each, and a little noise."""
    seen = image.astype(np.float64)
    height, width = image.shape[:2]
    rows, columns = np.arange(height)[:, None] / height, np.arange(width) / width
    for _ in range(_BARS):
        top, left = rng.uniform(0.2, 0.8, 2)
        along = rng.uniform(0, np.pi)
        down, right = rows - top, columns - left
        length = np.abs(down * np.cos(along) + right * np.sin(along))
        breadth = np.abs(right * np.cos(along) - down * np.sin(along))
        seen[(length < 0.15) & (breadth < 0.04)] = rng.uniform(0, 255)
    noisy: NDArray[np.float64] = seen + rng.normal(0, 1, seen.shape)
    return noisy.round().clip(0, 255).astype(np.uint8)
