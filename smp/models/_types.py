"""Names of the array types, in a module of their own so that predicting does not import SciPy."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Signs = NDArray[np.int8]
"""Array of -1 and +1."""
