"""Loads under way: bandwidth by streams and by loads in a group, and the number of misses that one core sustains.

    chains     one thread follows 1, 2, ..., 32 chains in turn, then  one chain's time over the best time of a load
               twice as many until a load gets no faster, up to 256   is the number of misses that the core sustains
    far        groups of loads, each of a line anywhere in memory
    near       groups of loads, each of the next word                 as in the paper: here the prefetcher's work

A group of ``depth`` loads is followed by work on each word, and the positions of the next group depend on the result.
An out-of-order core therefore has no more loads under way than an in-order stream of the MTA would.  Here a stream is
a thread of the operating system.  The streams of one CPU take turns on it, which those of the MTA never had to do.  For
comparison, the same number of streams also runs on all CPUs.  The paper read 10 MB, more than its machine could cache.
Here the array is far larger than the second-level cache, since loads of cached words would not be under way for long.

Source: the study of the Tera MTA, section 3.4.2, figures 13 and 14.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from smp._computer.limits import usable_cpus
from smp._computer.system import memory
from smp.microbench.method.clocks import HostClock, clock_rate
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.rounds import measure_points
from smp.microbench.method.rows import judged, key_of, row, stack
from smp.microbench.method.visit import Point
from smp.microbench.method.windows import Limits, Windows, flags

from ..latency.pages import Pages, huge_bytes
from ..latency.walks import link_random
from .loops import DEEPEST, Words, chase_chains
from .rows import Chains, Enough, Loads, Outstanding, Sustained
from .together import Crew, Job

MIB = 1 << 20
WORK = (0, 40)
"""Operations on each word, as in the paper."""
FAR, NEAR = "far", "near"
GROUP = {"order": "U4", "cpus": "i4", "work": "i4", "streams": "i4", "depth": "i4"}
"""Fields of the key of a group of loads, and their types."""
FEWEST_ROUNDS = 7
SHORTEST_NS, LONGEST_NS = 2_500_000, 20_000_000
"""Shortest and longest visit of a crew, in ns."""
LIMITS = Limits(off_cpu=0.05)
"""A visit of several streams may spend more time off the CPU: it begins when the first of them is awake but the others
are not yet."""
NEARLY = 1.05
"""Ratio to the best within which a value counts as reaching it (the paper's 5%)."""


@dataclass(frozen=True)
class Effort:
    """Extent of a mode: seconds, bytes, and numbers of chains to begin with, of loads in a group, and of streams."""

    seconds: float
    nbytes: int
    chains: tuple[int, ...]
    depths: tuple[int, ...]
    streams: tuple[int, ...]


FEW_CHAINS = (1, 2, 4, 8, 12, 16, 24, 32)
CHAINS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32)
MOST_CHAINS = 256
"""Largest number of chains that doubling may reach."""
EVERY_DEPTH = tuple(range(1, DEEPEST + 1))
EFFORTS = {
    "quick": Effort(1.1, 64 * MIB, FEW_CHAINS, (1, 2, 4, 8), (1, 4)),
    "default": Effort(8.0, 256 * MIB, CHAINS, EVERY_DEPTH, (1, 2, 4, 8, 16)),
    "full": Effort(40.0, 512 * MIB, CHAINS, EVERY_DEPTH, (1, 2, 4, 8, 16, 32, 64)),
}
"""Extent of each mode."""


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure chains in one thread, then groups of loads by streams.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data.chains`` has a row with ns a load for each number of chains, and ``data.sustained`` has the conclusions
        from them (see `sustained`). ``data.groups`` has a row for each order, number of CPUs, work, number of streams
        and depth. It has ns a load of all streams together and ``GBps``, which counts whole lines for far loads and
        words for near ones. ``data.saturation`` has the streams and depth that come close to the best bandwidth (see
        `saturation`). ``capped`` is the reason if the memory is smaller than four times the last cache, or None.
        ``samples`` has every window.

    Notes
    -----
    Takes 1.5, 8 or 40 s, depending on the mode, and as much memory as `Effort` says.
    """
    begun, effort = time.monotonic(), EFFORTS[plan.mode]
    rng, GHz = np.random.default_rng([plan.seed, 6]), clock_rate().GHz
    nbytes, capped = bytes_of(plan, effort.nbytes, memory()[1])
    tick(0.0, "loads under way")
    pages = Pages(nbytes, huge=True)
    chains = _chains(
        pages, effort.chains, plan, 0.12 * plan.seconds(effort.seconds), lambda part, text: tick(0.2 * part, text)
    )
    pages.words[:] = 0  # the words to gather; without the store, the kernel would back them all with one page of zeros
    left = plan.seconds(effort.seconds) - (time.monotonic() - begun)
    groups = _groups(pages.words, effort, plan, left, rng, lambda part, text: tick(0.2 + 0.8 * part, text))
    rows = [_group_row(result, GHz, plan) for result in groups]
    data = Outstanding(
        chains=[Chains(chains=key_of(result)[0], **row(result, GHz)) for result in chains],
        sustained=of_chains(chains),
        groups=rows,
        saturation=saturation(rows),
        bytes=nbytes,
        huge_bytes=huge_bytes(pages),
        capped=capped,
        **judged([*chains, *groups]),
    )
    samples = {"outstanding_chains": stack(chains, {"chains": "i4"}), "outstanding_groups": stack(groups, GROUP)}
    return Measurement(data, samples)


def bytes_of(plan: Plan, wanted: int, available: int | None) -> tuple[int, str | None]:
    """Return the bytes to gather from, a power of two, and the reason if they are under four times the last cache."""
    cache = max((cache.bytes for cache in plan.caches), default=0)
    fits = wanted if available is None else max(MIB, available // 4)
    nbytes = 1 << min(wanted, fits).bit_length() - 1
    if nbytes >= 4 * cache:
        return nbytes, None
    reason = f"the mode is {plan.mode}" if fits >= wanted else f"{available:,} bytes of memory are available"
    return nbytes, (
        f"{nbytes:,} bytes are less than four times the last cache ({cache:,} bytes as reported), since {reason}: "
        "some loads may find their line in the cache"
    )


def sustained(chains: Sequence[int], ns: Sequence[float]) -> Sustained:
    """Return the number of misses under way at once, from the time of a load by the number of chains.

    Parameters
    ----------
    chains : sequence of int
        Numbers of chains; the first is 1.
    ns : sequence of float
        Time of a load with each number of chains.

    Returns
    -------
    Sustained
        ``latency_ns`` is the time of a load with one chain, and ``best_ns`` is the smallest time of a load. ``misses``
        is the ratio of the two: by Little's law, the mean number of misses under way. ``knee_chains`` is the smallest
        number of chains within 10% of the best. ``flat`` is True if more chains gain nothing (see `flat`). If they
        still gain, the core sustains more misses than ``misses``.

    Examples
    --------
    >>> sustained([1, 4, 8, 16], [100.0, 25.0, 12.8, 12.5]).to_json()
    {'latency_ns': 100.0, 'best_ns': 12.5, 'misses': 8.0, 'knee_chains': 8, 'flat': True}
    """
    best = min(ns)
    knee = next(k for k, each in zip(chains, ns, strict=True) if each <= 1.1 * best)
    return Sustained(latency_ns=ns[0], best_ns=best, misses=ns[0] / best, knee_chains=knee, flat=flat(chains, ns))


def of_chains(results: Sequence[Result]) -> Sustained:
    """Return the misses sustained according to the valid points; not valid if the first point, one chain, is not."""
    one = results[0]
    if one.valid:
        return sustained(*_times([result for result in results if result.valid]))
    why = [f"one chain: {reason}" for reason in one.why]
    return sustained(*_times(results)).model_copy(update={"valid": False, "why": why})


def flat(chains: Sequence[int], ns: Sequence[float]) -> bool:
    """Return True if the last doubling of the chains made a load at most 5% faster.

    Examples
    --------
    >>> flat([1, 2, 4], [100.0, 50.0, 25.0]), flat([1, 2, 4, 8], [100.0, 50.0, 25.0, 24.5])
    (False, True)
    """
    before = [each for k, each in zip(chains, ns, strict=True) if 2 * k <= max(chains)]
    return bool(before) and min(before) <= NEARLY * min(ns)


def saturation(rows: Sequence[Loads]) -> list[Enough]:
    """Return the best bandwidth for each order, number of CPUs and work, and how many streams come close to it.

    Parameters
    ----------
    rows : sequence of Loads

    Returns
    -------
    list of Enough
        ``best_GBps`` is the best bandwidth, reached with ``best_streams`` and ``best_depth``. ``enough_streams`` is
        the smallest number of streams that comes within 5% of it at any depth. ``gain`` is the ratio of the best
        bandwidth to the best bandwidth of one stream.
    """
    found = []
    for order, cpus, work in dict.fromkeys((one.order, one.cpus, one.work) for one in rows):
        mine = [one for one in rows if (one.order, one.cpus, one.work) == (order, cpus, work)]
        best = max(mine, key=lambda one: one.GBps)
        found.append(
            Enough(
                order=order,
                cpus=cpus,
                work=work,
                best_GBps=best.GBps,
                best_streams=best.streams,
                best_depth=best.depth,
                enough_streams=min(one.streams for one in mine if NEARLY * one.GBps >= best.GBps),
                gain=best.GBps / max(one.GBps for one in mine if one.streams == 1),
            )
        )
    return found


def _chains(pages: Pages, counts: Sequence[int], plan: Plan, seconds: float, tick: Tick) -> list[Result]:
    """Link the memory into one random cycle, and follow it from several places at once.

    The number of places is doubled until a load gets no faster.
    """
    rng = np.random.default_rng([plan.seed, 7])
    per_line, lines = plan.line_bytes // 8, pages.words.size * 8 // plan.line_bytes
    link_random(pages.words, pages.address, per_line, lines, int(rng.integers(1, 1 << 62)))

    def point(count: int) -> Point:
        at: Words = pages.address + plan.line_bytes * rng.integers(0, lines, count)
        return Point((count,), lambda repeat: chase_chains(at, repeat), count, quote="median")

    results = measure_points([point(count) for count in counts], seconds, rng, HostClock(), tick=tick)
    most = max(counts)
    while 2 * most <= MOST_CHAINS and not flat(*_times([result for result in results if result.valid])):
        further = [point(count) for count in (most + most // 2, 2 * most) if count > most]
        results += measure_points(further, seconds * len(further) / len(counts), rng, HostClock())
        most *= 2
    return results


def _times(chains: Sequence[Result]) -> tuple[list[int], list[float]]:
    """Return the numbers of chains, and ns a load."""
    return [int(key_of(result)[0]) for result in chains], [result.median for result in chains]


def _groups(
    words: Words, effort: Effort, plan: Plan, seconds: float, rng: np.random.Generator, tick: Tick
) -> list[Result]:
    """Visit all jobs on one CPU and on all CPUs, in random order, round by round while there is time."""
    begun, cpus = time.monotonic(), usable_cpus()
    taken: dict[tuple[Job, int], list[Windows]] = {}
    places = [cpus[:1], cpus] if len(cpus) > 1 else [cpus]
    most = max(effort.streams)
    with contextlib.ExitStack() as opened:
        crews = {len(place): opened.enter_context(Crew(words, plan.line_bytes // 8, place, most)) for place in places}
        jobs = itertools.product((FAR, NEAR), WORK, effort.streams, effort.depths)
        keys = [(Job(order == FAR, work, k, depth), p) for order, work, k, depth in jobs for p in crews]
        visit_ns = int(np.clip(0.9e9 * seconds / (FEWEST_ROUNDS * len(keys)), SHORTEST_NS, LONGEST_NS))
        for turn in itertools.count():
            for place, index in enumerate(rng.permutation(len(keys))):
                job, p = keys[index]
                taken.setdefault(keys[index], []).append(crews[p].visit(job, visit_ns, turn))
                done = (turn + (place + 1) / len(keys)) / FEWEST_ROUNDS
                tick(min(done, 1.0), f"{job.streams} streams, {job.depth} loads, {p} CPUs")
            elapsed = time.monotonic() - begun
            if turn + 1 >= FEWEST_ROUNDS and elapsed * (turn + 2) / (turn + 1) > seconds:
                break
    tick(1.0, "loads under way")
    results = []
    for job, p in keys:
        windows = np.concatenate(taken[job, p])
        windows["flags"] = flags(windows, limits=LIMITS)
        key = FAR if job.far else NEAR, p, job.work, job.streams, job.depth
        results.append(summarise(key, windows, "median", limits=LIMITS))
    return results


def _group_row(result: Result, GHz: float, plan: Plan) -> Loads:
    order, cpus, work, streams, depth = key_of(result)
    moved = plan.line_bytes if order == FAR else plan.word_bytes
    GBps = moved / result.median
    return Loads(order=order, cpus=cpus, work=work, streams=streams, depth=depth, GBps=GBps, **row(result, GHz))
