"""What a kind of machine provides to everything above it, in one page.

A program holds a `Processor`; the processor's operations are written once, over these.  A kind that cannot do
one of them raises `Unsupported` and names the way out.

    who and when      rank, size, clock
    global arrays     allocate (collective), get, put
    barrier           arrive, passed, wait          split-phase; ``synchronise`` is arrive and wait
    collectives       exchange                      small blocks from all to all
    compiled loops    call, sync
    diagnosis         mark
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .arrays import GlobalArray


class Port(Protocol):
    """One processor's connection to its machine."""

    rank: int
    size: int
    sync: NDArray[np.int64]
    """The machine's shared words, for compiled loops (see ``_wait``)."""

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

    def mark(self, step: int, phase: int, label: str) -> None:
        """Note where this processor is, for whoever must tell how it died."""
