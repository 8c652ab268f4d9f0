"""Chooses the schedules of a program such that those which differ only in the order of independent steps are run once.

    point           a choice among several streams, at which some choices are asked for
    a schedule      the choices up to a point, another choice there, and then what the streams do by themselves
    after its run   the races of its events ask for further choices, at points of the same schedule

Without a bound, the deepest choice that was asked for is tried next, and each further schedule knows by `asleep` sets
which streams need not be chosen.  With a bound, choices with fewer preemptions are tried first.  Then the first failure
has the fewest preemptions, and no stream is asleep: the order that an asleep stream stands for may be beyond the bound.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence

from ..emulated.effects import Effects, Event, Key, Redundant
from ..emulated.schedules import Choices, ListedStream
from .reversals import HappensBefore


class Point:
    """A choice among several streams.

    Attributes
    ----------
    before : Point or None
        The previous point of the schedule.
    taken : int
        The choice that was made there; the choice of the first point's predecessor is 0.
    streams : tuple
        The streams by their choices.
    goes_on : bool
        True if choice 0 lets the stream go on whose turn it was, so all other choices are preemptions.
    cost : int
        Number of preemptions before this point.
    asleep : dict
        Streams that need not be chosen here, with their next events.
    done : dict
        Streams that were chosen here, with the events that they then made.
    asked : set of int
        Choices that were made here, or will be.
    """

    __slots__ = ("asked", "asleep", "before", "cost", "depth", "done", "goes_on", "streams", "taken")

    def __init__(self, before: Point | None, taken: int, streams: tuple[Key, ...], goes_on: bool) -> None:
        self.before, self.taken, self.streams, self.goes_on = before, taken, streams, goes_on
        self.cost = 0 if before is None else before.after(taken)
        self.depth: int = 0 if before is None else before.depth + 1
        self.asleep: dict[Key, Event] = {}
        self.done: dict[Key, Event] = {}
        self.asked: set[int] = set()

    def after(self, choice: int) -> int:
        """Return the number of preemptions after a choice."""
        return self.cost + (self.goes_on and choice > 0)


class Branching(Choices):
    """Follows the choices up to a point and one choice there, and makes new points after that.

    Parameters
    ----------
    point : Point or None
        None for the first schedule, which makes no other choice.
    choice : int
    effects : Effects
        Records the events of the run.

    Attributes
    ----------
    path : list of Point
        The points of the schedule so far.
    """

    def __init__(self, point: Point | None, choice: int, effects: Effects) -> None:
        self._effects, self._known = effects, list[Point]()
        choices = array("H", [choice] if point is not None else [])
        while point is not None:
            self._known.append(point)
            choices.append(point.taken)
            point = point.before
        if choices:
            choices.pop()  # before the first point
        choices.reverse()
        self._known.reverse()
        super().__init__(choices)

    def again(self) -> None:
        super().again()
        self.path = list[Point]()

    @property
    def preemptions(self) -> int:
        """Number of preemptions of the schedule so far."""
        return self.path[-1].after(self.taken[-1]) if self.path else 0

    def choose(self, current: ListedStream | None, candidates: Sequence[ListedStream]) -> ListedStream:
        at, known, effects = len(self.path), self._known, self._effects
        effects.settle()
        if at < len(known):
            point, chosen = known[at], super().choose(current, candidates)
            if at == len(known) - 1:
                effects.asleep = {**point.asleep, **point.done}
        else:
            others = [s for s in candidates if s is not current]
            streams = tuple((s.rank, s.index) for s in ([] if current is None else [current]) + others)
            before = self.path[-1] if self.path else None
            point = Point(before, self.taken[-1] if self.path else 0, streams, current is not None)
            point.asleep = effects.asleep
            choice = next((k for k, stream in enumerate(streams) if stream not in point.asleep), None)
            if choice is None:
                raise Redundant("another schedule has these steps in another order")
            point.asked.add(choice)
            chosen = current if current is not None and choice == 0 else others[choice - (current is not None)]
            self.record(choice, len(streams), current is not None)
        self.path.append(point)
        effects.point = point
        return chosen


class Reduced:
    """The schedules that have to be run still.

    Parameters
    ----------
    most : int or None
        Most preemptions of a schedule.
    effects : Effects
        Records the events of each run.

    Attributes
    ----------
    done : int
        All schedules with at most this number of preemptions were run; -1 if not even those without any.
    beyond : int
        Number of choices that were left out because they have more preemptions than ``most``.
    """

    def __init__(self, most: int | None, effects: Effects) -> None:
        self._most, self._effects = most, effects
        self._todo: list[tuple[int, int, Point | None, int]] = [(0, 0, None, 0)]
        self._pushed = self.beyond = 0
        self.done = -1

    def __bool__(self) -> bool:
        return bool(self._todo)

    def next(self) -> Branching:
        """Return the next schedule to run."""
        order, _, point, choice = heapq.heappop(self._todo)
        if self._most is not None:
            self.done = max(self.done, order - 1)
        self._begin = 0 if point is None else point.depth
        return Branching(point, choice, self._effects)

    def ran(self, schedule: Branching) -> None:
        """Ask for the schedules that reverse the races of one that was run."""
        events, bounded = self._effects.events, self._most is not None
        for event in [] if bounded else events:
            if event.point is not None and event.point.depth >= self._begin:
                event.point.done[event.stream] = event
        new = (k for k, event in enumerate(events) if event.point is not None and event.point.depth == self._begin)
        begin = next(new, 0) if self._begin else 0  # races of earlier events are known from another schedule
        order = HappensBefore(events)
        for a, b in order.reversible(begin, not bounded):
            if bounded:
                self._ask(events[a].point, [events[b].stream])
                while a and events[a - 1].stream == events[a].stream:
                    a -= 1
                self._ask(events[a].point, [events[b].stream])
            elif events[a].point is not None:
                point, firsts = events[a].point, order.initials(a, b)
                if not any(
                    point.streams[choice] in firsts for choice in point.asked
                ) and point.asleep.keys().isdisjoint(firsts):
                    self._ask(point, firsts)
        if not self._todo and self._most is not None:
            self.done = self._most

    def _ask(self, point: Point | None, firsts: list[Key]) -> None:
        """Ask for one of some streams to be chosen at a point, or for all if none of them is a candidate there."""
        if point is None:
            return
        choices = [k for k, stream in enumerate(point.streams) if stream in firsts][:1] or range(len(point.streams))
        for choice in choices:
            if choice in point.asked or point.streams[choice] in point.asleep:
                continue
            point.asked.add(choice)
            cost = point.after(choice)
            if self._most is not None and cost > self._most:
                self.beyond += 1
                continue
            self._pushed -= 1
            heapq.heappush(self._todo, (-point.depth if self._most is None else cost, self._pushed, point, choice))
