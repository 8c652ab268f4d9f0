"""Instruction words of streams, each with a part for memory, one for arithmetic, and one for control.

    memory        load, store, fetch_add, readff, readfe, writeef, writexf, purge
    arithmetic    add, subtract, multiply
    control       jump, if_equal, if_unequal, if_less, count_down, spawn, create, quit_stream, clock, retries, add_too

All parts of a word read the registers before any part writes them.  The address of a memory operation is the sum of two
registers and a constant, in words.  Register 0 is always 0.

    program = Program()
    total, element, at, left = program.registers(4)
    top = program.label()
    program.word(load(element, at, lookahead=2), add(total, total, element), count_down(left, top))

The lookahead is the number of words that the stream may issue after this one before the operation has ended.  In the
meantime the register has its old value: the example adds the element that was loaded three words before.

Source: the study of the Tera MTA, sections 3.1.2 and 3.4.2.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import layout


class Kind(enum.IntEnum):
    """The three parts of a word; the value is the column at which the part begins."""

    MEMORY = layout.MEMORY
    ARITHMETIC = layout.ARITHMETIC
    CONTROL = layout.CONTROL


@dataclass(eq=False)
class Label:
    """A place in a program; without a number until it is placed."""

    word: int = layout.NONE


@dataclass(frozen=True)
class Part:
    """One part of an instruction word; the functions of this module make them."""

    kind: Kind
    numbers: tuple[int, ...]
    writes: int = 0  # the register that it writes, or 0
    target: Label | None = None


class Program:
    """A list of instruction words, to which `word` adds one after the other."""

    def __init__(self) -> None:
        self._words: list[tuple[Part, ...]] = []
        self._registers = 0

    def __len__(self) -> int:
        return len(self._words)

    def registers(self, count: int) -> tuple[int, ...]:
        """Return the numbers of registers that the program has not used yet."""
        first = self._registers + 1
        self._registers += count
        if self._registers >= layout.REGISTERS:
            raise ValueError(
                f"the program uses {self._registers} registers, but a stream has {layout.REGISTERS - 1} for that"
            )
        return tuple(range(first, first + count))

    def label(self) -> Label:
        """Return the place of the next word."""
        return Label(len(self))

    def place(self, label: Label) -> None:
        """Let a label that was made with ``Label()`` be the place of the next word."""
        label.word = len(self)

    def word(self, *parts: Part) -> None:
        """Add an instruction word with at most one part of each kind.

        Parameters
        ----------
        *parts
            Results of the functions of this module.

        Raises
        ------
        ValueError
            If two parts are of one kind, or write one register.
        """
        for attribute, what in (("kind", "are of one kind"), ("writes", "write one register")):
            used = [getattr(part, attribute) for part in parts if attribute == "kind" or part.writes]
            if len(set(used)) < len(used):
                raise ValueError(f"two parts of word {len(self)} {what}: only one of them can be in this word")
        self._words.append(parts)

    def words(self, count: int, *parts: Part) -> None:
        """Add a number of equal words."""
        for _ in range(count):
            self.word(*parts)

    def table(self) -> NDArray[np.int64]:
        """Return a row for each word (see ``layout``).

        Raises
        ------
        ValueError
            If a label was not placed in front of a word, or if the last word does not quit or jump.
        """
        rows = np.zeros((len(self._words), layout.WORD), np.int64)
        for place, parts in enumerate(self._words):
            for part in parts:
                rows[place, part.kind : part.kind + len(part.numbers)] = part.numbers
                if part.target is not None:
                    if not 0 <= part.target.word < len(rows):
                        raise ValueError(f"word {place} leads to a label that was not placed in front of a word")
                    rows[place, layout.TARGET] = part.target.word
        if not len(rows) or rows[-1, layout.CONTROL] not in (layout.JUMP, layout.QUIT):
            raise ValueError("the last word of a program must quit or jump, because no word follows it")
        return rows


def _memory(code: int, register: int, base: int, index: int, offset: int, lookahead: int = 0) -> Part:
    if not 0 <= lookahead < layout.WINDOW:
        raise ValueError(f"lookahead={lookahead} must be from 0 to {layout.WINDOW - 1}: its field has three bits")
    writes = register if code in (layout.LOAD, layout.FETCH_ADD, layout.READFF, layout.READFE) else 0
    return Part(Kind.MEMORY, (code, register, base, index, offset, lookahead), writes)


def load(into: int, base: int, index: int = 0, offset: int = 0, lookahead: int = 0) -> Part:
    """Load a word, whatever its full/empty bit."""
    return _memory(layout.LOAD, into, base, index, offset, lookahead)


def store(register: int, base: int, index: int = 0, offset: int = 0, lookahead: int = 0) -> Part:
    """Store a word, and leave its full/empty bit."""
    return _memory(layout.STORE, register, base, index, offset, lookahead)


def fetch_add(register: int, base: int, index: int = 0, offset: int = 0, lookahead: int = 0) -> Part:
    """Add the register to a word in one operation; the register gets the word's value before that."""
    return _memory(layout.FETCH_ADD, register, base, index, offset, lookahead)


def readff(into: int, base: int, index: int = 0, offset: int = 0) -> Part:
    """Wait until a word is full; load it."""
    return _memory(layout.READFF, into, base, index, offset)


def readfe(into: int, base: int, index: int = 0, offset: int = 0) -> Part:
    """Wait until a word is full; load it, and leave it empty."""
    return _memory(layout.READFE, into, base, index, offset)


def writeef(register: int, base: int, index: int = 0, offset: int = 0) -> Part:
    """Wait until a word is empty; store it, and leave it full."""
    return _memory(layout.WRITEEF, register, base, index, offset)


def writexf(register: int, base: int, index: int = 0, offset: int = 0) -> Part:
    """Store a word, and leave it full."""
    return _memory(layout.WRITEXF, register, base, index, offset)


def purge(base: int, index: int = 0, offset: int = 0) -> Part:
    """Leave a word empty, with the value 0."""
    return _memory(layout.PURGE, 0, base, index, offset)


def _arithmetic(code: int, into: int, left: int, right: int, plus: int) -> Part:
    return Part(Kind.ARITHMETIC, (code, into, left, right, plus), into)


def add(into: int, left: int, right: int = 0, plus: int = 0) -> Part:
    """Let a register be the sum of two registers and a constant."""
    return _arithmetic(layout.ADD, into, left, right, plus)


def subtract(into: int, left: int, right: int = 0, plus: int = 0) -> Part:
    """Let a register be the difference of two registers, plus a constant."""
    return _arithmetic(layout.SUBTRACT, into, left, right, plus)


def multiply(into: int, left: int, right: int, plus: int = 0) -> Part:
    """Let a register be the product of two registers, plus a constant."""
    return _arithmetic(layout.MULTIPLY, into, left, right, plus)


def _control(code: int, one: int = 0, other: int = 0, number: int = 0, into: int = 0, to: Label | None = None) -> Part:
    return Part(Kind.CONTROL, (code, one, other, number, into), into, to)


def jump(target: Label) -> Part:
    """Go on at a label."""
    return _control(layout.JUMP, to=target)


def if_equal(one: int, other: int, target: Label) -> Part:
    """Go on at a label if two registers are equal."""
    return _control(layout.IF_EQUAL, one, other, to=target)


def if_unequal(one: int, other: int, target: Label) -> Part:
    """Go on at a label if two registers differ."""
    return _control(layout.IF_UNEQUAL, one, other, to=target)


def if_less(one: int, other: int, target: Label) -> Part:
    """Go on at a label if one register is less than the other."""
    return _control(layout.IF_LESS, one, other, to=target)


def count_down(register: int, target: Label) -> Part:
    """Subtract 1 from a register, and go on at a label unless it is 0 then."""
    return _control(layout.COUNT_DOWN, register, into=register, to=target)


def spawn(target: Label) -> Part:
    """Start a stream at a label by the hardware; it begins with a copy of the registers."""
    return _control(layout.SPAWN, to=target)


def create(target: Label) -> Part:
    """Create a thread at a label through the runtime; it begins with a copy of the registers."""
    return _control(layout.CREATE, to=target)


def quit_stream() -> Part:
    """End the stream when all its memory operations have ended."""
    return _control(layout.QUIT)


def clock(into: int) -> Part:
    """Let a register be the current cycle."""
    return _control(layout.CLOCK, into=into)


def retries(into: int) -> Part:
    """Let a register be the number of retries of the processor so far."""
    return _control(layout.RETRIES, into=into)


def add_too(into: int, one: int, other: int = 0, plus: int = 0) -> Part:
    """Let a register be the sum of two registers and a constant; the control part can do that as well."""
    return _control(layout.ADD_TOO, one, other, plus, into)
