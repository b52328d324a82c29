"""Damage done to test images: white squares that hide part of the scene."""

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]


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
        ValueError: the square is larger than the images, or its size negative.
    """
    n, cameras, height, width = images.shape
    if not 0 <= size <= min(height, width):
        raise ValueError(f"a square of {size} pixels does not fit into {width}×{height} images")
    damaged = images.copy()
    top = rng.integers(0, height - size, (n, cameras), endpoint=True)
    left = rng.integers(0, width - size, (n, cameras), endpoint=True)
    for sample, camera in np.ndindex(n, cameras):
        y, x = top[sample, camera], left[sample, camera]
        damaged[sample, camera, y : y + size, x : x + size] = 255
    return damaged
