"""Names of the array types."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Signs = NDArray[np.int8]
"""Made of -1 and +1."""
