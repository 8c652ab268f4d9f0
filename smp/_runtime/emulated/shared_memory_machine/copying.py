"""Copies through the caches, of processors that take turns: one of them carries on the copies of all.

    processor a   ── begin ── the carrier: a line of a, of b, of c, ... ── ended ──▶ wakes b, the next carrier
    processor b         begin ── asleep ─────────────────────────────────────── a line of b, of c, ...
    processor c              begin ── asleep ── ended, woken by a ──▶

The carrier is never later than the earliest copy; a stream that comes to its copy before the carrier's time becomes the
carrier.  A step carries the copies on, line by line, until one has ended or another stream comes first.  So all
accesses to lines are made in the order of virtual time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..caches.layout import NOBODY
from ..caches.memory import Caches, Copy
from ..clocked.emulator import ClockedEmulator
from ..clocked.layout import NEVER


class Copying:
    """The copies of all processors of a machine.

    Parameters
    ----------
    size : int
        Number of processors.
    emulator : ClockedEmulator
    caches : Caches
    aborted : callable
        Returns True once the run has failed: copies then end at once.
    """

    def __init__(self, size: int, emulator: ClockedEmulator, caches: Caches, aborted: Callable[[], bool]) -> None:
        self._size, self._emulator, self._caches, self._aborted = size, emulator, caches, aborted
        self.clear()

    def clear(self) -> None:
        """Begin a new run, with empty caches."""
        self._caches.clear()
        self._streams: list[Any] = [None] * self._size  # that have begun the copies that go on
        self._carrier: Any = None  # the stream that carries on the copies

    def copy(self, rank: int, copy: Copy) -> None:
        """Let the running stream make a copy for its processor, which makes one after the other."""
        emulator, word, own = self._emulator, self._caches.word_of(rank), self._emulator.running
        assert own is not None
        while self._streams[rank] is not None and not self._aborted():
            emulator.sleep(word, NEVER)
        self._streams[rank] = own
        self._caches.begin(rank, copy, own.now)
        while self._streams[rank] is not None and not self._aborted():
            if self._carrier is None or own.now < self._carrier.now:
                self._carry_all(rank, own)
            else:
                emulator.sleep(word, NEVER)
        emulator.pass_picoseconds(0)  # the next step waits for its turn

    def _carry_all(self, rank: int, own: Any) -> None:
        """Carry on the copies of all processors until that of the running one has ended, or another carries on."""
        caches, self._carrier = self._caches, own
        while self._carrier is own and not self._aborted():
            self._emulator.pass_picoseconds(max(0, caches.now(caches.earliest()) - own.now))
            ended = self._emulator.step(carry_on, (self,))
            if ended == rank:
                self._carrier = None
                if caches.copying:  # before this stream is as late as the end of its copy
                    self._resume(caches.earliest())
            if ended != NOBODY:
                self._resume(ended)
                self._streams[ended] = None

    def _resume(self, rank: int) -> None:
        """Wake a stream that sleeps in its copy, at the time that the copy has come to."""
        stream = self._streams[rank]
        stream.now = max(stream.now, self._caches.now(rank))
        self._emulator.wake(self._caches.word_of(rank))

    def carry_on(self) -> int:
        """Carry on the copies, if the running stream still is the carrier."""
        return self._emulator.copy_on() if self._emulator.running is self._carrier else NOBODY


def carry_on(copying: Copying) -> int:
    """Carry on the copies; return the processor whose copy has ended, or `NOBODY`: one step."""
    return copying.carry_on()
