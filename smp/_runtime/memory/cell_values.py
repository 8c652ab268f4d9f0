"""Values of cells: they are converted from those of Python, or refused if that would change them, and added."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..loops.bits import ADD, ADD_BOOL, ADD_FLOAT32, ADD_FLOAT64

_LARGEST = 1 << 100  # beyond it an error does not show an integer's digits: there may be thousands
_PLAIN = {
    "b": frozenset((bool, np.bool_)),
    "i": frozenset((int, bool)),
    "u": frozenset((int, bool)),
    "f": frozenset((float, int, bool, np.float64, np.float32)),
}
"""Types whose values NumPy converts without a loss other than rounding, or with an error, by the kind of the dtype."""


def store(value: Any, into: NDArray[Any]) -> None:
    """Store a value in an array of one element, which has the dtype of a cell.

    Raises
    ------
    TypeError
        If the value is not a number, or a cell of this dtype would cut it: a float in a cell of integers.
    OverflowError
        If it is an integer out of the range of the dtype.
    """
    if value.__class__ not in _PLAIN[into.dtype.kind]:
        value = _converted(value, into.dtype)
    try:
        into[0] = value
    except OverflowError:
        shown = str(value) if abs(value) < _LARGEST else f"an integer of {value.bit_length()} bits"
        room = np.finfo(into.dtype) if into.dtype.kind == "f" else np.iinfo(into.dtype)
        raise OverflowError(f"a cell of {into.dtype} holds {room.min} to {room.max}, not {shown}") from None


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a value of another than the usual types in one of these, or raise `TypeError`."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, int | np.integer) and (dtype.kind != "b" or value in (0, 1)):
        return int(value)
    if isinstance(value, np.bool_) or (dtype.kind == "f" and isinstance(value, float | np.floating)):
        return float(value) if dtype.kind == "f" else bool(value)
    if not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"a cell of {dtype} cannot hold a {type(value).__name__}: convert it to a number first")
    use = "bool" if dtype.kind == "b" else "int or round"
    raise TypeError(f"a cell of {dtype} cannot hold the {type(value).__name__} {value}: convert it first, with {use}")


def addition(dtype: np.dtype[Any]) -> int:
    """Return the operation that adds values of a type."""
    if dtype.kind == "f":
        return ADD_FLOAT64 if dtype.itemsize == 8 else ADD_FLOAT32
    return ADD_BOOL if dtype.kind == "b" else ADD
