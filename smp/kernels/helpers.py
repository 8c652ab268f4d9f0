"""Threads of this process that help the thread of a call with the parts of its work.

    caller                                        helper
    borrows helpers, and raises START of each ──▶ awaits START
    does parts until none is left                 does parts until none is left
    awaits DONE of each                       ◀── raises DONE
    gives them back                               awaits START

A helper spins for a moment before it sleeps.  So the later ones of several phases begin within some microseconds, and
only the first one has to wake the helpers, which takes ten times as long.

A helper keeps off the CPU on which its caller is.  Linux often wakes a thread on the CPU of the one that wakes it, also
if another is idle: on a virtual machine, it takes an idle CPU for one that the host has taken away.  The two threads
would then take turns on one CPU until, some milliseconds later, one of them is moved.  A caller that has slept for a
while until a helper is done leaves it its CPU, because other programs may use the others.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from smp._computer.limits import allowed_cpus, current_cpu
from smp._runtime.protocols.awaited import entries
from smp._runtime.protocols.wait import EVER

SPIN, LINGER, LATE = 50_000, 1_500, 1_000_000
"""Nanoseconds for which a thread spins before it sleeps; for which the caller leaves the interpreter's lock to a helper
that is awake; and after which a caller that sleeps leaves it its CPU."""
_NAME = "smp kernel"  # known to `watchdog.OURS`: these threads cannot end a deadlock
_START, _DONE, _WORDS = 0, 16, 32  # two numbers (see ``protocols.awaited``), on lines of their own
CPUs = frozenset[int]
_free: list[Helper] = []
_made = 0
_lock = threading.Lock()


class Helper:
    """A thread that does work for its borrower.

    The list of work has one item at most.  The helper takes it and does it, or its borrower takes it back because
    nothing is left to do.  The borrower writes START, the number of works it has begun, and the helper awaits that
    until the process ends.  The helper writes DONE, the last number it has seen, after the work.  The borrower's wait
    for DONE ends with that work: it raises nothing, and no part of it waits for another.
    """

    def __init__(self) -> None:
        self._words = np.zeros(_WORDS, np.int64)
        self._start, self._done = (self._words.ctypes.data + 8 * at for at in (_START, _DONE))
        self._entries, self._begun = entries(), 0
        self._work: list[Callable[[], object]] = []
        self._cpus: CPUs = frozenset()
        self._thread = threading.Thread(target=self._serve, name=f"{_NAME} {_made}", daemon=True)
        self._thread.start()

    def begin(self, work: Callable[[], object], cpus: CPUs) -> None:
        """Let the helper call ``work``, which raises nothing, on one of some CPUs."""
        self._move(cpus)
        self._work.append(work)
        self._begun += 1
        self._entries.begin(self._start, self._begun, LINGER)

    def end(self, cpus: CPUs) -> None:
        """Withdraw the work if the helper has not begun it; otherwise wait until it is done, on any of some CPUs."""
        try:
            self._work.pop()
        except IndexError:
            if not self._entries.end(self._done, self._begun, SPIN, LATE):
                self._move(cpus)
                self._entries.end(self._done, self._begun, 0, EVER)

    def _move(self, cpus: CPUs) -> None:
        if cpus == self._cpus:
            return
        self._cpus = cpus
        if cpus and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):  # CPUs that this process may no longer use
                os.sched_setaffinity(self._thread.native_id or 0, cpus)

    def _serve(self) -> None:
        seen = 0
        while True:
            seen = self._entries.serve(self._done, self._start, seen, SPIN)
            with contextlib.suppress(IndexError):
                self._work.pop()()


def borrow(count: int, most: int) -> list[Helper]:
    """Return up to ``count`` helpers, as many as are free; new ones are made until there are ``most``.

    If the system starts no more threads, there are fewer, and the borrower does more itself.
    """
    global _made
    with _lock:
        while len(_free) < count and _made < most:
            try:
                _free.append(Helper())
            except RuntimeError:
                break
            _made += 1
        return [_free.pop() for _ in range(min(count, len(_free)))]


def give_back(helpers: Sequence[Helper]) -> None:
    """Return helpers that have been borrowed, and whose work is done."""
    with _lock:
        _free.extend(helpers)


def cpus_now() -> tuple[CPUs, CPUs]:
    """Return the CPUs that this thread may use, but for the one on which it is running, and all of them."""
    return _cpus(current_cpu(), int(time.monotonic()))


@functools.lru_cache(maxsize=1)
def _cpus(cpu: int | None, second: int) -> tuple[CPUs, CPUs]:
    """Return the CPUs without and with one, kept for a second."""
    cpus = frozenset(allowed_cpus())
    return cpus - {cpu}, cpus


def _forget() -> None:
    global _free, _made, _lock
    _free, _made, _lock = [], 0, threading.Lock()


os.register_at_fork(after_in_child=_forget)  # the child has no copy of the threads
