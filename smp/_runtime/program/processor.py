"""The object through which an SPMD program uses its processor: rank, supersteps, collectives, streams, arrays."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from smp.errors import NotPicklable, PhaseError

from ..memory.arrays import GlobalArray, Shape, checked
from ..memory.cells import Cells, checked_cells, make_full
from . import collectives
from .collectives import Exchange
from .combining import Operator
from .port import Port, SharedMemory, without_memory
from .steps import Recorder
from .streams import CEILING, Pool
from .superstep import Superstep
from .tickets import Split, Tickets

MOST = 1024
"""Largest number of processors of one machine, and of streams of one processor."""


class Processor:
    """One processor of a machine, given to the program as its first argument.

    Attributes
    ----------
    rank, size : int
        Number of this processor, from 0, and number of all processors.
    """

    def __init__(self, port: Port, recorder: Recorder, streams: int = 1) -> None:
        self._port, self._recorder, self._streams = port, recorder, streams
        self.rank, self.size = port.rank, port.size
        self._tickets = Tickets(port)
        self._exchange = Exchange(port, recorder, self._tickets.settle)
        self._split = Split(self._tickets, port.size, _truth)
        self._steps = 0
        self._pools: list[Pool] = []
        self._team: Pool | None = None
        self._flag = True  # whether this processor's flag is up

    @property
    def sync(self) -> NDArray[np.int64]:
        """Words that compiled loops of the calling thread need for `smp.compiled.barrier`, `wait`, `aborted`."""
        return self._shared_memory("proc.sync").sync_here()

    @property
    def team(self) -> Pool:
        """The pool of this processor.  ``machine.run(..., streams=s)`` or `smp.host` sets its number of streams."""
        if self._team is None:
            self._team = self.streams(self._streams)
        return self._team

    def streams(self, n: int, *, grow: bool = False, ceiling: int | None = None, retire: float | None = None) -> Pool:
        """Make a pool of streams, which sets how many threads of this processor run at a time (see `smp.Pool`).

        Parameters
        ----------
        n : int
            Number of streams to begin with.
        grow : bool
            Whether a stream is added when a thread is ready and no stream is free.
        ceiling : int, optional
            Largest number of streams to which the pool grows; by default 128, or ``n`` if that is more.
        retire : float, optional
            Seconds after which a stream with nothing to do ends.  The pool does not shrink below ``n`` streams.

        Returns
        -------
        Pool
            The pool, to be used in a ``with`` block.  A pool that is not closed ends with the program.

        Raises
        ------
        TypeError, ValueError
            If a number of streams or seconds is not valid.
        """
        least = checked_number("streams", n)
        if ceiling is not None and not grow:
            raise ValueError(f"ceiling={ceiling} is only for a pool that grows: give grow=True as well")
        most = least if not grow else checked_number("ceiling", max(n, CEILING) if ceiling is None else ceiling)
        if most < least:
            raise ValueError(f"a pool of {least} streams cannot have a ceiling of {most}")
        if retire is not None and not retire >= 0:
            raise ValueError(f"retire must be a number of seconds, 0 or more, not {retire}")
        pool = Pool(self._shared_memory("a pool of streams").threads, least, most, retire, crowded=self.size * least)
        self._pools.append(pool)
        return pool

    @property
    def split(self) -> Split:
        """Collectives that this processor begins now and waits for later; see `Ticket`."""
        return self._split

    def _finish(self) -> None:
        """Wait for all open collectives and all threads; raise an exception of a thread that was not requested."""
        self._tickets.settle()
        for pool in self._pools:
            pool.close()

    def _dismiss(self) -> BaseException | None:
        """End the streams of a failed program; return the exception of a thread that was not requested, or None."""
        for pool in self._pools:
            pool.dismiss()
        memory = self._port.memory
        if memory is not None:
            memory.threads.join_all()
        return next((error for pool in self._pools if (error := pool.failure()) is not None), None)

    def __repr__(self) -> str:
        return f"<processor {self.rank} of {self.size}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            f"processor {self.rank} cannot be sent to another process; send what is needed, such as its rank"
        )

    def block(self, n: int) -> slice:
        """Return this processor's share of ``range(n)``.

        The shares follow one another in the order of the ranks.  If they cannot all have the same length, the first
        ones are longer by one.

        Raises
        ------
        TypeError, ValueError
            If ``n`` is not a whole number, 0 or more.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.block(5)).results
        [slice(0, 3, None), slice(3, 5, None)]
        """
        if operator.index(n) < 0:
            raise ValueError(f"the number of elements must be 0 or more, not {n}")
        return share(operator.index(n), self.rank, self.size)

    def superstep(self, label: str = "", *, counted: bool = True) -> Superstep:
        """Make a superstep: copy-in, compute, copy-out, with a barrier after each (see `Superstep`).

        Parameters
        ----------
        label : str
            Name of the superstep in ``run.steps``.  It is the same on all processors; at most 32 characters are kept.
        counted : bool
            Whether ``step`` counts all accesses of its copies.  If False, the superstep has no interval.  Give False
            if loops also read the words that they write, or if they use ``array.view``.

        Raises
        ------
        PhaseError
            If a collective that was begun with `split` is open.
        """
        if self._tickets.open:
            raise PhaseError(
                f"superstep {label!r} cannot begin while a collective is open, {self._tickets.open[0]}: wait for its "
                "ticket first"
            )
        self._steps += 1
        return Superstep(self._port, self._recorder, self._steps - 1, str(label), counted)

    def count_accesses(self, reads: int = 0, writes: int = 0, itemsize: int = 8) -> None:
        """Count accesses that the runtime does not see: those by `array.view`, and those of compiled loops.

        They are part of the interval of the program as a whole (``run.interval(whole=True)``), and of no superstep's
        counts.  Only one thread of a processor may call this at a time.

        Parameters
        ----------
        reads, writes : int
            Elements that this processor has read from and written to global memory since it last stated accesses.
        itemsize : int
            Bytes of one element.
        """
        stated = self._recorder.stated
        stated[0] += reads
        stated[1] += writes
        stated[2] += reads * itemsize
        stated[3] += writes * itemsize

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until every processor has arrived here.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the other processors have not arrived in time.  This processor's arrival still counts, so a program
            that catches the error must call ``barrier`` again, which goes on waiting here, before any other
            collective.
        """
        self._tickets.settle(timeout)
        self._port.synchronise("barrier", timeout)

    def any(self, x: bool, timeout: float | None = None) -> bool:
        """Return True on every processor if ``x`` is true on at least one, after one barrier.

        Parameters
        ----------
        x : bool
            This processor's truth value.
        timeout : float, optional
            Longest time to wait, in seconds; see `barrier`.

        Raises
        ------
        ValueError
            If ``x`` is an array of several elements, which has no truth value.
        WaitTimeout
            As for `barrier`.
        """
        return self._count("any", x, timeout) > 0

    def all(self, x: bool, timeout: float | None = None) -> bool:
        """Return True on every processor if ``x`` is true on all; see `any`."""
        return self._count("all", x, timeout) == self.size

    def count(self, x: bool, timeout: float | None = None) -> int:
        """Return the number of processors on which ``x`` is true; see `any`."""
        return self._count("count", x, timeout)

    def _count(self, what: str, x: bool, timeout: float | None) -> int:
        vote = _truth(what, x)
        self._tickets.settle(timeout)
        return self._port.count(what, vote, timeout)

    def flag(self, up: bool) -> bool:
        """Raise or lower this processor's flag without waiting; return True if it was up before.

        All flags are up when a program starts.  Processors can thus agree that no work is left without stopping at a
        barrier: each lowers its flag when it is idle, and stops when `any_flag` is false.
        """
        memory, before = self._shared_memory("a flag"), self._flag
        if _truth("flag", up) != before:
            self._flag = not before
            memory.raise_flag(self._flag)
        return before

    def any_flag(self) -> bool:
        """Return True if the flag of at least one processor is up, at one moment during the call; do not wait."""
        return self._shared_memory("a flag").any_flag()

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return processor ``root``'s value on all processors; the value may be anything that can be pickled."""
        return collectives.broadcast(self._exchange, value, root)

    def reduce(self, value: Any, op: Operator = np.add, *, out: NDArray[Any] | None = None) -> Any:
        """Return the values of all processors, combined in rank order, on every processor.

        Parameters
        ----------
        value : number or ndarray
            This processor's value, of the same dtype and shape on all processors.
        op : NumPy ufunc or callable of two arguments
            Associative operator.  Integers wrap around as NumPy's do.
        out : ndarray, optional
            Receives the result; an array like ``value``, which may be ``value`` itself.  It saves a new array, whose
            pages the system would have to map and clear.

        Returns
        -------
        number or ndarray
            The combined value, with the same bits on every processor and in every repeat; ``out`` if it was given.

        Raises
        ------
        TypeError, ValueError
            If the value is not a number or an array of numbers, or ``out`` does not fit.

        Notes
        -----
        Processors that share memory combine long arrays by parts, if ``op`` is a ufunc: each moves its array about
        three times, whatever their number.
        """
        return collectives.reduce(self._exchange, value, op, out)

    def scan(self, value: Any, op: Operator = np.add, *, out: NDArray[Any] | None = None) -> Any:
        """Return the values of processors 0 to this one, combined in rank order; see `reduce`."""
        return collectives.scan(self._exchange, value, op, out)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processors, by rank, on all; the values may be anything that can be pickled."""
        return collectives.gather(self._exchange, value)

    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array.  All processors make the same call and get the same array.

        The array lives until the run ends, or longer if the program returns it.
        """
        made = checked(shape, dtype)
        self._tickets.settle()
        array = self._port.allocate(*made)
        self._touch(array)
        self._port.synchronise("end of allocation")
        return array

    def cells(
        self,
        n: int,
        dtype: DTypeLike = np.int64,
        full: bool = False,
        padded: bool = False,
        retries: int | None = None,
    ) -> Cells:
        """Make cells.  All processors make the same call and get the same cells.  See `Machine.cells`."""
        memory = self._shared_memory("cells")
        count, made, words, limit = checked_cells(n, dtype, padded, retries)
        self._tickets.settle()
        array = self._port.allocate((words * count,), np.dtype(np.int64))
        cells = memory.cells(array, count, made, words, limit)
        if full:
            if self.rank == 0:
                make_full(cells)
            self._port.synchronise("end of fill")
        return cells

    def counters(self) -> NDArray[np.void]:
        """Return the numbers of retries and traps of this processor's streams; see `Cells.counters`."""
        return self._port.diagnosis.counters()

    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array of zeros; see `empty`."""
        return self.empty(shape, dtype)  # the memory of a new block is zero

    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value; see `empty`."""
        values = np.asarray(value)
        return self._filled(self.empty(shape, values.dtype if dtype is None else dtype), values)

    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``, which must be the same on all processors; see `empty`."""
        local = np.asarray(data)
        return self._filled(self.empty(local.shape, local.dtype), local)

    def _filled(self, array: GlobalArray, values: NDArray[Any]) -> GlobalArray:
        self._port.fill(array, values)
        self._port.synchronise("end of fill")
        return array

    def _touch(self, array: GlobalArray) -> None:
        """Touch this processor's share of a new array, if the processors share memory."""
        memory = self._port.memory
        if memory is not None:
            memory.touch(array)

    def _shared_memory(self, what: str) -> SharedMemory:
        """Return the memory that all processors share, or raise `Unsupported` for ``what``, which needs it."""
        memory = self._port.memory
        if memory is None:
            raise without_memory(what)
        return memory


def _truth(what: str, x: Any) -> bool:
    """Return the truth value of an argument, or raise an error for an array that has none."""
    try:
        return bool(x)
    except ValueError:
        raise ValueError(
            f"proc.{what} takes one truth value, not an array of shape {np.shape(x)}: reduce it first, for example "
            f"proc.{what}(x.any())"
        ) from None


def checked_number(what: str, number: Any) -> int:
    """Return a number of processors or streams, or raise an error that says why it is not valid."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise TypeError(f"{what} must be a whole number, not {number!r}")
    if not 1 <= number <= MOST:
        raise ValueError(f"{what} must be from 1 to {MOST}, not {number}")
    return int(number)


def share(n: int, rank: int, size: int) -> slice:
    """Return the part of ``range(n)`` that belongs to processor ``rank``."""
    each, rest = divmod(n, size)
    start = rank * each + min(rank, rest)
    return slice(start, start + each + (rank < rest))
