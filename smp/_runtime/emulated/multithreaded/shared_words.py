"""Prices of the steps of a program on a machine with multithreaded processors.

    a primitive on a shared word    an instruction word of the stream's processor, and an access to the memory
    an operation on a cell          the same, whatever number of primitives the runtime takes for it
    a wait at a cell                retries and perhaps a trap: see ``waits``
    a pause                         an instruction word
    local work                      instruction words, each of which takes longer the more streams run

Instruction words and accesses are those of ``accesses``, so that streams wait for issue slots, links and banks.  A
retry of a waiting stream takes none of them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...loops import atomics
from ...loops.compiler import run
from ..emulator import Emulator
from ..primitives import meaning_of
from ..sleepers import address_of
from ..virtual_time import SECOND
from . import layout
from .accesses import access, issue_word, numbers_of
from .settings import WORD_BYTES, Settings
from .state import State
from .waits import end_of_wait

ROWS = 1 << 16
"""Shared words that can be hot spots: the first ones that the programs use."""
_PAUSE, _SLEEP = meaning_of(atomics.pause), meaning_of(atomics.futex_wait)
_LOOKS, _STORES = {meaning_of(atomics.load)}, {meaning_of(atomics.store), meaning_of(atomics.store_release)}
CELL_BYTES = 2 * WORD_BYTES
_READ_AND_WRITE = 2  # accesses of a bank for an operation that looks at a word and changes it


class _Operation:
    """An operation of a stream on a cell.

    Attributes
    ----------
    answered : int
        Cycle at which its access was answered.
    slept, paused : bool
        Whether it has slept since, or paused to look again.
    changed : int
        Cycle of the last change of the cell that it has seen after a pause.
    """

    __slots__ = ("answered", "changed", "paused", "slept")

    def __init__(self) -> None:
        self.answered, self.slept, self.paused, self.changed = layout.NONE, False, False, 0

    def waited_until(self, now: int) -> int | None:
        """Return the cycle of the change for which it has waited, at its end; None if it has not waited."""
        if self.slept:
            return max(now, self.changed)
        return self.changed if self.changed > self.answered else None


class SharedWords:
    """The prices of steps; see `WordPrices`.

    Parameters
    ----------
    emulator : Emulator
    settings : Settings
    hz : int
        Cycles per second.
    others : mapping
        Prices of steps that use no word of memory, in ps.
    """

    def __init__(self, emulator: Emulator, settings: Settings, hz: int, others: dict[Callable[..., Any], int]) -> None:
        self._emulator, self._settings, self._hz, self._others = emulator, settings, hz, others
        self.clear()

    def clear(self) -> None:
        """Begin a new run, with empty queues and caches."""
        self._state = State(self._settings, np.zeros((1, layout.WORD), np.int64), ROWS, 1, 0)
        self._numbers = numbers_of(self._settings, self._state.arrays)
        self._address = self._numbers.ctypes.data
        self._rows: dict[int, int] = {}
        self._operations: dict[int, _Operation] = {}
        self._changed: dict[int, int] = {}
        self.retries = 0

    def now(self) -> int:
        """Return the virtual time of the running stream, in cycles."""
        return (self._emulator.picoseconds() * self._hz + SECOND // 2) // SECOND

    def until(self, cycle: int) -> int:
        """Return the picoseconds from the running stream's virtual time to a cycle."""
        return max(-(-cycle * SECOND // self._hz) - self._emulator.picoseconds(), 0)

    @contextmanager
    def operation(self) -> Iterator[None]:
        number, own = self._emulator.running.number, _Operation()
        self._operations[number] = own
        try:
            yield
        finally:
            del self._operations[number]
            running = self._emulator.running
            changed = None if running is None else own.waited_until(self.now())
            if changed is not None:
                end, retries = end_of_wait(self._settings, own.answered, changed)
                self.retries += retries
                self._emulator.pass_picoseconds(self.until(end))

    def price(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> int:
        """Return the price of a step of the running stream, whose turn it is, in ps."""
        running = self._emulator.running
        own = self._operations.get(running.number)
        if meaning is _SLEEP:
            if own is not None:
                own.slept = True
            return 0
        if own is not None and own.answered != layout.NONE:
            self._follow(own, meaning, args)
            return 0
        p, now = running.rank, self.now()
        if meaning is _PAUSE:
            return self.until(run(issue_word, (self._address, p, now), {}))
        if len(args) < 2 or not hasattr(args[0], "strides"):
            return self._others.get(meaning, 0)
        if own is not None:
            changes = _READ_AND_WRITE
        else:
            changes = 0 if meaning in _LOOKS else 1 if meaning in _STORES else _READ_AND_WRITE
        word = address_of(args[0], args[1]) // WORD_BYTES
        answered = run(access, (self._address, p, now, word, self._row(word), changes), {})
        if own is not None:
            own.answered = answered
        return self.until(answered)

    def _follow(self, own: _Operation, meaning: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Note when a cell is changed, and when the change was made that a stream sees after a pause."""
        if meaning is _PAUSE:
            own.paused = True
        elif len(args) > 1 and hasattr(args[0], "strides"):
            cell = address_of(args[0], args[1]) // CELL_BYTES
            if meaning not in _LOOKS:
                self._changed[cell] = max(self._changed.get(cell, 0), self.now(), own.changed)
            elif own.paused:
                own.changed = max(own.changed, self._changed.get(cell, 0))

    def _row(self, word: int) -> int:
        row = self._rows.get(word)
        if row is None:
            row = self._rows[word] = len(self._rows)
        return row if row < ROWS else layout.NONE

    def cycles_of_words(self, words: float) -> float:
        """Return the cycles of local work of the running stream, given its number of instruction words.

        Each word waits for those of the other streams of the processor that run, and for its operation on memory: no
        more than a window of these are under way.
        """
        settings, running = self._settings, self._emulator.running
        streams = sum(stream.rank == running.rank and stream.word == 0 for stream in self._emulator.streams)
        trip = (2 * settings.crossing + settings.access) / layout.TICKS
        return float(words * max(settings.spacing, streams + settings.background, trip / settings.outstanding))
