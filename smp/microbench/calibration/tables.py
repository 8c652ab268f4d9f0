"""The report of a calibration: the error of each model, on points that it was not fitted to, and its formula.

Suites have a table of their own (``primitives.table``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from smp._output.table import Cell, Part, Table, counted, share, text
from smp.models.fit.fitting import TOLERATED
from smp.models.fit.model import Model
from smp.models.fit.records import listed
from smp.selection.suite import FORMAT as SUITE

from ..output.format import Data
from .kernels import models
from .primitives.table import of_suite
from .where_choices_change import crossover_table

COLUMNS = (
    *(text("implementation"), counted("points fitted"), share("error")),
    *(counted("points not fitted"), share("their error"), share("worst")),
)
MEANING = "error: the geometric mean of 1 + relative error, minus 1; the least of 3 to 7 timings."


def report(data: dict[str, Any]) -> list[Part]:
    """Return a summary of a calibration, and a part for each library."""
    parts = (
        of_suite(name, found) if found["format"] == SUITE else _library(name, found)
        for name, found in data["libraries"].items()
    )
    said = [verdict["said"] for verdict in data.get("verdicts", {}).values() if verdict["said"]]
    return [Part("", [Table(notes=[summary(data), *said])]), *parts]


def summary(data: Data) -> str:
    """Return a summary of a calibration in a line or two."""
    found = list(models(dict(data)))
    if not found:
        return "No models: nothing was calibrated."
    errors = np.array([model.quality.mre for model in found])
    said = (
        f"{len(found)} models of {len(data['libraries'])} libraries: their mean error on points not fitted is "
        f"{np.median(errors):.1%} in the median and {errors.max():.1%} at most."
    )
    if names := poor(data):
        said += f" Above {TOLERATED:.0%}: {', '.join(names)}; look at their residuals."
    if dropped := sum(len(model.dropped) for model in found):
        said += f" {dropped} slow point{'s were' if dropped > 1 else ' was'} left out of the fits, as listed below."
    moved = list(dict.fromkeys(model.machine["placement"] for model in found if model.machine.get("placement")))
    said += "".join(f" {each[0].upper()}{each[1:]}." for each in moved)
    if data.get("interrupted"):
        said += " It was interrupted: run the same command again to continue."
    return said


def poor(data: Data) -> list[str]:
    """Return the names of the models whose errors are larger than is tolerated."""
    return [model.name for model in models(dict(data)) if model.quality.mre > TOLERATED]


def _library(name: str, library: Any) -> Part:
    found = {key: Model.from_json(model) for key, model in library["models"].items()}
    made = list(found.values())
    rows: list[list[Cell]] = [
        [_short(model), one.count, one.mre_fit, one.verified, one.mre, one.worst]
        for model, one in ((model, model.quality) for model in made)
    ]
    notes = [MEANING, *_guard(library.get("guard"))]
    changes = [crossover_table(found)] if len(found) > 1 else []
    formulas = (Table(notes=[*_formula(model)]) for model in made)
    return Part(name, [Table("", COLUMNS, rows, notes), *changes, *formulas])


def _guard(found: Any) -> Iterator[str]:
    """Return a line on the size from which the models are asked, if the calibration has determined it."""
    if found is None:
        return
    if found["from"] is None:
        yield "The models are not asked: at no size does a choice save more than it takes."
    else:
        least = f"{found['size']} = {found['from']:,.0f}"
        yield f"The models are asked from {least} on: below, a choice takes more than it saves."


def _formula(model: Model) -> Iterator[str]:
    yield f"{_short(model)}, in seconds"
    yield f"  {model.formula()}"
    removed = [line for line in model.quality.log.splitlines() if line.startswith("without ")]
    if removed:
        yield f"  irrelevant: {', '.join(line[8:].split(':')[0] for line in removed)}"
    if model.dropped:
        yield f"  {listed(model.dropped)}"


def _short(model: Model) -> str:
    return model.name.rpartition("/")[2] + (f"   if {model.when}" if model.when else "")
