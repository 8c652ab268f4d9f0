"""A run as a file in Chrome's trace format, which Perfetto, ``chrome://tracing`` and speedscope show.

    node > processor            superstep > phase > wait at the barrier      slices that nest, in microseconds
    node > processor, states    state
    node > processor, stream    thread > wait > trapped, ready; arrows       see ``trace_events``
    machine                     h of each superstep, waiting streams         counters

A file of an emulated run has virtual times, and the same bytes whenever the run is repeated with the same seed.

Source: Trace Event Format, events "X", "C", "M", "s" and "f".
"""

from __future__ import annotations

import gzip
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.data import write

from ..steps import COUNTS, PHASES
from .trace_events import arrows, counts, slices, streams_of

MANY = 1_000_000
"""Number of events above which viewers are slow."""
NANOSECONDS, GRID = 1e9, 4096
"""Times are whole nanoseconds, in microseconds rounded up to a multiple of 1 / GRID.  These and their sums are exact in
floating point.  A viewer that adds a begin and a duration therefore finds the begin of the next slice.  With an error
of rounding it could find a later one, and would then show the next slice inside this one."""
Event = dict[str, Any]
Rows = NDArray[np.void]


def write_trace(path: Path, trace: dict[str, Any]) -> None:
    """Write what `trace_of` has returned to a file; see `Run.write_trace`."""
    if not path.name.endswith((".json", ".json.gz")):
        raise ValueError(f"a trace is written as .json or .json.gz, not as {path.name!r}: choose one of these")
    if len(trace["traceEvents"]) > MANY:
        warnings.warn(
            f"{path.name} has {len(trace['traceEvents']):,} events, with which viewers are slow: write some of the "
            "supersteps with supersteps=slice(first, last)",
            stacklevel=3,
        )
    data = to_json(trace)
    write(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def to_json(trace: dict[str, Any]) -> bytes:
    """Return the bytes of the file."""
    return json.dumps(trace, separators=(",", ":")).encode()


def trace_of(
    spans: Rows,
    steps: Rows,
    summary: Rows,
    states: Rows,
    recorded: Rows,
    nodes: Sequence[int],
    about: dict[str, Any],
) -> dict[str, Any]:
    """Return the rows of a run as an object of the trace format.

    Parameters
    ----------
    spans, steps, summary, states, recorded : structured array
        As `Repeat` has them; the last one are its events.
    nodes : sequence of int
        Node of each processor.
    about : dict
        Facts that the file states about the run.
    """
    began = min(
        (rows[name].min() for rows, name in ((spans, "start"), (states, "start"), (recorded, "time")) if len(rows)),
        default=0.0,
    )
    spans, states, recorded = (
        _since(began, spans, "start", "end"),
        _since(began, states, "start", "end"),
        _since(began, recorded, "time"),
    )
    events = [*_names(nodes, bool(len(states))), *_slices(spans, steps, nodes), *_counters(spans, summary, nodes)]
    events += [*_states(states, nodes), *_recorded(recorded, nodes)]
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}


def _since(began: float, rows: Rows, *times: str) -> Rows:
    """Return a copy of rows in which some columns of times count from a moment."""
    found = rows.copy()
    for name in times:
        found[name] -= began
    return found


def _names(nodes: Sequence[int], stated: bool) -> Iterator[Event]:
    for node in sorted(set(nodes)):
        yield _name("process_name", node, 0, f"node {node}")
    for rank, node in enumerate(nodes):
        yield _name("thread_name", node, _track(rank), f"processor {rank}")
        if stated:
            yield _name("thread_name", node, _track(rank) + 1, f"processor {rank}, states")
    yield _name("process_name", _machine(nodes), 0, "machine")


def _name(what: str, process: int, thread: int, text: str) -> Event:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": text}}


def _track(rank: int) -> int:
    return 2 * rank


def _machine(nodes: Sequence[int]) -> int:
    return max(nodes) + 1


def _slices(spans: Rows, steps: Rows, nodes: Sequence[int]) -> Iterator[Event]:
    """Yield the slices of supersteps, of their phases, and of the waits in these."""
    counted = {(row["step"].item(), row["rank"].item()): row for row in steps}
    for rows in _by_superstep(spans):
        first = rows[0]
        rank, step = int(first["rank"]), int(first["step"])
        where = {"ph": "X", "pid": nodes[rank], "tid": _track(rank)}
        row = counted[step, rank]
        args = {"step": step} | {name: int(row[name]) for name in COUNTS}
        yield {"name": _superstep(first), **where, **_times(first["start"], rows[-1]["end"]), "args": args}
        for one in rows:
            name = str(one["phase"]).replace("_", "-")
            yield {"name": name, **where, **_times(one["start"], one["end"])}
            if one["waited"] > 0:
                start = max(float(one["start"]), float(one["end"] - one["waited"]))
                yield {"name": "wait", **where, **_times(start, one["end"])}


def _by_superstep(spans: Rows) -> Iterator[Rows]:
    """Yield the phases of each superstep of each processor, in their order."""
    order = {phase: k for k, phase in enumerate(PHASES)}
    phases = np.array([order[phase] for phase in spans["phase"].tolist()], np.int64)
    rows = spans[np.lexsort((phases, spans["step"], spans["rank"]))]
    ends = np.flatnonzero((np.diff(rows["step"]) != 0) | (np.diff(rows["rank"]) != 0)) + 1
    yield from (part for part in np.split(rows, ends) if len(part))


def _superstep(row: Any) -> str:
    return str(row["label"]) or f"superstep {row['step']}"


def _counters(spans: Rows, summary: Rows, nodes: Sequence[int]) -> Iterator[Event]:
    """Yield h, the most words that a processor reads and writes, from the beginning of each superstep."""
    steps, place = np.unique(spans["step"], return_inverse=True)
    starts = np.full(len(steps), np.inf)
    np.minimum.at(starts, place, spans["start"])
    began = dict(zip(steps.tolist(), starts.tolist(), strict=True))
    for row in summary:
        at = _times(began[row["step"].item()], 0.0)["ts"]
        args = {"h_r": int(row["hr"]), "h_w": int(row["hw"])}
        yield {"name": "h", "ph": "C", "pid": _machine(nodes), "tid": 0, "ts": at, "args": args}


def _states(states: Rows, nodes: Sequence[int]) -> Iterator[Event]:
    for rank, state, start, end in states.tolist():
        yield {"name": state, "ph": "X", "pid": nodes[rank], "tid": _track(rank) + 1, **_times(start, end)}


def _recorded(events: Rows, nodes: Sequence[int]) -> Iterator[Event]:
    """Yield the tracks of streams, with their slices and arrows, and the counter of waiting streams."""
    track = {key: 2 * len(nodes) + k for k, key in enumerate(streams_of(events))}
    for (rank, stream), thread in track.items():
        yield _name("thread_name", nodes[rank], thread, f"processor {rank}, stream {stream}")
    for each in slices(events):
        place = {"pid": nodes[each.rank], "tid": track[each.rank, each.stream]}
        yield {"name": each.name, "ph": "X", **place, **_times(each.start, each.end), "args": each.about}
    for number, arrow in enumerate(arrows(events)):
        for end, (rank, stream, at) in (("s", arrow.tail), ("f", arrow.head)):
            where: Event = {"pid": nodes[rank], "tid": track[rank, stream], "ts": _times(at, at)["ts"]}
            to_slice = {"bp": "e"} if end == "f" else {}
            yield {"name": arrow.name, "cat": arrow.name, "ph": end, "id": number, **where, **to_slice}
    for at, waiting in counts(events):
        yield {
            "name": "streams",
            "ph": "C",
            "pid": _machine(nodes),
            "tid": 0,
            "ts": _times(at, at)["ts"],
            "args": waiting,
        }


def _times(start: float, end: float) -> dict[str, float]:
    """Return begin and duration in microseconds, from seconds since the first event."""
    first, last = (math.ceil(round(float(time) * NANOSECONDS) * GRID / 1000) for time in (start, end))
    return {"ts": first / GRID, "dur": (last - first) / GRID}
