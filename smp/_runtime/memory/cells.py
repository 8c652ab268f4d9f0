"""Cells: words in shared memory, each with a full/empty bit, on which threads of all processors can wait.

                  waits until   leaves it    returns
    readfe        full          empty        the value
    readff        full          full         the value
    readxx        -             as it was    the value
    writeef       empty         full
    writeff       full          full
    writexf       -             full
    purge         -             empty        the number of writers that it released
    fill          -             full
    fetch_add     full          full         the value before

- When a cell is filled, all threads that wait in a readff (or writeff, fetch_add) are served, in the order in which
  they came, and then exactly one readfe.  When it is emptied, exactly one writeef is served.
- A waiting operation looks again ``retries`` times and then *traps*: it then costs no CPU until it is served.
  Operations that have trapped are served in the order in which they came, within each kind, and no other operation
  overtakes them.  An operation that still looks may lose its turn to another once per look, so after ``retries`` looks
  it cannot lose it any more.  No thread starves.
- An operation that can proceed in only one state acquires: everything that was written before the cell came into that
  state is seen after the operation, even if the value is discarded.  An operation that changes the state releases.  A
  value never tears.
- A wait ends when it is served, by ``timeout`` (`WaitTimeout`), or when a processor fails (`Aborted`).

The same operations are functions of `smp.compiled`, for loops: ``readfe(cells, i)``.  The protocol is in ``cell``.

Source: microbenchmarking the Tera MTA, section 3.2.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from smp.errors import Aborted, MachineClosed, MachineError, WaitTimeout

from ..loops.atomics import clock
from ..loops.compiler import imported_with_numba
from ..protocols import cell, wait, waiters
from ..protocols.stream_slots import LOCKED
from .cell_values import addition
from .segment import Block, Segment, segment_of
from .threads import NAMES, Threads

COUNTERS = np.dtype([("rank", np.int32), ("stream", np.int32), ("retries", np.int64), ("traps", np.int64)])
PLAIN, PADDED = 2, 8  # words of a cell
SUPPORTED = tuple(
    np.dtype(name) for name in ("int8", "int32", "int64", "uint8", "uint32", "uint64", "bool", "float32", "float64")
)


class Cells:
    """An array of cells in the memory that all processors share; made by ``machine.cells`` or ``proc.cells``.

    Every processor, every stream, the parent and compiled loops may use it. It can be sent to processors like a global
    array.

    Attributes
    ----------
    dtype : numpy.dtype
        Type of the values.

    Notes
    -----
    An operation takes one to two microseconds from Python, and some nanoseconds in a compiled loop.

    Examples
    --------
    >>> import smp
    >>> def pass_on(proc, cells):
    ...     if proc.rank == 0:
    ...         cells.writeef(0, 42)
    ...     else:
    ...         return cells.readfe(0)  # waits until it is full, leaves it empty
    >>> with smp.host(2) as machine:
    ...     machine.run(pass_on, machine.cells(1)).results
    [None, 42]
    """

    def __init__(self, block: Block, n: int, dtype: np.dtype[Any], words: int, retries: int, threads: Threads) -> None:
        self._block, self._n, self.dtype = block, n, dtype
        self._words, self._retries, self._threads = words, retries, threads
        self._bytes = 8 * words
        self._address = block.segment.address + block.offset
        self._add = addition(dtype)
        threads.know(self)

    def _named(self, address: int) -> str:
        """Return the name of the cell at an address; empty if it is none of these cells."""
        index, rest = divmod(address - self._address, self._bytes)
        return f"cell {index} of {self!r}" if rest == 0 and 0 <= index < self._n else ""

    def __len__(self) -> int:
        return self._n

    def __repr__(self) -> str:
        return f"Cells({self._n}, dtype={self.dtype})"

    def __copy__(self) -> NoReturn:
        raise TypeError("a copy by the copy module would be the same memory: make others with machine.cells")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> tuple[Callable[..., Cells], tuple[Any, ...]]:
        block = self._block
        about = (block.segment.id, block.offset, block.nbytes, self._n, self.dtype, self._words, self._retries)
        return _attach, about

    @property
    def _native(self) -> tuple[int, int, int, int, int]:
        """The integers that a compiled loop gets for the cells.

        They are the address, the address of this thread's record, words per cell, the retry limit, and the number of
        cells.
        """
        own = self._threads.own()
        own.loops += 1
        return self._address, own.address, self._words, self._limit(own.words), self._n

    def _limit(self, own: Any) -> int:
        return self._retries if self._retries >= 0 else int(own[waiters.RETRIES])

    def _at(self, i: Any) -> int:
        """Return the address of a cell."""
        index = operator.index(i)
        if not -self._n <= index < self._n:
            raise IndexError(f"cell {index} is out of bounds: the number of cells is {self._n}")
        return self._address + (index if index >= 0 else index + self._n) * self._bytes

    def _do(self, op: int, i: Any, value: Any, timeout: float | None) -> Any:
        """Do an operation that may wait."""
        address, own = self._at(i), self._threads.own()
        own.in_use = True
        try:
            bits = own.bring(value, self.dtype)
            deadline = 0 if timeout is None else wait.deadline_after(timeout, clock())
            status = self._threads.operate(own, address, op, self._limit(own.words), deadline)
            if status:
                self._ended(status, op, i, timeout)
            return bits[0].item()
        finally:
            own.in_use = False

    def _ended(self, status: int, op: int, i: Any, timeout: float | None) -> None:
        if status == wait.EXPIRED:
            raise WaitTimeout(
                f"{NAMES[op]} of cell {i} waited {timeout} s and the cell did not become "
                f"{'empty' if op == cell.WRITEEF else 'full'}; give it longer, or see which thread should change it"
            )
        if self._is_closed():
            raise MachineClosed("the machine of these cells is closed: no thread will change them any more")
        raise Aborted("the run has failed: no thread may wait any more")

    def _is_closed(self) -> bool:
        """Return True if the machine of these cells is closed."""
        return self._block.segment.ended

    def _try(self, op: int, i: Any, value: Any) -> tuple[bool, Any]:
        address, own = self._at(i), self._threads.own()
        own.in_use = True
        try:
            bits = own.bring(value, self.dtype)
            status = self._threads.tried(own, address, op)
            if status == wait.ABORTED:
                self._ended(status, op, i, None)
            return status == wait.OK, bits[0].item()
        finally:
            own.in_use = False

    def readfe(self, i: int, timeout: float | None = None) -> Any:
        """Wait until cell ``i`` is full, set it to empty, and return its value.

        Parameters
        ----------
        i : int
            Index of the cell; a negative index counts from the end.
        timeout : float, optional
            Longest time to wait, in seconds.

        Returns
        -------
        int, float or bool

        Raises
        ------
        WaitTimeout
            If the cell did not become full in time.
        Aborted
            If another processor fails during the wait.
        IndexError
            If there is no such cell.
        TypeError, ValueError
            If the timeout is not a number of seconds, 0 or more.
        """
        return self._do(cell.READFE, i, None, timeout)

    def readff(self, i: int, timeout: float | None = None) -> Any:
        """Wait until cell ``i`` is full, leave it full, and return its value; see `readfe`."""
        return self._do(cell.READFF, i, None, timeout)

    def readxx(self, i: int) -> Any:
        """Return the value of cell ``i``, whether it is full or empty."""
        return self._try(cell.READXX, i, None)[1]

    def writeef(self, i: int, value: Any, timeout: float | None = None) -> None:
        """Wait until cell ``i`` is empty, store ``value`` in it, and set it to full.

        Parameters
        ----------
        i : int
            Index of the cell.
        value : number
            Value to store.  A cell of integers takes integers in its range, and no float.
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the cell did not become empty in time.
        Aborted
            If another processor fails during the wait.
        IndexError, TypeError, ValueError, OverflowError
            If there is no such cell, the value cannot be converted, or the timeout is not a number of seconds.
        """
        self._do(cell.WRITEEF, i, _given(value), timeout)

    def writeff(self, i: int, value: Any, timeout: float | None = None) -> None:
        """Wait until cell ``i`` is full, and replace its value by ``value``; see `writeef`."""
        self._do(cell.WRITEFF, i, _given(value), timeout)

    def writexf(self, i: int, value: Any) -> None:
        """Store ``value`` in cell ``i`` and set it to full, whatever its state was."""
        self._do(cell.WRITEXF, i, _given(value), None)

    def purge(self, i: int, value: Any = 0) -> int:
        """Store ``value`` in cell ``i`` and set it to empty.

        A writeef that waits goes on at once, and fills the cell again.

        Returns
        -------
        int
            Number of writers that it released: 1 or 0.
        """
        address, given, own = self._at(i), _given(value), self._threads.own()
        own.in_use = True
        try:
            own.bring(given, self.dtype)
            status = self._threads.operate(own, address, cell.PURGE, self._limit(own.words), 0)
            if status:
                self._ended(status, cell.PURGE, i, None)
            return int(own.words[waiters.BITS])
        finally:
            own.in_use = False

    def fill(self, i: int) -> None:
        """Set cell ``i`` to full, with the value that is in it."""
        self._do(cell.FILL, i, None, None)

    def fetch_add(self, i: int, value: Any, timeout: float | None = None) -> Any:
        """Wait until cell ``i`` is full, add to its value, leave it full, and return the previous value; see `readfe`.

        Integers wrap around. The sum of bools is true if one of them is true.
        """
        return self._do(self._add, i, _given(value), timeout)

    def try_readfe(self, i: int) -> tuple[bool, Any]:
        """Do `readfe` if it need not wait; return whether it was done, and the value."""
        return self._try(cell.READFE, i, None)

    def try_readff(self, i: int) -> tuple[bool, Any]:
        """Do `readff` if it need not wait; return whether it was done, and the value."""
        return self._try(cell.READFF, i, None)

    def try_writeef(self, i: int, value: Any) -> bool:
        """Do `writeef` if it need not wait; return True if it was done."""
        return self._try(cell.WRITEEF, i, _given(value))[0]

    def try_writeff(self, i: int, value: Any) -> bool:
        """Do `writeff` if it need not wait; return True if it was done."""
        return self._try(cell.WRITEFF, i, _given(value))[0]

    def try_fetch_add(self, i: int, value: Any) -> tuple[bool, Any]:
        """Do `fetch_add` if it need not wait; return whether it was done, and the previous value."""
        return self._try(self._add, i, _given(value))

    def peek(self, i: int) -> tuple[bool, Any]:
        """Return whether cell ``i`` is full, and its value, both at the same moment."""
        address, own = self._at(i), self._threads.own()
        own.in_use = True
        try:
            full = self._threads.peeked(own, address)
            return bool(full), own.value(self.dtype)[0].item()
        finally:
            own.in_use = False

    def full_together(self, indices: Iterable[int]) -> bool:
        """Return True if all these cells were seen full at one and the same moment."""
        addresses = [self._at(i) for i in indices]
        states = [self._threads.state(address) for address in addresses]
        if not all(state & (cell.FULL | LOCKED) == cell.FULL for state in states):
            return False
        # If a second pass reads the same states, with the same versions, no cell has changed between the last read of
        # the first pass and the first read of the second.
        return states == [self._threads.state(address) for address in addresses]

    def counters(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return how often the streams of the machine have looked again and trapped at cells so far.

        Returns
        -------
        structured array
            A row for each stream that has joined the machine: ``rank`` (-1 for the parent), ``stream``, ``retries``
            (number of looks after the first one of a wait), ``traps``.
        """
        return counters(self._block.segment)


def counters(segment: Segment, rank: int | None = None) -> np.ndarray[Any, np.dtype[np.void]]:
    """Return the counters of a machine's streams, or of one processor's streams."""
    joined = int(segment.words(8 * wait.RECORDS, 1)[0])
    table = segment.words(int(segment.words(8 * wait.TABLE, 1)[0]), (joined + 1) * waiters.RECORD)
    records = table.reshape(-1, waiters.RECORD)[1:]
    rows = np.zeros(joined, COUNTERS)
    rows["rank"], rows["stream"] = records[:, waiters.RANK], records[:, waiters.STREAM]
    rows["retries"], rows["traps"] = records[:, waiters.RETRIED], records[:, waiters.TRAPS]
    return rows if rank is None else rows[rows["rank"] == rank]


def checked_cells(n: Any, dtype: DTypeLike, padded: bool, retries: int | None) -> tuple[int, np.dtype[Any], int, int]:
    """Return (number, dtype, words per cell, retries) in standard form; raise an error if they are invalid."""
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"the number of cells must be 0 or more, not {count}")
    made = np.dtype(dtype)
    if made not in SUPPORTED:
        raise TypeError(f"a cell cannot hold {made}, only {', '.join(map(str, SUPPORTED))}")
    if retries is not None and operator.index(retries) < 0:
        raise ValueError(f"the number of retries must be 0 or more, not {retries}")
    return count, made, PADDED if padded else PLAIN, -1 if retries is None else operator.index(retries)


def checked_place(at: int | None, size: int) -> int | None:
    """Return the number of a processor, if there is one; raise an error if no processor has it."""
    if at is None:
        return None
    place = operator.index(at)
    if not 0 <= place < size:
        raise ValueError(f"at={place} is no processor: their numbers are 0 to {size - 1}")
    return place


def cells_on(block: Block, n: int, dtype: np.dtype[Any], words: int, retries: int) -> Cells:
    """Return the cells on a block of this process's segment."""
    threads = block.segment.threads
    assert threads is not None, "a segment without streams"
    return Cells(block, n, dtype, words, retries, threads)


def make_cells(
    allocate: Callable[[int], Block], n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None
) -> Cells:
    """Make cells in the parent, on memory that is allocated there."""
    count, made, words, limit = checked_cells(n, dtype, padded, retries)
    cells = cells_on(allocate(8 * words * count), count, made, words, limit)
    if full:
        make_full(cells)
    return cells


def make_full(cells: Cells) -> None:
    """Set new cells, which no other thread has yet, to full, with the value 0."""
    np.asarray(cells._block).view(np.int64)[:: cells._words] = cell.FULL


def _attach(segment_id: int, offset: int, nbytes: int, n: int, dtype: np.dtype[Any], words: int, retries: int) -> Cells:
    segment = segment_of(segment_id)
    if segment is None:
        raise MachineError(
            "cells of another machine were sent here; they can be used only by the machine that made them"
        )
    return cells_on(segment.block(offset, nbytes), n, dtype, words, retries)


def _given(value: Any) -> Any:
    if value is None:
        raise TypeError("a cell holds a number, not None")
    return value


imported_with_numba(f"{__package__}.cells_in_loops")
