"""Finds races: two accesses to one element, at least one of them a write, whose order nothing decides.

    clock of a stream    for each stream, how many of its releases come before the next step of this one
    clock of a word      the same, for the streams that have stored in the word
    access               a stream, and the number of its releases so far

    store, exchange, ...     releases: the word's clock takes in the stream's
    load, exchange, ...      acquires: the stream's clock takes in the word's
    begin of a stream        takes over the clock of the stream that started it

An access comes before a step of another stream if that stream has taken in the release after the access.  Barriers,
cells and collectives consist of loads and stores, and so order accesses by these two rules.

A race shows in every schedule in which both accesses are made without such an order, also if they are far apart.  If
all schedules of the other steps have none, then no order of the accesses could change what the program does.  So
accesses need not be steps (Musuvathi and Qadeer, Iterative context bounding, section 3; clocks: Flanagan and Freund,
FastTrack, section 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

READ, WRITE, ATOMIC_READ, ATOMIC_WRITE, COPY_OUT = range(5)
VERBS = ("reads", "writes", "loads", "stores", "copies to")
_CONFLICTS = {
    READ: {WRITE, ATOMIC_WRITE, COPY_OUT},
    WRITE: {READ, WRITE, ATOMIC_READ, ATOMIC_WRITE, COPY_OUT},
    ATOMIC_READ: {WRITE, COPY_OUT},
    ATOMIC_WRITE: {READ, WRITE, COPY_OUT},
    COPY_OUT: {READ, WRITE, ATOMIC_READ, ATOMIC_WRITE},
}
"""Two copies to one element are looked at in ``overlaps``, where it counts whether their values differ."""
_Clock = dict[int, int]
_NEVER: tuple[int, _Clock] = (-1, {})
Units = NDArray[np.int64]


class Earlier(NamedTuple):
    """An earlier access that is in a race with one that is made now.

    Attributes
    ----------
    unit : int
        Number of the element.
    stream : int
        Number of the stream that made it.
    kind : int
        READ, WRITE, ATOMIC_READ, ATOMIC_WRITE or COPY_OUT.
    place : str
        Its line.
    """

    unit: int
    stream: int
    kind: int
    place: str


class Races:
    """The clocks of the streams and words of one run, and the accesses to its arrays."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._numbers: dict[str, int] = {}
        self.begin()

    def begin(self) -> None:
        """Forget the previous run."""
        self._clocks: dict[int, _Clock] = {}
        self._words: dict[int, tuple[int, _Clock]] = {}  # with the stream that stored last
        self._accesses: dict[int, dict[tuple[int, int], tuple[Units, NDArray[np.int32]]]] = {}

    def starts(self, stream: int, parent: int | None) -> None:
        """Begin with a stream, which another one has started, or none."""
        clock = {} if parent is None else dict(self._clocks[parent])
        self._clocks[stream] = clock | {stream: 1}
        if parent is not None:
            self._clocks[parent][parent] += 1

    def order(self, stream: int, word: int, acquires: bool, releases: bool, replaces: bool) -> None:
        """Let a stream see what came before the stores in a word, and those who load it see what the stream has done.

        Parameters
        ----------
        stream, word : int
            The address of the word stands for it.
        acquires, releases : bool
            Whether the operation loads the word, and whether it stores in it.
        replaces : bool
            True if a load of the word sees this store alone, False if the operation added to what was there.
        """
        clock = self._clocks[stream]
        last, before = self._words.get(word, _NEVER)
        if acquires and last != stream:
            _take_in(clock, before)
        if releases:
            after = dict(clock)
            if not replaces and last != stream:
                _take_in(after, before)
            self._words[word] = stream, after
            clock[stream] += 1

    def access(self, stream: int, array: int, size: int, units: Units, kind: int, place: str) -> Earlier | None:
        """Note an access, and return an earlier one with which it is in a race.

        Parameters
        ----------
        stream : int
        array, size : int
            Address of the array, and its number of elements.
        units : int64 array
            Numbers of the elements that are accessed.
        kind : int
        place : str
            The line.
        """
        clock, of_array = self._clocks[stream], self._accesses.setdefault(array, {})
        for (other, before), (releases, lines) in of_array.items():
            if other != stream and before in _CONFLICTS[kind]:
                late = releases[units] > clock.get(other, 0)
                if late.any():
                    unit = int(units[late.argmax()])
                    return Earlier(unit, other, before, self._lines[lines[unit]])
        if (stream, kind) not in of_array:
            of_array[stream, kind] = np.zeros(size, np.int64), np.zeros(size, np.int32)
        releases, lines = of_array[stream, kind]
        releases[units], lines[units] = clock[stream], self._number(place)
        return None

    def _number(self, place: str) -> int:
        if place not in self._numbers:
            self._numbers[place] = len(self._lines)
            self._lines.append(place)
        return self._numbers[place]


def _take_in(clock: _Clock, other: _Clock) -> None:
    for stream, releases in other.items():
        if releases > clock.get(stream, 0):
            clock[stream] = releases


def raise_it(error: BaseException) -> None:
    """Raise an error."""
    raise error
