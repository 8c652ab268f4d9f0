"""A barrier of streams: they count themselves, and the last one releases the others, who wait at a word.

    count              each stream adds 1; the last one resets it
    release 0, 1       used in turn: the last stream empties the other word, and fills this one

Source: the study of the Tera MTA, section 4.4.2, which has such a barrier of its own.
"""

from __future__ import annotations

from ..program import Label, Program, add, fetch_add, if_unequal, purge, readff, store, subtract, writexf

WORDS = 3
"""Words of memory that a barrier takes: the count, and two words that are empty at first."""


class Barrier:
    """The registers and the words of a barrier.

    Parameters
    ----------
    program : Program
    at : int
        Address of its words.
    last, one : int
        Registers with the number of streams less 1, and with 1.
    """

    def __init__(self, program: Program, at: int, last: int, one: int) -> None:
        self._program, self._at, self._last, self._one = program, at, last, one
        self._turn, self._found = program.registers(2)

    def meet(self) -> None:
        """Add the words with which a stream waits for all others."""
        program, release, wait = self._program, self._at + 1, Label()
        program.word(add(self._found, self._one))
        program.word(fetch_add(self._found, 0, offset=self._at))
        program.word(if_unequal(self._found, self._last, wait))
        program.word(store(0, 0, offset=self._at), subtract(self._found, self._one, self._turn))
        program.word(purge(self._found, offset=release))
        program.word(writexf(self._one, self._turn, offset=release))
        program.place(wait)
        program.word(readff(self._found, self._turn, offset=release))
        program.word(subtract(self._turn, self._one, self._turn))
