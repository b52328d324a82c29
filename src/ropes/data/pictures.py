"""Resizes images."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ropes.common import png


def area_average(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Average square images to `side` pixels, bit-identical to the training cache.

    Args:
        images: uint8 (..., S, S).
        side: at most S.
    """
    if images.shape[-1] == side:
        return images
    resized = np.empty((*images.shape[:-2], side, side), np.uint8)
    for index in np.ndindex(images.shape[:-2]):
        resized[index] = png.shrink(Image.fromarray(images[index]), side)
    return resized


def enlarge(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Enlarge square images to `side` pixels by nearest neighbour.

    Args:
        images: uint8 (..., S, S).
        side: at least S.
    """
    source = (2 * np.arange(side) + 1) * images.shape[-1] // (2 * side)
    return images[..., source[:, None], source]
