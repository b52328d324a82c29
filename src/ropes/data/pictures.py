"""Resizes images by area averaging, identically for training and prediction."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ropes.common import png


def area_average(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Average square images to `side` pixels, to the last bit as the training cache does.

    Args:
        images: uint8 (..., S, S).
        side: at most S.
    """
    whole = images.shape[-1]
    if whole == side:
        return images
    small = np.empty((*images.shape[:-2], side, side), np.uint8)
    for place in np.ndindex(images.shape[:-2]):
        small[place] = png.shrink(Image.fromarray(images[place]), side)
    return small


def enlarge(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Enlarge square images to `side` pixels, each with the grey level of the one that its centre lies in.

    Args:
        images: uint8 (..., S, S).
        side: at least S.
    """
    below = (2 * np.arange(side) + 1) * images.shape[-1] // (2 * side)
    return images[..., below[:, None], below]
