"""The emulator runs streams as greenlets, one step at a time.

    stream      step(primitive) ── scheduling point ── the primitive ── on to the next one
                                     │ the schedule chooses the next stream; this one goes on when it is chosen again
    asleep      in a futex, until a wake-up of the same word or a deadline of virtual time
    pausing     not chosen before the others had a turn

A step is one primitive on shared words, together with the plain Python code after it.  Between two steps of a stream,
the other streams may make any number of steps, or none.  All streams run in one thread, so each step is atomic.

By a *pause*, a stream says that nothing will change for it before another stream has made a step.  It is chosen again
only after another stream has made a step, and after every runnable stream has made one since the pausing stream's
previous pause.  So if several streams wait in loops, none of them keeps the stream that they wait for from its turn.
(Musuvathi and Qadeer, Fair stateless model checking, section 3, have such a rule.)

When no stream can run, or when the streams have only paused for a while (`Schedule.patience`), the first deadline
comes.  If no stream can run and there is no deadline, the run is in a deadlock.
"""

from __future__ import annotations

import bisect
import operator
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
from .sleepers import Sleepers, address_of

GRACE = 100_000
"""Number of steps that the streams may still make after a run has failed."""
_LOOK = 5_000  # steps between two checks for Ctrl-C
_LOW = 0xFFFFFFFF  # the bits that a futex compares

Step = tuple[int, int, str, str]
_number, _last = operator.attrgetter("number"), operator.attrgetter("last")


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
        self._ready: list[Stream] = []
        self._sleepers = Sleepers(self._charges.woken)
        self._timed = self._sleepers.timed
        self._pausing = 0
        self._vain = 0  # number of pauses since a word was last changed
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
        self._ready.append(stream)
        return stream

    def _live(self, stream: Stream, function: Callable[[], object]) -> None:
        try:
            with np.errstate(over="ignore"):  # integers wrap around, as they do in compiled loops
                function()
        except BaseException as error:
            if not self.over:
                self.fault = stream, error
        self.streams.remove(stream)
        if stream in self._ready:  # else it was asleep, in a run that is over
            self._ready.remove(stream)

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
                candidates = self._candidates(None)
                self.running = None
                if candidates:
                    self._give(None, candidates)
                else:
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
            self._offer(stream)
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
            self._vain = 0
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

    def _offer(self, stream: Stream) -> None:
        """Let the schedule choose whether this stream goes on or another does."""
        if self._timed and not self.schedule.early:
            self._come_due(stream.now)
        candidates = self._candidates(stream)
        if len(candidates) > 1 or candidates[0] is not stream:
            self._give(None if stream.pausing else stream, candidates)

    def _candidates(self, stream: Stream | None) -> list[Stream]:
        """Return the streams that can make the next step."""
        found = self._ready
        if self._pausing and len(found) > 1:
            least = min(map(_last, found))  # a pausing stream counts: this pause is a step since its previous one
            found = [s for s in found if not s.pausing or (least > s.paused_before and s.paused != self.steps)] or found
        if self._timed:
            if not found or self._vain > self.schedule.patience * len(found):
                return self._sleepers.by_deadline()[:1]
            if self.schedule.early:
                found = found + self._sleepers.by_deadline()
        return found

    def _give(self, current: Stream | None, candidates: list[Stream]) -> None:
        """Let one of the candidates run. Return when the calling stream is chosen again."""
        try:
            chosen = candidates[0] if len(candidates) == 1 else self.schedule.choose(current, candidates)
        except ScheduleError as error:
            self.leave(error)
            return
        if chosen is self.running and not chosen.word:
            self._resume(chosen)
            return
        if chosen.word:
            assert chosen.until is not None
            self._wake(chosen, chosen.until)
        self._resume(chosen)
        at_once = self.running is None or chosen.greenlet
        self.running, self._turn.rank = chosen, chosen.rank
        if at_once:
            chosen.greenlet.switch()
        else:  # begin it on the hub's stack: on this stack, each stream would begin deeper than the previous one
            self._beginner = chosen
            self._hub.switch()

    def _resume(self, stream: Stream) -> None:
        if stream.pausing:
            stream.pausing = False
            self._pausing -= 1

    # Primitives that schedule.

    def _pause(self, stream: Stream) -> None:
        self._vain += 1
        if len(self._ready) == 1 and not self._timed:
            return
        stream.paused_before, stream.paused = stream.paused, self.steps
        stream.pausing = True
        self._pausing += 1
        self._offer(stream)
        self._resume(stream)
        stream.fresh = True

    def _futex_wait(self, stream: Stream, words: Any, i: Any, expected: Any, nanoseconds: Any) -> None:
        if (int(words[i]) ^ int(expected)) & _LOW:
            return
        self._ready.remove(stream)
        self._sleepers.add(stream, address_of(words, i), int(nanoseconds))
        self._vain = 0
        candidates = self._candidates(None)
        if candidates:
            self._give(None, candidates)
        else:
            self._hub.switch()
        stream.fresh = True

    def _futex_wake(self, stream: Stream, words: Any, i: Any, count: Any) -> int:
        sleepers = self._sleepers.on(address_of(words, i), int(count))
        for sleeper in sleepers:
            self._wake(sleeper, stream.now)
        return len(sleepers)

    def _wake(self, stream: Stream, now: int) -> None:
        """End a stream's sleep at time ``now``, which is its waker's time or its deadline."""
        self._sleepers.remove(stream, now)
        self._vain = 0
        bisect.insort(self._ready, stream, key=_number)

    def _come_due(self, now: int) -> None:
        """Wake the sleepers whose deadline has come."""
        for sleeper in [s for s in self._timed if s.until is not None and s.until <= now]:
            assert sleeper.until is not None
            self._wake(sleeper, sleeper.until)

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
            for stream in self._sleepers.everybody():
                self._wake(stream, 0)
        else:
            self._leaving = True
            if self.running is not None:
                self._hub.switch()

    def hurry(self) -> None:
        """Let the run go on for at most GRACE further steps."""
        self.limit = min(self.limit, self.steps + GRACE)
        self._alarm = min(self._alarm, self.limit)
