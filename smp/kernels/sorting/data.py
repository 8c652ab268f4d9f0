"""Quickly made keys of many kinds, on which the sorting libraries are calibrated and tested.

0 uniform          over a range of ``span`` bits
1 normal           that range is six standard deviations
2 few              Zipf's law: the k-th of 2**(span/4) distinct keys is drawn 1/k as often as the first
3 nearly sorted    one key in a hundred is out of place
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .keys import Keys

SHAPES = ("uniform", "normal", "few", "nearly sorted")
SPANS = "4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 24, 28, 32, 40, 48, 56, 64"
LOOPS = {"shape": "0, 1, 2, 3", "span": SPANS}
"""Values that calibrations run over for each n, and from which trials draw."""


def sort_data(dtype: np.dtype[Any], n: int, shape: int, span: float, seed: int = 0) -> Keys:
    """Return keys of one kind.

    Parameters
    ----------
    dtype : one of `smp.kernels.sorting.keys.DTYPES`
    n : int
        Number of keys.
    shape : int
        Index of the kind in `SHAPES`.
    span : float
        Number of bits of the range, as far as the type has them.
    seed : int

    Returns
    -------
    ndarray of shape (n,)
        The keys: integers from 0 on, or floats.
    """
    rng, floats = np.random.default_rng((seed, n, shape)), dtype.kind == "f"
    wide = min(2.0**span, float(np.finfo(dtype).max if floats else np.iinfo(dtype).max >> 1))
    if SHAPES[shape] == "uniform" and not floats:
        drawn: Keys = rng.integers(0, int(wide), n, dtype)
        return drawn
    if SHAPES[shape] == "few":
        ranks = np.arange(1, 2.0 ** min(span / 4, 16) + 1)  # a table holds each in its share; draws are uniform
        shares = np.cumsum(1 / ranks) / np.sum(1 / ranks)
        places = np.searchsorted(shares, (np.arange(1 << 16) + 0.5) / (1 << 16))
        table: Keys = np.asarray(ranks * 0.618 % 1.0 * wide, dtype)[places]
        return np.take(table, rng.integers(0, 1 << 16, n, np.uint16))
    made: Keys
    if SHAPES[shape] == "normal":
        made = np.clip(rng.standard_normal(n, np.float32) / 6 + np.float32(0.5), 0, 1)
    elif SHAPES[shape] == "nearly sorted":
        made = np.arange(n) / n
        some = rng.integers(0, n, (2, n // 100))
        made[some[0]] = made[some[1]]
    else:
        made = rng.random(n, np.float32 if dtype.itemsize == 4 else np.float64)
    made *= made.dtype.type(wide)
    whole: Keys = np.floor(made, out=made)
    return whole.astype(dtype, copy=False)
