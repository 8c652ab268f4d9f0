"""Cells, barriers, atomics and waits for compiled loops, including users' own Numba functions.

    readfe readff readxx writeef writeff writexf        on cell ``i`` of a `Cells` given to the loop (see `smp.Cells`)
    purge fill fetch_add peek, and try_* of the operations that wait
    load store exchange compare_exchange fetch_add      on an element of a one-dimensional array, shared or not
    barrier(sync)  count(sync, vote)                    of all processors; count returns the number of votes
    any_flag(sync)                                      True if the flag of a processor is up (see `Processor.flag`)
    wait(words, i, value, sync)  wake(words, i, count)  block while ``words[i]`` is ``value``; wake waiting threads
    try_post try_poll room await_packet await_room      packets between loops (see `try_post`)
    aborted(sync)                                       True if another processor has failed: for spin loops
    pause prefetch prefetch_write                       hints to the CPU
    clock thread_clock                                  nanoseconds: of time, and of this thread on a CPU
    delay(name)                                         a named place, where `smp.perturb` can apply a treatment

``sync`` is ``proc.sync``, and the packets go through ``proc.net``.  Spin only through `load`, because a plain ``a[i]``
in a loop is read once, before the loop.  Wait for another processor through cells, `wait`, `barrier`, `count`,
`await_packet` or `await_room`, which raise `Aborted` when it fails.  A spin loop of your own must check `aborted`.
Compiled operations on cells do not check the index, those on arrays do not either, and those on packets do not check
their arguments.
"""

from __future__ import annotations

from ._runtime.loops.atomics import (
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
from ._runtime.loops.compiler import inline, local, numba, stream
from ._runtime.loops.places import delay
from ._runtime.memory.cell_functions import (
    fetch_add,
    fill,
    peek,
    purge,
    readfe,
    readff,
    readxx,
    try_fetch_add,
    try_readfe,
    try_readff,
    try_writeef,
    try_writeff,
    writeef,
    writeff,
    writexf,
)
from ._runtime.memory.net_functions import await_packet, await_room, room, try_poll, try_post
from ._runtime.protocols.barriers import barrier, count
from ._runtime.protocols.flags import any_flag
from ._runtime.protocols.wait import OK, aborted, wait_while
from .errors import Aborted


@inline
def wait(words: Words, i: int, value: int, sync: Words) -> None:
    """Wait while ``words[i]`` is ``value``: spin for a while, then block until `wake`.

    Parameters
    ----------
    words : integer array, one-dimensional, in shared memory
    i : int
        Index of the element. While the thread is blocked, only the element's low 32 bits are compared.
    value : int
    sync : int64 array
        ``proc.sync``.

    Raises
    ------
    Aborted
        If another processor fails.
    """
    if wait_while(words, i, value, sync, 0) != OK:
        raise Aborted


@inline
def wake(words: Words, i: int, count: int) -> int:
    """Wake at most ``count`` of the threads that `wait` on ``words[i]``; return how many of them were asleep."""
    return futex_wake(words, i, count)


__all__ = [
    "aborted",
    "any_flag",
    "await_packet",
    "await_room",
    "barrier",
    "clock",
    "compare_exchange",
    "count",
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
    "room",
    "store",
    "stream",
    "thread_clock",
    "try_fetch_add",
    "try_poll",
    "try_post",
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

numba()  # users of this module call these names from loops of their own
