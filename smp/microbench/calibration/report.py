"""The report of a calibration: how far each model is off, on points that it was not fitted to, and its formula."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from smp.models.fit.fitting import TOLERATED
from smp.models.fit.model import Model

from ..output.format import Data, percent, section, table
from .kernels import models

HEADERS = (
    "implementation",
    "points\nfitted",
    "error\n%",
    "points\nnot fitted",
    "error\n%",
    "worst\n%",
)


def summary(data: Data) -> RenderableType:
    """Return what a calibration amounts to, in a line or two."""
    found = list(models(dict(data)))
    if not found:
        return Text("No models: nothing was calibrated.")
    errors = np.array([model.quality.mre for model in found])
    said = (
        f"{len(found)} models of {len(data['libraries'])} libraries: their mean error on points not fitted is "
        f"{np.median(errors):.1%} in the median and {errors.max():.1%} at most."
    )
    poor = [model.name for model in found if model.quality.mre > TOLERATED]
    if poor:
        said += f" Above {TOLERATED:.0%}: {', '.join(poor)}; look at their residuals."
    if data.get("interrupted"):
        said += " It was interrupted: the same command goes on with it."
    return Text(said)


def sections(data: Data) -> Iterator[RenderableType]:
    """Return one section for each library."""
    for name, library in data["libraries"].items():
        made = [Model.from_json(model) for model in library["models"].values()]
        yield section(name, {}, [_errors(made), _formulas(made)])


def _errors(made: list[Model]) -> RenderableType:
    rows = [
        [
            _short(model),
            str(model.quality.count),
            percent(model.quality.mre_fit),
            str(model.quality.verified),
            percent(model.quality.mre),
            percent(model.quality.worst),
        ]
        for model in made
    ]
    meaning = "error: the geometric mean of 1 + relative error, less 1; medians of 3 to 7 timings."
    return table(HEADERS, rows, caption=meaning)


def _formulas(made: list[Model]) -> RenderableType:
    lines: list[RenderableType] = []
    for model in made:
        lines.append(Text(f"{_short(model)}, in seconds", style="bold"))
        lines.append(Text(f"  {model.formula()}"))
        removed = [line for line in model.quality.log.splitlines() if line.startswith("without ")]
        if removed:
            lines.append(Text(f"  irrelevant: {', '.join(line[8:].split(':')[0] for line in removed)}", style="dim"))
    return Group(*lines)


def _short(model: Model) -> str:
    return model.name.rpartition("/")[2] + (f"   if {model.when}" if model.when else "")
