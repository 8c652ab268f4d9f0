"""Measure suites 1, 2 and 3 of access patterns in the families Good, Bad and Random, and fit cost functions to them.

For every requested p, the patterns of the suites are visited in random order, round by round while there is time, in at
least three rounds.  Each visit is a few supersteps.  Then the patterns with too few samples that count are visited
again, in further rounds.  A piece of a superstep takes as long as its slowest processor.  A piece counts if no
processor was off its CPU and the CPUs were in the main state of their placement (see `placement`).

Source: the SMP cost study, section 4.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._runtime.kinds import host
from smp._runtime.loops.compiler import local
from smp._runtime.machine import Machine
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor
from smp._runtime.program.run import Run
from smp.microbench.method.placement import farthest
from smp.microbench.method.plan import Measurement, Plan, Stopped, Tick
from smp.models.supersteps.suites import T_MAX

from .fits import COPY_IN, COPY_OUT, SAMPLE, Found, counting, least
from .loops import BAD, GOOD
from .processor import Order, Sizes, visit_all, warm
from .visits import Group, Visit, chunks, costs, groups_of, visits_of

SUPERSTEPS, RUNS = 300, 100
LEAST, MOST = 3, 40  # fewest and most rounds; between them, as many as there is time for
BUDGET = {"quick": 8.0, "default": 78.0, "full": 600.0}  # seconds for all p together
EXTRA = 8  # further rounds, in up to half the budget on top, of the patterns with too few samples that count
ENOUGH = 3  # samples that must count in every group of alike pieces; otherwise a pattern is visited again
CLEAN_CPU = 0.02  # wall may exceed CPU time by this fraction of it, plus SLACK ns
SLACK = 3_000


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Measure the suites for every p of the plan, and fit and validate the cost functions.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``data`` is the profile's "access"; ``samples`` has every piece of every superstep (SAMPLE).

    Raises
    ------
    Stopped
        On Ctrl-C, with the values of p that were measured completely.
    """
    found = Found(plan)
    weights = [3 * p - 2 + (p == 1) for p in plan.processors]  # patterns of each size; one processor has more sizes
    for i, p in enumerate(plan.processors):
        done = sum(weights[:i]) / sum(weights)
        part = weights[i] / sum(weights)

        def inner(fraction: float, text: str, done: float = done, part: float = part) -> None:
            tick(done + part * fraction, text)

        try:
            found.add(p, *_measure_p(plan, p, part * plan.seconds(BUDGET[plan.mode]), inner))
        except KeyboardInterrupt:
            if found.samples:
                raise Stopped("access", found.section()) from None
            raise
    return found.section()


def _measure_p(plan: Plan, p: int, budget: float, tick: Tick) -> tuple[NDArray[np.void], list[Group], list[float]]:
    rng = np.random.default_rng([plan.seed, p])
    groups = groups_of(plan, p, rng)
    visits = visits_of(groups)
    most = {
        family: max(max(v.pattern.hr, v.pattern.hw) for v in visits if v.group.family == family)
        for family in (GOOD, BAD)
    }
    sizes = Sizes(plan.line_bytes // plan.word_bytes, _own_cache(plan), max(T_MAX, most[GOOD]))
    words = max(p * sizes.most, most[BAD] * sizes.line + p, *(group.footprint for group in groups))
    cost = costs(visits, sizes.line)
    taken = np.zeros(0, SAMPLE)
    with host(p, pin=measuring_cpus(p)) as machine:
        shared = machine.zeros(words, f"i{plan.word_bytes}")
        machine.run(warm, shared, sizes)
        overhead = _overhead(machine, shared)
        start, turn = time.monotonic(), 0

        def visit(left: NDArray[np.intp], turn: int) -> None:
            nonlocal taken
            order, done = rng.permutation(left), 0
            for chunk in chunks(order, cost):
                rows = _samples(plan, machine, shared, sizes, [visits[i] for i in chunk], turn)
                taken = np.concatenate([taken, rows])
                done += len(chunk)
                spent, rounds = (time.monotonic() - start) / budget, (turn + done / len(order)) / LEAST
                tick(min(spent, rounds, 1.0), f"access patterns, p = {p}")

        every = np.arange(len(visits))
        while turn < LEAST or (turn < MOST and (time.monotonic() - start) * (turn + 1) / turn < budget):
            visit(every, turn)
            turn += 1
        for extra in range(turn, turn + EXTRA):
            counts = counting(taken, plan.placement.placement(p))
            left = [i for i in every if _of(visits[i], taken, counts) < ENOUGH]
            if not left or time.monotonic() - start > 1.5 * budget:
                break
            visit(np.array(left, np.intp), extra)
    tick(1.0, f"access patterns, p = {p}")
    return taken, groups, overhead


def _of(visit: Visit, taken: NDArray[np.void], counts: NDArray[np.bool_]) -> int:
    """Return the number of a pattern's samples that count, in the group of alike pieces that has the fewest."""
    mine = visit.group.rows(taken, visit.suite, visit.index)
    return least(taken[mine], counts[mine])


def _overhead(machine: Machine, shared: GlobalArray) -> list[float]:
    """Return the least and the most seconds that the runtime adds to the copies of a program's superstep.

    The supersteps of the patterns are compiled loops.  Those of a program go through Python, as the paper's went
    through its fork.  The least is the 5th percentile of supersteps that copy nothing, one after another.  The most is
    the 95th percentile of supersteps that copy a word each way and are the first of their runs: their code and data
    are not in the caches yet.
    """
    machine.run(_nearly_empty, shared)  # loads the loop
    firsts = [machine.run(_nearly_empty, shared) for _ in range(RUNS)]
    return [
        float(np.percentile(_copying(machine.run(_empty, shared)), 5)),
        float(np.percentile(np.concatenate([_copying(run) for run in firsts]), 95)),
    ]


def _copying(run: Run) -> NDArray[np.float64]:
    """Return the seconds of the copies of each superstep."""
    phases = run.summary()
    return np.asarray(phases["copy_in"] + phases["copy_out"])


def _empty(proc: Processor, shared: GlobalArray) -> None:
    for _ in range(SUPERSTEPS):
        with proc.superstep("empty") as step:
            step.compute()


def _nearly_empty(proc: Processor, shared: GlobalArray) -> None:
    with proc.superstep("nearly empty") as step:
        step.copy_in_by(_first, shared)
        step.compute()
        step.copy_out_by(_first, shared)


@local
def _first(words: NDArray[np.int64]) -> int:
    return int(words[0] == words[0])


def _own_cache(plan: Plan) -> int:
    """Return the words of the largest cache that a processor has to itself."""
    return max((c.bytes for c in plan.caches if c.shared_by == 1), default=1 << 20) // plan.word_bytes


def _samples(
    plan: Plan, machine: Machine, shared: GlobalArray, sizes: Sizes, batch: list[Visit], turn: int
) -> NDArray[np.void]:
    """Run a batch and turn the stamps of all processors into samples."""
    orders = [
        Order(v.group.family, v.pattern.reads, v.pattern.writes, v.group.footprint, v.repeats, v.piece, v.pieces)
        for v in batch
    ]
    roomy, p = machine.size <= len(usable_cpus()), machine.size
    stamps = np.stack(machine.run(visit_all, shared, sizes, orders, turn, roomy).results)
    rows = np.concatenate([_named(visit) for visit in batch])
    rows["p"], rows["round"] = p, turn
    rows["ns"] = stamps[:, :, 0].max(0)
    rows["off_cpu_ns"] = (stamps[:, :, 0] - stamps[:, :, 1]).max(0)
    rows["overlap"] = _overlap(stamps[:, :, 2], stamps[:, :, 3])
    rows["before_ns"], rows["after_ns"] = (farthest(stamps[:, :, column]) for column in (4, 5))
    plan.placement.note(p, stamps[0, :, 2] * 1e-9, rows["before_ns"])
    # if there are more processors than CPUs, they take turns: being off the CPU is then part of the measurement
    rows["clean"] = (rows["off_cpu_ns"] <= CLEAN_CPU * rows["ns"] + SLACK) if roomy else True
    return rows


def _named(visit: Visit) -> NDArray[np.void]:
    """Return rows for the pieces of a visit, in the order in which `visit_all` stamps them."""
    parts = []
    for phase, alike in zip((COPY_IN, COPY_OUT), visit.alike, strict=True):
        part = np.zeros((visit.repeats, len(alike)), SAMPLE)
        part["phase"], part["piece"], part["alike"] = phase, np.arange(len(alike)), alike
        part["repeat"] = np.arange(visit.repeats)[:, None]
        parts.append(part.ravel())
    rows = np.concatenate(parts)
    rows["family"], rows["footprint"] = visit.group.family, visit.group.footprint
    rows["suite"], rows["pattern"] = visit.suite, visit.index
    return rows


def _overlap(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of the shortest copying in which all long copyings overlapped; 1 if at most one was long."""
    busy = end - start > SLACK
    first = np.where(busy, start, np.iinfo(np.int64).min).max(0)
    last = np.where(busy, end, np.iinfo(np.int64).max).min(0)
    shortest = np.where(busy, end - start, np.iinfo(np.int64).max).min(0)
    together = np.clip(np.minimum(last - first, shortest), 0, None) / np.maximum(shortest, 1)
    return np.where(busy.sum(0) > 1, together, 1.0)
