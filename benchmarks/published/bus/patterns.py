"""The access patterns of the SMP cost study on an emulated machine: suites 1, 2 and 3 of both families, as supersteps.

family   word that processor i accesses at k       before each phase
good     i t_max + k                               the part of its run that fits into the cache is in it
bad      i + k t_line                              the cache is full of other lines; before copy-out, of changed ones
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import smp
from smp.machines import MachineFile
from smp.models.supersteps.access import Measured
from smp.models.supersteps.cost import Others
from smp.models.supersteps.suites import Pattern, suite

WORD = 4
"""Bytes of a word, as in the study."""
Family = Literal["good", "bad"]


def measured(machine: MachineFile, family: Family, p: int, sizes: Sequence[int]) -> dict[int, Measured]:
    """Return the virtual times of the three suites of a family on p processors."""
    rng = np.random.default_rng(p)
    return {number: timed(machine, family, p, suite(number, p, sizes, rng)) for number in (1, 2, 3)}


def timed(machine: MachineFile, family: Family, p: int, patterns: Sequence[Pattern]) -> Measured:
    """Return the virtual times of patterns of a family on p processors."""
    assert machine.memory is not None
    assert machine.memory.line
    assert machine.memory.cache
    line, cache = machine.memory.line // WORD, machine.memory.cache // WORD
    most = max(max(pattern.hr, pattern.hw) for pattern in patterns)
    counts = [(pattern.reads, pattern.writes) for pattern in patterns]
    with smp.emulated(p, machine=machine, limit=1 << 40) as opened:
        if family == "good":
            run = opened.run(_good, opened.zeros(p * most, np.int32), counts, cache)
        else:
            shared, others = opened.zeros(most * line + p, np.int32), opened.zeros(p * cache, np.int32)
            run = opened.run(_bad, shared, others, counts, line)
    steps = run.summary()
    seconds = steps["copy_in"][steps["label"] == "in"] + steps["copy_out"][steps["label"] == "out"]
    hr, hw, m = (np.array([getattr(pattern, name) for pattern in patterns]) for name in ("hr", "hw", "m"))
    return Measured(hr, hw, m, seconds, Others.of(*zip(*counts, strict=True)))


def _good(proc: smp.Processor, shared: Any, counts: Any, cache: int) -> None:
    base, local = proc.rank * (len(shared) // proc.size), np.zeros(len(shared) // proc.size, np.int32)

    def run(words: int) -> slice:
        return slice(base, base + words)

    def prime(words: int) -> None:
        kept = min(words, cache)
        with proc.superstep("prime") as step:
            step.copy_in(shared, run(kept), out=local[:kept])

    for reads, writes in counts:
        mine, changed = int(reads[proc.rank]), int(writes[proc.rank])
        with proc.superstep("change") as step:
            step.compute()
            step.copy_out(shared, run(max(mine, changed)), local[: max(mine, changed)])
        prime(mine)
        with proc.superstep("in") as step:
            step.copy_in(shared, run(mine), out=local[:mine])
        prime(changed)
        with proc.superstep("out") as step:
            step.compute()
            step.copy_out(shared, run(changed), local[:changed])


def _bad(proc: smp.Processor, shared: Any, others: Any, counts: Any, line: int) -> None:
    local = np.zeros(max(int(max(reads.max(), writes.max())) for reads, writes in counts), np.int32)
    other = np.arange(proc.rank * (len(others) // proc.size), (proc.rank + 1) * (len(others) // proc.size), line)

    def run(words: int) -> slice:
        return slice(proc.rank, proc.rank + words * line, line)

    def spoil(change: bool) -> None:
        with proc.superstep("spoil") as step:
            if not change:
                step.copy_in(others, other)
            step.compute()
            if change:
                step.copy_out(others, other, 1)

    for reads, writes in counts:
        mine, changed = int(reads[proc.rank]), int(writes[proc.rank])
        spoil(change=False)
        with proc.superstep("in") as step:
            step.copy_in(shared, run(mine), out=local[:mine])
        spoil(change=True)
        with proc.superstep("out") as step:
            step.compute()
            step.copy_out(shared, run(changed), local[:changed])
