"""Compare a Jacobi sweep in supersteps with the same sweep on NumPy arrays of each process.

    python benchmarks/jacobi.py [--n 2048] [--processors 2] [--rounds 15]

Each processor sweeps its rows of an n x n grid of float64, five-point averages, in three ways in turn: on its own
arrays; in supersteps that read into new arrays; in supersteps that read into one array (``out=``).  A ratio compares
two sweeps of the same round.  The first round, which touches the pages, is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import smp

Floats = NDArray[np.float64]


def averaged(grid: Floats, result: Floats) -> None:
    """Set ``result`` to the mean of the four neighbours of each inner point of ``grid``."""
    np.add(grid[:-2, 1:-1], grid[2:, 1:-1], out=result)
    result += grid[1:-1, :-2]
    result += grid[1:-1, 2:]
    result *= 0.25


def sweeps(proc: smp.Processor, old: smp.GlobalArray, new: smp.GlobalArray, rounds: int) -> list[tuple[float, ...]]:
    """Return the seconds of a sweep in each of the three ways, for every round."""
    n = old.shape[0]
    mine = proc.block(n - 2)
    rows, inner = slice(mine.start, mine.stop + 2), slice(mine.start + 1, mine.stop + 1)
    local, result = np.zeros((rows.stop - rows.start, n)), np.zeros((inner.stop - inner.start, n - 2))

    def alone() -> None:
        averaged(local, result)
        local[1:-1, 1:-1] = result
        proc.barrier()

    def superstep(out: Floats | None) -> None:
        with proc.superstep("sweep") as step:
            grid = step.copy_in(old, rows, out=out)
            step.compute()
            averaged(grid, result)
            step.copy_out(new, (inner, slice(1, n - 1)), result)

    def seconds(sweep: Callable[[], None]) -> float:
        proc.barrier()
        start = time.perf_counter()
        sweep()
        return time.perf_counter() - start

    ways = (alone, lambda: superstep(None), lambda: superstep(local))
    return [tuple(seconds(way) for way in ways) for _ in range(rounds)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2048)
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with smp.host(options.processors) as machine:
        old, new = machine.zeros((options.n, options.n)), machine.zeros((options.n, options.n))
        run = machine.run(sweeps, old, new, options.rounds + 1)
    alone, fresh, into = np.array(run.results).max(axis=0)[1:].T  # a sweep ends with its slowest processor
    print(
        f"Jacobi, {options.n} x {options.n}, p = {options.processors}, {options.rounds} rounds: quartiles of the ratio"
    )
    for name, ratios in (
        ("superstep / NumPy", fresh / alone),
        ("superstep with out= / NumPy", into / alone),
        ("superstep / superstep with out=", fresh / into),
    ):
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        print(f"{name:<34}{low:8.2f}{middle:8.2f}{high:8.2f}")


if __name__ == "__main__":
    main()
