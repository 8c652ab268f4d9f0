"""A stream whose state is in words (see ``layout``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..virtual_time import NANOSECOND
from . import layout


class ClockedStream:
    """A `Stream` whose state is a row of words.

    Parameters
    ----------
    words : memoryview of int64
        The rows of all streams.
    row : int
        Number of its row.
    """

    __slots__ = ("_at", "_words", "greenlet", "index", "number", "rank", "record", "row")

    def __init__(self, words: memoryview, row: int, rank: int, index: int, number: int, now: int) -> None:
        self.row, self._at = row, row * layout.ROW
        self.rank, self.index, self.number = rank, index, number
        self.greenlet: Any = None
        self.record: Any = None
        self.move(words)
        words[self._at : self._at + layout.ROW] = _NEW
        words[self._at + layout.NOW], words[self._at + layout.NUMBER] = now, number
        words[self._at + layout.RANK] = rank

    def move(self, words: memoryview) -> None:
        """Use the rows at another place in memory."""
        self._words = words

    def set(self, field: int, value: int) -> None:
        """Set a word of the row."""
        self._words[self._at + field] = value

    @property
    def now(self) -> int:
        return int(self._words[self._at + layout.NOW])

    @now.setter
    def now(self, picoseconds: int) -> None:
        self._words[self._at + layout.NOW] = picoseconds

    @property
    def word(self) -> int:
        return int(self._words[self._at + layout.ASLEEP_ON])

    @property
    def since(self) -> int:
        return int(self._words[self._at + layout.SINCE]) // NANOSECOND


def _new() -> memoryview:
    row = np.zeros(layout.ROW, np.int64)
    row[layout.FRESH], row[layout.UNTIL], row[layout.HEAP] = 1, layout.NEVER, layout.NOWHERE
    return row.data


_NEW = _new()
