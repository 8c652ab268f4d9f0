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

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cpus import DEFAULTS
from ..hostclock import HostClock, clock_rate
from ..plan import Plan, Section, Tick
from ..result import Result
from ..system import memory
from ..timing import measure_points
from ..visit import Point
from .chase import UNROLLED, Walk, link_strided, page_local_walk, random_walk
from .knees import find_levels, match
from .pages import Pages, huge_bytes, read_smaps
from .rows import complaints, row, stack

KIB, MIB = 1 << 10, 1 << 20
SMALLEST = 64 * MIB
"""Bytes that the largest array has at least, memory permitting: a reported cache may be smaller than the real."""
PAGES_AT_HAND = 32
"""Small pages that every first-level TLB holds."""
CURVES = ("stride", "random", "page_local", "huge")


@dataclass(frozen=True)
class Effort:
    """How much a mode measures.

    Parameters
    ----------
    seconds : float
        For the whole probe.
    cap_bytes : int
        Of the largest array.
    size_step, stride_step : int
        Ratio of one size of the stride curve to the one before; of one stride.
    halves_up_to : int
        Random sizes come in half octaves up to here, in octaves beyond.
    """

    seconds: float
    cap_bytes: int
    size_step: int
    stride_step: int
    halves_up_to: int


EFFORTS = {
    "quick": Effort(5.0, 128 * MIB, 8, 8, 0),
    "default": Effort(28.0, 512 * MIB, 2, 4, 32 * MIB),
    "full": Effort(120.0, 4096 * MIB, 2, 2, 4096 * MIB),
}
"""By mode."""

Key = tuple[str, int, int]
"""Curve, bytes of the array, bytes of the stride."""


def measure(plan: Plan, tick: Tick) -> Section:
    """Measure the latency of dependent loads.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Told the fraction done.

    Returns
    -------
    Section
        ``data`` has a list of rows for each curve, with ``bytes``, ``ns`` and ``cycles`` of one load (median of
        clean windows; cycles by the estimated ``clock_GHz``) and for ``stride`` also ``stride`` in bytes;
        ``levels``, the caches found and memory last; ``page_walk`` in ns by size and ``page_walk_ns`` at the
        largest; ``huge_pages``, whether they were granted; ``capped``, why the arrays end below four times the
        last cache, or None. ``samples`` has every window.

    Notes
    -----
    Takes 5, 28 or 120 s by mode, and twice to eight times the largest array of memory.
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
    left = max(0.1, 0.97 * (effort.seconds - (time.monotonic() - start)))
    results = measure_points(points, left, rng, clock, tick=lambda part, text: tick(0.2 + 0.8 * part, text))
    data = {
        **curves(results, GHz),
        **page_walks(results, GHz),
        **levels(plan, results, GHz),
        "line_bytes": plan.line_bytes,
        "page_bytes": _page_bytes(),
        "huge_pages": {"granted": not without, "why": without or None},
        "clock_GHz": GHz,
        "timer_ns": clock.timer_ns,
        "largest_bytes": largest,
        "capped": capped,
        "clean_fraction": float(np.mean([result.clean_fraction for result in results])),
    }
    why = complaints(results)
    if not data["memory_reached"]:
        why.append(f"no level beyond the caches was found up to {largest / MIB:,.0f} MiB")
    samples = stack(results, {"curve": "U10", "bytes": "i8", "stride": "i8"})
    return Section(data | {"valid": not why, "why": why}, {"latency": samples})


def largest_array(plan: Plan, available: int | None) -> tuple[int, str | None]:
    """Return the bytes of the largest array, a power of two, and why it is under four times the last cache.

    Parameters
    ----------
    plan : Plan
    available : int or None
        Bytes of memory that may be used; None where that is not known.

    Returns
    -------
    int
    str or None
    """
    cache = max((cache.bytes for cache in plan.caches), default=0)
    wanted = 1 << math.ceil(math.log2(max(4 * cache, SMALLEST)))
    cap = EFFORTS[plan.mode].cap_bytes
    # eight such arrays at most are in memory at once, and half of it is left to others
    fits = wanted if available is None else 1 << max(20, math.floor(math.log2(max(1, available / 16))))
    largest = min(wanted, cap, fits)
    if largest >= wanted:
        return largest, None
    reason = f"{available or 0:,} bytes of memory are available" if fits < cap else f"the mode is {plan.mode}"
    return largest, (
        f"four times the last cache that the system reports ({cache:,} bytes) would be {wanted:,} bytes; "
        f"arrays end at {largest:,} bytes, since {reason}"
    )


def stride_grid(effort: Effort, largest: int) -> list[tuple[int, int]]:
    """Return the pairs of bytes and stride: sizes from 1 KiB up, strides from 8 bytes to the size."""
    sizes = _powers(KIB, largest, effort.size_step)
    return [(size, stride) for size in sizes for stride in _powers(8, size, effort.stride_step)]


def random_sizes(plan: Plan, largest: int) -> list[int]:
    """Return the sizes of the curves in random order, from 4 KiB up, in whole pages where there are some."""
    octaves = _powers(4 * KIB, largest, 2)
    halves = [3 * size // 2 for size in octaves[:-1] if 3 * size // 2 <= EFFORTS[plan.mode].halves_up_to]
    return sorted(octaves + halves)


def curves(results: list[Result], GHz: float) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each curve."""
    made: dict[str, list[dict[str, Any]]] = {curve: [] for curve in CURVES}
    for result in results:
        curve, nbytes, stride = _key(result)
        sizes = {"bytes": nbytes, "stride": stride} if curve == "stride" else {"bytes": nbytes}
        made[curve].append(sizes | row(result, GHz))
    return made


def page_walks(results: list[Result], GHz: float) -> dict[str, Any]:
    """Return what page walks cost by size: random order in small pages, less the same without page walks."""
    known = {_key(result)[:2]: result for result in results if _key(result)[0] != "stride"}
    without = "huge" if any(curve == "huge" for curve, _ in known) else "page_local"
    rows = []
    for (curve, nbytes), result in known.items():
        base = known.get((without, nbytes))
        if curve == "random" and base is not None:
            ns = result.median - base.median
            valid = result.valid and base.valid
            rows.append({"bytes": nbytes, "ns": ns, "cycles": ns * GHz, "valid": valid})
    return {
        "page_walk": rows,
        "page_walk_from": without,
        "page_walk_ns": rows[-1]["ns"] if rows else None,
        "page_walk_bytes": rows[-1]["bytes"] if rows else None,
    }


def levels(plan: Plan, results: list[Result], GHz: float) -> dict[str, Any]:
    """Return the levels found in the random curve, in huge pages if there is one, named after the caches."""
    huge = {_key(result)[1]: result for result in results if _key(result)[0] == "huge"}
    small = {_key(result)[1]: result for result in results if _key(result)[0] == "random"}
    # where there is no huge page for a size, there is no page walk either
    curve = small | huge
    sizes = sorted(curve)
    reported = plan.caches or DEFAULTS
    found = find_levels(sizes, [curve[size].median for size in sizes], len(reported) + 1)
    knees = [level.knee_bytes for level in found if level.knee_bytes is not None]
    caches = [reported[i] for i in match(knees, [cache.bytes for cache in reported])]
    rows: list[dict[str, Any]] = [
        {"name": f"L{cache.level}", "found_bytes": round(knee), "reported_bytes": cache.bytes}
        for knee, cache in zip(knees, caches, strict=True)
    ]
    rows.append({"name": "DRAM", "found_bytes": None, "reported_bytes": None})
    for named, level in zip(rows, found, strict=True):
        named |= {"ns": level.ns, "cycles": level.ns * GHz}
    missing = [f"L{cache.level}" for cache in reported if cache not in caches]
    # the level after the last knee is memory only if it is entered well before the arrays end
    return {
        "levels": rows,
        "levels_from": "huge" if huge else "random",
        "levels_missing": missing,
        "memory_reached": bool(knees) and sizes[-1] >= 4 * knees[-1],
    }


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
    line, page, done = plan.line_bytes, _page_bytes(), 0
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


def _key(result: Result) -> Key:
    curve, nbytes, stride = result.key  # type: ignore[misc]
    return curve, nbytes, stride


def _powers(first: int, last: int, step: int) -> list[int]:
    """``first`` times the powers of ``step``, and ``last``, which ends them."""
    made = [first]
    while made[-1] * step < last:
        made.append(made[-1] * step)
    return [*made, last] if last > first else made


def _page_bytes() -> int:
    import mmap

    return mmap.PAGESIZE
