"""Names of NumPy array types, by element type."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: One image or several.
Images = NDArray[np.uint8]
