"""Memory latency: what one load costs that waits for the one before, by array size, order and kind of page.

    curve        order of the nodes                  pages    tells
    stride       every s-th byte, in order           small    figure 3 of the MTA evaluation; what prefetching hides
    random       one random cycle, a node a line     small    caches and page walks together
    page_local   random within a page, pages random  small    caches, with a page walk for a pageful of lines only
    huge         one random cycle, a node a line     huge     caches alone: the levels are read off this curve

``random`` less ``huge`` at one size is what the page walks cost.  The two other random curves begin where pages
begin to matter: the first few are at hand in every processor.  All points are measured in one random order, so
that a slow moment of the computer falls on no curve alone.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from typing import TypedDict

import numpy as np

from smp._computer.cpus import DEFAULTS
from smp._computer.system import memory
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result
from smp.microbench.method.rounds import measure_points
from smp.microbench.method.rows import complaints, judged, key_of, row, stack
from smp.microbench.method.visit import Point

from .knees import find_levels, match
from .pages import Pages, huge_bytes, read_smaps
from .rows import HugePages, Latency, Level, OfArray, OfStride
from .sizes import EFFORTS, KIB, MIB, Effort, largest_array, random_sizes, stride_grid
from .walks import UNROLLED, Walk, link_strided, page_local_walk, random_walk

PAGES_AT_HAND = 32
"""Small pages that every first-level TLB holds."""

Key = tuple[str, int, int]
"""Curve, bytes of the array, bytes of the stride."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the latency of dependent loads.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Told the fraction done.

    Returns
    -------
    Measurement
        ``data`` has a list of rows for each curve, with ``bytes``, ``ns`` and ``cycles`` of one load (median of
        clean windows; cycles by the estimated ``clock_GHz``) and for ``stride`` also ``stride`` in bytes;
        ``levels``, the caches found and memory last; ``page_walk`` in ns by size and ``page_walk_ns`` at the
        largest; ``huge_pages``, whether they were granted; ``capped``, why the arrays end below four times the
        last cache, or None. ``samples`` has every window.

    Notes
    -----
    Takes 5, 28 or 120 s by mode, and up to nine times the largest array of memory.
    """
    start, effort = time.monotonic(), EFFORTS[plan.mode]
    clock, GHz = HostClock(), clock_rate().GHz
    rng = np.random.default_rng([plan.seed, 1])
    largest, capped = largest_array(plan, memory()[1])
    points = _strided(effort, largest)
    walks = _walks(plan, random_sizes(plan, largest), rng, lambda part, text: tick(0.2 * part, text))
    without = _not_huge(walks)
    if without:
        walks = {key: walk for key, walk in walks.items() if key[0] != "huge"}
    points += [_random(plan, key, walk) for key, walk in walks.items()]
    left = max(0.1, 0.97 * (plan.seconds(effort.seconds) - (time.monotonic() - start)))
    results = measure_points(points, left, rng, clock, tick=lambda part, text: tick(0.2 + 0.8 * part, text))
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


def rows_of(results: list[Result], name: str, GHz: float) -> list[OfArray]:
    """Return the rows of a random curve."""
    return [OfArray(bytes=key_of(result)[1], **row(result, GHz)) for result in _of(results, name)]


class Walks(TypedDict):
    """What page walks cost: fields of `Latency`."""

    page_walk: list[OfArray]
    page_walk_from: str
    page_walk_ns: float | None
    page_walk_bytes: int | None


def page_walks(results: list[Result], GHz: float) -> Walks:
    """Return what page walks cost by size: random order in small pages, less the same without page walks."""
    known = {key_of(result)[:2]: result for result in results if key_of(result)[0] != "stride"}
    without = "huge" if any(curve == "huge" for curve, _ in known) else "page_local"
    rows: list[OfArray] = []
    for (curve, nbytes), result in known.items():
        base = known.get((without, nbytes))
        if curve == "random" and base is not None:
            ns = result.median - base.median
            valid = result.valid and base.valid
            rows.append(OfArray(bytes=nbytes, ns=ns, cycles=ns * GHz, valid=valid))
    return {
        "page_walk": rows,
        "page_walk_from": without,
        "page_walk_ns": rows[-1].ns if rows else None,
        "page_walk_bytes": rows[-1].bytes if rows else None,
    }


class Levels(TypedDict):
    """The levels of memory: fields of `Latency`."""

    levels: list[Level]
    levels_from: str
    levels_missing: list[str]
    memory_reached: bool


def levels(plan: Plan, results: list[Result], GHz: float) -> Levels:
    """Return the levels found in the random curve, in huge pages if there is one, named after the caches."""
    huge, small = ({key_of(result)[1]: result for result in _of(results, name)} for name in ("huge", "random"))
    # where there is no huge page for a size, there is no page walk either
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
    rows = [
        Level(name=name, ns=level.ns, cycles=level.ns * GHz, found_bytes=at, reported_bytes=size)
        for (name, at, size), level in zip(named, found, strict=True)
    ]
    missing = [f"L{cache.level}" for cache in reported if cache not in caches]
    # the level after the last knee is memory only if it is entered well before the arrays end
    return {
        "levels": rows,
        "levels_from": "huge" if huge else "random",
        "levels_missing": missing,
        "memory_reached": bool(knees) and sizes[-1] >= 4 * knees[-1],
    }


def _of(results: list[Result], curve: str) -> list[Result]:
    """The results of one curve."""
    return [result for result in results if key_of(result)[0] == curve]


def _strided(effort: Effort, largest: int) -> list[Point]:
    """The points of the stride curve; they share one array and link it anew for each visit."""
    pages = Pages(largest, huge=False)

    def point(nbytes: int, stride: int) -> Point:
        walk = Walk(pages)

        def link() -> None:
            link_strided(pages.words, pages.address, stride // 8, nbytes // stride)
            walk.at = pages.address

        return Point(("stride", nbytes, stride), walk, UNROLLED, link, "median")

    return [point(nbytes, stride) for nbytes, stride in stride_grid(effort, largest)]


def _walks(
    plan: Plan, sizes: list[int], rng: np.random.Generator, tick: Callable[[float, str], None]
) -> dict[Key, Walk]:
    """Link the walks of the random curves, each in memory of its own."""
    line, page, done = plan.line_bytes, mmap.PAGESIZE, 0
    walks: dict[Key, Walk] = {}
    for nbytes in sizes:
        walks["random", nbytes, line] = random_walk(nbytes, line, False, rng)
        if nbytes >= PAGES_AT_HAND * page:
            walks["huge", nbytes, line] = random_walk(nbytes, line, True, rng)
            walks["page_local", nbytes, line] = page_local_walk(nbytes, line, page, rng)
        done += nbytes
        tick(done / sum(sizes), f"linking arrays, {nbytes / KIB:,.0f} KiB")
    return walks


def _not_huge(walks: dict[Key, Walk]) -> str:
    """Why the curve in huge pages cannot be measured; empty if it can."""
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
    """A point of a random curve; an array that may fit into a cache is brought there before each visit."""
    last = max((cache.bytes for cache in plan.caches), default=0)
    lines = walk.pages.words[:: plan.line_bytes // 8]

    def touch() -> None:
        lines.sum()

    return Point(key, walk, UNROLLED, touch if key[1] <= last else None, "median")


def _name(result: Result) -> str:
    curve, nbytes, stride = key_of(result)
    return f"{curve}, {nbytes:,} bytes" + (f" by {stride:,}" if curve == "stride" else "")
