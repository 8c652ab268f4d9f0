"""Lines that processors print on the host: from a ring of text for each (see ``text_ring``) to the parent's outputs.

    worker    `RingOutput.show` puts the lines into the processor's own ring, and never waits
    parent    `Console` takes them every LOOK seconds of a run, and at its end, when the processors are idle or dead

A run in which no processor prints costs the parent one look at a word.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Iterator

import numpy as np

from smp.errors import Aborted

from ..memory.segment import Segment
from ..program.port import Output, show
from ..protocols import wait
from ..protocols.entry_points import core
from ..protocols.text_ring import CAPACITY, COUNT, FIRST, GAP, KIND, LONGEST, LOST, RING_WORDS, SHOWN, TEXT
from ..shared_memory.layout import texts_at

LOOK = 0.05
"""Seconds between two looks at the rings."""
MOST = 8 * LONGEST
"""Most bytes of one record."""
_NOTE = 60  # bytes for the note at the end of a line that is cut
_NUL, _STAND_IN = b"\0", b"\xc0\x80"  # texts end with NULs in a ring, so a NUL in a text is replaced; it is not UTF-8


class RingOutput(Output):
    """Puts the lines of one processor into its ring, from which the parent shows them."""

    def __init__(self, segment: Segment, rank: int, size: int) -> None:
        offset = texts_at(size) + 8 * RING_WORDS * rank
        self._at = segment.address + offset
        self._ring, self._shared = segment.words(offset, FIRST), segment.words(0, wait.SHARED_WORDS)
        number = ctypes.c_int64
        self._put = ctypes.CFUNCTYPE(number, number, ctypes.c_char_p, number, number, number)(
            core().addresses["put_text"]
        )
        self._pid = os.getpid()
        self._given = 0  # lines so far, in all runs

    @property
    def shown(self) -> int:
        return int(self._ring[SHOWN])

    def show(self, text: str, lines: int, error: bool) -> None:
        if os.getpid() != self._pid:  # a process that the program has forked: the ring has one writer
            show(text, error)
            return
        data = text.encode(errors="backslashreplace").replace(_NUL, _STAND_IN)
        self._shared[wait.PRINTED] = 1
        for piece in (data,) if len(data) <= MOST else _pieces(data):
            padded = piece + _NUL * (-len(piece) % 8)
            self._put(self._at, padded, len(padded) // 8, piece.count(b"\n"), int(error))
        self._given += lines

    def settled(self) -> bool:
        if self._shared[wait.ABORT]:
            raise Aborted
        return bool(self._ring[SHOWN] + self._ring[LOST] >= self._given)


def _pieces(data: bytes) -> Iterator[bytes]:
    """Yield lines in parts that fit into a record; a line that does not fit is cut."""
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + MOST) + 1
        if end:
            yield data[start:end]
        else:
            end, cut = data.index(b"\n", start) + 1, start + MOST - _NOTE
            while data[cut] & 0xC0 == 0x80:  # in the middle of a letter
                cut -= 1
            yield data[start:cut] + f"... and {end - cut - 1:,} more bytes in this line\n".encode()
        start = end


class Console:
    """The parent's side: shows what processors have printed.

    Attributes
    ----------
    error : Exception or None
        Exception of an output, which has failed in this run.  From then on, lines are lost, and the program goes on.
    """

    def __init__(self, segment: Segment, size: int) -> None:
        self._shared = segment.words(0, wait.SHARED_WORDS)
        self._rings = [segment.words(texts_at(size) + 8 * RING_WORDS * rank, FIRST) for rank in range(size)]
        self._addresses = [segment.address + texts_at(size) + 8 * RING_WORDS * rank for rank in range(size)]
        self._found = np.empty(TEXT + LONGEST, np.int64)
        self._next = math.inf
        self.error: Exception | None = None

    def begin(self) -> None:
        """Begin a run."""
        self._next, self.error = time.monotonic() + LOOK, None

    def look(self) -> float:
        """Show what has been printed, if it is time to; return the seconds until the next look."""
        left = self._next - time.monotonic()
        if left > 0.0:
            return left
        self.show()
        self._next = time.monotonic() + LOOK
        return LOOK

    def show(self) -> None:
        """Show what has been printed so far."""
        if self._shared[wait.PRINTED]:
            for rank in range(len(self._rings)):
                self._show(rank)

    def _show(self, rank: int) -> None:
        """Show what a processor has printed, at most as much as its ring holds: it may go on printing."""
        found, ring, left = self._found, self._rings[rank], CAPACITY
        while left > 0 and (words := core().take_text(self._addresses[rank], found.ctypes.data)):
            left -= words
            gap, lines, error = (int(found[place]) for place in (GAP, COUNT, KIND))
            if gap:
                lost = f"{gap:,} line{'s' * (gap > 1)} lost"
                self._try(f"processor {rank} printed faster than its lines could be shown: {lost}\n", True)
                ring[LOST] += gap
            data = found[TEXT : TEXT + words].tobytes().replace(_NUL, b"").replace(_STAND_IN, _NUL)
            self._try(data.decode(errors="replace"), bool(error))
            ring[SHOWN if self.error is None else LOST] += lines

    def _try(self, text: str, error: bool) -> None:
        """Show a text, unless an output has failed in this run; if it fails now, note the exception."""
        if self.error is None:
            try:
                show(text, error)
            except Exception as failure:
                self.error = failure
