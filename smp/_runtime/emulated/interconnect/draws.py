"""Random choices of the switches: the minimal standard generator of Park and Miller, with the multiplier 48271."""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import DRAWN

_BITS = 31
MODULUS = (1 << _BITS) - 1


@inline
def draw(header: Words, count: int) -> int:
    """Return a random number from 0 to ``count`` - 1."""
    number = header[DRAWN] * 48271 % MODULUS
    header[DRAWN] = number
    return int(number * count >> _BITS)
