"""Run kernels on streams of the calling process, or find the machine to run them on.

    side_by_side(a, b, c)       the calling thread does a; b and c are done by the first that is free, that thread or a
                                helper (see ``helpers``); returns when all have ended

A fast form works on the caller's own arrays, in private memory.  So nothing is copied into shared memory and back, and
the arrays may lie in huge pages, which shared memory may not have.  A fast form calls compiled loops, which do not hold
the interpreter lock.  The parts must not wait for one another, because there may be fewer threads than parts.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from .. import Machine, host
from .._computer.interrupt import HeldBack
from .._computer.limits import usable_cpus
from .._runtime.machine import current_machine
from .._runtime.program.processor import checked_number
from .helpers import borrow, cpus_now, give_back

R = TypeVar("R")

MOST_THREADS = 256
"""Most threads that a caller may request; each has counters of its own."""


def streams_for(machine: Machine | None) -> int:
    """Return the number of streams that a fast form uses: one for each processor, but not more than there are CPUs.

    Parameters
    ----------
    machine : Machine, optional
        By default the machine of the enclosing ``with`` block; if there is none, one stream for each CPU.
    """
    cpus, chosen = _cpus_lately(), machine or current_machine()
    return cpus if chosen is None else min(chosen.size, cpus)


def _cpus_lately() -> int:
    """Return the number of usable CPUs of a moment ago."""
    return _cpus(int(100 * time.monotonic()))


@functools.lru_cache(maxsize=1)
def _cpus(hundredth: int) -> int:
    """Return the number, kept for a hundredth of a second because the system's call takes longer than a glance."""
    return _cpus_of(frozenset(os.sched_getaffinity(0)), hundredth // 100)


@functools.lru_cache(maxsize=1)
def _cpus_of(affinity: frozenset[int], second: int) -> int:
    """Return the number of usable CPUs, kept for a second because the look-up takes a tenth of a millisecond."""
    return len(usable_cpus())


def check_threads(threads: int | None, form: str, here: bool, alone: bool = False) -> None:
    """Check a number of threads that a caller requests.

    Parameters
    ----------
    threads : int or None
        None leaves the number to the kernel.
    form : str
        The form that the caller has chosen, as it is written in the call.
    here : bool
        Whether the form runs in the calling process.
    alone : bool
        Whether the form runs in the calling thread alone.

    Raises
    ------
    TypeError, ValueError
        If it is not a number of threads, or if the form cannot use it.
    """
    if threads is None:
        return
    checked_number("threads", threads, MOST_THREADS)
    if not here:
        raise ValueError(
            f"threads={threads} cannot be given with {form}, which runs on the processors of a machine: leave threads "
            f"out, and give a machine, as in machine=smp.host({threads})"
        )
    if alone and threads > 1:
        raise ValueError(
            f"threads={threads} cannot be given with {form}, which runs in the calling thread alone: leave threads "
            "out, or choose another form"
        )


def opened(machine: Machine | None) -> contextlib.AbstractContextManager[Machine]:
    """Return a context with ``machine``, with the machine of the enclosing ``with`` block, or with a new machine."""
    chosen = machine or current_machine()
    return host() if chosen is None else contextlib.nullcontext(chosen)


def side_by_side(*parts: Callable[[], R]) -> list[R]:
    """Call all parts at the same time, as far as there are CPUs, and return their results in order.

    Raises
    ------
    BaseException
        Exception of a part, or KeyboardInterrupt, raised once all parts have ended: no part goes on writing afterwards.

    Notes
    -----
    Takes about 10 us with two parts if the helper is awake, else about 60 us; a single part is called directly.
    """
    count = len(parts)
    if count == 1:
        return [parts[0]()]
    results: list[Any] = [None] * count
    failed: dict[int, BaseException] = {}
    turns = itertools.count(1)

    def do(k: int) -> None:
        try:
            results[k] = parts[k]()
        except BaseException as error:
            failed[k] = error

    def work() -> None:
        while (k := next(turns)) < count:
            do(k)

    cpus = _cpus_lately()
    with HeldBack():  # otherwise Ctrl-C would end the wait and leave the other parts running
        (others, all_cpus), helpers = cpus_now(), borrow(min(count, cpus) - 1, cpus - 1)
        for helper in helpers:
            helper.begin(work, others)
        do(0)
        work()
        for helper in helpers:
            helper.end(all_cpus)
        give_back(helpers)
    if failed:
        try:
            raise failed[min(failed)]
        finally:
            failed.clear()  # its traceback leads back here
    return results
