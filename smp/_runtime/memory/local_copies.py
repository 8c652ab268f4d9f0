"""Local copies of parts of global arrays, in memory that is used again as soon as no array refers to it.

    copy ──▶ memory of an earlier copy that is gone      its pages are there already
         └─▶ new memory                                  a page fault for every page, which takes longer than the copy

A program that copies the same part in every superstep, and drops the copy of the superstep before, so copies into the
same pages each time.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1 << 18
"""Bytes of the smallest copy whose memory is kept: the allocator itself keeps what smaller ones need."""
MOST = 1 << 28
"""Most bytes that are kept for all copies of a processor, in use or not."""
IDLE = 16
"""Number of copies after which memory that none of them could use is given back."""


class _Lent:
    """The memory of one copy; the copy and all arrays that are made from it hold this object, and nothing else does."""

    __slots__ = ("__array_interface__", "__weakref__", "_memory")

    def __init__(self, memory: NDArray[np.uint8], described: dict[str, Any]) -> None:
        self._memory, self.__array_interface__ = memory, described


class _Kept:
    """A piece of memory, and whether a copy uses it, whatever the program does with the copy."""

    __slots__ = ("_described", "_lent", "_memory", "nbytes", "used")

    def __init__(self, nbytes: int) -> None:
        self._memory: NDArray[np.uint8] = np.empty(nbytes, np.uint8)
        self._described = self._memory.__array_interface__
        self._lent: weakref.ref[_Lent] | None = None
        self.nbytes, self.used = nbytes, 0

    def is_free(self) -> bool:
        return self._lent is None or self._lent() is None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], now: int) -> NDArray[Any]:
        """Return an array on this memory."""
        lent, self.used = _Lent(self._memory, self._described), now
        self._lent = weakref.ref(lent)
        return np.ndarray(shape, dtype, np.asarray(lent))


class LocalCopies:
    """The local copies of one processor, which only one thread makes."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []
        self._bytes = self._copies = 0

    def of(self, part: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of ``part``, as ``part.copy()`` does."""
        if not LEAST <= part.nbytes <= MOST:
            return part.copy()
        self._copies += 1
        kept = self._fitting(part.nbytes)
        self._give_back()
        if kept is None:
            if self._bytes + part.nbytes > MOST:
                return part.copy()
            kept = _Kept(part.nbytes)
            self._kept.append(kept)
            self._bytes += part.nbytes
        local = kept.array(part.shape, part.dtype, self._copies)
        local[...] = part
        return local

    def clear(self) -> None:
        """Keep no memory any more; the copies that are in use stay valid."""
        self._kept.clear()
        self._bytes = 0

    def _fitting(self, nbytes: int) -> _Kept | None:
        """Return the smallest free memory that is large enough, and at most twice as large."""
        fitting = [each for each in self._kept if nbytes <= each.nbytes <= 2 * nbytes and each.is_free()]
        return min(fitting, key=lambda each: each.nbytes, default=None)

    def _give_back(self) -> None:
        """Give free memory back that has not been used for a number of copies."""
        for each in [each for each in self._kept if each.used < self._copies - IDLE and each.is_free()]:
            self._kept.remove(each)
            self._bytes -= each.nbytes
