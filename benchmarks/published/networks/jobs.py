"""Runs of patterns, each a plain description, done by several processes and kept by what they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from . import patterns
from .patterns import Loop, Targets


@dataclass(frozen=True)
class Job:
    """A pattern of 64 nodes: its rounds, the bytes of a block, the loop that sends, the seed."""

    pattern: str
    rounds: int
    size: int
    loop: Loop
    barrier_every: int = 0
    together: int = 1
    seed: int = 0

    def targets(self) -> Targets:
        if self.pattern == "transpose":
            made = patterns.transpose(self.rounds)
        elif self.pattern == "random":
            made = patterns.random_targets(self.rounds, self.seed)
        else:
            made = patterns.shift(4) if self.pattern == "shift" else patterns.exchange(2)
        return patterns.shuffled(made, self.together, self.seed) if self.together > 1 else made


def measured(job: Job) -> float:
    """Return the MB/s of a node."""
    options = {"barrier_every": job.barrier_every, "interleave": job.together}
    return patterns.rate(job.targets(), job.size, job.loop, job.seed, **options)


class Results:
    """Rates of jobs, with several seeds each."""

    def __init__(self, wanted: Iterable[tuple[Job, int]], processes: int) -> None:
        jobs = list(dict.fromkeys(replace(job, seed=seed) for job, seeds in wanted for seed in range(seeds)))
        jobs.sort(key=lambda job: -job.rounds * job.size)
        self._found: dict[Job, float] = {}
        with ProcessPoolExecutor(processes) as pool:
            for job, value in zip(jobs, pool.map(measured, jobs), strict=True):
                self._found[job] = value
                print(f"\r{len(self._found)} of {len(jobs)} runs", end="", file=sys.stderr, flush=True)
        print("\r" + " " * 40, end="\r", file=sys.stderr, flush=True)

    def of(self, job: Job) -> NDArray[np.float64]:
        """Return the rates of a job with all its seeds."""
        same = [(one.seed, rate) for one, rate in self._found.items() if replace(one, seed=0) == replace(job, seed=0)]
        return np.array([rate for _, rate in sorted(same)])

    def mean(self, job: Job) -> float:
        return float(self.of(job).mean())
