"""The elements that a NumPy index selects from an array which no process has as a whole.

NumPy itself finds them, from arrays that take no memory, so its rules and its errors hold:

    basic index       applied to an array of bytes that is never read: the address, the shape and the strides of the
                      view say which elements it has
    other indices     applied, for each axis, to an array that has in each place its number along the axis, and
                      stride 0 along the other axes
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.intp]


class Selected(NamedTuple):
    """Elements of a flat array.

    Attributes
    ----------
    shape : tuple of int
        Shape of the selection.
    start : int
        First element, if all follow one another.
    positions : array of intp or None
        Positions of the elements, one after another, if they do not.
    """

    shape: tuple[int, ...]
    start: int = 0
    positions: Positions | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def selected(shape: tuple[int, ...], index: Any) -> Selected:
    """Return the elements that an index selects from an array of a shape; raises NumPy's errors.

    Parameters
    ----------
    index : anything NumPy takes
        But not the name of a field; see `without_field`.
    """
    if isinstance(index, slice) and len(shape) == 1:  # the usual index
        start, stop, step = index.indices(shape[0])
        if step == 1:
            return Selected((max(0, stop - start),), start)
    strides = _strides(shape)
    if is_basic(index):
        return _by_view(shape, strides, index)
    places = np.asarray(np.broadcast_to(np.zeros((), np.intp), shape)[index])
    if len(shape) == 1 and isinstance(index, np.ndarray):
        flat = np.flatnonzero(index) if index.dtype.kind == "b" else index.reshape(-1)
        return Selected(places.shape, 0, np.where(flat < 0, flat + shape[0], flat).astype(np.intp, copy=False))
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        numbers = np.expand_dims(np.arange(length, dtype=np.intp), [k for k in range(len(shape)) if k != axis])
        places = places + stride * np.broadcast_to(numbers, shape)[index]
    return Selected(places.shape, 0, places.reshape(-1))


def without_field(index: Any) -> tuple[Any, Any]:
    """Return (field, index): an index of records may name one or several fields, which it selects of all elements."""
    named = isinstance(index, str) or (isinstance(index, list) and any(isinstance(one, str) for one in index))
    return (index, ...) if named else (None, index)


def is_basic(index: Any) -> bool:
    """Return True if an index has only numbers and slices, so that NumPy makes a view and no copy."""
    return all(
        part is None or part is ... or (isinstance(part, slice | int | np.integer) and not isinstance(part, bool))
        for part in (index if isinstance(index, tuple) else (index,))
    )


def _by_view(shape: tuple[int, ...], strides: tuple[int, ...], index: Any) -> Selected:
    """Return what a basic index selects, from a view of an array whose bytes stand for the elements."""
    byte = np.empty(1, np.uint8)
    whole = np.lib.stride_tricks.as_strided(byte, shape, strides)
    view = whole[index]
    if not isinstance(view, np.ndarray):  # NumPy returns the value of a single element
        view = whole[(*index, ...) if isinstance(index, tuple) else (index, ...)]
    start = view.__array_interface__["data"][0] - byte.__array_interface__["data"][0]
    if view.flags.c_contiguous:
        return Selected(view.shape, start if view.size else 0)
    places = np.full(view.shape, start, np.intp)
    for axis, (length, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        places += np.expand_dims(stride * np.arange(length), [k for k in range(view.ndim) if k != axis])
    return Selected(view.shape, 0, places.reshape(-1))


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the distances, in elements, between neighbours along each axis of a C-contiguous array."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
