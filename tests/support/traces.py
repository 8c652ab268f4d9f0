"""Reads trace files of runs as viewers do."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import smp


def traced(run: smp.Run, path: Path, **options: Any) -> list[dict[str, Any]]:
    run.write_trace(path, **options)
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events: list[dict[str, Any]] = json.loads(data)["traceEvents"]
    return events


def tracks(events: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the slices of each track, by its name, in the order in which viewers take them."""
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            found[names[event["pid"], event["tid"]]].append(event)
    return {name: sorted(slices, key=lambda e: (e["ts"], -e["dur"])) for name, slices in found.items()}


def depths(slices: list[dict[str, Any]]) -> list[int]:
    """Return how many slices are open at the begin of each; fail if one ends after the slice that it began in."""
    open_until: list[float] = []
    found = []
    for event in slices:
        end = event["ts"] + event["dur"]  # as viewers do, without rounding
        while open_until and open_until[-1] <= event["ts"] and (event["dur"] or open_until[-1] < event["ts"]):
            open_until.pop()
        assert not open_until or end <= open_until[-1], event
        found.append(len(open_until))
        open_until.append(end)
    return found
