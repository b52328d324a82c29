"""Smaller pictures by area averaging, the same for training and for prediction."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def area_average(images: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Average square images to `side` pixels, rounding halves up as the training cache does.

    Args:
        images: uint8 (..., S, S).
        side: at most S.
    """
    whole = images.shape[-1]
    if whole == side:
        return images
    if whole % side == 0:
        k = whole // side
        blocks = images.reshape(*images.shape[:-2], side, k, side, k).sum((-3, -1), dtype=np.uint32)
        return ((blocks + k * k // 2) // (k * k)).astype(np.uint8)
    flat = images.reshape(-1, whole, whole)
    small = [np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BOX)) for image in flat]
    return np.stack(small).reshape(*images.shape[:-2], side, side)
