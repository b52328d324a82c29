"""Names of NumPy array types, by element type."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Of float64, or float32 where that is all that is known.
AnyFloats = NDArray[np.float64] | NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
#: One image or several.
Images = NDArray[np.uint8]
