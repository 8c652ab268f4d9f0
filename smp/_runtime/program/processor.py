"""What an SPMD program holds: its rank, its supersteps, its collectives, its compiled loops' words."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from smp.errors import NotPicklable

from ..memory.arrays import GlobalArray, Shape, checked
from ..memory.cells import Cells, checked_cells, make_full
from . import collectives
from .collectives import Exchange, Operator
from .port import Port, SharedMemory, without_memory
from .steps import Recorder
from .streams import CEILING, Pool
from .superstep import Superstep

MOST = 1024
"""Processors of one machine, and streams of one processor."""


class Processor:
    """One processor of a machine, given to the program as its first argument.

    Attributes
    ----------
    rank, size : int
        Which processor this is, of how many.
    """

    def __init__(self, port: Port, recorder: Recorder, streams: int = 1) -> None:
        self._port, self._recorder, self._streams = port, recorder, streams
        self.rank, self.size = port.rank, port.size
        self._exchange = Exchange(port, recorder)
        self._steps = 0
        self._pools: list[Pool] = []
        self._team: Pool | None = None

    @property
    def sync(self) -> NDArray[np.int64]:
        """What compiled loops need for `smp.compiled.barrier`, `wait` and `aborted`, in the calling thread."""
        return self._shared_memory("proc.sync").sync_here()

    @property
    def team(self) -> Pool:
        """The pool of this processor, with as many streams as ``machine.run(..., streams=s)`` says, or `smp.host`."""
        if self._team is None:
            self._team = self.streams(self._streams)
        return self._team

    def streams(self, n: int, *, grow: bool = False, ceiling: int | None = None, retire: float | None = None) -> Pool:
        """Make a pool of streams: so many threads of this processor run at a time (see `smp.Pool`).

        Parameters
        ----------
        n : int
            Streams to begin with.
        grow : bool
            Whether a stream is added when a thread is ready and none is free.
        ceiling : int, optional
            The most streams it grows to; 128 if not given.
        retire : float, optional
            Seconds after which a stream with nothing to do ends; the pool does not shrink below ``n``.

        Returns
        -------
        Pool
            To be used in a ``with`` block; one that is not ends with the program.

        Raises
        ------
        TypeError, ValueError
            Numbers of streams that make no sense.
        """
        least = checked_number("streams", n)
        if ceiling is not None and not grow:
            raise ValueError(f"ceiling={ceiling} is for a pool that grows: give grow=True too")
        most = least if not grow else checked_number("ceiling", max(n, CEILING) if ceiling is None else ceiling)
        if most < least:
            raise ValueError(f"a pool of {least} streams cannot have a ceiling of {most}")
        if retire is not None and not retire >= 0:
            raise ValueError(f"a stream retires after a number of seconds from 0, not {retire}")
        pool = Pool(self._shared_memory("a pool of streams").threads, least, most, retire, crowded=self.size * least)
        self._pools.append(pool)
        return pool

    def _finish(self) -> None:
        """Wait for all threads of all pools; raise what one raised that nobody asked for."""
        for pool in self._pools:
            pool.close()

    def _dismiss(self) -> BaseException | None:
        """End the streams of a program that has failed; return what one of its threads raised that nobody asked for."""
        for pool in self._pools:
            pool.dismiss()
        memory = self._port.memory
        if memory is not None:
            memory.threads.join_all()
        return next((error for pool in self._pools if (error := pool.failure()) is not None), None)

    def __repr__(self) -> str:
        return f"<processor {self.rank} of {self.size}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(f"processor {self.rank} stays in its process; send what is needed of it, such as its rank")

    def block(self, n: int) -> slice:
        """Return this processor's share of ``range(n)``: even, in order, the first ones longer by one.

        Raises
        ------
        TypeError, ValueError
            When ``n`` is not a whole number from 0.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.block(5)).results
        [slice(0, 3, None), slice(3, 5, None)]
        """
        if operator.index(n) < 0:
            raise ValueError(f"there is no share of {n} elements")
        return share(operator.index(n), self.rank, self.size)

    def superstep(self, label: str = "", *, counted: bool = True) -> Superstep:
        """Begin a superstep: copy-in, compute, copy-out, with a barrier after each (see `smp.Processor.superstep`).

        Parameters
        ----------
        label : str
            Its name in ``run.steps``; the same on all processors, at most 32 characters are kept.
        counted : bool
            Whether ``step`` counts all that its copies access.  Without it the superstep has no interval: give False
            where loops also read what they write, or go through ``array.view``.
        """
        self._steps += 1
        return Superstep(self._port, self._recorder, self._steps - 1, str(label), counted)

    def count(self, reads: int = 0, writes: int = 0, itemsize: int = 8) -> None:
        """Count accesses that the runtime does not see: of `array.view`, and of compiled loops.

        They are in the interval of the program as a whole (``run.interval(whole=True)``), and in no superstep's counts.
        One thread of a processor calls this at a time.

        Parameters
        ----------
        reads, writes : int
            Elements that this processor has read from and written to global memory since it counted last.
        itemsize : int
            Bytes of an element.
        """
        stated = self._recorder.stated
        stated[0] += reads
        stated[1] += writes
        stated[2] += reads * itemsize
        stated[3] += writes * itemsize

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until every processor is here.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Raises
        ------
        WaitTimeout
            When the others have not come in time.  A program that catches it stays counted in at this barrier: its
            next ``barrier`` goes on waiting there, and it must call that before any other collective.
        """
        self._port.synchronise("barrier", timeout)

    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Return processor ``root``'s value on all; anything that can be pickled."""
        return collectives.broadcast(self._exchange, value, root)

    def reduce(self, value: Any, op: Operator = np.add) -> Any:
        """Return ``value`` combined over all processors, in rank order, on all.

        Parameters
        ----------
        value : number or ndarray
            Of the same dtype and shape on all processors.
        op : NumPy ufunc or callable of two arguments
            Associative.  Integers wrap around as NumPy's do.

        Returns
        -------
        number or ndarray
            The same bits on every processor and every repeat.
        """
        return collectives.reduce(self._exchange, value, op)

    def scan(self, value: Any, op: Operator = np.add) -> Any:
        """Return ``value`` combined over processors 0 to this one; see `reduce`."""
        return collectives.scan(self._exchange, value, op)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processors, by rank, on all; anything that can be pickled."""
        return collectives.gather(self._exchange, value)

    def empty(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array; all processors call it alike and get the same one.

        It lives until the run ends, or longer where the program returns it.
        """
        array = self._port.allocate(*checked(shape, dtype))
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
        """Make cells; all processors call it alike and get the same ones.  See `Machine.cells`."""
        memory = self._shared_memory("cells")
        count, made, words, limit = checked_cells(n, dtype, padded, retries)
        array = self._port.allocate((words * count,), np.dtype(np.int64))
        cells = memory.cells(array, count, made, words, limit)
        if full:
            if self.rank == 0:
                make_full(cells)
            self._port.synchronise("end of fill")
        return cells

    def counters(self) -> NDArray[np.void]:
        """Return the retries and traps of this processor's streams; see `Cells.counters`."""
        return self._port.diagnosis.counters()

    def zeros(self, shape: Shape, dtype: DTypeLike = np.float64) -> GlobalArray:
        """Make a global array of zeros; see `empty`."""
        return self.empty(shape, dtype)  # the memory of a new block is zero

    def full(self, shape: Shape, value: Any, dtype: DTypeLike | None = None) -> GlobalArray:
        """Make a global array filled with one value; see `empty`."""
        values = np.asarray(value)
        return self._filled(self.empty(shape, values.dtype if dtype is None else dtype), values)

    def array(self, data: ArrayLike) -> GlobalArray:
        """Make a global array with a copy of ``data``, which is the same on all processors; see `empty`."""
        local = np.asarray(data)
        return self._filled(self.empty(local.shape, local.dtype), local)

    def _filled(self, array: GlobalArray, values: NDArray[Any]) -> GlobalArray:
        self._port.fill(array, values)
        self._port.synchronise("end of fill")
        return array

    def _touch(self, array: GlobalArray) -> None:
        """Touch this processor's share of a new array, where it matters who does so first."""
        memory = self._port.memory
        if memory is not None:
            memory.touch(array)

    def _shared_memory(self, what: str) -> SharedMemory:
        """The memory that all processors share, or `Unsupported` for what needs it."""
        memory = self._port.memory
        if memory is None:
            raise without_memory(what)
        return memory


def checked_number(what: str, number: Any) -> int:
    """Return a number of processors or streams, or say why it is none."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise TypeError(f"{what} must be a whole number, not {number!r}")
    if not 1 <= number <= MOST:
        raise ValueError(f"{what} must be from 1 to {MOST}, not {number}")
    return int(number)


def share(n: int, rank: int, size: int) -> slice:
    """The part of ``range(n)`` that is processor ``rank``'s."""
    each, rest = divmod(n, size)
    start = rank * each + min(rank, rest)
    return slice(start, start + each + (rank < rest))
