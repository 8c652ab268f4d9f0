"""Wrapper that looks for overlapping copies of supersteps on machines that do not look for them by themselves.

    processor 0    copy_out(a, 0:5, x)  ─┐ stretches   ┌─ a 0:5, a 3:9: exchange these copies ─┐ copies   ┌─ judge
    processor 1    copy_out(a, 3:9, y)  ─┘  exchange   └─ b 0:4, alone: nothing to exchange   ─┘ exchange └─ judge

All processors judge the same copies in the same order, by rank.  The one whose copy overlaps an earlier one raises the
error, before its own copies are made.
"""

from __future__ import annotations

import bisect
import itertools
import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from smp.errors import RaceError

from ...loops.places import Enclosing
from ...memory.arrays import GlobalArray
from ...memory.overlaps import Overlaps
from ...source import titles
from ...source.lines import Instruction, line_of
from ..port import Port
from ..processor import Processor


class Stretch(NamedTuple):
    """The elements from the first to the last that a copy writes, by their numbers in the array."""

    array: Any
    begin: int
    end: int


class Copy(NamedTuple):
    """A copy of a superstep: ``array[index] = values``, which the program called at a place."""

    array: Any
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    index: Any
    values: NDArray[Any]
    place: str


class CheckedCopies:
    """The copies of a processor's superstep, of which the processors compare those that may overlap."""

    def __init__(self, port: Port) -> None:
        self._port, self._overlaps = port, Overlaps()
        self._step = -1
        self._stretches: list[Stretch] = []
        self._copies: list[Copy] = []

    def note(self, array: GlobalArray, index: Any, values: NDArray[Any], step: int, called: Instruction) -> None:
        """Note a copy that will be made at the end of a superstep, and where the program called it."""
        if step != self._step:
            self._begin(step)
        _, name = array._elements.pickled(array.shape, array.dtype)
        self._stretches.append(Stretch(name, *_bounds(array, index)))
        self._copies.append(Copy(name, array.shape, array.dtype, index, values, titles.place(*line_of(called))))

    def compare(self, step: int) -> None:
        """Raise an error if a copy of this superstep overlaps one of another processor; all processors call this.

        Raises
        ------
        RaceError
            If two processors write different values to an element.  Only one of them raises it.
        """
        if step != self._step:
            self._begin(step)
        stretches, copies = self._stretches, self._copies
        theirs = self._exchange(stretches)
        overlapping = [_overlapping(rank, theirs) for rank in range(len(theirs))]
        if not any(overlapping):
            return
        written: dict[Any, NDArray[Any]] = {}
        chosen = self._exchange([copies[k] for k in overlapping[self._port.rank]])
        for rank, each in enumerate(chosen):
            for name, shape, dtype, index, values, place in each:
                if name not in written:
                    written[name] = np.zeros(shape, dtype)
                try:
                    self._overlaps.write(written[name], index, values, rank, step, place)
                except RaceError:
                    if rank == self._port.rank:
                        raise
                    return
                written[name][index] = values

    def _begin(self, step: int) -> None:
        self._step, self._stretches, self._copies = step, [], []

    def _exchange(self, mine: list[Any]) -> list[list[Any]]:
        return [pickle.loads(block) for block in self._port.exchange("check of copies", pickle.dumps(mine))]


def _bounds(array: GlobalArray, index: Any) -> tuple[int, int]:
    """Return the numbers of the first element that an index names and of the one after the last, or a wider range."""
    if array.ndim == 1 and isinstance(index, np.ndarray) and index.dtype.kind in "iu" and index.size:
        numbers = np.where(index < 0, index + len(array), index)
        return int(numbers.min()), int(numbers.max()) + 1
    each = index if isinstance(index, tuple) else (index,)
    if not all(one is None or one is ... or isinstance(one, int | np.integer | slice) for one in each):
        return 0, array.size
    strides = np.cumprod((1, *array.shape[:0:-1]))[::-1]
    whole = as_strided(np.zeros(1, np.uint8), array.shape, tuple(map(int, strides)))  # its elements are never read
    part = whole[each if ... in each else (*each, ...)]
    if not part.size:
        return 0, 0
    begin, end = byte_bounds(part)
    first = byte_bounds(whole)[0]
    return begin - first, end - first


def _overlapping(rank: int, stretches: list[list[Stretch]]) -> list[int]:
    """Return which stretches of a processor meet one of another processor."""
    others: dict[Any, list[Stretch]] = {}
    for other, theirs in enumerate(stretches):
        for stretch in theirs if other != rank else ():
            others.setdefault(stretch.array, []).append(stretch)
    begins, ends = {}, {}
    for name, each in others.items():
        each.sort(key=lambda stretch: stretch.begin)
        begins[name] = [stretch.begin for stretch in each]
        ends[name] = list(itertools.accumulate((stretch.end for stretch in each), max))
    found = []
    for k, (name, begin, end) in enumerate(stretches[rank]):
        before = bisect.bisect_left(begins[name], end) if name in begins else 0  # those that begin before its end
        if before and ends[name][before - 1] > begin:
            found.append(k)
    return found


class WithCheck(Enclosing):
    """Has the copies of supersteps compared, unless the machine does it by itself."""

    def __call__(self, proc: Processor, *args: Any, **kwargs: Any) -> Any:
        if proc._port.expect is None:
            proc._recorder.copies = CheckedCopies(proc._port)
        return self.program(proc, *args, **kwargs)
