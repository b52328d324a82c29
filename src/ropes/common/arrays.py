"""Names of NumPy array types, by element type, and arrays that are computed in chunks."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Of float64, or float32 where that is all that is known.
AnyFloats = NDArray[np.float64] | NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: One image or several.
Images = NDArray[np.uint8]
_Element = TypeVar("_Element", bound=np.generic)


class Rows(Generic[_Element]):
    """An array of `count` rows that is computed in chunks.

    It is allocated once. The results of chunks in a list would lie between large temporary arrays of the computation,
    and keep the C library from using the memory of these again, unless `ropes.common.hardware.tune_process` was
    called, as the commands do.

    Attributes:
        values: the array, zero where nothing was put yet; None until the first chunk.
    """

    values: NDArray[_Element] | None

    def __init__(self, count: int) -> None:
        self.count, self.values = count, None

    def put(self, start: int, chunk: NDArray[_Element]) -> None:
        """Set the rows from `start` on."""
        if self.values is None:
            self.values = np.zeros((self.count, *chunk.shape[1:]), chunk.dtype)
        self.values[start : start + len(chunk)] = chunk

    def all(self) -> NDArray[_Element]:
        """The array, of which some rows must have been put."""
        assert self.values is not None
        return self.values


def evenly(count: int, most: int) -> Ints:
    """At most so many whole numbers below `count`, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
