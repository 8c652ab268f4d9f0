"""Costs of the runtime: retries before a trap, the start of a stream, and moving a thread off its stream.

Source: the study of the Tera MTA, figures 7 and 12, tables 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from smp.machines import MachineFile

from .. import layout
from ..emulation import Emulation
from ..program import (
    Label,
    Program,
    add,
    clock,
    count_down,
    create,
    quit_stream,
    readfe,
    readff,
    retries,
    store,
    subtract,
    writeef,
)

_SPIN = 12_000  # words: longer than all retries take


def counted_retries(machine: MachineFile) -> int:
    """Return the retries that the machine counts while a thread waits at an empty word until it traps (figure 7)."""
    program = Program()
    before, after, left = program.registers(3)
    inner, waits = Label(), 0
    start = program.label()
    program.word(retries(before))
    program.word(create(inner))
    program.word(add(left, 0, 0, _SPIN))
    spin = program.label()
    program.word(count_down(left, spin))
    program.word(retries(after))
    program.word(subtract(after, after, before))
    program.word(writeef(after, waits))
    program.word(quit_stream())
    program.place(inner)
    program.word(readff(after, waits))
    program.word(store(after, 0, offset=1))
    program.word(quit_stream())
    emulation = Emulation(machine, program, 2, processors=1)
    emulation.make_empty(0)
    emulation.start(start)
    emulation.run()
    return int(emulation.values[1])


def stream_start(machine: MachineFile) -> int:
    """Return the cycles to start a stream through the runtime, with one write before it (table 1)."""
    program = Program()
    begin, end = program.registers(2)
    inner = Label()
    start = program.label()
    program.word(clock(begin))
    program.word(store(begin, 0))
    program.word(create(inner))
    program.word(quit_stream())
    program.place(inner)
    program.word(clock(end))
    program.word(subtract(end, end, begin))
    program.word(store(end, 0))
    program.word(quit_stream())
    emulation = Emulation(machine, program, 1, processors=1)
    emulation.start(start)
    emulation.run()
    return int(emulation.values[0])


@dataclass(frozen=True)
class Remapping:
    """Cycles of a remapping, by what they are for (table 3)."""

    total: int
    retries: int
    saving: int
    restoring: int
    words: int

    @property
    def remainders(self) -> tuple[int, int, int]:
        """The total less the retries, less the state that is saved, less the state that is restored."""
        first = self.total - self.retries
        return first, first - self.saving, first - self.saving - self.restoring


def remapping(machine: MachineFile) -> Remapping:
    """Measure the time from a read of an empty word until the thread that waits for a stream runs (figure 12)."""
    program = Program()
    begin, end, left = program.registers(3)
    inner = Label()
    start = program.label()
    program.word(create(inner))
    program.word(add(left, 0, 0, _SPIN))
    spin = program.label()
    program.word(count_down(left, spin))
    program.word(clock(begin))
    program.word(readfe(end, 0))
    program.word(subtract(end, end, begin))
    program.word(store(end, 0, offset=1))
    program.word(quit_stream())
    program.place(inner)
    program.word(clock(end))
    program.word(writeef(end, 0))
    program.word(quit_stream())
    emulation = Emulation(machine, program, 2, processors=1, notes=100)
    emulation.make_empty(0)
    emulation.limit_streams(1)
    main = emulation.start(start)
    emulation.run()
    total = int(emulation.values[1])
    at = {(change.thread, change.mode): change.cycle for change in reversed(emulation.changes)}  # first times
    trap, saving = at[main, layout.TRAPPING], at[main, layout.SAVING]
    parking, restoring = at[main, layout.PARKING], at[main + 1, layout.RESTORING]
    runs = at[main + 1, layout.RUNNING]
    return Remapping(
        total=total,
        retries=total - (runs - trap),
        saving=parking - saving,
        restoring=runs - restoring,
        words=saving - trap,
    )
