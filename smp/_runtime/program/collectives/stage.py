"""Collectives on numbers and arrays in shared memory.

Of short arrays, every processor writes its own into its slot, and combines those of all after one barrier.  Of long
arrays, every processor stages its own, and combines a part of all:

    rows of the stage        reduce                                     scan
    0 .. P - 1               copy the own array into the own row        the same
                             ─ barrier ─                                ─ barrier ─
    own columns of all rows  fold them into the result row              fold row r into row r + 1, from the first on
                             ─ barrier ─                                ─ barrier ─
    the result               copy the result row                        copy the own row

Each processor thus moves its array about three times, however many processors there are.  The columns are combined in
the order of the ranks, so the result has the same bits as on machines that send whole arrays.  Only operators that
combine element by element can be applied to columns: NumPy's ufuncs.

The stage is kept for the rest of the run, and replaced if a longer array comes.  A row is written again after a barrier
to which no processor comes before it has read the row:

    own row      written by its processor alone; read by others between the two barriers of one collective
    result row   read after the last barrier of its collective; written again after the first barrier of the next one,
                 that of the columns, or that at which a broadcast sends the dtype and the shape

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1, for the operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...memory.shared_elements import elements_of
from ..port import Port

Out = NDArray[Any] | None
Operator = np.ufunc | Callable[[Any, Any], Any]
LEAST = 1 << 15
"""Bytes of all processors' arrays together from which it pays to stage them: it takes one more barrier."""
LINE = 64


class Stage:
    """The shared rows in which the processors of a run combine numbers and arrays."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._short: dict[tuple[int, np.dtype[Any], tuple[int, ...]], tuple[NDArray[Any], list[NDArray[Any]]]] = {}
        self._rows: NDArray[np.uint8] | None = None  # of P + 1 arrays

    def holds(self, array: NDArray[Any]) -> bool:
        """Return True if an array is worth staging, and its elements are plain numbers."""
        long = array.nbytes * self._port.size >= LEAST
        return long and self._port.size > 1 and self._port.memory is not None and array.dtype.kind in "biufc"

    def combines(self, array: NDArray[Any], op: np.ufunc) -> bool:
        """Return True if an array is combined by columns."""
        return self.holds(array) and keeps_dtype(op, array.dtype)

    def fits(self, array: NDArray[Any]) -> bool:
        """Return True if the processors share memory, and an array is short enough for a slot."""
        return self._port.memory is not None and array.nbytes <= LEAST

    def fold(self, description: str, mine: NDArray[Any], op: Operator, scanned: bool) -> Any:
        """Return the short arrays of all processors, or of those up to this one, combined; as `combine` does.

        The operator may be any function of two arrays.
        """
        memory = self._port.memory
        assert memory is not None
        slots = memory.slots()
        key = (id(slots), mine.dtype, mine.shape)
        rows = self._short.get(key)
        if rows is None:
            own = slots[:, : mine.nbytes].view(mine.dtype).reshape(self._port.size, *mine.shape)
            read = own.view()
            read.flags.writeable = False  # the operator may be a function that changes its arguments, or returns one
            rows = self._short[key] = own[self._port.rank, ...], [read[rank, ...] for rank in range(self._port.size)]
        own, every = rows
        own[...] = mine
        self._port.synchronise(description)
        return folded(op, every[: self._port.rank + 1] if scanned else every)

    def combine(
        self, description: str, mine: NDArray[Any], op: np.ufunc, scanned: bool, out: Out = None
    ) -> NDArray[Any]:
        """Return the arrays of all processors, or of those up to this one, combined element by element.

        Parameters
        ----------
        description : str
            What the processors must agree on; it names dtype and shape.
        mine : ndarray
            Array of this processor.
        op : ufunc
            Operator for which the stage `combines` the array.
        scanned : bool
            True to combine the arrays of processor 0 up to this one.
        out : ndarray, optional
            Receives the result; it may be ``mine``.
        """
        port, size = self._port, self._port.size
        rows, result = self._next(description, mine)
        rows[port.rank].reshape(mine.shape)[...] = mine
        port.synchronise(description)
        start, stop = (mine.size * part // size for part in (port.rank, port.rank + 1))
        columns = rows[:, start:stop]
        with np.errstate(over="ignore"):  # integers wrap around, as NumPy's arrays do
            if scanned:
                for rank in range(1, size):
                    op(columns[rank - 1], columns[rank], out=columns[rank])
            else:
                total = result[start:stop]
                op(columns[0], columns[1], out=total)
                for rank in range(2, size):
                    op(total, columns[rank], out=total)
        port.synchronise(description)
        combined = (rows[port.rank] if scanned else result).reshape(mine.shape)
        if out is None:
            return combined.copy()
        out[...] = combined
        return out

    def share(self, description: str, root: int, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array of processor ``root``, whose dtype and shape all know; elsewhere ``array`` receives it."""
        _, result = self._next(description, array)
        if self._port.rank == root:
            result.reshape(array.shape)[...] = array
        self._port.synchronise(description)
        if self._port.rank != root:
            array.reshape(-1)[:] = result
        return array

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


def folded(op: Operator, arrays: Sequence[NDArray[Any]]) -> Any:
    """Return arrays combined from the first to the last, in memory of their own."""
    total: Any = arrays[0].copy()
    with np.errstate(over="ignore"):  # integers wrap around, as NumPy's arrays do
        for array in arrays[1:]:
            total = op(total, array)
    return total


def keeps_dtype(op: np.ufunc, dtype: np.dtype[Any]) -> bool:
    """Return True if an operator combines two numbers of a dtype into a number of the same dtype."""
    if (op.nin, op.nout) != (2, 1) or op.signature is not None:
        return False
    try:
        return bool(op.resolve_dtypes((dtype, dtype, None))[2] == dtype)
    except TypeError:
        return False
