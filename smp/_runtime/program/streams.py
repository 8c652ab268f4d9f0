"""Streams limit how many threads of a processor run at a time; threads are the work that is given to them.

    pool.start(fn) ─▶ queue ─▶ a stream runs it ─▶ done                      at most n threads run at any moment
                        ▲            │ traps: waits longer than its retry limit, and gives its stream up
                        └── served ◀─┘ its cell has changed: it waits for a stream again, in turn

Any number of threads may be started.  Each thread that has begun keeps an operating-system thread of this process (its
*carrier*), even while it waits.  A carrier whose thread has ended takes the next thread.  While threads are queued, at
least one spare carrier waits for a stream on their behalf, so a stream that a trap sets free is never left idle.

Compiled loops (`smp.stream`, `smp.local`) run without the interpreter lock: the streams of one processor run them in
parallel, on all CPUs that the processor may use.  Threads of plain Python use streams in the same way, but the
interpreter runs them alternately, or in parallel if Python is built free-threaded.

A thread that looks at a cell again and again, retrying or polling, gives its stream to a ready thread at every 64th
look.  With one stream, a polling thread therefore cannot starve the thread that will fill the cell.

Source: microbenchmarking the Tera MTA, sections 2 and 3.3.
"""

from __future__ import annotations

import collections
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

import numpy as np

from smp._computer.limits import usable_cpus
from smp.errors import Aborted, NotPicklable, WaitTimeout

from ..loops.atomics import clock
from ..memory.cells import Cells
from ..memory.threads import FEW, Stream, Threads
from ..protocols import cell, stream_slots, waiters
from ..protocols import wait as _wait
from ..protocols.event_rings import BEGINS, ENDS
from ..source.lines import calls_programs

P = ParamSpec("P")
R = TypeVar("R")

CEILING = 128
"""Default number of streams to which a pool grows: the number of streams of a processor of the MTA."""


class Thread(Generic[R]):
    """A thread that was started on a pool, and its future result."""

    def __init__(self, threads: Threads, work: Callable[[], R]) -> None:
        self._threads, self._work = threads, work
        self._words = np.zeros(cell.CELL_WORDS, np.int64)  # a cell, private to the processor: full when it has ended
        self._number: int | None = None  # in events of a run that is recorded
        self._value: R | None = None
        self.error: BaseException | None = None
        self.asked = False  # True once its result was requested or its exception raised

    def __repr__(self) -> str:
        state = "running or waiting" if not self.done() else "done" if self.error is None else f"raised {self.error!r}"
        return f"<thread, {state}>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a thread cannot be sent to another process; send its result")

    def done(self) -> bool:
        """Return True if the thread has ended."""
        return bool(self._words[0] & cell.FULL)

    def result(self, timeout: float | None = None) -> R:
        """Wait until the thread has ended; return its function's result, or raise its function's exception.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the thread has not ended in time.
        """
        self.wait(timeout)
        self.asked = True
        if self.error is not None:
            raise self.error
        return cast("R", self._value)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, with a result or an exception; see `result`."""
        deadline = 0 if timeout is None else _wait.deadline_after(timeout, clock())
        own = self._threads.own()
        own.in_use = True
        try:
            limit = int(own.words[waiters.RETRIES])
            status = self._threads.operate(own, int(self._words.ctypes.data), cell.READFF, limit, deadline)
        finally:
            own.in_use = False
        if status == _wait.EXPIRED:
            raise WaitTimeout(f"the thread has not ended within {timeout} s; give it longer, or see what it waits for")
        if status:
            raise Aborted

    @calls_programs
    def run(self, note: Callable[[Thread[R]], None]) -> None:
        """Run the work in the calling thread, and call ``note`` before any other thread can know that it has ended."""
        self._note(BEGINS)
        try:
            self._value = self._work()
        except BaseException as error:  # of any kind: `result` raises it again
            self.error = error
        del self._work
        self._note(ENDS)
        note(self)
        own = self._threads.own()
        own.in_use = True
        try:
            self._threads.operate(own, int(self._words.ctypes.data), cell.WRITEXF, 0, 0)
        finally:
            own.in_use = False

    def starts(self, function: Callable[..., Any]) -> None:
        """Note that the calling stream starts this thread, if the run is recorded."""
        rings = self._threads.rings
        if rings is not None:
            name = getattr(function, "__qualname__", type(function).__name__)
            self._number = rings.starts(self._threads.own().words, name)

    def _note(self, kind: int) -> None:
        rings = self._threads.rings
        if rings is not None and self._number is not None:
            rings.note(self._threads.own().words, kind, 0, self._number)


class Pool:
    """A pool of streams on one processor; made by ``proc.streams``, or ``proc.team``.

    At the end of its ``with`` block, the pool waits for all its threads.  It raises the exception of a thread whose
    result was not requested.

    Examples
    --------
    >>> import smp
    >>> def squares(proc):
    ...     with proc.streams(2) as pool:
    ...         return pool.map(lambda x: x * x, range(4))
    >>> with smp.host(1) as machine:
    ...     machine.run(squares).results
    [[0, 1, 4, 9]]
    """

    def __init__(self, threads: Threads, n: int, ceiling: int, retire: float | None, crowded: int) -> None:
        self._threads, self._retire = threads, retire
        threads.watched()
        self._retries = threads.retries if crowded <= len(usable_cpus()) else min(threads.retries, FEW)
        self._team = np.zeros(stream_slots.TEAM_WORDS, np.int64)
        self._team[[stream_slots.FREE, stream_slots.STREAMS, stream_slots.FLOOR, stream_slots.CEILING]] = (
            n,
            n,
            n,
            ceiling,
        )
        self._lock = threading.Lock()  # for the fields below; no thread waits while it holds the lock
        self._queue: collections.deque[Thread[Any]] = collections.deque()
        self._idle: list[Stream] = []
        self._spare = 0  # carriers on their way to a stream, each for a queued thread
        self._live: dict[Thread[Any], None] = {}  # threads that have not ended, in a fixed order
        self._failed: list[Thread[Any]] = []
        self._closing = False

    @property
    def streams(self) -> int:
        """Number of streams in the pool."""
        return int(self._team[stream_slots.STREAMS])

    @property
    def ready(self) -> int:
        """Number of threads that wait for a stream."""
        return len(self._queue) + max(0, int(self._team[stream_slots.READY]) - self._spare)

    @property
    def trapped(self) -> int:
        """Number of threads that have given up their stream until they are served."""
        return int(self._team[stream_slots.TRAPPED])

    def __repr__(self) -> str:
        return f"<pool of {self.streams} streams, {self.ready} threads ready, {self.trapped} trapped>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("a pool of streams cannot be sent to another process; make one there with proc.streams")

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    def start(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Thread[R]:
        """Start a thread, which runs once a stream is free.

        Parameters
        ----------
        function : callable
            Called as ``function(*args, **kwargs)`` in this process; nothing is copied.

        Returns
        -------
        Thread
        """
        if not callable(function):
            raise TypeError(f"a thread must run a function, not a {type(function).__name__}")
        thread: Thread[R] = Thread(self._threads, functools.partial(function, *args, **kwargs))
        thread.starts(function)
        with self._lock:
            if self._closing:
                raise RuntimeError("this pool is closed: start threads inside its with block")
            self._queue.append(thread)
            self._live[thread] = None
            carriers = self._engaged()
        self._engage(carriers)
        return thread

    def start_when(
        self, cells: Cells, indices: int | Sequence[int], function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Thread[R]:
        """Start a thread that runs once all these cells are full at the same time; it leaves them as they are.

        Parameters
        ----------
        cells : Cells
        indices : int or sequence of int
            Numbers of the cells.
        function : callable
            Called as by `start`.
        """
        chosen = [indices] if isinstance(indices, int | np.integer) else list(indices)
        for i in chosen:
            cells.peek(i)  # raises here if the index is not valid

        def when_full() -> R:
            while not cells.full_together(chosen):
                for i in chosen:
                    cells.readff(i)
            return function(*args, **kwargs)

        return self.start(when_full)

    def map(self, function: Callable[[Any], R], items: Iterable[Any]) -> list[R]:
        """Run ``function(item)`` for every item, a thread each; return the results in the order of the items."""
        threads = [self.start(function, item) for item in items]
        return [thread.result() for thread in threads]

    def close(self) -> None:
        """Wait for all threads and end the streams; raise the exception of a thread whose result was not requested."""
        while self._live:
            for thread in list(self._live):
                thread.wait()
        self.dismiss()
        for thread in self._failed:
            if not thread.asked and thread.error is not None:
                thread.asked = True
                raise thread.error

    def dismiss(self) -> None:
        """Let each carrier end after its thread."""
        with self._lock:
            self._closing = True
            carriers, self._idle = self._idle, []
            self._spare += len(carriers)
        self._engage(list(carriers))

    def failure(self) -> BaseException | None:
        """Return the exception of a thread whose result was not requested; None if there is none."""
        errors = (thread.error for thread in self._failed if not thread.asked)
        return next((error for error in errors if error is not None), None)

    def _wanted(self) -> int:
        """Return how many more carriers the queue needs: one for each free stream, and at least one."""
        return min(len(self._queue), max(1, int(self._team[stream_slots.FREE]))) - self._spare

    def _engaged(self) -> list[Stream | None]:
        """Return the further carriers that the queue needs, None for each new one.  The caller holds the lock."""
        wanted = max(0, self._wanted())
        self._spare += wanted
        return [self._idle.pop() if self._idle else None for _ in range(wanted)]

    def _engage(self, carriers: Sequence[Stream | None]) -> None:
        for carrier in carriers:
            if carrier is None:
                self._threads.spawn(self._carry)
            else:
                self._threads.unpark(carrier)

    def _carry(self) -> None:
        """Run a carrier: get a stream, run a queued thread on it, and repeat."""
        own = self._threads.own()
        own.words[waiters.TEAM], own.words[waiters.RETRIES] = self._team.ctypes.data, self._retries
        while self._threads.acquire(own) == _wait.OK:
            thread = self._next()
            if thread is not None:
                thread.run(self._end)
            self._threads.release(own)
            if not self._again(own):
                break
        own.words[waiters.TEAM] = 0

    def _next(self) -> Thread[Any] | None:
        with self._lock:
            self._spare -= 1
            thread = self._queue.popleft() if self._queue else None
            carriers = self._engaged()
        self._engage(carriers)
        return thread

    def _end(self, thread: Thread[Any]) -> None:
        with self._lock:
            self._live.pop(thread, None)
            if thread.error is not None and not isinstance(thread.error, Aborted):
                self._failed.append(thread)

    def _again(self, own: Stream) -> bool:
        """Wait until the queue needs this carrier again, if it does not yet; return False if the carrier is to end."""
        with self._lock:
            if self._wanted() > 0:
                self._spare += 1
                return True
            if self._closing or own.words[waiters.OP] != 0:  # still in a queue, in a run that has failed
                return False
            begin_park(own)
            self._idle.append(own)
        deadline = 0 if self._retire is None else _wait.deadline_after(self._retire, clock())
        status = self._threads.park(own, deadline)
        if status == _wait.EXPIRED:
            with self._lock:
                retired = own in self._idle
                if retired:
                    self._idle.remove(own)
            if retired:
                self._threads.retire(own)
            else:  # engaged at the last moment
                status = self._threads.park(own, 0)
        end_park(own)
        return status == _wait.OK


def begin_park(own: Stream) -> None:
    """Note that a carrier has nothing to do: from here on it can be woken."""
    own.words[waiters.OP], own.words[waiters.WHERE] = stream_slots.PARKED, 0
    own.words[waiters.WAITS] += 1
    own.words[waiters.STATUS] = waiters.WAITING


def end_park(own: Stream) -> None:
    """Note that a carrier is at work again."""
    own.words[waiters.OP] = 0
    own.words[waiters.WAITS] += 1
    own.words[waiters.STATUS] = waiters.IDLE
