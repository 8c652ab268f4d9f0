"""Memory latency: the time of a load that depends on the load before, by array size, order and kind of page.

    curve        order of the nodes                  pages    shows
    stride       every s-th byte, in order           small    figure 3 of the MTA evaluation; what prefetching hides
    random       one random cycle, a node a line     small    caches and page walks together
    page_local   random within a page, pages random  small    caches, with one page walk for all lines of a page
    huge         one random cycle, a node a line     huge     caches alone: the levels are read off this curve
    shared       one random cycle, a node a line     as the   the memory that global arrays lie in, in the pages
                                                     system   that the system gives it
                                                     decides

The cost of the page walks is the time of ``random`` or ``shared`` minus that of ``huge`` at the same size.  All random
curves except the first begin at the size at which pages begin to matter, since the TLB of every CPU holds the first few
pages.  All points are measured in one random order, so that no slow moment of the computer affects one curve alone.
"""

from __future__ import annotations

import dataclasses
import mmap
import time
from collections.abc import Callable
from typing import Any, Literal, TypedDict

import numpy as np

from smp._computer.cpus import DEFAULTS
from smp._computer.system import huge_pages, memory
from smp._runtime.memory.segment import Segment
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.others import Others
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rounds import measure_points
from smp.microbench.method.rows import complaints, judged, key_of, row, stack
from smp.microbench.method.visit import Point
from smp.microbench.method.windows import per_operation

from .knees import find_levels, match
from .pages import Pages, huge_between, huge_bytes, read_smaps
from .rows import GlobalArrays, HugePages, Latency, Level, OfArray, OfStride
from .sizes import EFFORTS, KIB, MIB, Effort, largest_array, random_sizes, stride_grid
from .walks import UNROLLED, Walk, global_walk, link_strided, page_local_walk, random_walk

QUIET = 0.8
"""Smallest valid fraction of clean windows, for a point whose lines fit into the last cache but not the one before."""
TAKEN = 2.0
"""Largest valid ratio of the median to the minimum, for such a point."""
SURE_NS, SURE = 1.0, 0.5
"""A page walk is valid if the middle half of its differences spans at most this many ns, or this part of the median."""
PAGES_AT_HAND = 32
"""Number of small pages that every first-level TLB holds."""

Key = tuple[str, int, int]
"""Name of the curve, bytes of the array, bytes of the stride."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the latency of dependent loads.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data`` has a list of rows for each curve, with ``bytes``, ``ns`` and ``cycles`` of one load (the median of
        the clean windows, and its cycles at the estimated ``clock_GHz``). The rows of ``stride`` also have the
        ``stride`` in bytes. ``levels`` has the caches that were found, and memory last. ``page_walk`` has the ns of
        a page walk by size, and ``page_walk_ns`` those at the largest size. ``huge_pages`` says if huge pages were
        granted. ``global_arrays`` has the pages of the ``shared`` curve, and its ratio to ``huge`` at the largest
        size. ``capped`` is the reason if the arrays end below four times the last cache, or None. ``samples`` has
        every window.

    Notes
    -----
    Takes 4, 28 or 120 s, depending on the mode, and up to eleven times as much memory as the largest array.
    """
    start, effort = time.monotonic(), EFFORTS[plan.mode]
    clock, GHz = HostClock(), clock_rate().GHz
    rng = np.random.default_rng([plan.seed, 1])
    largest, capped = largest_array(plan, memory()[1])
    points = _strided(plan, effort, largest)
    segment = Segment(pool=True)
    walks = _walks(plan, random_sizes(plan, largest), segment, rng, lambda part, text: tick(0.2 * part, text))
    without = _not_huge(walks)
    if without:
        walks = {key: walk for key, walk in walks.items() if key[0] != "huge"}
    points += [_random(plan, key, walk) for key, walk in walks.items()]
    left = max(0.1, 0.97 * (plan.seconds(effort.seconds) - (time.monotonic() - start)))
    taken = measure_points(
        points, left, rng, clock, tick=lambda part, text: tick(0.2 + 0.8 * part, text), others=Others()
    )
    results = [undisturbed(result, plan) for result in taken]
    found = levels(plan, results, GHz)
    why = complaints(results, name=_name)
    if not found["memory_reached"]:
        why.append(f"no level beyond the caches was found up to {largest / MIB:,.0f} MiB")
    data = Latency(
        stride=[
            OfStride(bytes=key_of(one)[1], stride=key_of(one)[2], **row(one, GHz)) for one in _of(results, "stride")
        ],
        random=rows_of(results, "random", GHz),
        page_local=rows_of(results, "page_local", GHz),
        huge=rows_of(results, "huge", GHz),
        shared=rows_of(results, "shared", GHz),
        shared_page_walk=walk_rows(results, "shared", GHz) if not without else [],
        global_arrays=global_arrays(results, segment, huge_pages()["shared"]),
        **page_walks(results, GHz),
        **found,
        line_bytes=plan.line_bytes,
        page_bytes=mmap.PAGESIZE,
        huge_pages=HugePages(granted=not without, why=without or None),
        clock_GHz=GHz,
        timer_ns=clock.timer_ns,
        largest_bytes=largest,
        capped=capped,
        **judged(results, why),
    )
    return Measurement(data, {"latency": stack(results, {"curve": "U10", "bytes": "i8", "stride": "i8"})})


def undisturbed(result: Result, plan: Plan) -> Result:
    """Return a point, with further reasons against it if it measures the last cache and other programs use that cache.

    The time of a load from the last cache depends on how much of the cache other programs leave, even in undisturbed
    windows. Under load, such a point may come out ten times as slow, and yet as steady as on a quiet computer. Or it is
    that slow in most windows, and as fast as the cache in a few.
    """
    last = max(cache.bytes for cache in plan.caches or DEFAULTS)
    if not beyond_own_caches(plan, result.key) or _touched(plan, result.key) > last:
        return result
    why = list(result.why)
    if result.clean_fraction < QUIET:
        why.append(
            f"{result.clean_fraction:.0%} of the windows are clean, below the {QUIET:.0%} that the last cache needs"
        )
    if result.median > TAKEN * result.minimum:
        often = result.median / result.minimum
        why.append(
            f"other programs use the last cache at times: the median is {often:.1f} times the minimum, above "
            f"{TAKEN:.0f}"
        )
    return dataclasses.replace(result, why=why)


def beyond_own_caches(plan: Plan, key: Any) -> bool:
    """Return True if the lines of a point do not fit into a CPU's own caches, which are those before the last."""
    *inner, _ = (0, *(cache.bytes for cache in plan.caches or DEFAULTS))
    return inner[-1] <= _touched(plan, key)


def _touched(plan: Plan, key: Any) -> int:
    """Return the bytes of the lines that a point loads."""
    _, nbytes, stride = key
    return int(nbytes // max(stride, plan.line_bytes) * plan.line_bytes)


def rows_of(results: list[Result], name: str, GHz: float) -> list[OfArray]:
    """Return the rows of a random curve."""
    return [OfArray(bytes=key_of(result)[1], **row(result, GHz)) for result in _of(results, name)]


class Walks(TypedDict):
    """Cost of page walks: fields of `Latency`."""

    page_walk: list[OfArray]
    page_walk_from: Literal["huge", "page_local"]
    page_walk_ns: float | None
    page_walk_bytes: int | None


def page_walks(results: list[Result], GHz: float) -> Walks:
    """Return the cost of page walks by size: random order in small pages minus the same without page walks."""
    without: Literal["huge", "page_local"] = "huge" if _of(results, "huge") else "page_local"
    rows = walk_rows(results, "random", GHz)
    return {
        "page_walk": rows,
        "page_walk_from": without,
        "page_walk_ns": rows[-1].ns if rows else None,
        "page_walk_bytes": rows[-1].bytes if rows else None,
    }


def walk_rows(results: list[Result], curve: str, GHz: float) -> list[OfArray]:
    """Return by size how much longer a load of a curve takes than one without page walks.

    The curve without page walks is ``huge``, or ``page_local`` if there is no ``huge``. A row has the median of the
    differences in the rounds: in each round, both curves were measured soon after each other.
    """
    bases = {key_of(one)[1]: one for one in _of(results, "huge") or _of(results, "page_local")}
    rows = []
    for result in _of(results, curve):
        nbytes = key_of(result)[1]
        if nbytes in bases:
            first, ns, third = np.percentile(differences(result, bases[nbytes]), [25, 50, 75]).tolist()
            why = [*result.why, *bases[nbytes].why]
            if not why and third - first > max(SURE_NS, SURE * abs(ns)):
                why.append(f"the rounds differ: half of the differences lie between {first:.1f} and {third:.1f} ns")
            rows.append(OfArray(bytes=nbytes, ns=ns, cycles=ns * GHz, valid=not why, why=why))
    return rows


def differences(one: Result, base: Result) -> list[float]:
    """Return how much longer a load takes at one point than at another, for each round with clean windows of both.

    If there is no such round, return the difference of the medians.
    """
    ours, theirs = _by_round(one), _by_round(base)
    return [ours[k] - theirs[k] for k in ours if k in theirs] or [one.median - base.median]


def _by_round(result: Result) -> dict[int, float]:
    """Return the median of the clean windows of each round."""
    clean = result.windows[result.windows["flags"] == 0]
    ns = per_operation(clean)
    return {int(k): float(np.median(ns[clean["round"] == k])) for k in np.unique(clean["round"])}


def global_arrays(results: list[Result], segment: Segment, switch: str | None) -> GlobalArrays | None:
    """Return the pages that global arrays lie in, and the ratio of their latency to that of private huge pages.

    The ratio is taken at the largest size at which both are valid. If there is no such size, there is no ratio.

    Parameters
    ----------
    results : list of Result
    segment : Segment
        Segment that holds the arrays of the ``shared`` curve.
    switch : str or None
        Position of the system's switch for huge pages in shared memory.
    """
    shared, huge = ({key_of(one)[1]: one for one in _of(results, curve)} for curve in ("shared", "huge"))
    if not shared:
        return None
    both = [nbytes for nbytes in shared if nbytes in huge and shared[nbytes].valid and huge[nbytes].valid]
    largest = max(both or shared)
    return GlobalArrays(
        pages=segment.pages,
        huge_bytes=huge_between(segment.address, segment.address + segment.size, read_smaps()),
        bytes=largest,
        ns=shared[largest].median,
        factor=shared[largest].median / huge[largest].median if both else None,
        switch=switch,
    )


class Levels(TypedDict):
    """Levels of memory: fields of `Latency`."""

    levels: list[Level]
    levels_from: str
    levels_missing: list[str]
    memory_reached: bool


def levels(plan: Plan, results: list[Result], GHz: float) -> Levels:
    """Return the levels found in the random curve, in huge pages if these were granted, named after the caches."""
    huge, small = ({key_of(result)[1]: result for result in _of(results, name)} for name in ("huge", "random"))
    # sizes below the first of the curve in huge pages are so small that they cause no page walks
    curve = small | huge
    sizes = sorted(curve)
    reported = plan.caches or DEFAULTS
    found = find_levels(sizes, [curve[size].median for size in sizes], len(reported) + 1)
    knees = [level.knee_bytes for level in found if level.knee_bytes is not None]
    caches = [reported[i] for i in match(knees, [cache.bytes for cache in reported])]
    named: list[tuple[str, int | None, int | None]] = [
        *((f"L{cache.level}", round(knee), cache.bytes) for knee, cache in zip(knees, caches, strict=True)),
        ("DRAM", None, None),
    ]
    rows = []
    for (name, at, size), level in zip(named, found, strict=True):
        of_level = [curve[nbytes] for nbytes in sizes if level.smallest_bytes <= nbytes <= level.largest_bytes]
        times = {"ns": level.ns, "cycles": level.ns * GHz}
        against = judged(of_level, complaints(of_level, 0.5, _name))
        rows.append(Level(name=name, found_bytes=at, reported_bytes=size, **times, **against))
    missing = [f"L{cache.level}" for cache in reported if cache not in caches]
    # the level after the last knee is memory only if it is entered well before the arrays end
    return {
        "levels": rows,
        "levels_from": "huge" if huge else "random",
        "levels_missing": missing,
        "memory_reached": bool(knees) and sizes[-1] >= 4 * knees[-1],
    }


def _of(results: list[Result], curve: str) -> list[Result]:
    """Return the results of one curve."""
    return [result for result in results if key_of(result)[0] == curve]


def _strided(plan: Plan, effort: Effort, largest: int) -> list[Point]:
    """Return the points of the stride curve, which share one array and link it again for each visit."""
    pages = Pages(largest, huge=False)

    def point(nbytes: int, stride: int) -> Point:
        walk = Walk(pages)

        def link() -> None:
            link_strided(pages.words, pages.address, stride // 8, nbytes // stride)
            walk.at = pages.address

        key = ("stride", nbytes, stride)
        return Point(key, walk, UNROLLED, link, "median", beyond=beyond_own_caches(plan, key))

    return [point(nbytes, stride) for nbytes, stride in stride_grid(effort, largest)]


def _walks(
    plan: Plan, sizes: list[int], segment: Segment, rng: np.random.Generator, tick: Callable[[float, str], None]
) -> dict[Key, Walk]:
    """Link the walks of the random curves, each in memory of its own, either private or from the segment."""
    line, page, done = plan.line_bytes, mmap.PAGESIZE, 0
    walks: dict[Key, Walk] = {}
    for nbytes in sizes:
        walks["random", nbytes, line] = random_walk(nbytes, line, False, rng)
        if nbytes >= PAGES_AT_HAND * page:
            walks["huge", nbytes, line] = random_walk(nbytes, line, True, rng)
            walks["page_local", nbytes, line] = page_local_walk(nbytes, line, page, rng)
            walks["shared", nbytes, line] = global_walk(segment, nbytes, line, rng)
        done += nbytes
        tick(done / sum(sizes), f"linking arrays, {nbytes / KIB:,.0f} KiB")
    return walks


def _not_huge(walks: dict[Key, Walk]) -> str:
    """Return why the curve in huge pages cannot be measured; empty if it can."""
    smaps = read_smaps()
    for (curve, nbytes, _), walk in walks.items():
        granted = huge_bytes(walk.pages, smaps) if curve == "huge" else walk.pages.length
        if granted < walk.pages.length:
            return (
                f"an array of {nbytes:,} bytes has {granted:,} of {walk.pages.length:,} bytes in huge pages: "
                "the system does not grant them, or has no free ones left"
            )
    return ""


def _random(plan: Plan, key: Key, walk: Walk) -> Point:
    """Return a point of a random curve; an array that may fit into a cache is loaded into it before each visit."""
    last = max(cache.bytes for cache in plan.caches or DEFAULTS)
    lines = walk.pages.words[:: plan.line_bytes // 8]

    def touch() -> None:
        lines.sum()

    prepare = touch if key[1] <= last else None
    return Point(key, walk, UNROLLED, prepare, "median", beyond=beyond_own_caches(plan, key))


def _name(result: Result) -> str:
    curve, nbytes, stride = key_of(result)
    return f"{curve}, {nbytes:,} bytes" + (f" by {stride:,}" if curve == "stride" else "")
