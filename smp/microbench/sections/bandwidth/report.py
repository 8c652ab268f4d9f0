"""The report's section on bandwidth: STREAM by kernel and processors, and the latency under load."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import size
from smp._output.table import Column, Table, counted, text
from smp.microbench.output.format import listed
from smp.profiles.profile import Profile

from .kernels import KERNELS
from .rows import Bandwidth, Stream

STREAM = {
    "kernel": text("kernel"),
    "processors": counted("p"),
    "GBps": Column("best", "GB/s"),
    "median_GBps": Column("median", "GB/s"),
    "GBps_write_allocate": Column("best with write-allocate", "GB/s"),
    "verified": Column("values right", form="checked"),
}
LOADED = {
    "loading_processors": counted("loading processors"),
    "load_GBps": Column("they move", "GB/s"),
    "ns": Column("latency", "ns"),
    "cycles": Column("cycles"),
    "p95_ns": Column("p95", "ns"),
}


def tables(found: Bandwidth, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose bandwidth was measured."""
    if found.stream:
        rows = [row for p in processors(found) for kernel in KERNELS if (row := stream_row(found, p, kernel))]
        array = f"arrays of {size(found.array_bytes)}, the best of {found.repeats or '?'} repeats less the first"
        left_out = f"left out: {found.left_out}" if found.left_out else ""
        yield listed("STREAM (GB = 10^9 bytes)", STREAM, rows, array, found.capped or "", left_out)
    if found.loaded_latency:
        title = f"Latency of a random chase through {size(found.chase_bytes)} while others run triad"
        yield listed(title, LOADED, found.loaded_latency)


def stream_row(found: Bandwidth, p: int, kernel: str) -> Stream | None:
    """Return what STREAM gave for one kernel and p; None where it was not measured."""
    return next((row for row in found.stream if (row.processors, row.kernel) == (p, kernel)), None)


def processors(found: Bandwidth) -> list[int]:
    """Return the p that STREAM was run with, ascending."""
    return sorted({row.processors for row in found.stream})
