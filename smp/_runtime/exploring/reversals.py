"""Finds the pairs of events of a run whose order another schedule should reverse.

    a -> b      a happens before b: they depend on each other, or a enabled b, or both are of one stream; and chains
    a race      a -> b without anything between them, of different streams, and b is possible without a

Two schedules that agree on the order of dependent events have the same outcome.  So it suffices to reverse the races,
and to find for each a stream that may go first instead (Abdulla, Aronis, Jonsson and Sagonas, Optimal dynamic partial
order reduction, section 4, source sets).

With a bound on preemptions, a schedule that begins with another order may cost more than one that an unreduced search
has run.  The last dependent event of every other stream is then reversed, whether there is something between them or
not (Coons, Musuvathi and McKinley, Bounded partial-order reduction, section 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..emulated.effects import Event, Key

Clock = dict[Key, int]
"""For each stream, how many of its events happen before, or are, the one to which the clock belongs."""


class HappensBefore:
    """The order of the events of one run.

    Parameters
    ----------
    events : sequence of Event
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._clocks: list[Clock] = []
        self._numbers: list[int] = []  # of each event among those of its stream, from 1
        self._last: dict[Key, int] = {}
        self._enabled: dict[Key, Clock] = {}
        self._readers: dict[int, dict[Key, int]] = {}
        self._writers: dict[int, dict[Key, int]] = {}

    def before(self, a: int, b: int) -> bool:
        """Return True if event ``a`` happens before event ``b``, or is event ``b``."""
        return self._in(a, self._clocks[b])

    def _in(self, a: int, clock: Clock) -> bool:
        return clock.get(self.events[a].stream, 0) >= self._numbers[a]

    def reversible(self, begin: int, immediate: bool) -> Iterator[tuple[int, int]]:
        """Yield pairs of events to reverse, of which the later is not before event ``begin``.

        Parameters
        ----------
        begin : int
        immediate : bool
            True for the races; False for all dependent events of which nothing makes the later one possible.
        """
        for b, event in enumerate(self.events):
            clock = dict(self._clocks[self._last[event.stream]]) if event.stream in self._last else {}
            enabled = self._enabled.setdefault(event.stream, {})
            if event.enabler >= 0:
                take_in(enabled, self._clocks[event.enabler])
                take_in(clock, enabled)
            rivals = self._rivals(event)
            if b >= begin:
                for a in rivals:
                    if immediate:
                        between = self._in(a, clock) or any(a != other and self.before(a, other) for other in rivals)
                    else:
                        between = self._in(a, enabled)
                    if not between:
                        yield a, b
            for a in rivals:
                take_in(clock, self._clocks[a])
            self._enter(b, event, clock)

    def _rivals(self, event: Event) -> list[int]:
        """Return the last event of each other stream on which an event depends."""
        last: dict[Key, int] = {}
        for touched, by in (
            (event.reads, (self._writers,)),
            (event.writes, (self._writers, self._readers)),
        ):
            for words in by:
                for word in touched:
                    for stream, a in words.get(word, {}).items():
                        if stream != event.stream and a > last.get(stream, -1):
                            last[stream] = a
        return list(last.values())

    def _enter(self, b: int, event: Event, clock: Clock) -> None:
        number = clock.get(event.stream, 0) + 1
        clock[event.stream] = number
        self._clocks.append(clock)
        self._numbers.append(number)
        self._last[event.stream] = b
        for words, touched in ((self._readers, event.reads), (self._writers, event.writes)):
            for word in touched:
                words.setdefault(word, {})[event.stream] = b

    def initials(self, a: int, b: int) -> list[Key]:
        """Return the streams one of which must go first, where event ``a`` was chosen, to reverse ``a`` and ``b``.

        They are the streams of those events that come first in a run without ``a`` and what follows from it.
        """
        first: dict[Key, int] = {}
        found = []
        for c in (*range(a + 1, b), b):
            stream = self.events[c].stream
            if stream in first or (c != b and self.before(a, c)):
                continue
            clock = self._clocks[c] if c != b else self._without(b, a)
            if all(clock.get(other, 0) < number for other, number in first.items()):
                found.append(stream)
            first[stream] = self._numbers[c] if c != b else 0
        return found

    def _without(self, b: int, a: int) -> Clock:
        """Return what happens before event ``b``, of which only ``a`` comes directly before it."""
        event = self.events[b]
        clock = dict(self._clocks[self._last[event.stream]]) if event.stream in self._last else {}
        if event.enabler >= 0:
            take_in(clock, self._clocks[event.enabler])
        for rival in self._rivals(event):
            if rival != a:
                take_in(clock, self._clocks[rival])
        return clock


def take_in(clock: Clock, other: Clock) -> None:
    """Add to a clock what happens before, or is, the event of another one."""
    for stream, number in other.items():
        if number > clock.get(stream, 0):
            clock[stream] = number
