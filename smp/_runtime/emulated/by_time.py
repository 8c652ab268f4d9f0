"""The streams that wait for their turn, in the order of virtual time.

    waiting    a heap of (time, number of the stream): the time is the stream's own, or the deadline of its sleep
    held       pausing streams whose turn had come too early, by their previous pause: others must make a step first

An entry is not removed when its stream is chosen in another way, is woken or ends.  Its stamp is then an old one, and
it is dropped when it comes to the top.  So a turn takes time that grows with the logarithm of the number of streams.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace

from .schedules import Stream

_last = operator.attrgetter("last")
Entry = tuple[int, int, int, Stream]
"""Time or step count, number and stamp of a stream, and the stream."""


class ByTime:
    """The streams that wait for their turn.

    Parameters
    ----------
    ready : sequence of Stream
        The streams that can run, with the one that runs.  The emulator changes it.
    """

    def __init__(self, ready: Sequence[Stream]) -> None:
        self._ready = ready
        self._waiting: list[Entry] = []
        self._held: list[Entry] = []
        self._oldest: Stream | None = None  # the stream whose last step is the oldest, if it was not changed since
        self._least = 0  # that step

    def add(self, stream: Stream) -> None:
        """Add a stream that does not run, or whose time or sleep was changed."""
        stream.stamp += 1
        time = stream.now if stream.until is None else stream.until
        heappush(self._waiting, (time, stream.number, stream.stamp, stream))

    def began(self, stream: Stream) -> None:
        """Add a stream that can run from now on."""
        if stream.last < self._least:
            self._oldest, self._least = stream, stream.last
        self.add(stream)

    def swap(self, running: Stream) -> Stream:
        """Return the stream whose turn it is, and add the running one if it is another; no stream may be pausing."""
        waiting, now, number = self._waiting, running.now, running.number
        while waiting:
            time, other, stamp, stream = waiting[0]
            if stamp != stream.stamp:
                heappop(waiting)
                continue
            if now < time or (now == time and number < other):
                break
            stream.stamp += 1
            running.stamp += 1
            heapreplace(waiting, (now, number, running.stamp, running))
            return stream
        return running

    def first(self, running: Stream | None, steps: int) -> Stream | None:
        """Return the stream whose turn it is, and drop it; None if none can run.

        Parameters
        ----------
        running : Stream or None
            The stream that may go on; it was not added.
        steps : int
            Number of steps made in this run.
        """
        waiting = self._waiting
        if self._held:
            self._release()
        may = running is not None and self._may(running, steps)
        while waiting:
            time, number, stamp, stream = waiting[0]
            if stamp != stream.stamp:
                heappop(waiting)
                continue
            if may and running is not None and (running.now, running.number) < (time, number):
                return running
            heappop(waiting)
            if not stream.pausing or self._may(stream, steps):
                stream.stamp += 1
                return stream
            heappush(self._held, (stream.paused_before, number, stamp, stream))
        return running if may else self._first_of_all(running)

    def _may(self, stream: Stream, steps: int) -> bool:
        """Return False if a stream pauses, and not all others have had their turns."""
        return not stream.pausing or (stream.paused != steps and self._least_step() > stream.paused_before)

    def _least_step(self) -> int:
        oldest = self._oldest
        if oldest is None or oldest.last != self._least or oldest.word or oldest.ended:
            oldest = self._oldest = min(self._ready, key=_last)
            self._least = oldest.last
        return self._least

    def _release(self) -> None:
        """Add the held streams again for which all others have made their steps."""
        held, least = self._held, self._least_step()
        while held and held[0][0] < least:
            _, _, stamp, stream = heappop(held)
            if stamp == stream.stamp:
                self.add(stream)

    def _first_of_all(self, running: Stream | None) -> Stream | None:
        """Return the earliest stream if all that can run are pausing, and none has waited long enough."""
        found = [entry[3] for entry in self._held if entry[2] == entry[3].stamp]
        if running is not None:
            found.append(running)
        if not found:
            return None
        first = min(found, key=lambda stream: (stream.now, stream.number))
        if first is not running:
            first.stamp += 1
        return first
