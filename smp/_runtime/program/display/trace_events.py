"""The events of a recorded run as events of a trace file (see ``trace_file``).

node > stream of a processor    thread > wait at a cell > trapped, ready     slices that nest
                                serve, start, send, get                      slices without duration
arrows                          serve -> the end of trapped, start -> thread, send -> get
machine                         streams that are trapped, and that are ready: a counter
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.void]
Key = tuple[Any, ...]
OPENS = {"waits": "", "traps": "trapped", "wakes": "ready", "begins": ""}
"""Events that open a slice, with its name; "" if the event names it."""
POINTS = {"serves": "serve", "starts": "start", "sends": "send", "gets": "get"}


class Slice(NamedTuple):
    """A slice of the track of a stream, in seconds.

    Attributes
    ----------
    rank, stream : int
    name : str
    start, end : float
    about : dict
        Facts that a viewer shows.
    """

    rank: int
    stream: int
    name: str
    start: float
    end: float
    about: dict[str, Any]


class Arrow(NamedTuple):
    """An arrow from one event to another, each (rank, stream, seconds)."""

    name: str
    tail: tuple[int, int, float]
    head: tuple[int, int, float]


def streams_of(events: Rows) -> list[tuple[int, int]]:
    """Return the rank and the number of each stream that has events, in order."""
    return sorted(set(zip(events["rank"].tolist(), events["stream"].tolist(), strict=True)))


def slices(events: Rows) -> Iterator[Slice]:
    """Yield the slices of all streams.  Slices of which one end was not recorded are left out."""
    for rank, stream in streams_of(events):
        open_: list[tuple[str, str, float, dict[str, Any]]] = []
        for row in events[(events["rank"] == rank) & (events["stream"] == stream)]:
            event, at = str(row["event"]), float(row["time"])
            if event in POINTS:
                yield Slice(rank, stream, POINTS[event], at, at, _about(row))
                continue
            for done, name, start, about in _closed(open_, event):
                more = {"looks": int(row["number"])} if (done, event) == ("waits", "goes on") else {}
                yield Slice(rank, stream, name, start, at, about | more)
            if event in OPENS:
                open_.append((event, OPENS[event] or str(row["what"]), at, _about(row)))


def _closed(open_: list[tuple[str, str, float, dict[str, Any]]], event: str) -> list[Any]:
    """Take the slices that an event ends off the open ones, the innermost first."""
    ends = {"wakes": ("traps",), "goes on": ("traps", "wakes", "waits"), "ends": ("traps", "wakes", "waits", "begins")}
    wanted, found = ends.get(event, ()), []
    last = wanted[-1:]  # this one is ended once
    while open_ and open_[-1][0] in wanted:
        found.append(open_.pop())
        if found[-1][0] in last:
            break
    return found


def _about(row: Any) -> dict[str, Any]:
    event = str(row["event"])
    if event in ("waits", "traps"):
        return {"where": str(row["where"])} if row["where"] else {}
    if event in ("starts", "begins"):
        return {"thread": int(row["number"]), "function": str(row["what"])}
    if event in ("sends", "gets"):
        return {"processor": int(row["peer"]), "network": str(row["what"]), "packet": int(row["number"])}
    return {"processor": int(row["peer"]), "stream": int(row["number"])} if event == "serves" else {}


def arrows(events: Rows) -> Iterator[Arrow]:
    """Yield the arrows whose two ends were recorded."""
    tails: dict[Key, tuple[int, int, float]] = {}
    for row in events:
        event, here = str(row["event"]), (int(row["rank"]), int(row["stream"]), float(row["time"]))
        key, name = _key(event, row)
        if event in ("serves", "starts", "sends"):
            tails[key] = here
        elif key in tails:
            yield Arrow(name, tails.pop(key), here)


def _key(event: str, row: Any) -> tuple[Key, str]:
    """Return what the two ends of an arrow have in common, and the name of the arrow."""
    rank, stream, peer, number = (int(row[name]) for name in ("rank", "stream", "peer", "number"))
    if event in ("serves", "wakes"):
        return ("served", *((peer, number) if event == "serves" else (rank, stream))), "served"
    if event in ("starts", "begins"):
        return ("started", rank, number), "started"
    if event in ("sends", "gets"):
        return ("message", str(row["what"]), *((rank, peer) if event == "sends" else (peer, rank)), number), "message"
    return (), ""


def counts(events: Rows) -> Iterator[tuple[float, dict[str, int]]]:
    """Yield the numbers of trapped and of ready streams of the machine, whenever they change."""
    state: dict[tuple[int, int], str] = {}
    for row in events:
        event, key = str(row["event"]), (int(row["rank"]), int(row["stream"]))
        after = {"traps": "trapped", "wakes": "ready", "goes on": ""}.get(event)
        if after is not None and after != state.get(key, ""):
            state[key] = after
            values = list(state.values())
            yield float(row["time"]), {each: values.count(each) for each in ("trapped", "ready")}
