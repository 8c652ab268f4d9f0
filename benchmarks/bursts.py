"""Timing in bursts, tables of ratios, and MPI in processes of its own, for the other benchmarks of this folder.

    burst of one │ burst of the other │ burst of one │ burst of the other │ ...
    └───────── one pair ─────────┘

A burst is a number of calls that all processors begin together.  The CPUs of a virtual machine move, so that the same
call may take twice as long a second later.  Therefore the two sides of a ratio are timed in neighbouring bursts, and
the ratio is the median over these pairs, given with its quartiles.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.loops.atomics import store_release
from smp.compiled import clock, fetch_add, load

Act = Callable[[], object]
Words = NDArray[np.int64]
Times = NDArray[np.float64]
Row = tuple[str, Times, Times, float | None]
"""What is compared, the times of one and of the other, pair by pair, and the target of their ratio."""


def burst(barrier: Act, do: Act, times: int, closed: bool = False) -> float:
    """Return the seconds of one call, from a burst of calls; a ``closed`` burst ends with a barrier."""
    barrier()
    began = time.perf_counter()
    for _ in range(times):
        do()
    if closed:
        barrier()
    return (time.perf_counter() - began) / times


def rounds_of(barrier: Act, acts: Iterable[Act], times: int, bursts: int, closed: bool = False) -> Times:
    """Return the seconds of each act, in neighbouring bursts: a row for each round."""
    acts = list(acts)
    return np.array([[burst(barrier, act, times, closed) for act in acts] for _ in range(bursts)])


def quartiles(ratios: Times) -> list[float]:
    """Return the first quartile, the median and the third quartile."""
    found: list[float] = np.percentile(ratios, (25, 50, 75)).tolist()
    return found


def ratio(barrier: Act, one: Act, other: Act, times: int, bursts: int) -> list[float]:
    """Return the quartiles of the ratio of neighbouring bursts, and the median seconds of both."""
    return compared(*rounds_of(barrier, (one, other), times, bursts).T)


def compared(one: Times, other: Times) -> list[float]:
    """Return the quartiles of the ratio of times that were measured in pairs, and the medians of both."""
    return [*quartiles(one / other), float(np.median(one)), float(np.median(other))]


def placed(run: smp.Run) -> str:
    """Return how far apart the CPUs of a run were, for a line below a table."""
    return f"a cache line passes from CPU to CPU in {run.placement[1]:.0f} ns"


# Loops between two processors, of which each round has one burst.


def rounds(about: str, usual: int = 600) -> int:
    """Return the number of rounds that the command line gives; exit if there are no two CPUs."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=usual, help=f"number of rounds of bursts (default: {usual})")
    given: int = parser.parse_args().rounds
    if len(usable_cpus()) < 2:
        print("skipped: this process may use one CPU only, and the packets go between two")
        raise SystemExit(0)
    return given


def print_rows(rows: Iterable[Row], width: int) -> None:
    """Print the quartiles of the ratio of each row, its target, and the median times of both sides in ns."""
    print(f"{'':<{width}}{'1st':>8}{'median':>8}{'3rd':>8}{'target':>9}{'ns':>9}{'other':>9}")
    for what, one, other, target in rows:
        low, middle, high, mine, others = compared(one, other)
        goal = "" if target is None else f"<= {target:g}"
        missed = "  missed" if target is not None and middle > target else ""
        print(f"{what:<{width}}{low:>8.3f}{middle:>8.3f}{high:>8.3f}{goal:>9}{mine:>9.1f}{others:>9.1f}{missed}")


@smp.stream
def line_trips(line: Words, me: int, turn: int, n: int) -> int:
    """Return the ns in which a line goes there and back ``n`` times."""
    begun = clock()
    for k in range(turn + me, turn + 2 * n + me, 2):
        while load(line, 0) != k:
            pass
        store_release(line, 0, k + 1)
    return clock() - begun


@smp.stream
def additions(words: Words, n: int) -> int:
    """Return the ns of ``n`` atomic additions to a word of a line that no other processor uses."""
    begun = clock()
    for _ in range(n):
        fetch_add(words, 0, 1)
    return clock() - begun


# MPI.


def options(about: str) -> tuple[int, bool]:
    """Return the number of bursts that the command line gives, and whether this process is one of MPI's."""
    line = argparse.ArgumentParser(description=about)
    line.add_argument("--bursts", type=int, default=60, help="pairs of bursts for each ratio (default: 60)")
    line.add_argument("--mpi", action="store_true", help="measure MPI alone, in processes that mpiexec has started")
    given = line.parse_args()
    return given.bursts, given.mpi


def of_mpi(script: str, bursts: int, processors: int = 2) -> Any:
    """Return what a script prints as JSON if mpiexec starts it with ``--mpi``; None if mpi4py is not installed."""
    start = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if importlib.util.find_spec("mpi4py") is None or start is None:
        return None
    command = [start, "-n", str(processors), sys.executable, script, "--mpi", f"--bursts={bursts}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


NO_MPI = "MPI was not measured: mpi4py or its mpiexec is not installed"
