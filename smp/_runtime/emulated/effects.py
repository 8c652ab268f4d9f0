"""Records which words each step of a program touches, so that an exploration knows which steps depend on each other.

    event      what a stream does from one scheduling point to the next: a primitive, and the plain code after it
    depend     two events of different streams that touch the same word, and one of them writes to it
    enabled    an event that another stream made possible: it started the stream, or woke it

The words are numbered by their places in memory, in units of eight bytes.  Arrays that ``setup`` makes lie elsewhere in
each schedule, so their words are numbered from the beginning of the array.  Other things that order steps count as
words, too: the sleepers of a futex, the networks, and the streams of a processor.  A pause changes which streams may
go next; it writes to the word `TURNS`, which each event reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import ScheduleError

from ..loops import atomics
from ..memory.witness import Root
from .primitives import ACCESSES, changed, meaning_of
from .schedules import ListedStream, Stream
from .sleepers import address_of

TURNS, _NETWORKS, _STREAMS = 0, 1, 2
"""Words that are not in memory.  The streams of processor r have the word ``_STREAMS + r``."""
_UNIT = 3  # a word's number is its address shifted by this
_GIVEN = 1 << 58  # distance between the words of two arrays of ``setup``
_LOADS = {meaning_of(atomics.load)}
_STORES = {meaning_of(p) for p in (atomics.store, atomics.store_release, atomics.exchange, atomics.fetch_add)}
_COMPARE, _COMPARE_PAIR = meaning_of(atomics.compare_exchange), meaning_of(atomics.compare_exchange_pair)

Key = tuple[int, int]
"""A stream by its processor and its number there; both are the same in all schedules."""


class Redundant(ScheduleError):
    """The rest of a schedule differs from one that was run only in the order of independent steps."""


class Event:
    """The part of a stream's work between two scheduling points.

    Attributes
    ----------
    stream : tuple of int
    enabler : int
        Number of the event that made this one possible; -1 if it was possible before.
    reads, writes : set of int
        The words that it touches.
    point : object
        The point of the schedule at which it was chosen; None if there was no other candidate.
    """

    __slots__ = ("enabler", "point", "reads", "stream", "writes")

    def __init__(self, stream: Key, enabler: int, point: Any) -> None:
        self.stream, self.enabler, self.point = stream, enabler, point
        self.reads, self.writes = {TURNS}, set[int]()

    def depends_on(self, other: Event) -> bool:
        """Return True if the order of this event and one of another stream may make a difference."""
        mine, theirs = self.writes, other.writes
        return not (mine.isdisjoint(theirs) and mine.isdisjoint(other.reads) and theirs.isdisjoint(self.reads))


class Effects:
    """The events of one run.

    Attributes
    ----------
    events : list of Event
    point : object
        The point of the schedule at which the next event was chosen, or None.
    asleep : dict
        Streams whose next events need not be tried here, with these events.  A stream wakes when an event comes on
        which its own depends.
    leave : callable
        Ends the run with an error.
    """

    def __init__(self, leave: Callable[[BaseException], None]) -> None:
        self.leave = leave
        self.begin(())

    def begin(self, given: Sequence[NDArray[Any]]) -> None:
        """Begin another run, in which ``setup`` has made some arrays."""
        self.events: list[Event] = []
        self.point: Any = None
        self.asleep: dict[Key, Event] = {}
        self._settled = self._exposed = False
        self._enablers: dict[Key, int] = {}
        self._arrays: dict[int, tuple[Any, int, int]] = {}
        self._given = [(_address(a), a.nbytes, (k + 1) * _GIVEN) for k, a in enumerate(given)]

    # What the emulator reports.

    def starts(self, stream: Stream, parent: Stream | None) -> None:
        """Note that a stream has started another one."""
        if parent is not None:
            self.events[-1].writes.add(_STREAMS + stream.rank)
            self._enablers[stream.rank, stream.index] = len(self.events) - 1

    def begins(self, stream: Stream) -> None:
        """Begin with the next event, which is of a given stream."""
        self.settle()
        key = stream.rank, stream.index
        if key in self.asleep:
            self.leave(Redundant("another schedule has these steps in another order"))
            return
        event = Event(key, self._enablers.pop(key, -1), self.point)
        if self._exposed:
            event.writes.add(TURNS)
        self.events.append(event)
        self.point, self._settled = None, False

    def settle(self) -> None:
        """Wake the streams whose next events depend on the last one, which is over."""
        if self.asleep and self.events and not self._settled:
            last = self.events[-1]
            self.asleep = {key: event for key, event in self.asleep.items() if not event.depends_on(last)}
        self._settled = True

    def stepped(self, meaning: Callable[..., Any], args: tuple[Any, ...], result: Any) -> None:
        """Note the words that a primitive has touched."""
        if meaning in ACCESSES:
            return
        event = self.events[-1]
        if meaning in _LOADS:
            event.reads.add(self._word(args[0], args[1]))
        elif meaning in _STORES:
            event.writes.add(self._word(args[0], args[1]))
        elif meaning is _COMPARE or meaning is _COMPARE_PAIR:
            word = self._word(args[0], args[1])
            words = event.writes if changed(meaning, args, result) else event.reads
            words.update(range(word, word + 1 + (meaning is _COMPARE_PAIR)))
        else:
            (event.writes if changed(meaning, args, result) else event.reads).add(_NETWORKS)

    def paused(self) -> None:
        """Note that the running stream pauses."""
        self.events[-1].writes.add(TURNS)

    def compared(self, words: Any, i: Any, sleeps: bool) -> None:
        """Note that the running stream has looked whether it may sleep on a word."""
        event, word = self.events[-1], self._word(words, i)
        event.reads.add(word)
        if sleeps:
            event.writes.add(~word)

    def woke(self, words: Any, i: Any, sleepers: Sequence[ListedStream]) -> None:
        """Note that the running stream has woken others from a word.  Those with a deadline could go on before."""
        event, queue = self.events[-1], ~self._word(words, i)
        (event.writes if sleepers else event.reads).add(queue)
        for sleeper in sleepers:
            if sleeper.until is None:
                self._enablers[sleeper.rank, sleeper.index] = len(self.events) - 1

    def wakes(self, stream: ListedStream, words: Any, i: Any) -> None:
        """Begin with the event of a stream after its sleep on a word, from which it was woken or which was over."""
        woken = (stream.rank, stream.index) in self._enablers
        self.begins(stream)
        if not woken:
            self.events[-1].writes.add(~self._word(words, i))

    # What the witness reports.

    def touches(self, root: Root, units: NDArray[np.int64], writes: bool) -> None:
        """Note accesses to elements of an array."""
        event, first = self.events[-1], self._number(root.address)
        begins = first * 8 + units * root.unit  # in bytes
        for byte in range(0, root.unit, 8):
            (event.writes if writes else event.reads).update(((begins + byte) >> _UNIT).tolist())
        (event.writes if writes else event.reads).update(((begins + root.unit - 1) >> _UNIT).tolist())

    def hides(self, root: Root, whole: bool) -> None:
        """Note accesses that can't be seen: to any element, or from now on if ``whole`` is False."""
        if whole:
            self.touches(root, np.arange(root.array.nbytes // root.unit), True)
        else:
            self._exposed = True
            self.events[-1].writes.add(TURNS)

    # The numbers of words.

    def _word(self, words: Any, i: Any) -> int:
        """Return the number of a word. Arrays are kept until the next run, so that each is asked only once."""
        known = self._arrays.get(id(words))
        if known is None:
            known = self._arrays[id(words)] = words, self._place(address_of(words, 0)), int(words.strides[0])
        return known[1] + int(i) * known[2] >> _UNIT

    def _number(self, address: int) -> int:
        return self._place(address) >> _UNIT

    def _place(self, address: int) -> int:
        """Return an address, or the place in an array of ``setup`` that stands for it."""
        for begin, nbytes, place in self._given:
            if begin <= address < begin + nbytes:
                return place + address - begin
        return address


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
