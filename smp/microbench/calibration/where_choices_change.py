"""The table of a calibrated library that says at which sizes another implementation becomes the fastest."""

from __future__ import annotations

import math
from collections.abc import Mapping

from smp._output.table import Cell, Column, Table, text
from smp.models.fit.model import Model
from smp.selection.crossing import Crossover, crossovers
from smp.selection.sampled import said_of, sampled_choices, shared_inputs

MOST = 5
"""Most changes of a combination that are listed; a model with a rounded term can change many times."""
NOWHERE = "at no size"
MEANING = (
    "Predicted, for values of the other inputs that are few or measured. Between low and high, the predicted times of "
    "the two differ by less than the mean errors of their models."
)


def crossover_table(models: Mapping[str, Model]) -> Table:
    """Return the table of the models of a library, by the first input that they share."""
    found = crossovers(models)
    others = list(found[0].at)
    size = shared_inputs(models)[0]
    number = "count" if size.whole else "number"
    columns = [
        *(Column(name, form="short") for name in others),
        Column(f"from {size.name}", form=number),
        *(text("before"), text("fastest"), Column("predicted", form="time")),
        *(Column("low", form=number), Column("high", form=number)),
    ]
    rows, left_out = list[list[Cell]](), 0
    for k, one in enumerate(found):
        if k >= MOST and found[k - MOST].at == one.at:
            left_out += 1
        else:
            rows.append([*one.at.values(), *_cells(one)])
    more = f"{left_out} further changes are not listed: at most {MOST} are for one combination." if left_out else ""
    said = said_of(sampled_choices(models)).replace(" choices", " choices at the measured points", 1)
    return Table(f"where the fastest implementation changes with {size.name}", columns, rows, [MEANING, more, said])


def _cells(one: Crossover) -> list[Cell]:
    if math.isnan(one.size):
        return [NOWHERE, "", one.before or "none", "", "", ""]
    return [one.size, one.before or "none", one.after or "none", one.seconds, one.low, one.high]
