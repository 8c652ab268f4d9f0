"""Values as blocks of bytes: arrays of numbers as they lie in memory, everything else as a pickle.

    block of an array     │ 1 │ length of the head, 4 bytes │ head: dtype and shape, a pickle │ zeros │ elements │
    block of a pickle     │ 0 │ pickle │

The elements begin at a multiple of 64 bytes.
"""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np

from ..pickling import dumps, loads
from ..port import Buffer

_PICKLE, _ARRAY = b"\0", b"\1"
_ALIGNED = 64
_SIMPLE = frozenset((bool, int, float, complex, str, bytes, type(None)))
"""Types that Python's own pickle writes in the same way, and more quickly."""


def packed(value: Any) -> tuple[Buffer, ...]:
    """Return a value as the parts of a block."""
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc":
        return _PICKLE, pickle.dumps(value) if type(value) in _SIMPLE else dumps(value)
    return front_of(value.dtype, value.shape), np.ascontiguousarray(value).reshape(-1).view(np.uint8).data


@functools.lru_cache(maxsize=1000)
def front_of(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return what precedes the elements of an array."""
    head = dumps((dtype, shape))
    front = _ARRAY + len(head).to_bytes(4, "little") + head
    return front + bytes(-len(front) % _ALIGNED)


@functools.lru_cache(maxsize=1000)
def read_front(front: bytes) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the dtype and the shape, given what precedes the elements of an array."""
    found: tuple[np.dtype[Any], tuple[int, ...]] = loads(front[5:])  # the zeros after the pickle are not read
    return found


def unpacked(block: Buffer, out: Any = None) -> Any:
    """Return the value of a block, in memory of its own, or in the array ``out`` if it is given.

    Raises
    ------
    ValueError
        If the value is not an array of the dtype and shape of ``out``.
    """
    view = memoryview(block)
    if view[:1] == _PICKLE:
        value = loads(view[1:])
    else:
        start = -(-(5 + int.from_bytes(view[1:5], "little")) // _ALIGNED) * _ALIGNED
        dtype, shape = read_front(bytes(view[:start]))
        value = np.frombuffer(view[start:], dtype).reshape(shape)
        if out is None:
            return value.copy()
    if out is None:
        return value
    return filled(out, value)


def filled(out: Any, value: Any) -> Any:
    """Copy an array into ``out``, and return ``out``; see `unpacked`."""
    if not isinstance(value, np.ndarray) or (value.dtype, value.shape) != (out.dtype, out.shape):
        what = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise ValueError(
            f"out= is an array of {out.dtype}{list(out.shape)}, but the value that came is {what}: it must be an array "
            "of the same dtype and shape"
        )
    if out is not value:
        out[...] = value
    return out


def checked_out(name: str, out: Any) -> None:
    """Raise an error unless ``out`` is None or an array that can be written."""
    if out is not None and not (isinstance(out, np.ndarray) and out.flags.writeable):
        raise TypeError(f"out= of {name} must be a writeable NumPy array, not {type(out).__name__}")
