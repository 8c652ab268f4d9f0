"""The memory that the processors of a machine share: what copies take, and when a phase can end.

    a phase         from one barrier to the next
    its end         when the last processor has arrived, but not before the memory has moved the bytes of all

So k processors that move bytes at the same time get the bandwidth of one, k times, up to the bandwidth of all.  Bytes
that lie in a cache of the processor's own do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from smp.profiles.this_computer import Family, ThisComputer

from ...memory.arrays import GlobalArray
from ...memory.indices import is_basic, without_field
from ...memory.shared_elements import elements_of
from ..virtual_time import SECOND

BOTH = 2
"""Each byte of a copy is read and written."""


class SharedMemory:
    """The shared memory of one machine.

    Parameters
    ----------
    computer : ThisComputer
    size : int
        Number of processors.
    """

    def __init__(self, computer: ThisComputer, size: int) -> None:
        self._computer, self._size = computer, size
        self._ps_of_a_byte = SECOND / computer.bandwidth(size)
        self._alone = computer.python and size == 1  # all is measured, and no other processor is there
        self._word, self._line = computer.word_bytes, computer.line_bytes
        self._known: dict[tuple[Family, float, float, bool, bool], int] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a new run."""
        self._began, self._moved = 0, 0.0

    def copy(self, array: GlobalArray, index: Any, count: int, writes: bool) -> int:
        """Return the time to charge for a copy of some elements from a global array, or to it, in ps."""
        if self._alone:
            return 0
        family, moved = self.pattern(array, index, count * array.dtype.itemsize)
        if array.nbytes > self._computer.private_bytes:
            self.move(BOTH * moved)
        return self._charged(family, moved / self._word, array.nbytes / self._word, writes, self._computer.python)

    def loop(self, arrays: Sequence[GlobalArray], count: int) -> int:
        """Return the time to charge for a loop on global arrays, which is measured, in ps.

        The machine does not see in which order a loop takes the elements: the bounds are Good and Random.
        """
        if self._alone:
            return 0
        footprint, nbytes = sum(array.nbytes for array in arrays), count * arrays[0].dtype.itemsize
        if footprint > self._computer.private_bytes:
            self.move(nbytes)
        family: Family = "good" if self._computer.optimistic else "random"
        return self._charged(family, nbytes / self._word, footprint / self._word, writes=False, measured=True)

    def move(self, nbytes: float) -> None:
        """Count bytes that the memory has to move in this phase."""
        self._moved += nbytes

    def end(self, arrived: int, barrier: int) -> int:
        """End a phase by a barrier of a price, when the last processor has arrived; return the time after it, in ps."""
        self._began = max(arrived, self._began + round(self._moved * self._ps_of_a_byte)) + barrier
        self._moved = 0.0
        return self._began

    def pattern(self, array: GlobalArray, index: Any, nbytes: int) -> tuple[Family, float]:
        """Return the access pattern of an index, and the bytes that move: of elements some way apart, whole lines."""
        elements = elements_of(array).all
        if not is_basic(without_field(index)[1]):
            return "random", float(nbytes)
        part, item = elements[index], array.dtype.itemsize
        if not isinstance(part, np.ndarray):
            return "good", float(nbytes)
        apart = min((abs(stride) for stride, n in zip(part.strides, part.shape, strict=True) if n > 1), default=item)
        return "good", nbytes / item * max(item, min(apart, self._line))

    def _charged(self, family: Family, words: float, footprint: float, writes: bool, measured: bool) -> int:
        """Return the time of accesses of all processors at once; if measured, only what it is longer than alone."""
        asked = family, words, footprint, writes, measured
        if asked not in self._known:
            self._known[asked] = self._time(*asked)
        return self._known[asked]

    def _time(self, family: Family, words: float, footprint: float, writes: bool, measured: bool) -> int:
        reads, written = (0.0, words) if writes else (words, 0.0)
        seconds = self._computer.copy(self._size, family, reads, written, footprint)
        if measured:
            seconds -= self._computer.copy(1, family, reads, written, footprint)
        return max(0, round(seconds * SECOND))
