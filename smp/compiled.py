"""For compiled loops, the users' own Numba functions included: cells, barrier, atomics, waiting.

    readfe readff readxx writeef writeff writexf        on cell ``i`` of a `Cells` given to the loop (see `smp.cells`)
    purge fill fetch_add peek, and try_* of those that wait
    load store exchange compare_exchange fetch_add      on an element of a one-dimensional array, shared or not
    barrier(sync)                                       all processors; ``sync`` is ``proc.sync``
    wait(words, i, value, sync)  wake(words, i, count)  block while ``words[i]`` is ``value``; wake who does
    aborted(sync)                                       whether another processor has failed: for spin loops
    pause prefetch prefetch_write clock thread_clock
    delay(name)                                         a named place, where `smp.perturb` can have something done

Spin only through `load`: a plain ``a[i]`` in a loop is read once, before the loop.  Wait for another processor
through cells, `wait` or `barrier`: they end when it fails; a spin loop of one's own must look at `aborted`.  The
operations on cells do not check the index, as those on arrays do not.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _atomics
from ._atomics import (
    Words,
    clock,
    compare_exchange,
    exchange,
    futex_wake,
    load,
    pause,
    prefetch,
    prefetch_write,
    store,
    thread_clock,
)
from ._compile import inline, local, numba, stream
from ._treatments import delay
from ._wait import OK, aborted, wait_while
from .barrier import barrier
from .errors import Aborted

if TYPE_CHECKING:
    from .cells import Cells


@inline
def wait(words: Words, i: int, value: int, sync: Words) -> None:
    """Wait while ``words[i]`` is ``value``: spin for a while, then block until `wake`.

    Parameters
    ----------
    words : integer array, one-dimensional, in shared memory
    i : int
        Its index; the low 32 bits of the element are compared while blocked.
    value : int
    sync : int64 array
        ``proc.sync``.

    Raises
    ------
    Aborted
        When another processor fails.
    """
    if wait_while(words, i, value, sync, 0) != OK:
        raise Aborted


@inline
def wake(words: Words, i: int, count: int) -> int:
    """Wake at most ``count`` of those who `wait` on ``words[i]``; return how many were asleep."""
    return futex_wake(words, i, count)


def readfe(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, leave it empty, return its value.

    Raises
    ------
    Aborted
        When another processor fails; so do all that wait.
    """
    return cells.readfe(i)


def readff(cells: Cells, i: int) -> Any:
    """Wait until cell ``i`` is full, leave it full, return its value."""
    return cells.readff(i)


def readxx(cells: Cells, i: int) -> Any:
    """Return the value of cell ``i``, be it full or empty."""
    return cells.readxx(i)


def writeef(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is empty, leave ``value`` in it and it full."""
    cells.writeef(i, value)


def writeff(cells: Cells, i: int, value: Any) -> None:
    """Wait until cell ``i`` is full, and put ``value`` in the place of what is in it."""
    cells.writeff(i, value)


def writexf(cells: Cells, i: int, value: Any) -> None:
    """Leave ``value`` in cell ``i`` and it full, whatever it was."""
    cells.writexf(i, value)


def purge(cells: Cells, i: int, value: Any = 0) -> int:
    """Leave ``value`` in cell ``i`` and it empty; return how many writers that released, 0 or 1."""
    return cells.purge(i, value)


def fill(cells: Cells, i: int) -> None:
    """Leave cell ``i`` full, with the value that is in it."""
    cells.fill(i)


def fetch_add(target: Cells | Words, i: int, value: Any) -> Any:
    """Add to an element of an array, atomically, or to a cell once it is full; return the value before."""
    return _atomics.fetch_add(target, i, value) if isinstance(target, np.ndarray) else target.fetch_add(i, value)


def try_readfe(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readfe` if it need not wait; return whether it did, and the value."""
    return cells.try_readfe(i)


def try_readff(cells: Cells, i: int) -> tuple[bool, Any]:
    """Do `readff` if it need not wait; return whether it did, and the value."""
    return cells.try_readff(i)


def try_writeef(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeef` if it need not wait; return whether it did."""
    return cells.try_writeef(i, value)


def try_writeff(cells: Cells, i: int, value: Any) -> bool:
    """Do `writeff` if it need not wait; return whether it did."""
    return cells.try_writeff(i, value)


def try_fetch_add(cells: Cells, i: int, value: Any) -> tuple[bool, Any]:
    """Do `fetch_add` on a cell if it need not wait; return whether it did, and the value before."""
    return cells.try_fetch_add(i, value)


def peek(cells: Cells, i: int) -> tuple[bool, Any]:
    """Return whether cell ``i`` is full, and its value, of one and the same moment."""
    return cells.peek(i)


__all__ = [
    "aborted",
    "barrier",
    "clock",
    "compare_exchange",
    "delay",
    "exchange",
    "fetch_add",
    "fill",
    "load",
    "local",
    "pause",
    "peek",
    "prefetch",
    "prefetch_write",
    "purge",
    "readfe",
    "readff",
    "readxx",
    "store",
    "stream",
    "thread_clock",
    "try_fetch_add",
    "try_readfe",
    "try_readff",
    "try_writeef",
    "try_writeff",
    "wait",
    "wake",
    "writeef",
    "writeff",
    "writexf",
]

numba()  # whoever imports this module calls these names from loops of their own
if os.environ.get("SMP_TREATMENTS"):  # of a process that is treated from outside
    importlib.import_module(".perturb.factors", __package__)
