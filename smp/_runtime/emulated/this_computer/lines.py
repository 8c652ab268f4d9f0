"""Cache lines of the words that streams share: who has a line, and what an access to it takes.

                     load                                store, atomic operation
    it has the line  as measured alone                   as measured alone, if no other processor has it as well
    it has not       a hand-over from the last writer    a hand-over; the others lose it

Hand-overs of the same line follow one another: each begins when the one before has ended.  So k processors that add to
one word take turns, and each waits for the k - 1 others.  A line that no processor has written yet belongs to the first
that comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...loops import atomics
from ..emulator import Emulator
from ..primitives import meaning_of
from ..sleepers import address_of

READS = {meaning_of(atomics.load)}
WRITES = {
    meaning_of(primitive)
    for primitive in (
        atomics.store,
        atomics.store_release,
        atomics.exchange,
        atomics.compare_exchange,
        atomics.compare_exchange_pair,
        atomics.fetch_add,
    )
}
_NO_BLOCK = nullcontext()


class Line:
    """A line: the processors that have it, and until when it is on its way."""

    __slots__ = ("free", "holders")

    def __init__(self, rank: int) -> None:
        self.holders, self.free = {rank}, 0


class Lines:
    """The prices of steps by the addresses of their words.

    Parameters
    ----------
    emulator : Emulator
    steps : mapping
        Prices of the primitives on lines that the processor has, in ps.
    handover : int
        Price of a hand-over, in ps.
    line_bytes : int
    """

    def __init__(
        self, emulator: Emulator, steps: Mapping[Callable[..., Any], int], handover: int, line_bytes: int
    ) -> None:
        self._emulator, self._steps = emulator, steps
        self._handover, self._line_bytes = handover, line_bytes
        self.begin()

    def begin(self) -> None:
        """Begin a new run."""
        self._lines: dict[int, Line] = {}

    def operation(self) -> AbstractContextManager[None]:
        return _NO_BLOCK  # each step has a price of its own

    def price(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> int:
        """Return the price of a step, in ps."""
        alone = self._steps[meaning]
        writes = meaning in WRITES
        if not (writes or meaning in READS) or not hasattr(args[0], "strides"):
            return alone
        return alone + self.fetched(self._emulator.running.rank, address_of(args[0], args[1]), writes)

    def fetched(self, rank: int, address: int, writes: bool) -> int:
        """Return the ps until a processor has the line of an address, alone if it writes."""
        key = address // self._line_bytes
        line = self._lines.get(key)
        if line is None:
            self._lines[key] = Line(rank)
            return 0
        if rank in line.holders and not (writes and len(line.holders) > 1):
            return 0
        now = self._emulator.picoseconds()
        line.free = max(now, line.free) + self._handover
        if writes:
            line.holders.clear()
        line.holders.add(rank)
        return line.free - now
