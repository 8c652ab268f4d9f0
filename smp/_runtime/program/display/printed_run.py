"""The text of a run and its display in notebooks: its time, its first supersteps, collectives outside of copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output import terminal
from smp._output.figure import GREY, Axis, Figure, Panel, Series
from smp._output.notebook import displayed
from smp._output.numbers import time
from smp._output.table import Column, Part, Table, counted, ratio, text

from ..records.exchanges import exchanged
from ..records.recorded import WHOLE, Repeat, Repeated
from .phases import WAIT, phase_states

_SHOWN = 20
_SPANS = 400
"""Largest number of bars in the timeline of a notebook."""
_COUNTS = {"hr": counted("h_r"), "hw": counted("h_w"), "m": counted("M")}
_COLUMNS = {
    "step": counted("step"),
    "label": text("label"),
    **_COUNTS,
    "copy_in": Column("copy-in", form="time"),
    "compute": Column("compute", form="time"),
    "copy_out": Column("copy-out", form="time"),
}
_COLLECTIVES = (text("collective"), text("place"), counted("calls"), *_COUNTS.values(), Column("time", form="time"))


def run_text(run: Repeated, virtual: bool = False, extrapolated: str = "", unknown: Sequence[str] = ()) -> str:
    """Return the text of a run."""
    return "\n".join(terminal.text(table) for table in run_tables(run, virtual, extrapolated, unknown))


def run_html(run: Repeated, virtual: bool = False, extrapolated: str = "", unknown: Sequence[str] = ()) -> str:
    """Return the display of a run in a notebook, with the timeline of its first supersteps."""
    states = phase_states(run.timeline())
    states = states[states["end"] > states["start"]][:_SPANS]
    return displayed(
        [Part("", run_tables(run, virtual, extrapolated, unknown))], lanes(states) if len(states) else None
    )


def run_tables(run: Repeated, virtual: bool, extrapolated: str, unknown: Sequence[str]) -> list[Table]:
    """Return the tables of a run, which say that its times are extrapolated, if they are, and what is not known."""
    tables = [_supersteps(run, virtual, [extrapolated, *(f"not known: {each}" for each in unknown)])]
    if outside := exchanged(run.collectives):
        words = "their words count in no superstep's h_r, h_w, M"
        tables.append(Table("", _COLLECTIVES, outside, [words, extrapolated]))
    return tables


def lasted(run: Repeat, virtual: bool) -> float:
    """Return the seconds that a run took: until the last answer, or in virtual time on the slowest processor."""
    return float(run.seconds.max()) if virtual else run.wall


def lanes(states: NDArray[np.void]) -> Figure:
    """Describe a lane for each processor, with a bar for each state."""
    began = states["start"].min()
    ranks = np.unique(states["rank"])
    series = []
    for k, name in enumerate(dict.fromkeys(states["state"].tolist())):
        rows = states[states["state"] == name]
        lanes, length = np.searchsorted(ranks, rows["rank"]), rows["end"] - rows["start"]
        colour = GREY if name == WAIT else k
        series.append(Series(name, length, lanes, "bar", start=rows["start"] - began, colour=colour))
    axes = Axis("time", "s"), Axis("processor", names=[f"processor {rank}" for rank in ranks])
    return Figure("timeline", "Phases of the processors, and their waits", "", [Panel(*axes, series)])


def _supersteps(run: Repeated, virtual: bool, notes: Sequence[str]) -> Table:
    supersteps, repeats = run.summary(), run.repeats
    said = [
        *notes,
        f"... and {len(supersteps) - _SHOWN:,} more in run.steps" if len(supersteps) > _SHOWN else "",
        f"{run.dropped:,} further supersteps were not recorded" if run.dropped else "",
    ]
    shown: list[list[Any]] = [[row[name] for name in _COLUMNS] for row in supersteps[:_SHOWN]]
    columns = list(_COLUMNS.values())
    title = f"run on {run.size} processor{'s' if run.size != 1 else ''}: {time(lasted(run, virtual))}"
    if len(repeats) > 1:
        walls = np.quantile([lasted(repeat, virtual) for repeat in repeats], (0.25, 0.5, 0.75))
        title = f"{title.partition(':')[0]}: median {time(walls[1])}, quartiles {time(walls[0])} and {time(walls[2])}"
        title += f", of {len(repeats)} repeats" + (
            f" after {run.warmup} warm-up run{'s' * (run.warmup != 1)}" if run.warmup else ""
        )
        columns.append(ratio("spread"))
        for cells, spread in zip(shown, _spreads(run), strict=False):
            cells.append(spread)
        said.append("times are medians; spread is the distance between the quartiles of a superstep, over its median")
    return Table(title, columns if shown else (), shown, said)


def _spreads(run: Repeated) -> list[float]:
    """Return the distance between the quartiles of each superstep's times, divided by their median."""
    rows = run.spread()
    whole = rows[rows["phase"] == WHOLE]
    return list((whole["high"] - whole["low"]) / np.where(whole["median"] > 0.0, whole["median"], np.nan))
