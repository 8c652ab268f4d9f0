"""Values as blocks of bytes: arrays of numbers as they lie in memory, everything else as a pickle.

    block of an array     │ 1 │ length of the head, 4 bytes │ head: dtype and shape, a pickle │ zeros │ elements │
    block of a pickle     │ 0 │ pickle │

The elements begin at a multiple of 64 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pickling import dumps, loads
from ..port import Buffer

_PICKLE, _ARRAY = b"\0", b"\1"
_ALIGNED = 64


def packed(value: Any) -> tuple[Buffer, ...]:
    """Return a value as the parts of a block."""
    if type(value) is not np.ndarray or value.dtype.kind not in "biufc":
        return _PICKLE, dumps(value)
    head = dumps((value.dtype, value.shape))
    front = _ARRAY + len(head).to_bytes(4, "little") + head
    return front + bytes(-len(front) % _ALIGNED), np.ascontiguousarray(value).reshape(-1).view(np.uint8).data


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
        length = int.from_bytes(view[1:5], "little")
        dtype, shape = loads(view[5 : 5 + length])
        start = -(-(5 + length) // _ALIGNED) * _ALIGNED
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
