"""Keys for tests of sorting, and the marks of tests that need vectors or run for every type."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.keys import DTYPES

Keys = NDArray[Any]
needs_vectors = pytest.mark.skipif(not vectors.has_vectors(), reason="the CPU has neither AVX-512 nor AVX2")
every_type = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def drawn(dtype: np.dtype[Any], n: int, seed: int = 1) -> Keys:
    """Return keys over the whole range of a type; of floats, some are infinite or NaN with either sign."""
    rng = np.random.default_rng(seed)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, n, dtype, endpoint=True)
    made = (rng.standard_normal(n) * 10.0 ** rng.integers(-30, 30, n)).astype(dtype)
    for k, special in enumerate((np.inf, -np.inf, np.nan, np.copysign(np.nan, -1.0), 0.0, -0.0)):
        made[k::50] = special
    return made


def same(found: Keys, expected: Keys) -> bool:
    return np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
