"""Atomics, cells and other operations on single words: each is a request to the owner of the word, and a reply.

    processor    request ─┐                                  ┌─ receive
    owner                 └ receive, the operation, reply ───┘     a debt, as for copies

The owner of a word is the processor whose part of its block, in equal parts, has the word.  The steps of one operation
on a cell are one request; after a pause or a sleep, the next step is a new one.  Operations on words of the processor's
own take the time of its memory.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...loops import atomics
from ..emulator import Emulator
from ..port import Whole
from ..primitives import meaning_of
from ..sleepers import address_of
from .copies import Copies
from .software import WORD, Software
from .times import Times

CELL = 16
"""Bytes of the two words that have the state and the value of a cell."""
NOWHERE = -1
_WAITS = {meaning_of(atomics.pause), meaning_of(atomics.futex_wait), meaning_of(atomics.futex_wake)}


class Words:
    """The prices of steps on words of global arrays and cells.

    Parameters
    ----------
    processors : Whole
        The machine.
    """

    def __init__(self, processors: Whole, software: Software, times: Times, copies: Copies) -> None:
        self._emulator: Emulator = processors.emulator
        self._segment, self._size = processors.segment, processors.size
        self._software, self._times, self._copies = software, times, copies
        self._last: dict[int, int] = {}  # the cell of the operation that each stream has begun
        self._allocations = 0  # of the segment, when the blocks were listed
        self._starts: list[int] = []
        self._lengths: list[int] = []

    @contextmanager
    def operation(self) -> Iterator[None]:
        number = self._emulator.running.number
        self._last[number] = NOWHERE
        try:
            yield
        finally:
            del self._last[number]

    def price(self, meaning: Any, args: tuple[Any, ...]) -> int:
        """Return the price of a step, in ps."""
        running = self._emulator.running
        if meaning in _WAITS:
            if running.number in self._last:
                self._last[running.number] = NOWHERE
            return 0
        if len(args) < 2 or not hasattr(args[0], "strides"):
            return 0
        address = address_of(args[0], args[1])
        owner = self._owner(address - self._segment.address)
        if owner < 0 or self._last.get(running.number) == address // CELL:
            return 0
        if running.number in self._last:
            self._last[running.number] = address // CELL
        if owner == running.rank:
            return round(2 * WORD * self._software.copy_byte)
        return self._round_trip(running.rank, owner)

    def _round_trip(self, rank: int, owner: int) -> int:
        software, now = self._software, self._emulator.picoseconds()
        asked = now + software.request + self._times.message(rank, owner, 2 * WORD)
        served = self._copies.serve(owner, asked, software.receiving(1) + software.reply)
        return served + self._times.message(owner, rank, 2 * WORD) + software.receiving(1) - now

    def _owner(self, offset: int) -> int:
        """Return the owner of the word at an offset of the segment; -1 for a word of the runtime."""
        if offset < self._segment.start:
            return -1
        if self._allocations != self._segment.allocations:  # a new block may lie where another one was
            blocks, self._allocations = self._segment.blocks(), self._segment.allocations
            self._starts, self._lengths = [start for start, _ in blocks], [length for _, length in blocks]
        k = bisect.bisect_right(self._starts, offset) - 1
        if k < 0 or offset >= self._starts[k] + self._lengths[k]:
            return -1
        return (offset - self._starts[k]) * self._size // self._lengths[k]
