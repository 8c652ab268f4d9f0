"""For compiled loops, the users' own Numba functions included: barrier, atomics, waiting.

    load store exchange compare_exchange fetch_add      on an element of a one-dimensional array, shared or not
    barrier(sync)                                       all processors; ``sync`` is ``proc.sync``
    wait(words, i, value, sync)  wake(words, i, count)  block while ``words[i]`` is ``value``; wake who does
    aborted(sync)                                       whether another processor has failed: for spin loops
    pause prefetch prefetch_write clock thread_clock

Spin only through `load`: a plain ``a[i]`` in a loop is read once, before the loop.  Wait for another processor
through `wait` or `barrier`: they end when it fails; a spin loop of one's own must look at `aborted`.
"""

from __future__ import annotations

from ._atomics import (
    Words,
    clock,
    compare_exchange,
    exchange,
    fetch_add,
    futex_wake,
    load,
    pause,
    prefetch,
    prefetch_write,
    store,
    thread_clock,
)
from ._compile import inline, local, numba, stream
from ._wait import OK, aborted, wait_while
from .barrier import barrier
from .errors import Aborted

numba()  # whoever imports this module calls these names from loops of their own


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


__all__ = [
    "aborted",
    "barrier",
    "clock",
    "compare_exchange",
    "exchange",
    "fetch_add",
    "load",
    "local",
    "pause",
    "prefetch",
    "prefetch_write",
    "store",
    "stream",
    "thread_clock",
    "wait",
    "wake",
]
