"""Models of Strata and of Brewer's libraries, regained on emulated machines (figure 6-6, chapters 4 and 5)."""

from __future__ import annotations

import numpy as np

import smp
from smp import machines
from smp.machines import MachineFile

from .primitives import FIGURE_6_6, Printed, specifications
from .rows import Report, Row, Table, within

MACHINES = ("cm5", "alewife", "paragon", "atm")
CARRIES = 0.05
"""Part of the time from which on a coefficient matters."""


def measure(quick: bool) -> Report:
    """Calibrate the models on all machines, and compare them with the printed ones."""
    return Report([primitives(machines.load(name), quick) for name in MACHINES])


def primitives(machine: MachineFile, quick: bool) -> Table:
    """Return the comparison with figure 6-6 for one machine."""
    rows: list[Row] = []
    for name, specification in specifications(machine, quick).items():
        model = smp.calibrate(specification)
        shares = shares_of(FIGURE_6_6[machine.name][name], specification, model)
        rows += compared(name, model, FIGURE_6_6[machine.name][name], shares, machine.clock.hz)
    return Table(f"figure 6-6: {machine.name} (cycles)", rows)


def compared(name: str, model: smp.Model, printed: Printed, shares: dict[str, float], hz: float) -> list[Row]:
    """Return a row for each coefficient, and one for the mean relative error."""
    ours = dict(zip(model.terms, model.coefficients * hz, strict=True))
    rows = []
    for term, coefficient in printed.coefficients.items():
        carries = shares[term] > CARRIES
        found = float(ours.pop(term, 0.0))
        rows.append(within(f"{name}: {term}", coefficient, found, "cycles", "set" if carries else "-", 0.10))
    rows += [Row(f"{name}: {term}, not printed", 0.0, float(one), "cycles", "-") for term, one in ours.items()]
    error = 100 * model.quality.mre
    return [*rows, Row(f"{name}: MRE", printed.mre, error, "%", "set", high=printed.mre + 1)]


def shares_of(printed: Printed, specification: smp.Specification, model: smp.Model) -> dict[str, float]:
    """Return the part of the printed model that each of its terms carries, on average over our samples."""
    assert model.samples is not None
    parts = {
        term: coefficient * specification.expressions[term].of(model.samples.inputs)
        for term, coefficient in printed.coefficients.items()
    }
    whole = sum(parts.values())
    return {term: float(np.mean(np.abs(part / whole))) for term, part in parts.items()}
