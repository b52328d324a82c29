"""Resizes images."""

import numpy as np
from PIL import Image

from ropes.common import png
from ropes.common.arrays import Images


def letterbox(images: Images, side: int) -> Images:
    """Letterbox images to squares of `side` pixels, bit-identical to the training cache; see `png.letterbox`.

    Args:
        images: uint8 (n, H, W), or (n, H, W, 3) in colour.
        side: at most the longer of H and W.

    Returns:
        uint8 (n, side, side), or (n, side, side, 3).
    """
    if images.shape[1:3] == (side, side):
        return images
    resized = np.empty((len(images), side, side, *images.shape[3:]), np.uint8)
    for index, image in enumerate(images):
        resized[index] = png.letterbox(Image.fromarray(np.ascontiguousarray(image)), side)
    return resized


def enlarge(images: Images, side: int) -> Images:
    """Enlarge square images to `side` pixels by nearest neighbour.

    Args:
        images: uint8 (..., S, S).
        side: at least S.
    """
    source = (2 * np.arange(side) + 1) * images.shape[-1] // (2 * side)
    return images[..., source[:, None], source]
