"""Threads that each wait to empty a word, compute, and fill a word for the next one.

    mass        all threads wait at the same word
    chained     thread i waits at word i, and fills word i + 1

An iteration of the computation is three instruction words: an operation, the count, and the branch.  The study calls it
a single-instruction loop and prints no number of words.  Three is set from the ten streams after which threads trap if
they compute 200 iterations.

Source: the study of the Tera MTA, section 3.2.2, figures 10 and 11.
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
    fetch_add,
    if_equal,
    if_less,
    if_unequal,
    load,
    quit_stream,
    readfe,
    store,
    subtract,
    writeef,
)

_COUNT, _RESULT, _FIRST = 0, 1, 2  # addresses; from _FIRST on, the words at which threads wait


@dataclass(frozen=True)
class Passed:
    """The time until the last thread of a chain has ended, and the threads that trapped."""

    total: int
    traps: int


def passed(machine: MachineFile, streams: int, iterations: int, chained: bool) -> Passed:
    """Measure how long a chain of threads takes.

    Parameters
    ----------
    machine : MachineFile
    streams, iterations : int
        Number of threads, and iterations that each computes between its read and its write.
    chained : bool
        True if each thread waits at a word of its own.
    """
    program = Program()
    one, own, next_one, value, begin, end, count, done, sum_, size = program.registers(10)
    start = program.label()
    program.word(clock(begin))
    program.word(writeef(one, 0, offset=_FIRST))
    look = program.label()
    program.word(load(value, 0, offset=_COUNT))
    program.word(if_unequal(value, size, look))
    program.word(clock(end))
    program.word(subtract(end, end, begin))
    program.word(store(end, 0, offset=_RESULT))
    program.word(quit_stream())
    thread, compute, go_on = Label(), Label(), Label()
    program.place(thread)
    program.word(readfe(value, own, offset=_FIRST))
    program.word(add(done, 0), if_equal(count, 0, go_on))
    program.place(compute)
    program.word(add(sum_, sum_, value))
    program.word(add(done, done, 0, 1))
    program.word(if_less(done, count, compute))
    program.place(go_on)
    program.word(writeef(value, next_one, offset=_FIRST))
    program.word(fetch_add(one, 0, offset=_COUNT))
    program.word(quit_stream())
    emulation = Emulation(machine, program, _FIRST + streams + 1, processors=1)
    emulation.make_empty(range(_FIRST, _FIRST + streams + 1))
    spacing = 21
    for k in range(streams):
        places = {own: k, next_one: k + 1} if chained else {}
        emulation.start(thread, {one: 1, count: iterations, **places}, cycle=1 + k * spacing)
    emulation.start(start, {one: 1, size: streams}, cycle=1 + (streams + 10) * spacing)
    emulation.run()
    return Passed(int(emulation.values[_RESULT]), emulation.totals.traps)
