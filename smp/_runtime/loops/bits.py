"""Conversions between values and the raw bits that a cell holds: eight bytes, whatever the type.

The emulated machine runs the Python bodies. Inside compiled loops each conversion is a register move at most.
"""

from __future__ import annotations

import numpy as np

from .compiler import inline

ADD, ADD_BOOL, ADD_FLOAT64, ADD_FLOAT32 = 9, 10, 11, 12  # codes of a cell's ``fetch_add``, by type of value


def float64_of(bits: int) -> float:
    """Return the float64 that has these bits."""
    return float(np.int64(bits).view(np.float64))


def bits_of_float64(value: float) -> int:
    """Return the bits of a float64."""
    return int(np.float64(value).view(np.int64))


def float32_of(bits: int) -> float:
    """Return the float32 whose bits are the low half of ``bits``."""
    return float(np.uint32(bits & 0xFFFFFFFF).view(np.float32))


def bits_of_float32(value: float) -> int:
    """Return the bits of a number rounded to float32."""
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def sum_of(a: int, b: int) -> int:
    """Return the sum of two int64, wrapping around.

    Its low bits are also the wrapped sum of any narrower integer type.
    """
    return (int(a) + int(b) + (1 << 63)) % (1 << 64) - (1 << 63)


@inline
def added(op: int, a: int, b: int) -> int:
    """Return the bits of the sum of two values; ``op``, one of the codes above, gives their type.

    The sum of two bools is true if one of them is true.
    """
    if op == ADD_FLOAT64:
        return bits_of_float64(float64_of(a) + float64_of(b))
    if op == ADD_FLOAT32:
        return bits_of_float32(float32_of(a) + float32_of(b))
    if op == ADD_BOOL:
        return a | b
    return sum_of(a, b)
