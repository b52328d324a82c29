"""Types of NumPy arrays by their numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Images = NDArray[np.uint8]
