"""The interfaces between programs and the kinds of machines.

A program holds a `Processor`.  Its operations are written once, for all kinds.  They use a machine only through six
interfaces, and know nothing of its views, its segment or its kind:

    Port             every kind       identity, time     rank, size, clock, work
                                      global arrays      allocate, fill, get, put, fence
                                      synchronisation    synchronise, exchange; arrive, passed, leave, blocks
                                      a loop             call
    Network          every kind       try_post, take, wait (in ``messages.network``)
    SharedMemory     kinds with it    words for compiled loops, flags, cells, streams, pages (in ``shared``)
    Diagnosis        as far as a      begin, mark, place          where the processor is
                     kind can         fail, cause, counters       how the run ends, and what waits have cost
    Output           every kind       show, settled               the lines that the processor prints
    Clocks           several nodes    begin, end                  the offsets of their clocks

A machine holds `Processors`, which run one call at a time and make the arrays and cells of the parent.  A kind that
cannot do something raises `Unsupported`, whose message names an alternative; `without_memory` makes it for operations
that need shared memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp._computer.interrupt import HeldBack
from smp.errors import Aborted, Unsupported

from ..memory.arrays import GlobalArray
from ..memory.cells import COUNTERS, Cells
from ..source.lines import Instruction
from .answers import Done
from .messages.network import Network
from .place import Place
from .records.account import Account
from .records.clock_offsets import Drift
from .records.log import Log
from .shared import Buffer as Buffer
from .shared import NodeMemory, SharedMemory
from .steps import Far


class Mismatch(Aborted):
    """This processor takes part in another collective than the others; the message names it."""


class Diagnosis:
    """Notes of a processor, from which others explain how a run has failed.  This base class notes nothing."""

    def begin(self, program: Callable[..., object]) -> None:
        """Note the program, the only place that is known before its first superstep or collective."""

    def mark(self, step: int, phase: int, label: str) -> None:
        """Note the superstep, its phase, and the user's line."""

    def place(self) -> Place:
        """Return where the processor is."""
        return Place()

    def fail(self) -> None:
        """Make the run end on all processors, because the program has failed here."""

    def cause(self) -> int:
        """Return why the run ends, as a kind of abort (see ``wait``); 0 while it goes on."""
        return 0

    def counters(self) -> NDArray[np.void]:
        """Return the retries and traps of this processor's streams."""
        return np.zeros(0, COUNTERS)


class Clocks(Protocol):
    """The clock of a processor whose node has a clock of its own."""

    def begin(self) -> None:
        """Measure the clock's offset, which `Port.clock` adds during the run; all processors do this together."""

    def end(self) -> Drift:
        """Measure the offset again; return both."""


class Output:
    """Shows the lines that a processor prints; this base class shows them at once, in the parent's own thread."""

    _shown = 0

    @property
    def shown(self) -> int:
        """Number of lines that were shown so far, in all runs."""
        return self._shown

    def show(self, text: str, lines: int, error: bool) -> None:
        """Show whole lines on the parent's standard output, or on its error output if ``error``; do not wait.

        Only one thread of a processor calls this at a time.
        """
        show(text, error)
        self._shown += lines

    def settled(self) -> bool:
        """Return True if all lines were shown or lost; raise `Aborted` if another processor has failed."""
        return True


def show(text: str, error: bool) -> None:
    """Print lines to the outputs of this process; letters that the encoding lacks are printed as escapes."""
    file = sys.stderr if error else sys.stdout
    if file is None:  # it was closed when this process started
        return
    try:
        print(text, end="", file=file, flush=True)
    except UnicodeEncodeError:
        encoding = getattr(file, "encoding", None) or "ascii"
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", file=file, flush=True)


class Port(Protocol):
    """One processor's connection to its machine.

    Attributes
    ----------
    rank, size : int
        Number of this processor, from 0, and number of all processors.
    serve : callable or None
        Called again and again by waits of the program, to run the handlers of messages; None if there are none.
    inside : callable or None
        Returns the name of the handler that runs, while one does; most operations then raise `HandlerError`.
    log : Log or None
        Log of the run, if there is one.  The port logs the waits for other processors.
    expect : callable or None
        ``expect(array, index, values, step, called)`` takes note of a `put` of a superstep that follows, and where the
        program called it.  It raises `RaceError` if another processor has put another value there in the same
        superstep.  The attribute is None where the machine does not look for it (see `records.checked`).
    priced : callable or None
        ``priced(name, read, written, began, nbytes)`` lets a collective that has ended take its virtual time.  It began
        on this processor at a time in seconds, which has read and written some bytes.  Its value has ``nbytes``; None
        if that is not known.  The attribute is None where collectives take the time of their steps.
    """

    rank: int
    size: int
    log: Log | None
    serve: Callable[[], object] | None
    inside: Callable[[], str] | None

    @property
    def priced(self) -> Callable[[str, int, int, float, int | None], None] | None:
        """See the attributes."""

    @property
    def expect(self) -> Callable[[GlobalArray, Any, NDArray[Any], int, Instruction], None] | None:
        """See the attributes."""

    @property
    def network(self) -> Network:
        """The networks of the machine."""

    def packets_left(self) -> bool:
        """Return True if packets to this processor may be left, once all have returned; False if none sent any."""

    def on_a_stream(self) -> bool:
        """Return True if the calling thread is another than the one that runs the program."""

    def deadline(self, timeout: float | None) -> int:
        """Return the deadline of a wait that begins now; 0 if it has no limit.

        Raises
        ------
        TypeError, ValueError
            If the timeout is not a number of seconds, 0 or more.
        """

    @property
    def diagnosis(self) -> Diagnosis:
        """Notes of this processor that explain a failure of the run."""

    @property
    def output(self) -> Output:
        """The way of this processor's lines to the parent's outputs."""

    @property
    def memory(self) -> SharedMemory | None:
        """The memory that all processors share; None if they share none."""

    @property
    def node_memory(self) -> NodeMemory | None:
        """The memory that the processors of this one's node share; None if they share none."""

    @property
    def far(self) -> Far | None:
        """The counts of `get` and `put` over the border of a node, which supersteps take; None with only one node."""

    @property
    def clocks(self) -> Clocks | None:
        """The clocks of several nodes; None if all processors read the same clock."""

    def clock(self) -> float:
        """Return the seconds of a clock that all processors share."""

    def work(self, cycles: float, seconds: float) -> None:
        """Let local work take time, in cycles of the machine's clock or in seconds; only virtual time needs it."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros, for use after the next barrier.  All make the same call, and get one array."""

    def cells(self, n: int, dtype: np.dtype[Any], words: int, retries: int, at: int | None, full: bool) -> Cells:
        """Make cells, for use after the next barrier; all make the same call.

        ``at`` is a processor on whose node they live; if it is None, they are dealt to the nodes.
        """

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        """Set this processor's share of a new array; every processor has the same values, of any shape that fits."""

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        """Return a local copy of ``array[index]``, in ``out`` if given."""

    def put(self, array: GlobalArray, index: Any, values: NDArray[Any]) -> None:
        """Set ``array[index]``, at the latest in `fence`; the index and the values have been checked."""

    def node_block(self, array: GlobalArray) -> tuple[int, NDArray[Any]]:
        """Return the elements of an array in the memory of this node, as a flat view, and the number of the first."""

    def fence(self) -> None:
        """Complete this processor's `put` calls: all their values are in place when this returns."""

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        """Wait until all processors are here, with the same description; return the number of those that voted.

        Raises
        ------
        Mismatch
            If another processor has another description.
        Aborted
            If another processor has failed.
        WaitTimeout
            If the others have not come in time.  The processor stays counted in: the same call again goes on waiting.
        """

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        """Begin a collective without waiting; return a ticket.  At most three may be open, which the caller checks.

        ``block``, in parts, is what this processor brings, if every processor brings something.

        Raises
        ------
        Aborted
            If another processor has failed.
        """

    def passed(self, ticket: int) -> bool:
        """Return True if all processors have begun the collective of a ticket; raises `Aborted` as `arrive` does."""

    def agreed(self, ticket: int) -> bool:
        """Return True if all processors were in the same collective, in that of a ticket; asked after a mismatch."""

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        """Wait until all have begun the collective of a ticket, the earliest that is open; return the votes.

        It raises the errors of `synchronise`.  After `WaitTimeout`, the ticket remains open.
        """

    def blocks(self, ticket: int) -> list[Buffer]:
        """Return what all have brought to a collective that this processor has just left, by rank.

        The blocks must be read before this processor begins another collective.
        """

    def exchange(self, description: str, *parts: Buffer) -> list[Buffer]:
        """Give every processor the blocks of all, by rank; a block is given in parts.

        It raises the errors of `synchronise`.  The blocks must be read before the next collective.
        """

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        """Run an inner loop on global arrays, in the way of this machine, and return the loop's result.

        Raises
        ------
        Unsupported
            If the loop cannot be given these arrays here.
        """


class Processors(Protocol):
    """The processors of one machine, as its parent process uses them.

    Attributes
    ----------
    kind : str
        Name of the kind of machine.
    size : int
        Number of processors.
    nodes : list of int
        Node of each processor.
    closed : str
        Reason why the machine is closed; empty while it is open.
    first_touch : bool
        Whether pages of an array lie in the memory of the processor that touches them first.
    pages : str
        Kind of pages of large arrays, if it is known: "small", "transparent" huge pages, or the system's "pool" of
        huge pages.
    account : Account
        Charges of the last run in virtual time; empty on machines in real time.
    """

    kind: str
    size: int
    nodes: list[int]
    closed: str
    first_touch: bool
    pages: str

    @property
    def account(self) -> Account:
        """See the attributes."""

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], object]:
        """Have every processor run a pickled call.

        Parameters
        ----------
        message : bytes
            The pickled call, for `load_call`.
        streams : int
            Number of streams of each processor's team.
        ctrl_c : HeldBack
            Holds back Ctrl-C while the call runs.
        timeout, helpers
            See `Machine.run`.

        Returns
        -------
        answers : list of Done
            Answers by rank.
        arrays : object
            Keeps the arrays that processors have made, until the results are unpickled.

        Raises
        ------
        ProgramError, WaitTimeout
            The failure that came first.
        KeyboardInterrupt
            On Ctrl-C, after the processors have stopped.
        MachineClosed
            If the machine is closed.
        """

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None) -> Cells:
        """Make cells; see `Machine.cells`."""

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        """Return the steps of the last run."""

    def restart(self) -> None:
        """Start new processors in place of the old ones, which may have ended; see `Machine.restart`."""

    def stop(self) -> None:
        """End a call that another thread waits for, and wait until it has ended; no further call begins."""

    def close(self, why: str) -> None:
        """End the processors."""


def must_agree(shape: tuple[int, ...], dtype: np.dtype[Any], out: NDArray[Any]) -> None:
    """Raise an error unless a part of an array has the same shape and dtype as the array ``out``."""
    if shape != out.shape or dtype != out.dtype:
        raise ValueError(
            f"copy_in of {dtype}{list(shape)} into out={out.dtype}{list(out.shape)}: shape and dtype must agree"
        )


_WAYS_OUT = {
    "array.view": "read it with step.copy_in or proc.node_block on a processor and with array[index] in the parent",
    "a loop on global arrays": "run it on the local array of step.copy_in, and write with step.copy_out",
    "cells": "pass values on with supersteps or collectives",
    "a pool of streams": "use a processor for each stream",
    "a flag": "ask with proc.any at a point that all processors reach",
    "proc.net": "send with proc.send, outside compiled loops",
    "proc.sync": "wait with proc.barrier(), outside compiled loops",
}


def without_memory(what: str) -> Unsupported:
    """Return the error for something that needs memory shared by all processors; it names an alternative."""
    return Unsupported(
        f"{what} needs memory that all processors share, and those of this machine do not: {_WAYS_OUT[what]}, or open "
        "smp.host() or smp.emulated()"
    )
