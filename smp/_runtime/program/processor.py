"""The object through which an SPMD program uses its processor: rank, supersteps, collectives, streams, arrays."""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from smp.errors import NotPicklable, PhaseError

from .collectives.statistic_calls import StatisticCalls
from .collectives.transpose import TransposeCalls
from .memory_calls import MemoryCalls
from .messages.block_calls import BlockCalls
from .port import Port, without_memory
from .printing import PrintingCalls
from .states import StateCalls
from .steps import Recorder
from .streams import CEILING, Pool
from .superstep import Superstep
from .timing import TimingCalls

MOST = 1024
"""Largest number of processors of one machine, and of streams of one processor."""


class Processor(StatisticCalls, TransposeCalls, BlockCalls, MemoryCalls, TimingCalls, StateCalls, PrintingCalls):
    """One processor of a machine, given to the program as its first argument.

    Attributes
    ----------
    rank, size : int
        Number of this processor, from 0, and number of all processors.
    """

    def __init__(self, port: Port, recorder: Recorder, streams: int = 1) -> None:
        super().__init__(port, recorder)
        self._streams = streams
        self._seed = 0
        self._steps = 0
        self._pools: list[Pool] = []
        self._team: Pool | None = None

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
        if self._port.node_memory is None:
            raise without_memory("a pool of streams")
        pool = Pool(self._port.node_memory.threads, least, most, retire, crowded=self.size * least)
        self._pools.append(pool)
        return pool

    def _finish(self) -> None:
        """End the program: wait for open collectives, messages and threads, and show the last parts of lines.

        An exception of a thread that was not requested is raised.
        """
        self._tickets.settle()
        self._finish_messages()
        for pool in self._pools:
            pool.close()
        if self._recorder.states is not None:
            self._recorder.states.end()
        self._end_lines()

    def _dismiss(self) -> BaseException | None:
        """End the streams of a failed program; return the exception of a thread that was not requested, or None."""
        for pool in self._pools:
            pool.dismiss()
        memory = self._port.node_memory
        if memory is not None:
            memory.threads.join_all()
        self._end_lines()
        return next((error for pool in self._pools if (error := pool.failure()) is not None), None)

    def __repr__(self) -> str:
        return f"<processor {self.rank} of {self.size}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable(
            f"processor {self.rank} cannot be sent to another process; send what is needed, such as its rank"
        )

    @cached_property
    def random(self) -> np.random.Generator:
        """The random numbers of this processor: a NumPy generator whose seed is that of the run and the rank.

        ``machine.run(..., seed=run.seed)`` draws the same numbers again.  The generator is
        ``np.random.default_rng(np.random.SeedSequence(seed).spawn(size)[rank])``.
        """
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(self.rank,)))

    def exit(self, code: int = 0) -> NoReturn:
        """End the program here, as ``sys.exit(code)`` does.

        Parameters
        ----------
        code : int
            0 ends the program of this processor only, with the result None; as after a ``return``, the processor waits
            until the programs of all have ended.  Any other code ends the run at once, on all processors:
            ``machine.run`` raises `ProcessorRaised`, which names the processor and the code.  Its ``__cause__`` is the
            SystemExit with the code.

        Notes
        -----
        It raises SystemExit, so it is called in the thread that runs the program.  A superstep that is left in this
        way does not end.
        """
        raise SystemExit(operator.index(code))

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
        self._refuse_inside("proc.superstep")
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


def checked_number(what: str, number: Any, most: int = MOST) -> int:
    """Return a number of processors or streams, or raise an error that says why it is not valid."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise TypeError(f"{what} must be a whole number, not {number!r}")
    if not 1 <= number <= most:
        raise ValueError(f"{what} must be from 1 to {most}, not {number}")
    return int(number)


def share(n: int, rank: int, size: int) -> slice:
    """Return the part of ``range(n)`` that belongs to processor ``rank``."""
    each, rest = divmod(n, size)
    start = rank * each + min(rank, rest)
    return slice(start, start + each + (rank < rest))
