"""The border between programs and the kinds of machines, in one page.

A program holds a `Processor`.  Its operations are written once, over three contracts, and know nothing else of a
machine: no view, no segment, no kind.

    Port             every kind       who and when       rank, size, clock
                                      global arrays      allocate, fill, get, put, fence
                                      synchronisation    synchronise, exchange
                                      a loop             call
    SharedMemory     where there is   words for compiled loops, cells, streams, the pages of an array
    Diagnosis        as far as a      begin, mark, place          where the processor is
                     kind can         fail, cause, counters       how the run ends, and what waits have cost

A machine holds `Processors`: one call at a time, and the arrays and cells of the parent.  A kind that cannot do
something raises `Unsupported`, which names the way out; `without_memory` says it for what needs shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp._computer.interrupt import HeldBack
from smp._computer.perf_events import Counters
from smp.errors import Aborted, Unsupported

from ..memory.arrays import GlobalArray
from ..memory.cells import COUNTERS, Cells
from ..memory.threads import Threads
from .answers import Done
from .place import Place


class Mismatch(Aborted):
    """This processor takes part in another collective than the others; says in which."""


class SharedMemory(Protocol):
    """What one processor has of the memory that it shares with all others.

    Attributes
    ----------
    threads : Threads
        Those of this processor: its streams.
    """

    threads: Threads

    def sync_here(self) -> NDArray[np.int64]:
        """The words of this processor, for compiled loops of the calling thread (see ``wait``)."""

    def touch(self, array: GlobalArray) -> None:
        """Touch this processor's share of the pages of a new array, so that they lie in its own memory."""

    def faults(self) -> int:
        """Page faults of the calling thread so far; 0 where time is virtual or the system does not count them."""

    def hardware(self) -> Counters:
        """Counters of the calling thread and of those that it starts."""

    def operations(self) -> tuple[int, int, int]:
        """What this processor has done with cells since the last call: reads, writes, and loops that got cells."""

    def placement(self) -> float:
        """Return the ns in which a line passes from one CPU to another, by the farthest neighbour.

        The neighbours take part at about the same time.  NaN where one does not, where processors take turns on a CPU
        or time is virtual.
        """

    def cells(self, array: GlobalArray, n: int, dtype: np.dtype[Any], words: int, retries: int) -> Cells:
        """Return cells in the words of a new array."""


class Diagnosis:
    """What a processor notes for those who must say how a run has failed; here nothing."""

    def begin(self, program: Callable[..., object]) -> None:
        """Note the program: all there is before its first superstep or collective."""

    def mark(self, step: int, phase: int, label: str) -> None:
        """Note the superstep, its phase, and the user's line."""

    def place(self) -> Place:
        """Where the processor is."""
        return Place()

    def fail(self) -> None:
        """Have the run end everywhere, because the program has failed here."""

    def cause(self) -> int:
        """Why the run ends: a kind of abort (see ``wait``); 0 while it goes on."""
        return 0

    def counters(self) -> NDArray[np.void]:
        """The retries and traps of this processor's streams."""
        return np.zeros(0, COUNTERS)


class Port(Protocol):
    """One processor's connection to its machine.

    Attributes
    ----------
    rank, size : int
        Which processor this is, of how many.
    """

    rank: int
    size: int

    @property
    def diagnosis(self) -> Diagnosis:
        """What this processor notes for the case that the run fails."""

    @property
    def memory(self) -> SharedMemory | None:
        """The memory that all processors share; None where there is none."""

    def clock(self) -> float:
        """Seconds of a clock that all processors share."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros; every processor calls it alike and gets the same one.

        It can be used after the next barrier.
        """

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        """Set this processor's share of a new array; every processor has the same values, of any shape that fits."""

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        """Return a local copy of ``array[index]``, in ``out`` if given."""

    def put(self, array: GlobalArray, index: Any, values: NDArray[Any]) -> None:
        """Set ``array[index]``, at the latest in `fence`; the index and the values have been checked."""

    def fence(self) -> None:
        """End what this processor has put: everything is in place when this returns."""

    def synchronise(self, description: str, timeout: float | None = None) -> None:
        """Wait until all processors are here, with the same description.

        Raises
        ------
        Mismatch
            When another processor has another description.
        Aborted
            When another processor has failed.
        WaitTimeout
            When they have not come in time.  The processor stays counted in: the same call again goes on waiting.
        """

    def exchange(self, description: str, block: bytes) -> list[bytes]:
        """Give every processor the blocks of all, by rank; raises as `synchronise`."""

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        """Run an inner loop on global arrays, as this machine runs it, and return what it returns.

        Raises
        ------
        Unsupported
            When the loop cannot be given these arrays here.
        """


class Processors(Protocol):
    """The processors of one machine, as its parent has them.

    Attributes
    ----------
    kind : str
        What the machine calls itself.
    size : int
        Processors.
    closed : str
        Why there is no machine any more, once that is so.
    first_touch : bool
        Whether pages of an array lie in the memory of the processor that touches them first.
    pages : str
        What large arrays lie in, where that is known: "small", "transparent" huge or the system's "pool" of huge pages.
    """

    kind: str
    size: int
    closed: str
    first_touch: bool
    pages: str

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], object]:
        """Have every processor run a pickled call.

        Parameters
        ----------
        message : bytes
            For `load_call`.
        streams : int
            Of each processor's team.
        ctrl_c : HeldBack
            Has Ctrl-C while the call runs.
        timeout, helpers
            See `Machine.run`.

        Returns
        -------
        answers : list of Done
            By rank.
        arrays : object
            Keeps the arrays that processors have made, until the results are out of their pickles.

        Raises
        ------
        ProgramError, WaitTimeout
            What failed first.
        KeyboardInterrupt
            After the processors have stopped.
        MachineClosed
            When there is no machine any more.
        """

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None) -> Cells:
        """Make cells; see `Machine.cells`."""

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        """The steps of the last run."""

    def stop(self) -> None:
        """End a call that another thread waits for, and wait until it has ended; no other call begins."""

    def close(self, why: str) -> None:
        """End the processors."""


def must_agree(shape: tuple[int, ...], dtype: np.dtype[Any], out: NDArray[Any]) -> None:
    """Refuse to read a part of an array into an array of another shape or dtype."""
    if shape != out.shape or dtype != out.dtype:
        raise ValueError(
            f"copy_in of {dtype}{list(shape)} into out={out.dtype}{list(out.shape)}: shape and dtype must agree"
        )


_WAYS_OUT = {
    "array.view": "read it by step.copy_in on a processor and by array[index] in the parent",
    "a loop on global arrays": "run it on the local array of step.copy_in, and write by step.copy_out",
    "cells": "pass values on by supersteps or collectives",
    "a pool of streams": "use a processor for each stream",
    "proc.sync": "wait by proc.barrier(), outside of compiled loops",
}


def without_memory(what: str) -> Unsupported:
    """Return the error for something that needs memory which all processors share, with the way out."""
    return Unsupported(
        f"{what} needs memory that all processors share, and those of this machine share none: {_WAYS_OUT[what]}, or "
        "open smp.host() or smp.emulated()"
    )
