"""Values as the raw bits that a cell holds: eight bytes, whatever the type.

Their Python bodies are what the emulated machine runs; inside compiled loops they are a register move at most.
"""

from __future__ import annotations

import numpy as np

from .compiler import inline

ADD, ADD_BOOL, ADD_FLOAT64, ADD_FLOAT32 = 9, 10, 11, 12  # the operation ``fetch_add`` of a cell, by type


def float64_of(bits: int) -> float:
    """The float64 of these bits."""
    return float(np.int64(bits).view(np.float64))


def bits_of_float64(value: float) -> int:
    """The bits of a float64."""
    return int(np.float64(value).view(np.int64))


def float32_of(bits: int) -> float:
    """The float32 in the low half of these bits."""
    return float(np.uint32(bits & 0xFFFFFFFF).view(np.float32))


def bits_of_float32(value: float) -> int:
    """The bits of a number rounded to float32."""
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


def sum_of(a: int, b: int) -> int:
    """The sum of two int64, wrapping around: of any narrower type of integer in their low bits, too."""
    return (int(a) + int(b) + (1 << 63)) % (1 << 64) - (1 << 63)


@inline
def added(op: int, a: int, b: int) -> int:
    """The bits of the sum of two values, as `op` says what they are; of two bools, whether one of them is true."""
    if op == ADD_FLOAT64:
        return bits_of_float64(float64_of(a) + float64_of(b))
    if op == ADD_FLOAT32:
        return bits_of_float32(float32_of(a) + float32_of(b))
    if op == ADD_BOOL:
        return a | b
    return sum_of(a, b)
