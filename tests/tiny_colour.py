"""Data sets of drawn blobs in colour, of any sizes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests import tiny

#: Height and width of the images of tests: not square, and letterboxed to `tiny.SIDE`.
OBLONG = (16, 20)


def draw(angles: NDArray[np.float64], size: tuple[int, int], view: int) -> NDArray[np.uint8]:
    """(..., 2) radians → uint8 (..., height, width, 3) of one camera: a blob whose colour mixes with its background."""
    side = min(size)
    blob = tiny.draw(angles, side)[..., view, :, :]
    height, width = ((length - side) // 2 for length in size)
    around = [(0, 0)] * (blob.ndim - 2) + [(height, size[0] - side - height), (width, size[1] - side - width)]
    padded = np.pad(blob, around)
    return np.stack([padded, 255 - padded, 120 + padded // 4], axis=-1)


def write_data(
    path: Path,
    *,
    sizes: tuple[tuple[int, int], tuple[int, int]] = (OBLONG, OBLONG),
    colour: bool = True,
    anchors: int = 16,
    tests: int = tiny.SIZES.fit + tiny.SIZES.test,
) -> Path:
    """Write a data set as `tests.tiny.write_data` does, in colour or grey, with these sizes of its two cameras."""
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, anchors), "test-id": causal.sample_observational(rng, tests)[:, None]}
    images = {
        split: {
            camera: draw(angles, size, view)[(..., slice(None) if colour else 0)]
            for view, (camera, size) in enumerate(zip(tiny.CAMERAS, sizes, strict=True))
        }
        for split, angles in states.items()
    }
    return tiny.write_data(path, images=images, states=states)
