"""A file with MPI3D's layout, drawn with plain shapes: one colour and one shape of the object, all other values."""

from pathlib import Path

import numpy as np

from ropes.common.arrays import Images
from ropes.data.mpi3d import CAMERAS, POSITIONS, SHAPE, angles_of

#: Sizes of the grid: one colour, one shape, two sizes, three camera heights, three backgrounds, two axes.
SIZES = (1, 1, 2, 3, 3, POSITIONS, POSITIONS)
#: Colours of background, arm and object for each number of the background.
_COLOURS = np.array(
    [[background, (240, 240, 240), (250, 200, 30)] for background in ((60, 20, 70), (20, 70, 60), (80, 50, 40))],
    np.uint8,
)


def photographs() -> Images:
    """uint8 (28800, 64, 64, 3): a straight arm from the centre, a square at its end, seen from three heights."""
    side = SHAPE[0]
    sines, places = np.sin(angles_of(np.arange(POSITIONS))), np.arange(side) - side / 2 + 0.5
    horizontal = 22 * sines
    images = np.empty((*SIZES[2:], *SHAPE), np.uint8)
    arm = (np.abs(places)[:, None] <= 1) & (np.abs(places) <= np.abs(horizontal)[:, None, None])
    for height in range(len(CAMERAS)):
        vertical = (14 + 4 * height) * sines
        for size in range(2):
            columns, rows = (np.abs(places - tips[:, None]) <= 3 + 2 * size for tips in (horizontal, vertical))
            drawn = (columns[:, None, None] & rows[None, :, :, None]) * np.uint8(2)
            drawn[np.broadcast_to(arm[:, None], drawn.shape)] = 1
            for background, colours in enumerate(_COLOURS):
                np.take(colours, drawn, axis=0, out=images[size, height, background])
    return images.reshape(-1, *SHAPE)


def write(path: Path, *, compressed: bool = False) -> Path:
    """Write the file, 354 MB, or 1 MB compressed."""
    save = np.savez_compressed if compressed else np.savez
    save(path, images=photographs())
    return path
