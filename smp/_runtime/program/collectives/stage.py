"""Reductions and scans of numbers and arrays in shared memory.

Of short arrays, every processor writes its own into its slot, and combines those of all after one barrier.  Of long
arrays, every processor stages its own, and combines a part of all:

    rows of the stage        reduce                                     scan
    0 .. P - 1               copy the others' columns of the own array  the same; and then the own columns
                             into the own row
                             ─ barrier ─                                ─ barrier ─
    own columns of all rows  fold them into the result row, and copy    fold row r into row r + 1, from the first on
                             them while they are in the cache
                             ─ barrier ─                                ─ barrier ─
    the result               copy the others' columns of its row        copy the own row

Each processor thus moves its array two to three times, however many processors there are.  The columns are combined in
the order of the ranks, so the result has the same bits as on machines that send whole arrays.  Each
processor's columns begin with a line of the cache.  NumPy computes the last elements of an array, which fill no vector,
with other instructions, and a product of complex numbers can then be a NaN with another sign.  Only operators that
combine element by element can be applied to columns: NumPy's ufuncs.

The arrival at the first barrier carries a vote: whether this processor has a boundary (see ``segments``).  If there is
none, as mostly, no processor looks at the boundaries in the slots.

The stage is kept for the rest of the run, and replaced if a longer array comes.  A row is written again after a barrier
to which no processor comes before it has read the row:

    own row      written by its processor alone; read by others between the two barriers of one collective
    result row   read after the last barrier of its collective; written again after the first barrier of the next one

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1, for the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...memory.shared_elements import elements_of
from ..port import Port
from .combination import Combination
from .operators import folds, keeps_dtype
from .segments import NONE

LEAST = 1 << 16
"""Bytes of the other processors' arrays together from which it pays to stage them: it takes one more barrier."""
LINE = 64
CHUNK = 1 << 15
"""Bytes of each row that are combined at a time, so that they stay in the cache, if the results are not their sums."""
FOLDED = 1 << 18
"""Bytes that are folded and copied at a time, while they are in the cache."""
KEPT = 1000  # shapes whose views of the slots are kept


class InSlots(NamedTuple):
    """Short arrays in the slots: views of those of all processors, and of their boundaries."""

    arrays: list[NDArray[Any]]
    boundaries: NDArray[np.uint8]


class Stage:
    """The shared memory in which the processors of a run combine numbers and arrays."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._views: dict[tuple[int, np.dtype[Any], tuple[int, ...]], tuple[NDArray[Any], list[NDArray[Any]]]] = {}
        self._rows: NDArray[np.uint8] | None = None  # of P + 1 arrays

    def combines(self, asked: Combination) -> bool:
        """Return True if the arrays are long, and can be combined by columns."""
        port, mine = self._port, asked.mine
        long = mine.nbytes * (port.size - 1) >= LEAST or not self.fits(asked)
        return (
            long
            and port.size > 1
            and port.memory is not None
            and mine.dtype.kind in "biufc"
            and keeps_dtype(asked.op, mine.dtype)
        )

    def fits(self, asked: Combination) -> bool:
        """Return True if the processors share memory, and an array is short enough for a slot."""
        memory = self._port.memory
        return memory is not None and asked.mine.nbytes <= memory.slots.sets[0].octets.shape[1]

    def put(self, asked: Combination) -> InSlots:
        """Write a short array and the boundary into this processor's slot; return the slots of all."""
        assert self._port.memory is not None
        mine, slots = asked.mine, self._port.memory.slots.next()
        key = (id(slots), mine.dtype, mine.shape)
        views = self._views.get(key)
        if views is None:
            if len(self._views) == KEPT:
                self._views.clear()
            own = slots.octets[:, : mine.nbytes].view(mine.dtype).reshape(self._port.size, *mine.shape)
            read = own.view()
            read.flags.writeable = False  # the operator may be a function that changes its arguments, or returns one
            views = own[self._port.rank, ...], [read[rank, ...] for rank in range(self._port.size)]
            self._views[key] = views
        views[0][...] = mine
        slots.boundaries[self._port.rank] = asked.boundary
        return InSlots(views[1], slots.boundaries)

    def read(self, asked: Combination, slots: InSlots, boundaries: int) -> Any:
        """Return the result of short arrays, after all have arrived; ``boundaries`` is the number of votes."""
        return asked.of(slots.arrays, slots.boundaries.tolist() if boundaries else None, self._port.rank)

    def fold(self, description: str, asked: Combination) -> Any:
        """Return the result of short arrays.  The operator may be any function of two arrays."""
        slots = self.put(asked)
        return self.read(asked, slots, self._port.synchronise(description, vote=asked.boundary != NONE))

    def combine(self, description: str, asked: Combination) -> NDArray[Any]:
        """Return the result of long arrays: ``asked.out``, or a new array."""
        port, size, mine = self._port, self._port.size, asked.mine
        assert port.memory is not None
        rows, result = self._next(description, mine)
        start, stop = _columns(mine, port.rank, size)
        own, values = rows[port.rank], np.ascontiguousarray(mine).reshape(-1)
        own[:start], own[stop:] = values[:start], values[stop:]
        boundaries = port.memory.slots.next().boundaries
        boundaries[port.rank] = asked.boundary
        votes = port.synchronise(description, vote=asked.boundary != NONE)
        columns, made = rows[:, start:stop], _result_of(asked, values)
        total = made.reshape(-1)
        with np.errstate(over="ignore"):  # integers wrap around, as NumPy's arrays do
            if asked.scan or votes:
                own[start:stop] = values[start:stop]
                if votes or asked.exclusive or asked.reverse:
                    _by_chunks(asked, columns, boundaries.tolist() if votes else None)
                else:
                    for rank in range(1, size):
                        asked.op(columns[rank - 1], columns[rank], out=columns[rank])  # type: ignore[call-arg]
            else:
                parts = [*columns]
                parts[port.rank] = values[start:stop]
                _folded_twice(asked.op, parts, result[start:stop], total[start:stop])
        port.synchronise(description)
        if asked.scan or votes:
            total[:] = own
        else:
            total[:start], total[stop:] = result[:start], result[stop:]
        return made

    def _next(self, description: str, array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows of all processors, and the result row, for arrays like this one."""
        size, nbytes = self._port.size, array.nbytes
        if self._rows is None or self._rows.shape[1] < nbytes:
            self._port.synchronise(description)  # so that a mismatch names the collective, and not the allocation
            long = -(-nbytes // LINE) * LINE
            rows = self._port.allocate((size + 1, long), np.dtype(np.uint8))
            self._port.synchronise("end of allocation")
            self._rows = elements_of(rows).all
        arrays = self._rows[:, :nbytes].view(array.dtype)
        return arrays[:size], arrays[size]


def _columns(array: NDArray[Any], rank: int, size: int) -> tuple[int, int]:
    """Return where the columns of a processor begin and end: a share of all lines of the cache."""
    line = max(1, LINE // array.itemsize)
    lines = -(-array.size // line)
    return lines * rank // size * line, min(array.size, lines * (rank + 1) // size * line)


def _result_of(asked: Combination, values: NDArray[Any]) -> NDArray[Any]:
    """Return the array that is filled: ``out`` if each of its elements lies on no other one of the values."""
    out, mine = asked.out, asked.mine
    if out is None or not out.flags.c_contiguous or out.dtype != mine.dtype:
        return np.empty_like(mine, order="C")
    same = out is mine or out.__array_interface__["data"] == values.__array_interface__["data"]
    return out if same or not np.may_share_memory(out, values) else np.empty_like(mine, order="C")


def _folded_twice(op: Any, parts: Sequence[NDArray[Any]], shared: NDArray[Any], own: NDArray[Any]) -> None:
    """Fold arrays from the first to the last into both of two others, of which one may be one of the parts."""
    step = max(1, FOLDED // shared.itemsize)
    for at in range(0, len(shared), step):
        first, second, *rest = (part[at : at + step] for part in parts)
        total = shared[at : at + step]
        op(first, second, out=total)
        for part in rest:
            op(total, part, out=total)
        own[at : at + step] = total


def _by_chunks(asked: Combination, columns: NDArray[Any], edges: Sequence[int] | None) -> None:
    """Replace the columns of each row by those of its processor's result."""
    size, length = columns.shape
    spans = [asked.span(edges, rank, size) for rank in range(size)]
    step = max(1, CHUNK // columns.itemsize)
    for at in range(0, length, step):
        rows = columns[:, at : at + step]
        for row, total in zip(rows, folds(asked.op, rows, spans), strict=True):
            row[...] = asked.identity if total is None else total
