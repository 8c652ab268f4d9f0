"""Operators of reductions and scans: folds in a fixed order, and identities."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Operator = np.ufunc | Callable[[Any, Any], Any]
WORD = 1 << 63
"""The least integer that is too large for 64 bits with a sign."""
_OF_INTEGERS: dict[Operator, Callable[[int, int], int]] = {np.add: operator.add, np.multiply: operator.mul}
"""Operators whose results can be too large although no operand is, with Python's own, whose integers have no limit."""
LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def name_of(op: Operator) -> str:
    """Return the name of an operator, on which all processors must agree."""
    return str(getattr(op, "__name__", type(op).__name__))


def operand(op: Operator, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as the operator combines it: for a logical operator, the truth values of its elements."""
    return array.astype(bool) if op in LOGICAL and array.dtype != bool else array


def folded(op: Operator, arrays: Sequence[NDArray[Any]]) -> Any:
    """Return arrays combined from the first to the last, in memory of their own."""
    first = arrays[0]
    if not isinstance(op, np.ufunc) or len(arrays) == 1:
        total: Any = first.copy()
        rest = arrays[1:]
    elif first.ndim and first.dtype.kind in "biu":  # NumPy warns of no overflow
        total, rest = op(first, arrays[1]), arrays[2:]
    else:
        with np.errstate(over="ignore"):
            total, rest = op(first, arrays[1]), arrays[2:]
    if rest:
        with np.errstate(over="ignore"):  # integers wrap around, as NumPy's arrays do
            for array in rest:
                total = op(total, array)
    return total


def can_overflow(op: Operator) -> bool:
    """Return True if integers of Python, combined by an operator, can become too large for 64 bits."""
    return op in _OF_INTEGERS


def must_fit(name: str, op: Operator, numbers: Sequence[NDArray[Any]]) -> None:
    """Raise `OverflowError` if integers, combined from the first to the last, do not fit into 64 bits with a sign."""
    total = functools.reduce(_OF_INTEGERS[op], map(int, numbers))
    if not -WORD <= total < WORD:
        raise OverflowError(
            f"{name} of Python integers on {len(numbers)} processors gives a number of {total.bit_length()} bits and a "
            "sign, and it has room for 63; bring floats, or numbers of np.int64, which wrap around"
        )


def folds(op: Operator, arrays: NDArray[Any], spans: Sequence[range]) -> list[Any]:
    """Return the fold of each span of rows, or None for an empty span, in memory of its own.

    A span that continues a shorter one continues its fold.
    """
    totals: dict[int, tuple[int, Any]] = {}  # by the first row of a span: the number of rows and their fold
    results: list[Any] = [None] * len(spans)
    for place in sorted(range(len(spans)), key=lambda place: len(spans[place])):
        span = spans[place]
        if span:
            done, total = totals.get(span[0], (0, None))
            if done == 0:
                done, total = 1, arrays[span[0]].copy()
            with np.errstate(over="ignore"):
                for other in span[done:]:
                    total = op(total, arrays[other])
            totals[span[0]] = len(span), total
            results[place] = total
    return results


def keeps_dtype(op: Operator, dtype: np.dtype[Any]) -> bool:
    """Return True if an operator is a ufunc that combines two numbers of a dtype into a number of the same dtype."""
    if not isinstance(op, np.ufunc) or (op.nin, op.nout) != (2, 1) or op.signature is not None:
        return False
    try:
        return bool(op.resolve_dtypes((dtype, dtype, None))[2] == dtype)
    except TypeError:
        return False


def identity_of(op: Operator, dtype: np.dtype[Any]) -> Any:
    """Return the number that an operator combines with x into x, as a scalar of the dtype; None if none is known."""
    if op in (np.minimum, np.maximum) and dtype.kind in "biuf":
        return _extreme(dtype, largest=op is np.minimum)
    if not isinstance(op, np.ufunc) or op.identity is None:
        return None
    return np.asarray(op.identity).astype(dtype)[()]


def _extreme(dtype: np.dtype[Any], largest: bool) -> Any:
    if dtype.kind == "b":
        return np.bool_(largest)
    if dtype.kind == "f":
        return dtype.type(np.inf if largest else -np.inf)
    return dtype.type(np.iinfo(dtype).max if largest else np.iinfo(dtype).min)
