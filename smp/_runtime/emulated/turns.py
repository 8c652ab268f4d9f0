"""The streams of an emulated machine that can run, pause or sleep, and which of them goes next.

    ready      can run; some of them are pausing
    pausing    not chosen before another stream has made a step, and every ready one since its previous pause
    asleep     in a futex, until a wake-up of the same word or a deadline of virtual time

A stream that pauses says that nothing will change for it before another stream has made a step.  So if several streams
wait in loops, none of them keeps the stream that they wait for from its turn.  (Musuvathi and Qadeer, Fair stateless
model checking, section 3, have such a rule.)

When no stream is ready, or when the streams have only paused for a while (`Schedule.patience`), the first deadline
comes.
"""

from __future__ import annotations

import bisect
import operator

from .schedules import ListedStream, Schedule
from .sleepers import Sleepers

_number, _last = operator.attrgetter("number"), operator.attrgetter("last")


class Turns:
    """The streams of a run.

    Parameters
    ----------
    schedule : Schedule
        Rule that chooses one of several streams.
    woken : int
        Price of being woken, in ps.

    Attributes
    ----------
    ready : list of Stream
        The streams that can run, and the one that runs, in the order of their numbers.
    timed : list of Stream
        The sleeping streams that have a deadline.
    vain : int
        Number of pauses since a word was last changed.
    pausing : int
        Number of streams that pause.
    """

    def __init__(self, schedule: Schedule, woken: int) -> None:
        self.schedule = schedule
        self.ready: list[ListedStream] = []
        self.sleepers = Sleepers(woken)
        self.timed = self.sleepers.timed
        self.vain = self.pausing = 0

    def begin(self, stream: ListedStream) -> None:
        """Add a stream, or one that was woken."""
        bisect.insort(self.ready, stream, key=_number)

    def end(self, stream: ListedStream) -> None:
        """Drop a stream that has ended."""
        if not stream.word:
            self._drop(stream)

    def _drop(self, stream: ListedStream) -> None:
        del self.ready[bisect.bisect_left(self.ready, stream.number, key=_number)]

    def pause(self, stream: ListedStream, steps: int) -> None:
        """Let a stream pause, after a number of steps of the run."""
        stream.paused_before, stream.paused = stream.paused, steps
        stream.pausing = True
        self.pausing += 1

    def resume(self, stream: ListedStream) -> None:
        """End a stream's pause, if it pauses."""
        if stream.pausing:
            stream.pausing = False
            self.pausing -= 1

    def sleep(self, stream: ListedStream, address: int, nanoseconds: int) -> None:
        """Let a stream sleep on the word at an address."""
        self._drop(stream)
        self.sleepers.add(stream, address, nanoseconds)
        self.vain = 0

    def wake(self, stream: ListedStream, now: int) -> None:
        """End a stream's sleep at time ``now``, which is its waker's time or its deadline."""
        self.sleepers.remove(stream, now)
        self.vain = 0
        self.begin(stream)

    def next(self, stream: ListedStream | None, steps: int) -> ListedStream | None:
        """Return the stream that makes the next step; None if none can.

        Parameters
        ----------
        stream : ListedStream or None
            The stream that has run, if it may go on.
        steps : int
            Number of steps made in this run.
        """
        if stream is not None and self.timed and not self.schedule.early:
            self._come_due(stream.now)
        candidates = self._candidates(steps)
        if len(candidates) < 2:
            return candidates[0] if candidates else None
        return self.schedule.choose(None if stream is None or stream.pausing else stream, candidates)

    def _candidates(self, steps: int) -> list[ListedStream]:
        """Return the streams that can make the next step."""
        found = self.ready
        if self.pausing and len(found) > 1:
            least = min(map(_last, found))  # a pausing stream counts: this pause is a step since its previous one
            found = [s for s in found if not s.pausing or (least > s.paused_before and s.paused != steps)] or found
        if self.timed:
            stuck = not found or self.vain > self.schedule.patience * len(found)
            if self.schedule.early:  # any deadline may be over, so that this depends on no step of another stream
                return ([] if stuck else found) + self.sleepers.by_deadline()
            if stuck:
                return self.sleepers.by_deadline()[:1]
        return found

    def _come_due(self, now: int) -> None:
        """Wake the sleepers whose deadline has come."""
        for sleeper in [s for s in self.timed if s.until is not None and s.until <= now]:
            assert sleeper.until is not None
            self.wake(sleeper, sleeper.until)

    def change(self, chosen: ListedStream) -> None:
        """Let another stream run; its deadline comes if it sleeps."""
        if chosen.until is not None:
            self.wake(chosen, chosen.until)
        self.resume(chosen)
