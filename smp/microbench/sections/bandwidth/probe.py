"""Bandwidth: STREAM on 1 to P processors, and the latency of a chase while other processors load the memory.

    processor 0   |copy---|scale--|add-----|triad----|        a barrier before each kernel
    processor 1   |copy--|  scale-|add----|triad-----|
                  earliest start ... latest end               the time of the kernel

The arrays lie in the memory that the processors share; each works on its own block.  STREAM reports the best of
all repeats but the first; beside it stands the median.  See `loaded` for the latency under load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._computer.system import memory
from smp._runtime.machine import Machine, host
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp.microbench.method.clocks import clock_rate
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rows import complaints, key_of, row, stack
from smp.microbench.method.windows import LIMITS

from .kernels import KERNELS
from .loaded import Load, measure_loaded
from .loops import BYTES, SCALAR, WRITE_ALLOCATE, expected, stream
from .rows import Bandwidth, Loaded, Stream

MIB = 1 << 20
FEWEST_ELEMENTS = 10_000_000
"""Of a STREAM array, where no cache asks for more."""
FEW = 8
"""Up to so many processors, every number of them is measured; beyond, those that the plan asks for."""
TOLERANCE = 1e-13
"""Largest relative error of a STREAM value."""

STAMP = np.dtype(
    [
        ("processors", "i4"),
        ("rank", "i4"),
        ("repeat", "i4"),
        ("kernel", "U5"),
        ("start", "i8"),
        ("end", "i8"),
        ("cpu_ns", "i8"),
    ]
)


@dataclass(frozen=True)
class Effort:
    """How much a mode measures.

    Parameters
    ----------
    cap_bytes : int
        Of one STREAM array.
    repeats : int
        Of the four kernels; STREAM's NTIMES.
    load : Load
        Sizes and times of the loaded latency.
    """

    cap_bytes: int
    repeats: int
    load: Load


EFFORTS = {
    "quick": Effort(48 * MIB, 10, Load(64 * MIB, 16 * MIB, 4)),
    "default": Effort(256 * MIB, 10, Load(256 * MIB, 64 * MIB, 25)),
    "full": Effort(1024 * MIB, 12, Load(512 * MIB, 128 * MIB, 100)),
}
"""By mode: about 3, 14 and 60 s on two processors."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure STREAM for each number of processors, and the loaded latency.

    Parameters
    ----------
    plan : Plan
        More processors than there are CPUs are left out: they would share the CPUs' bandwidth in turns.
    tick : callable
        Told the fraction done.

    Returns
    -------
    Measurement
        ``data.stream`` has a row for each kernel and number of processors: ``GBps``, the best repeat as STREAM
        counts bytes, ``GBps_write_allocate``, ``median_GBps``, ``verified``; ``one_GBps`` and ``all_GBps`` sum up
        triad. ``data.loaded_latency`` has ``ns`` by the number of loading processors and what they moved,
        ``load_GBps``. ``capped`` says why the arrays are smaller than STREAM asks for, or is None.
    """
    effort = EFFORTS[plan.mode]
    counts, left_out = counts_of(plan, len(usable_cpus()))
    available = memory()[1]
    nbytes, capped = array_bytes(plan, available)
    load = effort.load if available is None else effort.load.fitting(available // 2, counts[-1])
    rows: list[Stream] = []
    stamps: list[NDArray[np.void]] = []
    loaded: list[Result] = []
    loads: list[float] = []
    for done, p in enumerate(counts):
        tick(0.7 * done / len(counts), f"STREAM, p = {p}")
        with host(p) as machine:
            run, error = _stream(machine, nbytes // 8, effort.repeats)
            stamps.append(run)
            rows += stream_rows(run, nbytes // 8, error)
            if p == counts[-1]:
                tick(0.7, "latency under load")
                loading = loading_of(plan, p)
                loaded, loads = measure_loaded(machine, loading, load, plan.line_bytes, plan.seed)
    tick(1.0, "bandwidth")
    triads = [one.GBps for one in rows if one.kernel == "triad"]
    GHz = clock_rate().GHz
    why = complaints(loaded, 0.5, lambda result: f"latency beside {key_of(result)[0]} loading processors") + [
        f"p = {one.processors}, {one.kernel}: {one.why[0]}" for one in rows if one.why
    ]
    data = Bandwidth(
        stream=rows,
        one_GBps=triads[0],
        all_GBps=triads[-1],
        all_processors=counts[-1],
        loaded_latency=[
            Loaded(loading_processors=key_of(result)[0], load_GBps=moved, **row(result, GHz))
            for result, moved in zip(loaded, loads, strict=True)
        ],
        array_bytes=nbytes,
        elements=nbytes // 8,
        repeats=effort.repeats,
        memory="shared by the processors",
        chase_bytes=load.chase_bytes,
        left_out=left_out,
        capped=capped,
        clean_fraction=float(np.mean([one.clean_fraction for one in rows])),
        valid=not why,
        why=why,
    )
    samples = {
        "bandwidth_stream": np.concatenate(stamps),
        "bandwidth_loaded": stack(loaded, {"loading_processors": "i4"}),
    }
    return Measurement(data, samples)


def counts_of(plan: Plan, cpus: int) -> tuple[list[int], str | None]:
    """Return the numbers of processors to measure, ascending from 1, and what is left out of the plan's and why."""
    counts = {p for p in plan.processors if p <= cpus} | {1}
    if max(counts) <= FEW:
        counts = set(range(1, max(counts) + 1))
    beyond = [p for p in plan.processors if p > cpus]
    return sorted(counts), f"p = {beyond}: there are {cpus} CPUs" if beyond else None


def loading_of(plan: Plan, size: int) -> list[int]:
    """Return the numbers of loading processors on a machine of so many; all where they are few."""
    if size <= FEW:
        return list(range(size))
    return sorted({0, 1, size - 1} | {p - 1 for p in plan.processors if p <= size})


def array_bytes(plan: Plan, available: int | None) -> tuple[int, str | None]:
    """Return the bytes of a STREAM array, and why it is smaller than STREAM asks for, or None."""
    cache = max((cache.bytes for cache in plan.caches), default=0)
    wanted = max(4 * cache, 8 * FEWEST_ELEMENTS)
    cap = EFFORTS[plan.mode].cap_bytes
    fits = wanted if available is None else max(MIB, available // 8)  # three arrays, and more than half left
    nbytes = min(wanted, cap, fits) // MIB * MIB
    if nbytes >= wanted // MIB * MIB:
        return nbytes, None
    reason = f"{available or 0:,} bytes of memory are available" if fits < cap else f"the mode is {plan.mode}"
    return nbytes, (
        f"STREAM asks for arrays of four times the last cache ({cache:,} bytes as reported) and at least "
        f"{FEWEST_ELEMENTS:,} elements, {wanted:,} bytes; these have {nbytes:,} bytes, since {reason}"
    )


def stream_rows(stamps: NDArray[np.void], elements: int, error: float) -> list[Stream]:
    """Return a row for each kernel of one run of STREAM.

    Parameters
    ----------
    stamps : ndarray of STAMP
        Of one number of processors.
    elements : int
        Of a whole array.
    error : float
        Largest relative error of a value.
    """
    p = int(stamps["rank"].max()) + 1
    rows = []
    for kernel, moved in zip(KERNELS, BYTES, strict=True):
        # repeats x processors; the first repeat is for warming up
        of_kernel = stamps[(stamps["kernel"] == kernel) & (stamps["repeat"] > 0)]
        of_kernel = np.sort(of_kernel, order=["repeat", "rank"]).reshape(-1, p)
        wall = of_kernel["end"].max(axis=1) - of_kernel["start"].min(axis=1)
        off = (of_kernel["end"] - of_kernel["start"] - of_kernel["cpu_ns"]).max(axis=1)
        clean = off <= LIMITS.off_cpu * wall
        median = float(np.median(wall[clean] if clean.any() else wall))
        why = []
        if not error <= TOLERANCE:
            why.append(f"the values are wrong: relative error {error:.3g}")
        if not clean.any():
            why.append(f"none of {wall.size} repeats is clean")
        rows.append(
            Stream(
                processors=p,
                kernel=kernel,
                GBps=moved * elements / float(wall.min()),
                GBps_write_allocate=(moved + WRITE_ALLOCATE) * elements / float(wall.min()),
                median_GBps=moved * elements / median,
                best_ns=int(wall.min()),
                median_ns=median,
                repeats=int(wall.size),
                clean_fraction=float(clean.mean()),
                verified=error <= TOLERANCE,
                relative_error=error,
                valid=not why,
                why=why,
            )
        )
    return rows


def _stream(machine: Machine, elements: int, repeats: int) -> tuple[NDArray[np.void], float]:
    """Run STREAM; return the stamps of all processors and the largest relative error of the values."""
    arrays = [machine.empty(elements) for _ in range(3)]
    results = machine.run(_stream_program, *arrays, repeats).results
    stamps = np.zeros((machine.size, repeats, len(KERNELS)), STAMP)
    for rank, (taken, _) in enumerate(results):
        for k, name in enumerate(("start", "end", "cpu_ns")):
            stamps[name][rank] = taken[:, :, k]
    stamps["processors"] = machine.size
    stamps["rank"] = np.arange(machine.size)[:, None, None]
    stamps["repeat"] = np.arange(repeats)[None, :, None]
    stamps["kernel"] = np.array(KERNELS)[None, None, :]
    return stamps.ravel(), max(error for _, error in results)


def _stream_program(
    proc: Processor, x: GlobalArray, y: GlobalArray, z: GlobalArray, repeats: int
) -> tuple[NDArray[np.int64], float]:
    """The program of one processor: STREAM on its blocks."""
    mine = proc.block(x.size)
    a, b, c = x.view[mine], y.view[mine], z.view[mine]
    for values, start in ((a, 2.0), (b, 2.0), (c, 0.0)):
        values[:] = start
    stamps = np.zeros((repeats, len(KERNELS), 3), np.int64)
    stream(proc.sync, a, b, c, SCALAR, stamps[:0])  # compile it or load it, before anything is timed
    stream(proc.sync, a, b, c, SCALAR, stamps)
    error = max(
        max(abs(float(values.min()) / value - 1), abs(float(values.max()) / value - 1))
        for values, value in zip((a, b, c), expected(repeats), strict=True)
        if values.size
    )
    return stamps, error
