"""Measure what collectives cost: votes, tickets, reductions, scans and broadcasts, as ratios of one run.

    python benchmarks/messages.py [--bursts 60]

The two sides of each ratio are timed in neighbouring bursts, and the ratio is the median over the pairs of bursts.  A
copy is that of an array of the same length from one private array into another.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import smp

WORDS = (8, 10_000, 1_000_000)


def burst(proc: smp.Processor, do: Callable[[], object], times: int) -> float:
    """Return the seconds of one call, from a burst of calls that all processors begin together."""
    proc.barrier()
    began = proc._port.clock()
    for _ in range(times):
        do()
    return (proc._port.clock() - began) / times


def ratio(proc: smp.Processor, one: Callable[[], object], other: Callable[[], object], times: int, bursts: int) -> Any:
    """Return the quartiles of the ratio of neighbouring bursts, and the median seconds of both."""
    pairs = np.array([(burst(proc, one, times), burst(proc, other, times)) for _ in range(bursts)])
    return (*np.percentile(pairs[:, 0] / pairs[:, 1], (25, 50, 75)), *np.median(pairs, axis=0))


def program(proc: smp.Processor, bursts: int) -> list[tuple[str, Any]]:
    found = [
        ("any, from Python / barrier", ratio(proc, lambda: proc.any(False), proc.barrier, 300, bursts)),
        (
            "split barrier and wait / barrier",
            ratio(proc, lambda: proc.split.barrier().wait(), proc.barrier, 300, bursts),
        ),
    ]
    for n in WORDS:
        mine, out, times = np.arange(n) + 1.0 * proc.rank, np.zeros(n), max(3, 200_000 // (n + 1000))
        other = np.zeros(n)

        def copy(mine: Any = mine, other: Any = other) -> None:
            other[:] = mine

        def reduce(mine: Any = mine, out: Any = out) -> None:
            proc.reduce(mine, out=out)

        def scan(mine: Any = mine, out: Any = out) -> None:
            proc.scan(mine, out=out)

        def broadcast(mine: Any = mine) -> None:
            proc.broadcast(mine)

        against: Callable[[], object] = proc.barrier if n < 1000 else copy
        name = "barrier" if n < 1000 else "copy"
        for what in (reduce, scan, broadcast):
            found.append((f"{what.__name__} of {n:,} words / {name}", ratio(proc, what, against, times, bursts)))
    return found


def main() -> None:
    line = argparse.ArgumentParser(description="Measure what collectives cost, as ratios of one run.")
    line.add_argument("--bursts", type=int, default=60, help="pairs of bursts for each ratio (default: 60)")
    bursts = line.parse_args().bursts
    with smp.host(2) as machine:
        run = machine.run(program, bursts)
    print(f"{'2 processors':<44}{'first quartile':>15}{'median':>9}{'third':>9}{'us':>12}{'other, us':>12}")
    for name, (low, middle, high, one, other) in run.results[0]:
        print(f"{name:<44}{low:>15.2f}{middle:>9.2f}{high:>9.2f}{one * 1e6:>12.2f}{other * 1e6:>12.2f}")


if __name__ == "__main__":
    main()
