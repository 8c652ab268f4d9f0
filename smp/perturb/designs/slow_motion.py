"""The design "speedup": all places are delayed, and then all but one.

    trial    a  b  c
      0      1  1  1        the whole program in slow motion
      1      0  1  1        the same with ``a`` at full speed: a is faster than the rest
      2      1  0  1
      3      1  1  0

If each pass is stretched by the share s, a place at full speed is faster by s / (1 + s) than the rest, so these p + 1
trials show what it brings to make each place faster, also where parallel parts take about the same time.  Coz calls it
a virtual speed-up (Curtsinger and Berger, Coz: finding code that counts with causal profiling, section 2).
"""

from __future__ import annotations

import numpy as np

from smp.models._types import IntArray

NAME = "speedup"


def is_named(text: str) -> bool:
    """Return True if this is the name of the design."""
    return text.strip().lower() == NAME


def all_but_one(factors: int) -> IntArray:
    """Return the levels (factors + 1, factors) of the trials: 1 for a delay, 0 for none.

    Examples
    --------
    >>> all_but_one(2).tolist()
    [[1, 1], [0, 1], [1, 0]]
    """
    return np.vstack([np.ones((1, factors), np.int64), 1 - np.eye(factors, dtype=np.int64)])


def is_all_but_one(levels: IntArray) -> bool:
    """Return True if these are the levels of the design, in its order."""
    return levels.shape[0] == levels.shape[1] + 1 and np.array_equal(levels, all_but_one(levels.shape[1]))
