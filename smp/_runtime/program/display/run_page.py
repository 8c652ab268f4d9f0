"""The page of a run: its timeline, its supersteps, where they lie in their intervals, and its trace to save.

A page draws some thousand bars at most.  Of a longer run, it draws the supersteps that took the most time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from smp._output.numbers import percent, time
from smp._output.page.page import KeyFigure, Page, Section, render
from smp._output.table import Table

from ..records.events import EVENT
from ..records.recorded import Repeat, Repeated
from ..steps import PHASES
from .phases import phase_states
from .printed_run import lanes, lasted, run_tables
from .trace_file import to_json, trace_of

if TYPE_CHECKING:
    from smp.models.supersteps.intervals import Interval

MOST_SPANS = 5_000
"""Most bars in the timeline: two for each phase of each superstep on each processor."""
READING = "a lane for each processor: colours are phases of supersteps, grey is the wait at a barrier"
TRACE = (
    "The file is a trace of these supersteps, which Perfetto, chrome://tracing and speedscope show. run.write_trace "
    "writes it as well, with the events of streams if they were recorded."
)


def page_of(
    run: Repeated, interval: Interval | None, nodes: Sequence[int], about: dict[str, Any], unknown: Sequence[str]
) -> str:
    """Return the page of a run as one HTML file.

    Parameters
    ----------
    run : Repeated
    interval : Interval or None
        Of this run.
    nodes : sequence of int
        Node of each processor.
    about : dict
        Facts on the run, as in its trace.
    unknown : sequence of str
        What is not known of an extrapolated machine.
    """
    drawn, virtual = _longest(run), about["kind"] == "emulated"
    spans, steps, summary = (
        rows[np.isin(rows["step"], drawn)] for rows in (run.timeline(), run.steps, Repeat.summary(run))
    )
    page = Page(
        title=f"A run on {run.size} processor{'s' * (run.size != 1)}",
        conditions=", ".join(_conditions(run, about)),
        cautions=[],
        key_figures=list(_key_figures(run, virtual)),
        sections=list(_sections(run, interval, spans, len(drawn), run_tables(run, virtual, about["remark"], unknown))),
        data_name="trace.json",
        data=to_json(trace_of(spans, steps, summary, run.states, np.zeros(0, EVENT), nodes, about)),
        data_text=TRACE,
    )
    return render(page)


def _longest(run: Repeated) -> NDArray[np.int64]:
    """Return the numbers of the supersteps that took the most time, as many as the page draws."""
    rows = Repeat.summary(run)
    seconds = sum(rows[phase] for phase in PHASES)
    most = max(1, MOST_SPANS // (2 * len(PHASES) * run.size))
    return np.sort(rows["step"][np.argsort(-seconds, kind="stable")[:most]])


def _conditions(run: Repeated, about: dict[str, Any]) -> Iterator[str]:
    yield f"{about['kind']} machine{' ' * bool(about['machine'])}{about['machine']}"
    if about["remark"]:
        yield about["remark"]
    if len(run.repeats) > 1:
        yield f"{len(run.repeats)} repeats, of which the timeline shows the last"
    yield f"seed {about['seed']}"


def _key_figures(run: Repeated, virtual: bool) -> Iterator[KeyFigure]:
    value, unit = time(lasted(run, virtual)).split()
    yield KeyFigure("Time", value, unit, ["virtual"] if virtual else [], "timeline")
    spans, rows = run.timeline(), run.summary()
    if not len(spans):
        return
    yield KeyFigure("Supersteps", f"{len(rows):,}", "", section="supersteps")
    took, copies = spans["end"] - spans["start"], spans["phase"] != "compute"
    whole = float(took.sum()) or 1.0  # in virtual time, all phases may take no time
    for name, seconds, what in (
        ("Communication", took[copies].sum(), "copies, with their barriers"),
        ("Waiting", spans["waited"].sum(), "at barriers, all phases"),
    ):
        yield KeyFigure(name, percent(float(seconds) / whole), "%", ["of the time in supersteps", what], "timeline")


def _sections(
    run: Repeated,
    interval: Interval | None,
    spans: NDArray[np.void],
    drawn: int,
    tables: Sequence[Table],
) -> Iterator[Section]:
    states = phase_states(spans)
    if len(states := states[states["end"] > states["start"]]):
        supersteps = len(np.unique(run.steps["step"]))
        left = f"{drawn:,} of {supersteps:,} supersteps, those that took the most time" if drawn < supersteps else ""
        figure = replace(lanes(states), reading=READING, remarks=left)
        yield Section("timeline", "Timeline", figures=[figure])
    if interval is not None and len(interval):
        yield Section("interval", "The best and the worst time", figures=[interval.figure()], tables=[interval.table()])
    yield Section("supersteps", "Supersteps", tables=tables)
