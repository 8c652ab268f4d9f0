"""The report's section on bandwidth: STREAM by kernel and processors, and the latency under load."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import fixed, number, size
from smp._output.table import Column, Table, counted, ratio, share, text
from smp.microbench.output.format import by_placement, cells, flagged, listed
from smp.microbench.output.tera import MACHINE, STREAM_FOUR, STREAM_ONE, STREAM_SPEEDUP
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
PRIVATE = {name: STREAM[name] for name in ("kernel", "processors", "GBps", "median_GBps")}
CURVE = {
    "write_share": share("lines written"),
    "delay_cycles": counted("delay, cycles"),
    "load_GBps": Column("traffic", "GB/s"),
    "ns": Column("latency", "ns"),
    "cycles": Column("cycles"),
    "p95_ns": Column("p95", "ns"),
}
NODES = {
    "cpus_of_node": counted("CPUs of node"),
    "memory_of_node": counted("memory of node"),
    "ns": Column("latency", "ns"),
    "cycles": Column("cycles"),
    "GBps": Column("reading", "GB/s"),
}
LOADED = {
    "loading_processors": counted("loading processors"),
    "load_GBps": Column("traffic", "GB/s"),
    "ns": Column("latency", "ns"),
    "cycles": Column("cycles"),
    "p95_ns": Column("p95", "ns"),
}


def tables(found: Bandwidth, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose bandwidth was measured."""
    if found.stream:
        rows = [row for p in processors(found) for kernel in KERNELS if (row := stream_row(found, p, kernel))]
        array = f"arrays of {size(found.array_bytes)}, the best of {found.repeats or '?'} repeats without the first"
        left_out = f"left out: {found.left_out}" if found.left_out else ""
        yield Table(
            "STREAM in global arrays (GB = 10^9 bytes; after table 4)",
            (*list(STREAM.values())[:-1], ratio("speed-up"), STREAM["verified"]),
            [[*cells(row.kernel, row, *list(STREAM)[1:-1]), speedup(found, row), row.verified] for row in rows],
            (
                *(array, found.capped or "", left_out),
                f"{MACHINE}: {STREAM_ONE.value:g} GB/s with one processor, {STREAM_FOUR.value:g} with four, "
                f"speed-up {STREAM_SPEEDUP.value:g} ({STREAM_SPEEDUP.place})",
                flagged(rows),
            ),
        )
    if found.private:
        yield listed("STREAM in private memory, in huge pages", PRIVATE, found.private, *_compared(found))
    yield from in_other_states(found)
    if found.loaded_latency:
        title = f"Latency of a random chase through {size(found.chase_bytes)} while others run triad"
        yield listed(title, LOADED, found.loaded_latency)
        beside = [(f"{row.loading_processors} running triad", row.ns, row.elsewhere_ns) for row in found.loaded_latency]
        states = (found.placement or {}).get(str(found.all_processors))
        yield from by_placement("The same by placement of the CPUs", "loading processors", beside, states)
    if found.load_curve:
        many = found.load_curve[0].loading_processors
        who = "another processor reads and writes" if many == 1 else f"{many} other processors read and write"
        title = f"Latency while {who} lines, with a delay after each line"
        note = "a line that is written counts twice, since it is read first"
        yield listed(title, CURVE, found.load_curve, note, *under_load(found))
    if found.nodes:
        yield listed("Memory of one node for the CPUs of another", NODES, found.nodes)
    elif found.nodes_found is not None:
        yield Table(notes=["All memory that the CPUs may use belongs to one node, so there is no matrix of nodes."])


def in_other_states(found: Bandwidth) -> Iterator[Table]:
    """Yield a table for each p whose CPUs had several states of placement: the median rates in every state."""
    for p, states in (found.placement or {}).items():
        rows = [(row.kernel, row.median_GBps, row.elsewhere_GBps) for row in found.stream if row.processors == int(p)]
        yield from by_placement(f"STREAM by placement of the CPUs, p = {p}, medians", "kernel", rows, states, "GB/s")


def _compared(found: Bandwidth) -> Iterator[str]:
    """Yield a comparison of triad in private memory with triad in global arrays, for the most processors."""
    p = max(row.processors for row in found.private)
    shared = stream_row(found, p, "triad")
    private = next((row for row in found.private if (row.processors, row.kernel) == (p, "triad")), None)
    if shared and private:
        much = f"{fixed(private.GBps / shared.GBps)} times the {number(shared.GBps)} GB/s of global arrays"
        yield f"triad, p = {p}: {number(private.GBps)} GB/s, {much}"


def under_load(found: Bandwidth) -> Iterator[str]:
    """Yield a clause that compares the latency under the heaviest load with that of idle memory, from valid points."""
    points = [row for row in found.load_curve if row.valid is not False]
    idle = next((row for row in found.loaded_latency if not row.loading_processors and row.valid is not False), None)
    if points and idle:
        most = max(points, key=lambda row: row.load_GBps)
        yield (
            f"while {number(most.load_GBps)} GB/s are moved, a load takes {number(most.ns)} ns, "
            f"{fixed(most.ns / idle.ns)} times as long as alone"
        )


def stream_row(found: Bandwidth, p: int, kernel: str) -> Stream | None:
    """Return the row of STREAM for one kernel and p; None if it was not measured."""
    return next((row for row in found.stream if (row.processors, row.kernel) == (p, kernel)), None)


def speedup(found: Bandwidth, row: Stream) -> float | None:
    """Return the bandwidth of a row divided by that of one processor; None if that was not measured."""
    one = stream_row(found, 1, row.kernel)
    return row.GBps / one.GBps if one else None


def processors(found: Bandwidth) -> list[int]:
    """Return the numbers of processors that STREAM was run with, ascending."""
    return sorted({row.processors for row in found.stream})
