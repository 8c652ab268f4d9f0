"""Models of Strata and of Brewer's libraries, regained on emulated machines (figure 6-6, chapters 4 and 5)."""

from __future__ import annotations

import smp
from smp import machines
from smp.machines import MachineFile

from ..rows import Part, Row
from . import sort_tables, stencil_tables
from .primitives import FIGURE_6_6, specifications
from .regained import compared

SUMMARY = "Brewer's models regained: primitives of Strata, relaxation, sorts"
MACHINES = ("cm5", "alewife", "paragon", "atm")


def results(quick: bool) -> list[Part]:
    """Calibrate the models on all machines, and compare them and the programs' times with the printed ones."""
    made = [primitives(machines.load(name), quick) for name in MACHINES]
    return [*made, *stencil_tables.tables(quick), *sort_tables.tables(quick)]


def primitives(machine: MachineFile, quick: bool) -> Part:
    """Return the comparison with figure 6-6 for one machine."""
    rows: list[Row] = []
    for name, specification in specifications(machine, quick).items():
        printed = FIGURE_6_6[machine.name][name]
        rows += compared(name, smp.calibrate(specification), specification, printed, machine.clock.hz, "cycles", "set")
    return Part(f"figure 6-6: {machine.name}", rows)
