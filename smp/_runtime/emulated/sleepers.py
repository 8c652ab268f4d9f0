"""The futexes of an emulated machine: who sleeps on which word, and until when."""

from __future__ import annotations

from typing import Any

from .schedules import Stream

FOREVER = 1 << 61  # ns: a sleep so long has no deadline


class Sleepers:
    """The streams that sleep.

    Parameters
    ----------
    woken : int
        What it costs to be woken, in ns.

    Attributes
    ----------
    timed : list of Stream
        Those whose sleep ends by itself.
    """

    def __init__(self, woken: int) -> None:
        self._woken = woken
        self._at: dict[int, list[Stream]] = {}
        self.timed: list[Stream] = []

    def add(self, stream: Stream, address: int, nanoseconds: int) -> None:
        """Let a stream sleep on the word at an address, at most so long."""
        stream.word, stream.since = address, stream.now
        self._at.setdefault(address, []).append(stream)
        if nanoseconds < FOREVER:
            stream.until = stream.now + nanoseconds
            self.timed.append(stream)

    def remove(self, stream: Stream, now: int) -> None:
        """End a sleep, at a time of its waker's or at its deadline."""
        sleepers = self._at[stream.word]
        sleepers.remove(stream)
        if not sleepers:
            del self._at[stream.word]
        if stream.until is not None:
            self.timed.remove(stream)
        stream.word, stream.until = 0, None
        stream.now = max(stream.now, now) + self._woken

    def on(self, address: int, count: int) -> list[Stream]:
        """The first ``count`` that sleep on a word."""
        return self._at.get(address, [])[:count]

    def everybody(self) -> list[Stream]:
        """All that sleep."""
        return [stream for sleepers in self._at.values() for stream in sleepers]

    def by_deadline(self) -> list[Stream]:
        """Those whose sleep ends by itself, the first to wake first."""
        return sorted(self.timed, key=_deadline)


def _deadline(stream: Stream) -> tuple[int, int]:
    return (stream.until or 0, stream.number)


def address_of(words: Any, i: Any) -> int:
    """The address of ``words[i]``."""
    return int(words.__array_interface__["data"][0]) + int(i) * int(words.strides[0])
