"""How views of an image differ from the recording that a run was trained on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Drift(NamedTuple):
    """Views that differ from the training images, bool (n, V) each.

    Attributes:
        light: their light differs.
        place: the camera has moved.
        blank: nearly all of their background is black or white.
    """

    light: NDArray[np.bool_]
    place: NDArray[np.bool_]
    blank: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> "Drift":
        """The images in `rows`."""
        return Drift(*(each[rows] for each in self))
