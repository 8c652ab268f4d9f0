"""Suites 1, 2 and 3 of access patterns, in the families Good, Bad and Random, and the cost functions fitted to them.

For every p asked: the suites' patterns are visited in random order, round by round while there is time, three rounds
at least, each visit a few supersteps; then those that were disturbed too often once more.  A superstep takes as long
as its slowest processor.  The median of a pattern's undisturbed supersteps goes into the fit.  Good is fitted on
Suite 1, Bad and Random on Suite 2, each is validated on the other suites (SMP cost study, section 4; where one suite
cannot tell the terms apart, as with one processor, see `models.access.fit_family`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._runtime.loops.compiler import local
from smp._runtime.machine import Machine, host
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp._runtime.protocols import wait
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.models.supersteps.suites import T_MAX, Pattern, sizes, suite

from .fits import SAMPLE, Found, of_pattern
from .loops import FAMILIES, GOOD, STAMPS, supersteps

SUPERSTEPS = 300
LEAST, MOST = 3, 12  # rounds; between them, as many as there is time for
BUDGET = {"quick": 8.0, "default": 78.0, "full": 600.0}  # seconds for all p together
EXTRA = 5  # further rounds, in half as much time again, of the patterns that were disturbed
ENOUGH = 2  # undisturbed supersteps, from which on a pattern is not measured again
DENSER = {"quick": "default", "default": "full", "full": "full"}
SMALL_VISIT = 40_000  # words that a visit of a small pattern copies, in repeats
CLEAN_CPU = 0.02  # wall may exceed CPU time by so much, and SLACK ns
SLACK = 3_000
SPINS = 1 << 40  # looks while measuring: a wait that blocked would add its wake-up to the phase


@dataclass(frozen=True)
class Visit:
    """One visit of a pattern: so many supersteps of it in a family."""

    family: int
    suite: int
    index: int
    pattern: Pattern
    repeats: int


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the suites for every p of the plan, fit and validate the cost functions.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Told the fraction done.

    Returns
    -------
    Measurement
        ``data`` is the profile's "access"; ``samples`` has every superstep (SAMPLE).

    Raises
    ------
    Stopped
        On Ctrl-C, with the p that were measured whole.
    """
    found = Found(plan)
    weights = [3 * p - 2 + (p == 1) for p in plan.processors]  # patterns of a size, more sizes for one processor
    for i, p in enumerate(plan.processors):
        done = sum(weights[:i]) / sum(weights)
        part = weights[i] / sum(weights)

        def inner(fraction: float, text: str, done: float = done, part: float = part) -> None:
            tick(done + part * fraction, text)

        try:
            found.add(p, *_measure_p(plan, p, part * BUDGET[plan.mode], inner))
        except KeyboardInterrupt:
            if found.samples:
                raise Stopped("access", found.section()) from None
            raise
    return found.section()


def _measure_p(
    plan: Plan, p: int, budget: float, tick: Tick
) -> tuple[NDArray[np.void], dict[int, list[Pattern]], list[float]]:
    rng = np.random.default_rng([plan.seed, p])
    # one processor has one pattern a size where two have four: with more sizes there is enough to fit
    heights = sizes(DENSER[plan.mode] if p == 1 else plan.mode)
    chosen = {number: suite(number, p, heights, rng) for number in (1, 2, 3)}
    largest = max(max(int(a.reads.max()), int(a.writes.max())) for patterns in chosen.values() for a in patterns)
    line = plan.line_bytes // plan.word_bytes
    visits = [
        Visit(family, number, index, pattern, _repeats(family, pattern))
        for family in range(len(FAMILIES))
        for number, patterns in chosen.items()
        for index, pattern in enumerate(patterns)
    ]
    cost = np.array([visit.repeats * _words(visit, line) for visit in visits], float)
    taken: list[NDArray[np.void]] = []
    with host(p) as machine:
        shared = machine.zeros(max(p * T_MAX, largest * line + p), np.int64)
        machine.run(_warm, shared, line)
        overhead = _overhead(machine, shared)
        start, turn = time.monotonic(), 0

        def visit_all(left: NDArray[np.intp], turn: int) -> None:
            order, done = rng.permutation(left), 0
            for chunk in _chunks(order, cost):
                batch = [visits[i] for i in chunk]
                taken.append(_samples(machine, shared, line, _own_cache(plan), batch, p, turn))
                done += len(chunk)
                spent, rounds = (time.monotonic() - start) / budget, (turn + done / len(order)) / LEAST
                tick(min(spent, rounds, 1.0), f"access patterns, p = {p}")

        every = np.arange(len(visits))
        while turn < LEAST or (turn < MOST and (time.monotonic() - start) * (turn + 1) / turn < budget):
            visit_all(every, turn)
            turn += 1
        for extra in range(turn, turn + EXTRA):
            disturbed = np.array([i for i in every if _clean(taken, visits[i]) < ENOUGH], np.intp)
            if len(disturbed) == 0 or time.monotonic() - start > 1.5 * budget:
                break
            visit_all(disturbed, extra)
    tick(1.0, f"access patterns, p = {p}")
    return np.concatenate(taken), chosen, overhead


def _clean(taken: list[NDArray[np.void]], visit: Visit) -> int:
    """How many undisturbed supersteps of a pattern there are."""
    return sum(int((rows["clean"] & of_pattern(rows, visit.family, visit.suite, visit.index)).sum()) for rows in taken)


def _overhead(machine: Machine, shared: GlobalArray) -> list[float]:
    """Seconds that a program's superstep takes for next to nothing, the 5th and the 95th percentile.

    The patterns' supersteps are compiled loops; a program's go through Python, as the paper's went through its fork.
    """
    phases = machine.run(_nearly_empty, shared).summary()
    low, high = np.percentile(phases["copy_in"] + phases["copy_out"], [5, 95])
    return [float(low), float(high)]


def _nearly_empty(proc: Processor, shared: GlobalArray) -> None:
    for _ in range(SUPERSTEPS):
        with proc.superstep("nearly empty") as step:
            step.copy_in_by(_first, shared)
            step.compute()
            step.copy_out_by(_first, shared)


@local
def _first(words: NDArray[np.int64]) -> int:
    return int(words[0] == words[0])


def _repeats(family: int, pattern: Pattern) -> int:
    """Supersteps a visit: more of small patterns, whose times are short, and of Good ones, which are cheap."""
    return (3 if family == GOOD else 1) * (1 + SMALL_VISIT // max(pattern.h, 1))


def _words(visit: Visit, line: int) -> int:
    """Lines that a visit moves, roughly, to weigh its time."""
    words = visit.pattern.hr + visit.pattern.hw
    return words // line * 2 + 500 if visit.family == GOOD else words + 500


def _own_cache(plan: Plan) -> int:
    """Words of the largest cache of a processor's own."""
    return max((c.bytes for c in plan.caches if c.shared_by == 1), default=1 << 20) // plan.word_bytes


def _chunks(order: NDArray[np.intp], cost: NDArray[np.float64]) -> Iterator[list[int]]:
    """Cut a round into runs of the machine, so that progress is seen and Ctrl-C is heard between them."""
    limit, chunk, size = 10e6, [], 0.0
    for i in order:
        chunk.append(int(i))
        size += cost[i]
        if size > limit:
            yield chunk
            chunk, size = [], 0.0
    if chunk:
        yield chunk


def _warm(proc: Processor, shared: GlobalArray, line: int) -> None:
    """Compile or load the loop on every processor, before anything is timed."""
    out, few = np.zeros((1, STAMPS), np.int64), np.zeros(8, np.int64)
    for family in range(len(FAMILIES)):
        supersteps(proc.sync, family, shared.view, few, few, 1, 1, 0, line, 8, 0, out)


def _samples(
    machine: Machine, shared: GlobalArray, line: int, cache: int, batch: list[Visit], p: int, turn: int
) -> NDArray[np.void]:
    """Run a batch and turn what every processor stamped into samples."""
    plain = [(v.family, v.pattern.reads, v.pattern.writes, v.repeats) for v in batch]
    roomy = p <= len(usable_cpus())
    stamps = np.stack(machine.run(_batch, shared, line, cache, plain, turn, roomy).results)
    rows = np.zeros(stamps.shape[1], SAMPLE)
    owner = np.repeat(np.arange(len(batch)), [v.repeats for v in batch])
    rows["family"] = np.array([v.family for v in batch])[owner]
    rows["suite"] = np.array([v.suite for v in batch])[owner]
    rows["pattern"] = np.array([v.index for v in batch])[owner]
    rows["p"], rows["round"] = p, turn
    rows["copy_in_ns"], rows["copy_out_ns"] = stamps[:, :, 0].max(0), stamps[:, :, 1].max(0)
    off = stamps[:, :, 0] + stamps[:, :, 1] - stamps[:, :, 2]
    rows["off_cpu_ns"] = off.max(0)
    rows["overlap"] = _overlap(stamps[:, :, 3], stamps[:, :, 4])
    wall = rows["copy_in_ns"] + rows["copy_out_ns"]
    # more processors than CPUs take turns: to be off the CPU is then what they are measured at
    rows["clean"] = (rows["off_cpu_ns"] <= CLEAN_CPU * wall + SLACK) if roomy else True
    return rows


def _overlap(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much of the shortest copy-in, of those that copied for a while, all of those ran together; 1 for one."""
    busy = end - start > SLACK
    first = np.where(busy, start, np.iinfo(np.int64).min).max(0)
    last = np.where(busy, end, np.iinfo(np.int64).max).min(0)
    shortest = np.where(busy, end - start, np.iinfo(np.int64).max).min(0)
    together = np.clip(np.minimum(last - first, shortest), 0, None) / np.maximum(shortest, 1)
    return np.where(busy.sum(0) > 1, together, 1.0)


def _batch(
    proc: Processor,
    shared: GlobalArray,
    line: int,
    cache: int,
    batch: list[tuple[int, Any, Any, int]],
    turn: int,
    spin: bool,
) -> NDArray[np.int64]:
    """The program of one processor: run the visits, return its stamps, a row a superstep."""
    most = max(max(int(r.max()), int(w.max())) for _, r, w, _ in batch)
    own = _local(cache + most)
    spoiler, local = own[:cache], own[cache:]
    out = np.zeros((sum(repeats for *_, repeats in batch), STAMPS), np.int64)
    usual = int(proc.sync[wait.RETRIES])
    if spin:
        proc.sync[wait.RETRIES] = SPINS
    row = 0
    for family, reads, writes, repeats in batch:
        good, rank = family == GOOD, proc.rank
        supersteps(
            proc.sync,
            family,
            shared.view,
            local,
            spoiler,
            int(reads[rank]),
            int(writes[rank]),
            rank * T_MAX if good else rank,
            1 if good else line,
            len(shared),
            (turn * proc.size + rank) << 32,
            out[row : row + repeats],
        )
        row += repeats
    proc.sync[wait.RETRIES] = usual
    return out


_kept = np.zeros(0, np.int64)


def _local(words: int) -> NDArray[np.int64]:
    """This processor's local array, kept from batch to batch so that its pages stay."""
    global _kept
    if len(_kept) < words:
        _kept = np.zeros(words, np.int64)
        _kept[:] = 1
    return _kept
