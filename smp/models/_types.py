"""Names of the array types; kept apart so that predicting does not import SciPy."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
