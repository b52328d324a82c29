"""Damage done to test images: white squares that hide part of the scene."""

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError

Images = NDArray[np.uint8]


def check_square(size: int, image_size: tuple[int, int]) -> None:
    """Check that a square of `size` × `size` pixels fits into images of `image_size` (height, width).

    Raises:
        UserError: the square is larger than the images, or its size negative.
    """
    height, width = image_size
    if not 0 <= size <= min(height, width):
        raise UserError(f"an occluding square of {size} pixels does not fit into {width}×{height} images")


def occlude(images: Images, size: int, rng: np.random.Generator) -> Images:
    """Hide one square of `size` × `size` pixels of every view behind white (ROPES Section 4.5).

    Each square lies wholly inside its image, its place uniform over all such places and independent over
    samples and views.

    Args:
        images: (n, cameras, H, W) grey images.
        size: side of the square in pixels; 0 hides nothing.
        rng: where the places come from.

    Returns:
        A damaged copy.

    Raises:
        UserError: as `check_square`.
    """
    n, cameras, height, width = images.shape
    check_square(size, (height, width))
    damaged = images.copy()
    top = rng.integers(0, height - size, (n, cameras), endpoint=True)
    left = rng.integers(0, width - size, (n, cameras), endpoint=True)
    for sample, camera in np.ndindex(n, cameras):
        y, x = top[sample, camera], left[sample, camera]
        damaged[sample, camera, y : y + size, x : x + size] = 255
    return damaged
