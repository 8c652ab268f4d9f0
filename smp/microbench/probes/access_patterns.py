"""Suites 1, 2 and 3 of access patterns, in the families Good, Bad and Random, and the cost functions fitted to them.

For every p asked: the suites' patterns are visited in random order over three rounds, each visit a few
supersteps; a superstep takes as long as its slowest processor.  The median of a pattern's clean supersteps goes into
the fit.  Good fits on Suite 1, Bad and Random on Suite 2, each is validated on the other suites (SMP cost study,
section 4; where one suite cannot tell the terms apart, as with one processor, see `models.access.fit_family`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _wait
from ..._compile import local
from ..._limits import usable_cpus
from ...arrays import GlobalArray
from ...machine import Machine, host
from ...models import access
from ...models.suites import T_MAX, Pattern, sizes, suite
from ...processor import Processor
from ..plan import Plan, Section, Stopped, Tick
from .access_loops import FAMILIES, GOOD, STAMPS, supersteps

SUPERSTEPS = 300
ROUNDS = {"quick": 3, "default": 5, "full": 5}
EXTRA = {"quick": 2, "default": 5, "full": 5}  # further rounds for patterns that were disturbed
ENOUGH = 2  # undisturbed supersteps, from which on a pattern is not measured again
DENSER = {"quick": "default", "default": "full", "full": "full"}
SMALL_VISIT = 40_000  # words that a visit of a small pattern copies, in repeats
CLEAN_CPU = 0.02  # wall may exceed CPU time by so much, and SLACK ns
SLACK = 3_000
CLEAN_ENOUGH = 0.5  # fraction of undisturbed supersteps below which a p is said not to be valid
SPINS = 1 << 40  # looks while measuring: a wait that blocked would add its wake-up to the phase

SAMPLE = np.dtype(
    [
        ("family", np.int8),
        ("p", np.int16),
        ("suite", np.int8),
        ("pattern", np.int32),
        ("round", np.int16),
        ("copy_in_ns", np.int64),
        ("copy_out_ns", np.int64),
        ("off_cpu_ns", np.int64),
        ("overlap", np.float32),
        ("clean", np.bool_),
    ]
)


@dataclass(frozen=True)
class Visit:
    """One visit of a pattern: so many supersteps of it in a family."""

    family: int
    suite: int
    index: int
    pattern: Pattern
    repeats: int


def measure(plan: Plan, tick: Tick) -> Section:
    """Measure the suites for every p of the plan, fit and validate the cost functions.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Told the fraction done.

    Returns
    -------
    Section
        ``data`` is the profile's "access"; ``samples`` has every superstep (SAMPLE).

    Raises
    ------
    Stopped
        On Ctrl-C, with the p that were measured whole.
    """
    found = _Found(plan)
    weights = [3 * p - 2 + (p == 1) for p in plan.processors]  # patterns of a size, more sizes for one processor
    for i, p in enumerate(plan.processors):
        done = sum(weights[:i]) / sum(weights)
        part = weights[i] / sum(weights)

        def inner(fraction: float, text: str, done: float = done, part: float = part) -> None:
            tick(done + part * fraction, text)

        try:
            found.add(p, *_measure_p(plan, p, inner))
        except KeyboardInterrupt:
            if found.samples:
                raise Stopped("access", found.section()) from None
            raise
    return found.section()


class _Found:
    """What has been measured and fitted so far, p by p."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tiers = plan, tiers_of(plan)
        self.private = next((t["words"] for t in reversed(self.tiers) if t["words"] and not t["shared"]), None)
        self.functions: list[dict[str, Any]] = []
        self.validation: list[dict[str, Any]] = []
        self.patterns: list[dict[str, Any]] = []
        self.samples: list[NDArray[np.void]] = []
        self.overheads: dict[str, float] = {}
        self.why: list[str] = []

    def add(self, p: int, taken: NDArray[np.void], chosen: dict[int, list[Pattern]], overhead: float) -> None:
        """Fit and validate the functions of every family for this p."""
        capacities = [math.inf if tier["words"] is None else float(tier["words"]) for tier in self.tiers]
        self.samples.append(taken)
        self.overheads[str(p)] = overhead
        for family in range(len(FAMILIES)):
            measured, rows = _summary(taken, chosen, family, p)
            self.patterns += rows
            lost = sum(row["clean"] == 0 for row in rows)
            if lost:
                left_out = f"{lost} of {len(rows)} patterns were disturbed every time and left out"
                self.why.append(f"p = {p}, {FAMILIES[family]}: {left_out}")
            made, checked = access.fit_family(FAMILIES[family], p, measured, capacities, private=self.private)
            self.functions += made
            self.validation += checked
        clean = float(taken["clean"].mean())
        if clean < CLEAN_ENOUGH:
            self.why.append(f"p = {p}: only {clean:.0%} of the supersteps were undisturbed")

    def section(self) -> Section:
        """The profile's "access" and the samples."""
        samples = np.concatenate(self.samples)
        data = {
            "word_bytes": self.plan.word_bytes,
            "line_words": self.plan.line_bytes // self.plan.word_bytes,
            "tiers": self.tiers,
            "private_words": self.private,
            "processors": [int(p) for p in self.overheads],
            "overhead_s": self.overheads,
            "functions": self.functions,
            "validation": self.validation,
            "patterns": self.patterns,
            "clean_fraction": float(samples["clean"].mean()),
            "valid": not self.why,
            "why": self.why,
        }
        return Section(data, {"access": samples})


def tiers_of(plan: Plan) -> list[dict[str, Any]]:
    """The tiers that a processor's data can sit in: half of each cache, since each word has its local copy beside it.

    Caches that the smallest pattern overflows are left out: no measurement could price them.
    """
    smallest = min(sizes(plan.mode))
    found: list[dict[str, Any]] = [
        {
            "name": f"L{cache.level}",
            "words": cache.bytes // (2 * plan.word_bytes),
            "shared": cache.shared_by > 1,
        }
        for cache in sorted(plan.caches, key=lambda cache: cache.level)
        if cache.bytes // (2 * plan.word_bytes) > smallest
    ]
    ascending = [tier for i, tier in enumerate(found) if i == 0 or tier["words"] > found[i - 1]["words"]]
    return [*ascending, {"name": "beyond", "words": None, "shared": True}]


def _measure_p(plan: Plan, p: int, tick: Tick) -> tuple[NDArray[np.void], dict[int, list[Pattern]], float]:
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
        rounds = ROUNDS[plan.mode]
        left = np.arange(len(visits))
        for turn in range(rounds + EXTRA[plan.mode]):
            if turn >= rounds:  # what was disturbed too often is measured again
                left = np.array([i for i in left if _clean(taken, visits[i]) < ENOUGH], np.intp)
            order = rng.permutation(left)
            for chunk in _chunks(order, cost):
                batch = [visits[i] for i in chunk]
                taken.append(_samples(machine, shared, line, _own_cache(plan), batch, p, turn))
                share = (turn + (np.flatnonzero(order == chunk[-1])[0] + 1) / len(order)) / rounds
                tick(min(float(share), 1.0), f"access patterns, p = {p}")
    return np.concatenate(taken), chosen, overhead


def _clean(taken: list[NDArray[np.void]], visit: Visit) -> int:
    """How many undisturbed supersteps of a pattern there are."""
    return sum(int((rows["clean"] & _of(rows, visit.family, visit.suite, visit.index)).sum()) for rows in taken)


def _of(rows: NDArray[np.void], family: int, number: int, index: int) -> NDArray[np.bool_]:
    chosen = (rows["family"] == family) & (rows["suite"] == number) & (rows["pattern"] == index)
    return np.asarray(chosen, np.bool_)


def _overhead(machine: Machine, shared: GlobalArray) -> float:
    """Seconds that a program's superstep takes for next to nothing: what the runtime adds to the machine's charge.

    The patterns' supersteps are compiled loops; a program's go through Python, as the paper's went through its fork.
    """
    phases = machine.run(_nearly_empty, shared).summary()
    return float(np.median(phases["copy_in"] + phases["copy_out"]))


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
    stamps = np.stack(machine.run(_batch, shared, line, cache, plain, turn, p <= len(usable_cpus())).results)
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
    rows["clean"] = rows["off_cpu_ns"] <= CLEAN_CPU * wall + SLACK
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
    usual = int(proc.sync[_wait.RETRIES])
    if spin:
        proc.sync[_wait.RETRIES] = SPINS
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
    proc.sync[_wait.RETRIES] = usual
    return out


_kept = np.zeros(0, np.int64)


def _local(words: int) -> NDArray[np.int64]:
    """This processor's local array, kept from batch to batch so that its pages stay."""
    global _kept
    if len(_kept) < words:
        _kept = np.zeros(words, np.int64)
        _kept[:] = 1
    return _kept


def _summary(
    taken: NDArray[np.void], chosen: dict[int, list[Pattern]], family: int, p: int
) -> tuple[dict[int, access.Measured], list[dict[str, Any]]]:
    """The median of each pattern's clean supersteps, for the fit and for the report.

    A pattern without a clean superstep is reported, by all its supersteps, but not fitted.
    """
    measured: dict[int, access.Measured] = {}
    rows: list[dict[str, Any]] = []
    mine = taken[taken["family"] == family]
    for number, patterns in chosen.items():
        seconds, fitted = np.zeros(len(patterns)), np.zeros(len(patterns), np.bool_)
        for index, pattern in enumerate(patterns):
            here = mine[_of(mine, family, number, index)]
            clean = here[here["clean"]]
            used = clean if len(clean) else here
            fitted[index] = len(clean) > 0
            seconds[index] = np.median(used["copy_in_ns"] + used["copy_out_ns"]) * 1e-9
            rows.append(
                {
                    "family": FAMILIES[family],
                    "p": p,
                    "suite": number,
                    "kind": pattern.kind,
                    "x": pattern.x,
                    "h": pattern.h,
                    "hr": pattern.hr,
                    "hw": pattern.hw,
                    "m": pattern.m,
                    "seconds": float(seconds[index]),
                    "supersteps": len(here),
                    "clean": len(clean),
                }
            )
        hr, hw, m = (np.array([getattr(a, name) for a in patterns], float) for name in ("hr", "hw", "m"))
        measured[number] = access.Measured(hr, hw, m, seconds).where(fitted)
    return measured, rows
