"""Finds copies of two processors that write different values to the same element of an array in one superstep.

    a stretch    the bytes from the first to the last element of a copy; stretches of one superstep are kept sorted
    a map        for each element, the last copy that wrote it; an array gets one when two stretches overlap, or when
                 an index is an array, whose elements need not lie in one stretch

Most programs copy blocks, whose stretches do not overlap, so that a look takes no longer than a search.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from smp.errors import RaceError

from ..source import titles
from ..source.lines import Instruction, line_of
from .races import raise_it

Array = NDArray[Any]


class Overlaps:
    """The copies of one superstep, by all processors of an emulated machine.

    Attributes
    ----------
    report : callable
        Called with a `RaceError` if two processors write one element; by default it raises it.
    """

    def __init__(self) -> None:
        self.report: Callable[[BaseException], None] = raise_it
        self.begin()

    def begin(self) -> None:
        """Begin another run."""
        self._step = -1
        self._first = self._next = 1  # numbers of the first copy of this superstep, and of the next one
        self._copies: list[tuple[int, Instruction | str]] = []  # of this superstep: the processor, and where it called
        self._arrays: dict[tuple[int, str], _Part] = {}

    def write(self, array: Array, index: Any, values: Any, rank: int, step: int, called: Instruction | str) -> None:
        """Note a copy of values to ``array[index]``, before it is made.

        Parameters
        ----------
        array : ndarray
        index : anything NumPy takes
            It may name fields.
        rank, step : int
            The processor, and the number of the superstep.
        called : Instruction or str
            Where the program called ``copy_out``.
        """
        if step != self._step:
            self._step, self._first = step, self._next
            self._copies.clear()
        number, self._next = self._next, self._next + 1
        self._copies.append((rank, called))
        for field, part, picked in _parts(array, index):
            key = int(array.__array_interface__["data"][0]), field
            known = self._arrays.get(key)
            if known is None or known.shape != part.shape:
                known = self._arrays[key] = _Part(part.shape)
            mine = values[field] if _has(values, field) else values
            earlier = known.write(part, picked, mine, number, self._first, self._ranks)
            if earlier is not None:
                other, before = self._copies[earlier[0] - self._first]
                what = f"{array.dtype}{list(array.shape)}" + f", field {field!r}" * bool(field)
                self.report(
                    RaceError(
                        f"processors {other} and {rank} write {_elements(earlier[1], part.shape)} of {what} in one "
                        f"superstep, at {_place(before)} and at {_place(called)}: one of the values is lost; let one "
                        "processor write each element, or combine the values by a collective"
                    )
                )

    def _ranks(self) -> NDArray[np.int64]:
        """Return the processor of each copy of this superstep."""
        return np.array([rank for rank, _ in self._copies])


class _Part:
    """The copies to one array, or to one of its fields."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._first = 0
        self._stretches: list[tuple[int, int, int, Any]] = []  # begin, end, number of the copy, index; sorted
        self._map: NDArray[np.int64] | None = None

    def write(
        self, part: Array, index: Any, values: Any, number: int, first: int, ranks: Any
    ) -> tuple[int, NDArray[np.int64]] | None:
        """Note a copy; return the number of one that has written elements as well, and the elements' numbers."""
        if self._first != first:
            self._first = first
            self._stretches.clear()
        if self._map is None:
            target = _view(part, index)
            if target is not None and target.size == 0:
                return None
            if target is not None:
                begin, end = byte_bounds(target)
                at = bisect.bisect(self._stretches, (begin,))
                free = at == 0 or self._stretches[at - 1][1] <= begin
                if free and (at == len(self._stretches) or end <= self._stretches[at][0]):
                    self._stretches.insert(at, (begin, end, number, index))
                    return None
            self._map = np.zeros(self.shape, np.int64)
            for _, _, earlier, written in self._stretches:
                self._map[written] = earlier
        before = np.asarray(self._map[index])
        if (late := before >= first).any():
            mine, owners = number - first, ranks()
            other = np.zeros_like(late)
            other[late] = owners[before[late] - first] != owners[mine]
            other &= _differ(np.asarray(part[index]), values)
            if other.any():
                numbers = np.arange(self._map.size).reshape(self.shape)
                first_of_them = before[other][0]
                return int(first_of_them), np.unique(np.asarray(numbers[index])[other & (before == first_of_them)])
        self._map[index] = number
        return None


def _has(values: Any, field: str) -> bool:
    return bool(values.dtype.names and field in values.dtype.names)


def _differ(there: Array, values: Any) -> Any:
    """Return where values differ from those that are there; two numbers that are not numbers are the same."""
    new = np.asarray(values).astype(there.dtype)
    new = np.broadcast_to(new.reshape(new.shape[max(0, new.ndim - there.ndim) :]), there.shape)
    return (there != new) & ((there == there) | (new == new))


def _place(called: Instruction | str) -> str:
    return called if isinstance(called, str) else titles.place(*line_of(called))


def _elements(numbers: NDArray[np.int64], shape: tuple[int, ...]) -> str:
    """Return words for some elements of an array, of which there is at least one."""
    first, last = (f"[{', '.join(map(str, np.unravel_index(number, shape)))}]" for number in numbers[[0, -1]])
    return f"element {first}" if len(numbers) == 1 else f"{len(numbers):,} elements, from {first} to {last},"


def _view(part: Array, index: Any) -> Array | None:
    """Return a view of the elements that an index names, also of one element; None if it names them by an array."""
    each = index if isinstance(index, tuple) else (index,)
    if not all(one is None or one is ... or isinstance(one, int | np.integer | slice) for one in each):
        return None
    view: Array = part[each if ... in each else (*each, ...)]
    return view


def _parts(array: Array, index: Any) -> Iterator[tuple[str, Array, Any]]:
    """Yield each field of an array that an index names, all of them by default, and the index in it."""
    names = array.dtype.names
    if names is None:
        yield "", array, index
        return
    if isinstance(index, str):
        names, index = (index,), ...
    elif isinstance(index, list) and index and isinstance(index[0], str):
        names, index = tuple(index), ...
    for name in names:
        yield name, array[name], index
