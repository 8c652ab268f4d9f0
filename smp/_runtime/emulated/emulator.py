"""The emulator runs streams as greenlets, one step at a time.

    stream    step(primitive) ── scheduling point ── the primitive ── on to the next one
                                   │ the schedule chooses the next stream; this one goes on when it is chosen again

A step is one primitive on shared words, together with the plain Python code after it.  Between two steps of a stream,
the other streams may make any number of steps, or none.  All streams run in one thread, so each step is atomic.

A stream may also pause, or sleep in a futex; ``turns`` says when it goes on.  If no stream can run and there is no
deadline, the run is in a deadlock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from smp.errors import Aborted, LivelockError, ScheduleError

from ..loops import atomics
from ..loops.interpreter import here
from ..memory.witness import Witnessed, handed, plain
from ..program.who_waits import deadlock
from ..source.lines import where
from .costs import Charges
from .primitives import CLOCKS, changed, meaning_of
from .schedules import Schedule, Stream
from .sleepers import address_of
from .turns import Turns

GRACE = 100_000
"""Number of steps that the streams may still make after a run has failed."""
_LOOK = 5_000  # steps between two checks for Ctrl-C
_LOW = 0xFFFFFFFF  # the bits that a futex compares

Step = tuple[int, int, str, str]


class Turn(Protocol):
    """An object that is kept informed of which processor's turn it is, such as a segment with its arrays."""

    rank: int | None


class Emulator:
    """Streams that take turns. While it runs, the emulator is this thread's `Interpreter`.

    Parameters
    ----------
    turn : Turn
        Object whose rank is set to that of the running stream, and to None between runs.
    schedule : Schedule
        Rule that chooses the next stream.
    limit : int
        Number of steps after which the run ends.
    charges : Charges
        Charges in virtual time.

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
    look : callable
        Called at intervals. If it returns an exception, the run ends with it.
    abort : callable or None
        Stores in a word, which the streams' waits look at, that the run ends, for example after a deadlock.  The
        streams are then woken and have GRACE steps to end by themselves.  If ``abort`` is None, the streams are ended
        at once.
    forced : bool
        True if streams had to be ended in the middle of their work.
    witnessed : bool
        True if some arrays are `Witnessed` arrays.
    """

    def __init__(self, turn: Turn, schedule: Schedule, limit: int, charges: Charges) -> None:
        self._turn = turn
        self._charges, self._costs = charges, charges.of_primitives()
        self._special: dict[Any, Callable[..., Any]] = {
            meaning_of(atomics.pause): self._pause,
            meaning_of(atomics.futex_wait): self._futex_wait,
            meaning_of(atomics.futex_wake): self._futex_wake,
        }
        self.look: Callable[[], BaseException | None] = lambda: None
        self.abort: Callable[[BaseException], None] | None = None
        self.witnessed = False
        self._hub: Any = None
        self.reset(schedule, limit)

    def reset(self, schedule: Schedule, limit: int, trace: list[Step] | None = None) -> None:
        """Prepare for a new run, and forget the previous one."""
        self.schedule, self.limit, self.trace = schedule, limit, trace
        self.running: Stream | None = None
        self.streams: list[Stream] = []
        self.fault: tuple[Stream, BaseException] | None = None
        self.over = self.forced = False
        self.steps = 0
        self._made = 0
        self._turns = Turns(schedule, self._charges.woken)
        self._ready, self._timed, self._by_time = self._turns.ready, self._turns.timed, self._turns.by_time
        self._alarm = min(_LOOK, limit)
        self._counts: dict[int, int] = {}
        self._error: BaseException | None = None  # the exception with which the run ends
        self._leaving = False
        self._beginner: Stream | None = None

    def forget(self) -> None:
        """Drop all references to other objects; the emulator does not run again."""
        self._special.clear()
        self.look, self.abort = lambda: None, None

    def spawn(self, rank: int, function: Callable[[], object]) -> Stream:
        """Add a stream to a processor.

        The stream begins when it is first chosen, at the virtual time of the stream that made it.  An exception in
        ``function`` ends the run.
        """
        index = self._counts.get(rank, 0)
        self._counts[rank] = index + 1
        self._made += 1
        stream = Stream(rank, index, self._made, 0 if self.running is None else self.running.now)
        stream.last = self.steps if self.running is not None else 0
        stream.greenlet = greenlet(lambda: self._live(stream, function))
        if self._hub is not None:
            stream.greenlet.parent = self._hub
        self.streams.append(stream)
        self._turns.begin(stream)
        return stream

    def _live(self, stream: Stream, function: Callable[[], object]) -> None:
        try:
            with np.errstate(over="ignore"):  # integers wrap around, as they do in compiled loops
                function()
        except BaseException as error:
            if not self.over:
                self.fault = stream, error
        self.streams.remove(stream)
        self._turns.end(stream)

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
                if self._beginner is not None:
                    beginner, self._beginner = self._beginner, None
                    beginner.greenlet.switch()
                    continue
                self.running = None
                if not self._pass_on(None):
                    self.leave(deadlock(self.streams))
            if self._error is not None:
                raise self._error
        finally:
            self._end()
            self.running = self._turn.rank = self._hub = None
            here.interpreter = before

    def _end(self) -> None:
        """End the remaining streams: their waits, and the next primitives that they call, raise."""
        self.over = True
        for stream in list(self.streams):
            self.running, self._turn.rank = stream, stream.rank
            if stream.greenlet:  # it has begun
                self.forced = True
                stream.greenlet.throw(Aborted())
        self.streams.clear()

    # Scheduling points.

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out one primitive, once this stream's turn comes."""
        stream = self.running
        assert stream is not None
        if self.witnessed and args and type(args[0]) is Witnessed:
            args = plain(args)
        cost = self._costs.get(meaning)
        if cost is None:
            return self._aside(stream, meaning, args)
        if self.over:
            raise GreenletExit
        if stream.fresh:
            stream.fresh = False
        elif len(self._ready) > 1 or self._timed:
            by_time = self._by_time
            if by_time is None or self._timed or self._turns.pausing:
                self._pass_on(stream)
            elif (chosen := by_time.swap(stream)) is not stream:
                self._switch(chosen)
        self.steps += 1
        if self.steps >= self._alarm:
            self._look_up()
        stream.last = self.steps
        stream.now += cost
        if self.trace is not None:
            self.trace.append((stream.rank, stream.index, meaning.__name__, where(sys._getframe(1))))
        special = self._special.get(meaning)
        if special is not None:
            return special(stream, *args)
        if not self._timed:
            return meaning(*args)
        result = meaning(*args)
        if changed(meaning, args, result):
            self._turns.vain = 0
        return result

    def charge(
        self, loop: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Advance virtual time by the charge of a loop over local data; return the arguments for its machine code."""
        self.pass_time(self._charges.looping(args))
        return handed(loop, args, options) if self.witnessed else (args, options)

    def pass_time(self, nanoseconds: int) -> None:
        """Advance the virtual time of the running stream."""
        if self.running is not None:
            self.running.now += nanoseconds

    def time(self) -> int:
        """Return the virtual time of the running stream, in ns."""
        return 0 if self.running is None else self.running.now

    def _aside(self, stream: Stream, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Carry out a primitive that touches no shared word."""
        if meaning in CLOCKS:
            stream.now += self._charges.clock
            return stream.now
        return meaning(*args)

    def _pass_on(self, stream: Stream | None) -> bool:
        """Let the next stream run; return when the calling one is chosen again, or False at once if none can run.

        ``stream`` is the calling stream, if it may go on.
        """
        try:
            chosen = self._turns.next(stream, self.steps)
        except ScheduleError as error:
            self.leave(error)
            return True
        if chosen is None:
            return False
        if chosen is stream:
            self._turns.resume(stream)
            return True
        self._turns.change(self.running, chosen)
        self._switch(chosen)
        return True

    def _switch(self, chosen: Stream) -> None:
        """Let another stream run.  Return when the calling stream is chosen again."""
        at_once = self.running is None or chosen.greenlet
        self.running, self._turn.rank = chosen, chosen.rank
        if at_once:
            chosen.greenlet.switch()
        else:  # begin it on the hub's stack: on this stack, each stream would begin deeper than the previous one
            self._beginner = chosen
            self._hub.switch()

    # Primitives that schedule.

    def _pause(self, stream: Stream) -> None:
        turns = self._turns
        turns.vain += 1
        if len(self._ready) == 1 and not self._timed:
            return
        turns.pause(stream, self.steps)
        self._pass_on(stream)
        turns.resume(stream)
        stream.fresh = True

    def _futex_wait(self, stream: Stream, words: Any, i: Any, expected: Any, nanoseconds: Any) -> None:
        if (int(words[i]) ^ int(expected)) & _LOW:
            return
        self._turns.sleep(stream, address_of(words, i), int(nanoseconds))
        if not self._pass_on(None):
            self._hub.switch()
        stream.fresh = True

    def _futex_wake(self, stream: Stream, words: Any, i: Any, count: Any) -> int:
        sleepers = self._turns.sleepers.on(address_of(words, i), int(count))
        for sleeper in sleepers:
            self._turns.wake(sleeper, stream.now)
        return len(sleepers)

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
            self._alarm = min(self.steps + _LOOK, self.limit)
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
            for stream in self._turns.sleepers.everybody():
                self._turns.wake(stream, 0)
        else:
            self._leaving = True
            if self.running is not None:
                self._hub.switch()

    def hurry(self) -> None:
        """Let the run go on for at most GRACE further steps."""
        self.limit = min(self.limit, self.steps + GRACE)
        self._alarm = min(self._alarm, self.limit)
