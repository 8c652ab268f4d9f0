"""The futexes of an emulated machine, with the streams that sleep on each word and their deadlines."""

from __future__ import annotations

from typing import Any

from .schedules import ListedStream
from .virtual_time import FOREVER, NANOSECOND


class Sleepers:
    """The sleeping streams of an emulated machine.

    Parameters
    ----------
    woken : int
        Charge for being woken, in ps.

    Attributes
    ----------
    timed : list of Stream
        The sleeping streams that have a deadline.
    """

    def __init__(self, woken: int) -> None:
        self._woken = woken
        self._at: dict[int, list[ListedStream]] = {}
        self.timed: list[ListedStream] = []

    def add(self, stream: ListedStream, address: int, nanoseconds: int) -> None:
        """Let a stream sleep on the word at an address, for at most the given number of nanoseconds."""
        stream.word, stream.since = address, stream.now // NANOSECOND
        self._at.setdefault(address, []).append(stream)
        if nanoseconds < FOREVER:
            stream.until = stream.now + nanoseconds * NANOSECOND
            self.timed.append(stream)

    def remove(self, stream: ListedStream, now: int) -> None:
        """End a stream's sleep at time ``now``, which is its waker's time or its deadline."""
        sleepers = self._at[stream.word]
        sleepers.remove(stream)
        if not sleepers:
            del self._at[stream.word]
        if stream.until is not None:
            self.timed.remove(stream)
        stream.word, stream.until = 0, None
        stream.now = max(stream.now, now) + self._woken

    def on(self, address: int, count: int) -> list[ListedStream]:
        """Return the first ``count`` streams that sleep on a word."""
        return self._at.get(address, [])[:count]

    def everybody(self) -> list[ListedStream]:
        """Return all sleeping streams."""
        return [stream for sleepers in self._at.values() for stream in sleepers]

    def by_deadline(self) -> list[ListedStream]:
        """Return the sleeping streams that have a deadline, the earliest deadline first."""
        return sorted(self.timed, key=_deadline)


def _deadline(stream: ListedStream) -> tuple[int, int]:
    return (stream.until or 0, stream.number)


def address_of(words: Any, i: Any) -> int:
    """Return the address of ``words[i]``."""
    return int(words.__array_interface__["data"][0]) + int(i) * int(words.strides[0])
