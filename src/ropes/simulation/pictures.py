"""Downsamples the renderer's colour images."""

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.bullet import SUPERSAMPLING

Images = NDArray[np.uint8]


def averaged(colours: Images, block: int = SUPERSAMPLING) -> Images:
    """Mean over blocks of pixels, rounded half up: (H, W, 3) → (H / block, W / block, 3)."""
    summed = np.zeros((len(colours) // block, colours.shape[1] // block, 3), np.uint32)
    for row, column in np.ndindex(block, block):
        summed += colours[row::block, column::block]
    area = block * block
    return ((summed + area // 2) // area).astype(np.uint8)
