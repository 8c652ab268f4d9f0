"""The picture of a run's states: a lane for each processor, with time to the right and a colour for each state.

    path.png, path.svg      columns of equal time; a column has the colour of the state that took most of its time
    path.json               a trace of all rows, which chrome://tracing and Perfetto show

Time begins at the first change of any processor.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.data import write
from smp._output.figure import BLACK, COLOURS, FURTHER, GREY, Axis, Cells, Figure, Panel, Series
from smp._output.numbers import time

from ..records.states import IDLE

COLUMNS = 1_000
OWN = (*range(COLOURS), *FURTHER)
"""Colours of states; one of them is grey, usually `IDLE`, and states that have no colour of their own are black."""
LANE = (-0.5, -0.35, 0.35)
"""Middles of the cells of a lane, from its processor: one for the gap below it, and two that fill it."""
NAMED = 32
"""Largest number of processors of which each is named at its lane."""


def write_states(
    states: NDArray[np.void], size: int, dropped: int, path: Path, clock_error: float, remark: str
) -> None:
    """Write the picture or the trace of the states of a run, with a remark if there is one; see `Run.state_graph`."""
    ending = path.suffix.lower()
    if ending not in (".png", ".svg", ".json"):
        raise ValueError(f"a state graph is written as .png, .svg or .json, not as {path.name!r}: choose one of these")
    if not len(states):
        raise ValueError("the program has recorded no state, so there is nothing to draw: call proc.state(name) in it")
    if ending == ".json":
        write(path, json.dumps(trace(states) | ({"otherData": {"remark": remark}} if remark else {})))
        return
    from smp._output.drawing import draw  # Matplotlib takes a while

    drawn = io.BytesIO()
    draw(figure(states, size, dropped, clock_error, remark)).savefig(drawn, format=ending[1:])
    write(path, drawn.getvalue())


def trace(states: NDArray[np.void]) -> dict[str, Any]:
    """Return the rows as complete events ("X") of Chrome's trace format, in microseconds from the first change."""
    began = states["start"].min()
    events: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": int(rank), "args": {"name": f"processor {rank}"}}
        for rank in np.unique(states["rank"])
    ]
    starts, lasted = (states["start"] - began) * 1e6, (states["end"] - states["start"]) * 1e6
    columns = (states["rank"].tolist(), states["state"].tolist(), starts.tolist(), lasted.tolist())
    for rank, state, start, duration in zip(*columns, strict=True):
        events.append({"name": state, "ph": "X", "pid": 0, "tid": rank, "ts": start, "dur": duration})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def figure(
    states: NDArray[np.void],
    size: int,
    dropped: int,
    clock_error: float = 0.0,
    remark: str = "",
    what: str = "States",
    grey: str = IDLE,
) -> Figure:
    """Describe the picture.

    Parameters
    ----------
    states : STATE array
        At least one row.
    size : int
        Number of processors.
    dropped : int
        Number of changes that were not recorded, of the processor with the most.
    clock_error : float
        Largest error in seconds of a processor's clock.
    remark : str
        Shown below the picture.
    what : str
        What the states are, for the title.
    grey : str
        The state that is grey.
    """
    began, ended = states["start"].min(), states["end"].max()
    lasted = max(ended - began, 1e-9)  # in virtual time, the whole program may take no time
    names, own = legend(states, grey)
    edges = np.linspace(0.0, lasted, COLUMNS + 1)
    lanes = np.full((size, len(LANE), COLUMNS), np.nan)
    for rank in np.unique(states["rank"]):
        mine = states["rank"] == rank
        part, which = states[mine], own[mine]
        seconds = np.stack([_within(part[which == k], began, edges) for k in range(len(names))])
        chosen = np.array([colour for _, colour in names], np.float64)[seconds.argmax(axis=0)]
        lanes[rank, 1:] = np.where(seconds.max(axis=0) > 0.0, chosen, np.nan)
    heights = np.append(np.add.outer(np.arange(size), LANE), size - 0.5)
    colours = np.append(lanes.reshape(-1, COLUMNS), np.full((1, COLUMNS), np.nan), axis=0)
    ranks = [str(rank) for rank in range(size)] if size <= NAMED else ()
    panel = Panel(
        Axis("time", "s", low=0.0, high=lasted),
        Axis("processor", low=-0.5, high=size - 0.5, names=ranks),
        [Series(name, [np.nan], [np.nan], "points", marker=1, colour=colour) for name, colour in names],
        cells=Cells((edges[:-1] + edges[1:]) / 2, heights, colours, named=True),
    )
    said = [
        remark,
        f"{dropped:,} further changes of a processor were not recorded" if dropped else "",
        f"the nodes' clocks agree with that of processor 0 to within {time(clock_error)}" if clock_error else "",
    ]
    return Figure(
        what.lower(),
        f"{what} of {size} processor{'s' * (size != 1)}",
        f"from the first change; each column, of {time(lasted / COLUMNS)}, shows the state that took most of its time",
        [panel],
        remarks="; ".join(filter(None, said)),
    )


def legend(states: NDArray[np.void], grey: str = IDLE) -> tuple[list[tuple[str, int]], NDArray[np.intp]]:
    """Return the names and colours of the legend, in the order in which the states appear, and the entry of each row.

    If there are more states than colours, those that took the least time share one entry.
    """
    names, first, own = np.unique(states["state"], return_index=True, return_inverse=True)
    seconds = np.bincount(own, states["end"] - states["start"])
    longest = [k for k in np.argsort(-seconds, kind="stable") if names[k] != grey][: len(OWN)]
    shown = sorted([*longest, *np.flatnonzero(names == grey)], key=lambda k: int(first[k]))
    colours = iter(OWN)
    entries = [(_shown(str(names[k])), GREY if names[k] == grey else next(colours)) for k in shown]
    entry = np.full(len(names), len(entries))
    entry[shown] = np.arange(len(shown))
    if len(shown) < len(names):
        entries.append((f"{len(names) - len(shown)} other states", BLACK))
    return entries, entry[own]


def _shown(name: str) -> str:
    """Return a name as Matplotlib shows it: it would read a formula between dollars, and leave out _names."""
    return " " * name.startswith("_") + name.replace("$", r"\$")


def _within(rows: NDArray[np.void], began: float, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seconds that rows of one state took between each edge and the next."""
    if not len(rows):
        return np.zeros(len(edges) - 1)
    after = np.cumsum(rows["end"] - rows["start"])
    before = np.append(0.0, after[:-1])
    ends = np.stack([rows["start"] - began, rows["end"] - began], axis=1)
    return np.diff(np.interp(edges, ends.ravel(), np.stack([before, after], axis=1).ravel()))
