"""Models of Strata and of Brewer's libraries, regained on emulated machines (figure 6-6, chapters 4 and 5)."""

from __future__ import annotations

import smp
from smp import machines
from smp.machines import MachineFile

from . import sort_tables, stencil_tables
from .primitives import FIGURE_6_6, specifications
from .regained import compared
from .rows import Report, Row, Table

MACHINES = ("cm5", "alewife", "paragon", "atm")


def measure(quick: bool) -> Report:
    """Calibrate the models on all machines, and compare them and the programs' times with the printed ones."""
    made = [primitives(machines.load(name), quick) for name in MACHINES]
    stencils, sorts = stencil_tables.tables(quick), sort_tables.tables(quick)
    return Report([*made, *stencils.tables, *sorts.tables], {}, [*stencils.drawn, *sorts.drawn])


def primitives(machine: MachineFile, quick: bool) -> Table:
    """Return the comparison with figure 6-6 for one machine."""
    rows: list[Row] = []
    for name, specification in specifications(machine, quick).items():
        printed = FIGURE_6_6[machine.name][name]
        rows += compared(name, smp.calibrate(specification), specification, printed, machine.clock.hz, "cycles", "set")
    return Table(f"figure 6-6: {machine.name}", rows)
