"""Threads that wait at one word until a timing thread fills it.

    all            each reads the word and leaves it full (figure 8)
    one by one     each empties the word and fills it again, for the next one (figure 9)

After that each thread adds 1 to a counter, at which the timing thread looks.  Before it fills the word, the timing
thread spins.  If it spins long enough, the waiting threads trap.

The study does not say how long one turn of its initial loop takes.  Here it is 1,596 cycles.  So 75 turns are
as long as the retries of some threads, and 150 are longer than the retries and the trap of all.

Source: the study of the Tera MTA, section 3.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from smp.machines import MachineFile

from ..emulation import Emulation
from ..program import (
    Label,
    Program,
    add,
    clock,
    count_down,
    fetch_add,
    if_unequal,
    load,
    quit_stream,
    readfe,
    readff,
    store,
    subtract,
    writeef,
)

TURN = 76
"""Instruction words of a turn of the initial loop."""
_CELL, _COUNT, _RESULT, _FIRST = 0, 1, 2, 3  # addresses; from _FIRST on, the cycle at which each thread goes on


@dataclass(frozen=True)
class Woken:
    """The time from the fill until all threads have gone on.

    Attributes
    ----------
    total : int
        Cycles until the timing thread has seen that all have added.
    last : int
        Cycles until the last thread has gone on, before its addition.
    trapped : int
        Number of threads that had trapped.
    """

    total: int
    last: int
    trapped: int


def woken(machine: MachineFile, streams: int, turns: int, one_by_one: bool = False) -> Woken:
    """Measure how long threads take to go on after the word at which they wait is filled.

    Parameters
    ----------
    machine : MachineFile
    streams : int
        Number of waiting threads, each on a stream of its own.
    turns : int
        Turns of the loop before the fill.
    one_by_one : bool
        True if each thread empties the word and fills it again, False if all leave it full.
    """
    program = Program()
    one, value, begin, end, left, own, place = program.registers(7)
    start = program.label()
    if turns:
        spin = program.label()
        program.word(count_down(left, spin))
    program.word(clock(begin))
    program.word(writeef(one, 0, offset=_CELL))
    look = program.label()
    program.word(load(value, 0, offset=_COUNT))
    program.word(if_unequal(value, own, look))
    program.word(clock(end))
    program.word(subtract(end, end, begin))
    program.word(store(begin, 0, offset=_RESULT))
    program.word(store(end, 0, offset=_COUNT))
    program.word(quit_stream())
    waiter = Label()
    program.place(waiter)
    if one_by_one:
        program.word(readfe(value, 0, offset=_CELL))
        program.word(writeef(value, 0, offset=_CELL), clock(end))
    else:
        program.word(readff(value, 0, offset=_CELL))
        program.word(clock(end))
    program.word(fetch_add(one, 0, offset=_COUNT, lookahead=1))
    program.word(store(end, place, offset=_FIRST), add(value, value))
    program.word(quit_stream())
    emulation = Emulation(machine, program, _FIRST + streams, processors=1)
    emulation.make_empty(_CELL)
    spacing = 21
    for k in range(streams):
        emulation.start(waiter, {one: 1, place: k}, cycle=1 + k * spacing)
    emulation.start(start, {one: 1, own: streams, left: TURN * turns}, cycle=1 + (streams + 10) * spacing)
    emulation.run()
    last = emulation.values[_FIRST:].max() - emulation.values[_RESULT]
    return Woken(int(emulation.values[_COUNT]), int(last), emulation.totals.traps)


def addition(machine: MachineFile) -> float:
    """Return the cycles by which one more thread delays the end, if all threads add to one word at the same time."""
    program = Program()
    (one,) = program.registers(1)
    start = program.label()
    program.word(fetch_add(one, 0))
    program.word(quit_stream())
    ends = []
    for threads in (50, 100):
        emulation = Emulation(machine, program, 1, processors=1)
        for _ in range(threads):
            emulation.start(start, {one: 1})
        emulation.run()
        ends.append(emulation.cycle)
    return (ends[1] - ends[0]) / 50
