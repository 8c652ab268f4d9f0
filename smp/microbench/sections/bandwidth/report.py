"""The report's section on bandwidth: STREAM by kernel and processors, and the latency under load."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import size
from smp._output.table import Column, Table, counted, text
from smp.microbench.output.format import cells, flagged
from smp.profiles.profile import Profile

from .facts import KERNELS
from .rows import Bandwidth, Stream

STREAM = (
    *(text("kernel"), counted("p"), Column("best", "GB/s"), Column("median", "GB/s")),
    *(Column("best with write-allocate", "GB/s"), counted("values right")),
)
LOADED = (
    *(counted("loading processors"), Column("they move", "GB/s"), Column("latency", "ns"), Column("cycles")),
    Column("p95", "ns"),
)
RIGHT = {True: "yes", False: "NO", None: None}


def tables(found: Bandwidth, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose bandwidth was measured."""
    if found.stream:
        ran = [row for p in processors(found) for kernel in KERNELS if (row := stream_row(found, p, kernel))]
        rows = [
            [*cells(row.kernel, row, "processors", "GBps", "median_GBps", "GBps_write_allocate"), RIGHT[row.verified]]
            for row in ran
        ]
        array = f"arrays of {size(found.array_bytes)}, the best of {found.repeats or '?'} repeats less the first"
        left_out = f"left out: {found.left_out}" if found.left_out else ""
        notes = [array, flagged(found.stream), found.capped or "", left_out]
        yield Table("STREAM (GB = 10^9 bytes)", STREAM, rows, notes)
    if found.loaded_latency:
        title = f"Latency of a random chase through {size(found.chase_bytes)} while others run triad"
        loads = found.loaded_latency
        rows = [cells(row.loading_processors, row, "load_GBps", "ns", "cycles", "p95_ns") for row in loads]
        yield Table(title, LOADED, rows, [flagged(loads)])


def stream_row(found: Bandwidth, p: int, kernel: str) -> Stream | None:
    """Return what STREAM gave for one kernel and p; None where it was not measured."""
    return next((row for row in found.stream if (row.processors, row.kernel) == (p, kernel)), None)


def processors(found: Bandwidth) -> list[int]:
    """Return the p that STREAM was run with, ascending."""
    return sorted({row.processors for row in found.stream})
