"""Measure STREAM and a sum on 1 to P processors, and the latency of a chase while other processors load the memory.

    processor 0   |copy---|scale--|add-----|triad----|        a barrier before each kernel
    processor 1   |copy--|  scale-|add----|triad-----|
                  earliest start ... latest end               the time of the kernel

The arrays are in the memory that the processors share, and each processor works on its own block.  The same is measured
in private memory.  See `stream` for the repeats that count, `loaded` for the latency under load, and `nodes` for the
memory of other nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._computer.system import memory
from smp._runtime.kinds import host
from smp.microbench.method.clocks import clock_rate
from smp.microbench.method.placement import elsewhere_ns, records
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import Times, complaints, key_of, row, stack
from smp.models.placement import Placement

from .inject import CYCLES, OF
from .loaded import TRIAD, Load, Traffic, measure_loaded
from .nodes import Pair, measure_nodes, nodes_of_memory
from .rows import Bandwidth, Loaded, OfNodes, Stream, UnderLoad
from .stream import MEMORIES, Memory, note_placement, run_stream, stream_rows

MIB = 1 << 20
FEWEST_ELEMENTS = 10_000_000
"""Elements of a STREAM array, if no cache asks for more."""
FEW = 8
"""Up to this number of processors, every number is measured; beyond it, only those that the plan asks for."""


DELAYS = (0, 4, 8, 16, 32, 64, 128, 512)
"""Delays of the curve of latency under load, in steps."""
WRITTEN = (0, OF // 2)
"""Number of lines that are written, of each `OF`: none, or half of them."""


@dataclass(frozen=True)
class Effort:
    """Extent of the measurement in one mode.

    Parameters
    ----------
    cap_bytes : int
        Most bytes of one STREAM array.
    repeats : int
        Repeats of the kernels; STREAM's NTIMES.
    load : Load
        Sizes and times for the latency under load.
    nodes_seconds : float
        Seconds for the memory of other nodes, if there are any.
    """

    cap_bytes: int
    repeats: int
    load: Load
    nodes_seconds: float


EFFORTS = {
    "quick": Effort(48 * MIB, 10, Load(64 * MIB, 16 * MIB, 4, (0, 8, 32, 128, 512)), 1.0),
    "default": Effort(256 * MIB, 10, Load(256 * MIB, 64 * MIB, 12, DELAYS), 4.0),
    "full": Effort(1024 * MIB, 12, Load(512 * MIB, 128 * MIB, 60, DELAYS), 15.0),
}
"""Efforts by mode: about 5, 15 and 60 s on two processors."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure STREAM for each number of processors, and the latency under load.

    Parameters
    ----------
    plan : Plan
        Plan of the measurement. Numbers of processors above the number of CPUs are left out: such processors would
        take turns, and share the bandwidth of the CPUs.
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.stream`` has a row for each kernel and number of processors: ``GBps``, the best repeat as STREAM
        counts bytes, ``GBps_write_allocate``, ``median_GBps``, ``verified``. ``private`` has the same in private memory
        with huge pages. ``one_GBps`` and ``all_GBps`` are those of triad in shared memory, with one processor and with
        the most. ``data.loaded_latency`` has ``ns`` by the number of processors that run triad, with the bandwidth that
        they use, ``load_GBps``. ``data.load_curve`` has the same by ``write_share`` and ``delay_cycles`` of the traffic
        of all others. ``capped`` is the reason why the arrays are smaller than STREAM asks for, or None. ``nodes`` has
        ns of a load and GB/s of reading, by the node of the CPUs and that of the memory, if there is more than one node
        (``nodes_found``).
    """
    effort = EFFORTS[plan.mode]
    counts, left_out = counts_of(plan, len(usable_cpus()))
    available = memory()[1]
    nbytes, capped = array_bytes(plan, available)
    load = effort.load if available is None else effort.load.fitting(available // 2, counts[-1])
    rows: dict[Memory, list[Stream]] = {each: [] for each in MEMORIES}
    stamps: list[NDArray[np.void]] = []
    traffics: list[Traffic] = []
    loaded: list[Result] = []
    loads: list[float] = []
    for done, p in enumerate(counts):
        tick(0.7 * done / len(counts), f"STREAM, p = {p}")
        with host(p, pin=measuring_cpus(p)) as machine:
            runs = run_stream(machine, nbytes // 8, effort.repeats)
            for ran in runs:
                note_placement(ran.stamps, p, plan.placement)
            for ran in runs:
                stamps.append(ran.stamps)
                rows[ran.memory] += stream_rows(ran, nbytes // 8, plan.placement.placement(p))
            if p == counts[-1]:
                tick(0.7, "latency under load")
                traffics = [Traffic(k) for k in loading_of(plan, p)]
                traffics += [Traffic(p - 1, k, steps) for k in WRITTEN for steps in load.steps if p > 1]
                loaded, loads = measure_loaded(machine, traffics, load, plan.line_bytes, plan.seed, plan.placement)
    known, between = nodes_of_memory(), []
    if len(known) > 1:
        tick(0.9, "nodes of memory")
        between = measure_nodes(known, load.chase_bytes, plan.line_bytes, effort.nodes_seconds, plan.seed)
    tick(1.0, "bandwidth")
    triads = [one.GBps for one in rows["shared"] if one.kernel == "triad"]
    GHz = clock_rate().GHz
    why = complaints(loaded, 0.5, lambda result: f"latency next to {key_of(result)[0]} loading processors") + [
        f"p = {one.processors}, {one.kernel}: {one.why[0]}" for one in rows["shared"] if one.why
    ]
    placed = plan.placement.placement(counts[-1])
    states = {str(p): records(plan.placement.placement(p)) for p in counts if p > 1}
    data = Bandwidth(
        placement=states,
        stream=rows["shared"],
        private=rows["private"],
        one_GBps=triads[0],
        all_GBps=triads[-1],
        all_processors=counts[-1],
        loaded_latency=[
            Loaded(loading_processors=one.processors, load_GBps=moved, **_row(result, GHz, placed))
            for one, result, moved in zip(traffics, loaded, loads, strict=True)
            if one.written == TRIAD
        ],
        load_curve=[
            UnderLoad(
                loading_processors=one.processors,
                write_share=one.written / OF,
                delay_cycles=CYCLES * one.steps,
                load_GBps=moved,
                **_row(result, GHz, placed),
            )
            for one, result, moved in zip(traffics, loaded, loads, strict=True)
            if one.written != TRIAD
        ],
        nodes=[node_row(one, plan.line_bytes, GHz) for one in between],
        nodes_found=list(known),
        array_bytes=nbytes,
        elements=nbytes // 8,
        repeats=effort.repeats,
        memory="shared by the processors",
        chase_bytes=load.chase_bytes,
        left_out=left_out,
        capped=capped,
        clean_fraction=float(np.mean([one.clean_fraction for one in rows["shared"]])),
        valid=not why,
        why=why,
    )
    samples = {
        "bandwidth_stream": np.concatenate(stamps),
        "bandwidth_loaded": stack(loaded, {"loading_processors": "i4", "written": "i4", "delay_steps": "i4"}),
    }
    return Measurement(data, samples)


class _Row(Times):
    """The times of a point, in the main state of the placement and in the others."""

    elsewhere_ns: list[float | None] | None


def _row(result: Result, GHz: float, placement: Placement) -> _Row:
    return {"elsewhere_ns": elsewhere_ns(result.windows, placement), **row(result, GHz)}


def node_row(pair: Pair, line_bytes: int, GHz: float) -> OfNodes:
    """Return the row of one node's CPUs with another node's memory: ns of a load, and GB/s of all the CPUs."""
    GBps = sum(line_bytes / one.median for one in pair.reading)
    times = row(pair.latency, GHz)
    why = times["why"] + [f"CPU {key_of(one)[0]} reading: {reason}" for one in pair.reading for reason in one.why]
    times |= {"valid": not why, "why": why}
    return OfNodes(cpus_of_node=pair.cpus, memory_of_node=pair.memory, GBps=GBps, **times)


def counts_of(plan: Plan, cpus: int) -> tuple[list[int], str | None]:
    """Return the numbers of processors to measure, ascending from 1, and a text on those left out, or None."""
    counts = {p for p in plan.processors if p <= cpus} | {1}
    if max(counts) <= FEW:
        counts = set(range(1, max(counts) + 1))
    beyond = [p for p in plan.processors if p > cpus]
    return sorted(counts), f"p = {beyond}, since there are {cpus} CPUs" if beyond else None


def loading_of(plan: Plan, size: int) -> list[int]:
    """Return the numbers of loading processors on a machine of ``size`` processors; all numbers if these are few."""
    if size <= FEW:
        return list(range(size))
    return sorted({0, 1, size - 1} | {p - 1 for p in plan.processors if p <= size})


def array_bytes(plan: Plan, available: int | None) -> tuple[int, str | None]:
    """Return the bytes of a STREAM array, and the reason why it is smaller than STREAM asks for, or None."""
    cache = max((cache.bytes for cache in plan.caches), default=0)
    wanted = max(4 * cache, 8 * FEWEST_ELEMENTS)
    cap = EFFORTS[plan.mode].cap_bytes
    fits = wanted if available is None else max(MIB, available // 16)  # six arrays leave more than half free
    nbytes = min(wanted, cap, fits) // MIB * MIB
    if nbytes >= wanted // MIB * MIB:
        return nbytes, None
    reason = f"{available or 0:,} bytes of memory are available" if fits < cap else f"the mode is {plan.mode}"
    return nbytes, (
        f"STREAM requires arrays of four times the last cache ({cache:,} bytes as reported) and at least "
        f"{FEWEST_ELEMENTS:,} elements, which is {wanted:,} bytes; these have {nbytes:,} bytes, since {reason}"
    )
