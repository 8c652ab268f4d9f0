"""Where kernels run: on streams of the calling process, or on a machine.

    side_by_side(a, b, c)       a in the calling thread, b and c in threads of this process; back when all have ended

A fast form works on the caller's own arrays, in private memory: no copy into shared memory and back, and huge pages,
which shared memory may not have.  It calls compiled loops, which hold no interpreter lock.  The parts must not wait
for one another: there may be fewer threads than parts.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from .. import Machine, host
from .._computer.interrupt import HeldBack
from .._computer.limits import usable_cpus
from .._runtime.machine import current_machine

R = TypeVar("R")

_NAME = "smp kernel"  # known to `watchdog.OURS`: these threads cannot end a deadlock
_lock = threading.Lock()
_threads: concurrent.futures.ThreadPoolExecutor | None = None


def _forget() -> None:
    global _threads, _lock
    _threads, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)  # the threads stay with the parent


def streams_for(machine: Machine | None) -> int:
    """Return how many streams a fast form uses: the machine's processors, but no more than there are CPUs.

    Parameters
    ----------
    machine : Machine, optional
        By default the one of the ``with`` block around; where there is none, all CPUs count.
    """
    cpus, chosen = _cpus(frozenset(os.sched_getaffinity(0)), int(time.monotonic())), machine or current_machine()
    return cpus if chosen is None else min(chosen.size, cpus)


@functools.lru_cache(maxsize=1)
def _cpus(affinity: frozenset[int], second: int) -> int:
    """How many CPUs this process may use; asked for once a second, for it takes a tenth of a millisecond."""
    return len(usable_cpus())


def opened(machine: Machine | None) -> contextlib.AbstractContextManager[Machine]:
    """Return where an SPMD program runs: the machine, that of the ``with`` block around, or one to be opened."""
    chosen = machine or current_machine()
    return host() if chosen is None else contextlib.nullcontext(chosen)


def side_by_side(*parts: Callable[[], R]) -> list[R]:
    """Call all parts at the same time, as far as there are CPUs, and return what they return, in order.

    Raises
    ------
    BaseException
        What a part has raised, or Ctrl-C, once all have ended: nothing goes on writing afterwards.

    Notes
    -----
    About 40 us with two parts; with one, it is a call.
    """
    if len(parts) == 1:
        return [parts[0]()]
    with HeldBack():  # or Ctrl-C would end the wait for the others, and leave them running
        others = [_executor().submit(part) for part in parts[1:]]
        try:
            first = parts[0]()
        finally:
            concurrent.futures.wait(others)
    return [first, *(other.result() for other in others)]


def _executor() -> concurrent.futures.ThreadPoolExecutor:
    global _threads
    with _lock:
        if _threads is None:
            _threads = concurrent.futures.ThreadPoolExecutor(max(1, len(usable_cpus()) - 1), _NAME)
        return _threads
