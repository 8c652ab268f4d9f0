"""Emulators: their streams are greenlets of one thread, of which one runs at a time, step by step.

    stream    step(primitive) ── scheduling point ── the primitive ── on to the next one
                                   │ the schedule chooses the next stream; this one goes on when it is chosen again

A step is one primitive on shared words, together with the plain Python code after it.  Between two steps of a stream,
the other streams may make any number of steps, or none.  All streams run in one thread, so each step is atomic.

    by_choice    a schedule chooses among all streams that can run
    clocked      the earliest in virtual time goes next; machine code finds it

A stream may also pause, or sleep in a futex; ``turns`` says when it goes on.  If no stream can run and there is no
deadline, the run is in a deadlock.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from smp.errors import Aborted, LivelockError

from ..loops.interpreter import here
from ..memory.witness import handed
from ..program.who_waits import deadlock
from ..source.lines import where
from .effects import Effects
from .local_work import LoopWork
from .ordering import Ordering
from .prices import Prices, WordPrices
from .primitives import CLOCKS, STAMP
from .schedules import Schedule, Stream
from .virtual_time import NANOSECOND, picoseconds

GRACE = 100_000
"""Number of steps that the streams may still make after a run has failed."""
LOOK = 5_000  # steps between two checks for Ctrl-C
LOW = 0xFFFFFFFF  # the bits that a futex compares

Step = tuple[int, int, str, str]
_NO_BLOCK = nullcontext()


class Emulator(ABC):
    """Streams that take turns. While it runs, the emulator is this thread's `Interpreter`.

    Parameters
    ----------
    schedule : Schedule
        Rule that chooses the next stream.
    limit : int
        Number of steps after which the run ends.
    prices : Prices
        Prices of steps.
    work : LoopWork
        Prices of loops over local data.

    Attributes
    ----------
    running : Stream or None
        The stream whose turn it is.
    streams : list of Stream
        The streams that have not ended.
    steps : int
        Number of steps made in this run.
    trace : list or None
        If it is a list, each step is appended to it as (processor, stream, primitive, where).
    fault : tuple or None
        The stream whose function raised an exception, and the exception.
    over : bool
        True if the run ends early: the next primitive of each stream raises.
    in_a_loop : callable
        Says what a stream waits for that sleeps in a compiled loop.
    look : callable
        Called at intervals. If it returns an exception, the run ends with it.
    abort : callable or None
        Stores in a word, which the streams' waits look at, that the run ends, for example after a deadlock.  The
        streams are then woken and have GRACE steps to end by themselves.  If ``abort`` is None, the streams are ended
        at once.
    compute : callable
        Lets the running stream compute for a number of ps.  Messages may interrupt it.
    words : WordPrices or None
        Prices of steps by the addresses of their words; None if a price depends only on the primitive.
    forced : bool
        True if streams had to be ended in the middle of their work.
    witnessed : bool
        True if some arrays are `Witnessed` arrays.
    ordering : Ordering or None
        Follows what orders the accesses of the streams, if races are looked for.
    effects : Effects or None
        Records what each step touches, if an exploration asks for it.
    """

    steps: int
    over: bool
    running: Any  # a `Stream`, or None
    _alarm: int  # number of steps after which the next look comes

    def __init__(self, schedule: Schedule, limit: int, prices: Prices, work: LoopWork) -> None:
        self._prices, self._work = prices, work
        self.look: Callable[[], BaseException | None] = lambda: None
        self.in_a_loop: Callable[[Any], str] = lambda stream: ""
        self.abort: Callable[[BaseException], None] | None = None
        self.compute: Callable[[int], None] = self.pass_picoseconds
        self.words: WordPrices | None = None
        self.witnessed = False
        self.ordering: Ordering | None = None
        self.effects: Effects | None = None
        self._hub: Any = None
        self.reset(schedule, limit)

    def reset(self, schedule: Schedule, limit: int, trace: list[Step] | None = None) -> None:
        """Prepare for a new run, and forget the previous one."""
        self.schedule, self.limit, self.trace = schedule, limit, trace
        self.streams: list[Any] = []
        self.fault: tuple[Stream, BaseException] | None = None
        self.forced = False
        self._made = 0
        self._counts: dict[int, int] = {}
        self._error: BaseException | None = None  # the exception with which the run ends
        self._leaving = False
        self._prepare()
        self.running, self.over, self.steps, self._alarm = None, False, 0, min(LOOK, limit)

    @abstractmethod
    def _prepare(self) -> None:
        """Forget the streams of the previous run."""

    def forget(self) -> None:
        """Drop all references to other objects; the emulator does not run again."""
        self.look, self.abort, self.in_a_loop = lambda: None, None, lambda stream: ""
        self.compute, self.words = self.pass_picoseconds, None
        self._error = self.fault = None  # their tracebacks hold frames with arrays

    @property
    def rank(self) -> int | None:
        """Rank of the processor whose turn it is; None between runs."""
        running: Stream | None = self.running
        return None if running is None else running.rank

    def spawn(
        self, rank: int, function: Callable[[], object], at: int | None = None, number: int | None = None
    ) -> Stream:
        """Add a stream to a processor.

        The stream begins when it is first chosen, at the virtual time ``at``, or at that of the stream that made it.
        Of several streams with the same time, the one with the least number goes first; by default a stream has a
        larger number than those before it.  An exception in ``function`` ends the run.
        """
        index = self._counts.get(rank, 0)
        self._counts[rank] = index + 1
        self._made += 1
        running = self.running
        if at is None:
            at = 0 if running is None else running.now
        stream: Stream = self._new(rank, index, self._made if number is None else number, at)
        stream.greenlet = greenlet(lambda: self._live(stream, function))
        if self._hub is not None:
            stream.greenlet.parent = self._hub
        self.streams.append(stream)
        if self.ordering is not None:
            self.ordering.starts(stream, running)
        if self.effects is not None:
            self.effects.starts(stream, running)
        self._begin(stream, 0 if running is None else self.steps)
        return stream

    @abstractmethod
    def _new(self, rank: int, index: int, number: int, now: int) -> Any:
        """Return a new stream."""

    @abstractmethod
    def _begin(self, stream: Any, steps: int) -> None:
        """Let a new stream run, that counts as having made its last step after the given number of steps."""

    @abstractmethod
    def _ended(self, stream: Any) -> None:
        """Drop a stream that has ended."""

    def _live(self, stream: Any, function: Callable[[], object]) -> None:
        try:
            if self.effects is not None:
                self.effects.begins(stream)
            with np.errstate(over="ignore"):  # integers wrap around, as they do in compiled loops
                function()
        except BaseException as error:
            if not self.over:
                self.fault = stream, error
        self.streams.remove(stream)
        self._ended(stream)

    def run(self) -> None:
        """Let all streams run to their ends, or until one raises an exception.

        Raises
        ------
        DeadlockError, LivelockError
            If the streams cannot go on, or go on for too long.  It is raised after the streams have been ended.
        ScheduleError
            If the schedule does not fit the program; raised in the same way.
        BaseException
            The exception that ``look`` has returned; raised in the same way.
        """
        before, here.interpreter, self._hub = here.interpreter, self, getcurrent()
        for stream in self.streams:
            stream.greenlet.parent = self._hub
        try:
            while self.streams and self.fault is None and not self._leaving:
                if self._begin_one():
                    continue
                self.running = None
                if not self._pass_on(None):
                    self.leave(deadlock(self.streams, self.in_a_loop))
            if self._error is not None:
                raise self._error
        finally:
            self._end()
            self.running = self._hub = None
            here.interpreter = before

    @abstractmethod
    def _begin_one(self) -> bool:
        """Begin the stream that was chosen before it had begun; return False if there is none.

        It begins on the hub's stack.  On the stack of the stream before it, each stream would begin deeper.
        """

    @abstractmethod
    def _pass_on(self, stream: Any) -> bool:
        """Let the next stream run; return when the calling one is chosen again, or False at once if none can run.

        ``stream`` is the calling stream, if it may go on.
        """

    def _end(self) -> None:
        """End the remaining streams: their waits, and the next primitives that they call, raise."""
        self.over = True
        for stream in list(self.streams):
            self.running = stream
            if stream.greenlet:  # it has begun
                self.forced = True
                stream.greenlet.throw(Aborted())
        self.streams.clear()

    @abstractmethod
    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out one primitive, once this stream's turn comes."""

    def machine_code(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return machine code of a loop that makes the same steps; None if its source is interpreted."""
        return None

    def entries_for(self, entries: Any) -> Any:
        """Return the runtime's entry points as the streams call them."""
        return entries

    def run_local(self, loop: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Run a loop over local data, and advance virtual time by its price; return its result."""
        if self.witnessed:
            args, options = handed(loop, args, options)
        charged = self._work.run(loop, args, options)
        self.compute(self.of_cycles(charged.cycles))
        return charged.result

    def of_cycles(self, cycles: float) -> int:
        """Return the picoseconds of a number of cycles of the machine."""
        return picoseconds(cycles, self._prices.hz)

    def pass_time(self, nanoseconds: int) -> None:
        """Advance the virtual time of the running stream."""
        self.pass_picoseconds(nanoseconds * NANOSECOND)

    def pass_picoseconds(self, picoseconds: int) -> None:
        """Advance the virtual time of the running stream."""
        running = self.running
        if running is not None:
            running.now += picoseconds

    def operation(self) -> AbstractContextManager[None]:
        """Return a block in which all steps of the running stream on a cell are one operation."""
        return _NO_BLOCK if self.words is None else self.words.operation()

    def time(self) -> int:
        """Return the virtual time of the running stream, in ns."""
        return self.picoseconds() // NANOSECOND

    def picoseconds(self) -> int:
        """Return the virtual time of the running stream, in ps."""
        running: Stream | None = self.running
        return 0 if running is None else running.now

    def _aside(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out a primitive that touches no shared word."""
        if meaning in CLOCKS:
            self.pass_picoseconds(self._prices.clock)
            return self.time()
        if meaning is STAMP:
            return self.time()
        return meaning(*args)

    # Ends.

    def _look_up(self) -> None:
        """Check whether the run should end; called at intervals."""
        if self.steps >= self.limit:
            stream = self.running
            assert stream is not None
            error: BaseException | None = LivelockError(
                f"the run has not ended after {self.steps:,} steps; processor {stream.rank} made the last one at "
                f"{where(sys._getframe(1)) or 'the start'}. Does it wait in a loop for something that never comes? A "
                "loop that waits must call pause(); a longer run needs a higher limit"
            )
        else:
            self._alarm = min(self.steps + LOOK, self.limit)
            error = self.look()
        if error is not None:
            self.leave(error)

    def look_soon(self) -> None:
        """Have the check made before the next step. Another thread may call it."""
        self._alarm = 0

    def leave(self, error: BaseException) -> None:
        """End the run with an error that no stream's program can catch."""
        gently = self._error is None and self.abort is not None and not isinstance(error, LivelockError)
        self._error = self._error or error
        if gently and self.abort is not None:
            self.abort(error)
            self.hurry()
            self._wake_all()
        else:
            self._leaving = True
            if self.running is not None:
                self._hub.switch()

    @abstractmethod
    def _wake_all(self) -> None:
        """Wake all sleeping streams."""

    def hurry(self) -> None:
        """Let the run go on for at most GRACE further steps."""
        self.limit = min(self.limit, self.steps + GRACE)
        self._alarm = min(self._alarm, self.limit)
