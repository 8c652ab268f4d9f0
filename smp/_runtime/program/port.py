"""What a kind of machine provides to everything above it, in one page.

A program holds a `Processor`; the processor's operations are written once, over these.  A kind that cannot do
one of them raises `Unsupported` and names the way out.

    who and when      rank, size, clock
    global arrays     allocate (collective), get, put
    barrier           arrive, passed, wait          split-phase; ``synchronise`` is arrive and wait
    collectives       exchange                      small blocks from all to all
    compiled loops    call, sync_here
    cells, streams    roster, counters
    diagnosis         mark

A machine holds a `Crew`: its processors, one call at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from smp._computer.interrupt import HeldBack

from ..memory.arrays import GlobalArray
from ..memory.segment import Block
from ..memory.streams_here import Roster


class Port(Protocol):
    """One processor's connection to its machine."""

    rank: int
    size: int
    roster: Roster
    """Streams and cells."""

    def sync_here(self) -> NDArray[np.int64]:
        """The words of this processor, for compiled loops of the calling thread (see ``wait``)."""

    def clock(self) -> float:
        """Seconds of a clock that all processors share."""

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> GlobalArray:
        """Make a zeroed global array; every processor calls it alike and gets the same one."""

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        """Return a local copy of ``array[index]``, in ``out`` if given."""

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        """Set ``array[index]``."""

    def arrive(self, description: str) -> int:
        """Arrive at the barrier without waiting; the same description from all, or the run ends."""

    def passed(self, ticket: int) -> bool:
        """Whether all have arrived."""

    def wait(self, ticket: int, timeout: float | None = None) -> None:
        """Wait until all have arrived."""

    def synchronise(self, description: str, timeout: float | None = None) -> None:
        """Arrive and wait."""

    def exchange(self, description: str, block: bytes) -> list[bytes]:
        """Give every processor the blocks of all, by rank."""

    def call(self, loop: Callable[..., Any], *args: Any) -> Any:
        """Run an inner loop as this machine runs it."""

    def counters(self) -> NDArray[np.void]:
        """The retries and traps of this processor's streams."""

    def mark(self, step: int, phase: int, label: str) -> None:
        """Note where this processor is, for whoever must tell how it died."""


class Crew(Protocol):
    """The processors of one machine.

    Attributes
    ----------
    kind : str
        What the machine calls itself.
    size : int
        Processors.
    closed : str
        Why there is no machine any more, once that is so.
    """

    kind: str
    size: int
    closed: str

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[tuple[Any, ...]], list[Block]]:
        """Have every processor run a pickled call; return their answers, and the blocks made meanwhile.

        ``streams`` is how many each processor's team has; ``timeout``, ``helpers``: see `Machine.run`.
        """

    def allocate(self, nbytes: int) -> Block:
        """Give out zeroed memory."""

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        """The steps of the last run."""

    def stop(self) -> None:
        """End a call that another thread waits for."""

    def close(self, why: str) -> None:
        """End the processors."""
