"""The report's section on bandwidth: STREAM by kernel and processors, and the latency under load."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, Rows, flag, flagged, number, section, size, table

from .facts import KERNELS as KERNELS


def bandwidth(profile: Data) -> Group:
    """Return the section of a profile whose bandwidth was measured."""
    return section("Bandwidth", profile["bandwidth"], _parts(profile["bandwidth"]))


def stream_row(data: Data, p: int, kernel: str) -> Data:
    """Return what STREAM gave for one kernel and p; nothing where it was not measured."""
    found = (row for row in data.get("stream", []) if (row["processors"], row["kernel"]) == (p, kernel))
    return next(found, {})


def processors(data: Data) -> list[int]:
    """Return the p that STREAM was run with, ascending."""
    return sorted({row["processors"] for row in data.get("stream", [])})


def _parts(data: Data) -> Iterator[RenderableType]:
    if data.get("stream"):
        yield _stream(data)
    if data.get("loaded_latency"):
        yield _loaded(data["loaded_latency"], data)


def _stream(data: Data) -> RenderableType:
    rows = []
    for p in processors(data):
        for kernel in KERNELS:
            row = stream_row(data, p, kernel)
            if row:
                best, median, allocate = (
                    number(row.get(name)) for name in ("GBps", "median_GBps", "GBps_write_allocate")
                )
                checked = {True: "yes", False: "NO", None: "-"}[row.get("verified")]
                rows.append([f"{kernel}{flag(row)}", str(p), best, median, allocate, checked])
    headers = ("kernel", "p", "best\nGB/s", "median\nGB/s", "best with\nwrite-allocate\nGB/s", "values\nright")
    array = f"arrays of {size(data.get('array_bytes'))}, the best of {data.get('repeats', '?')} repeats less the first"
    remarks = [array, flagged(data["stream"]), data.get("capped"), _left_out(data)]
    return table(headers, rows, title="STREAM (GB = 10^9 bytes)", caption="\n".join(filter(None, remarks)))


def _loaded(rows: Rows, data: Data) -> RenderableType:
    cells = [
        [f"{row['loading_processors']}{flag(row)}"]
        + [number(row.get(name)) for name in ("load_GBps", "ns", "cycles", "p95_ns")]
        for row in rows
    ]
    title = f"Latency of a random chase through {size(data.get('chase_bytes'))} while others run triad"
    headers = ("loading\nprocessors", "they move\nGB/s", "latency\nns", "\ncycles", "p95\nns")
    return table(headers, cells, title=title, caption=flagged(rows))


def _left_out(data: Data) -> str:
    return f"left out: {data['left_out']}" if data.get("left_out") else ""
