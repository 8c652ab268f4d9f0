"""Compare Jacobi sweeps in plain supersteps with those that save memory, and with NumPy in one process.

    python benchmarks/jacobi.py [--n 2000] [--processors 2] [--rounds 60]

A sweep sets the inner points of an n x n grid of float64 to the means of their four neighbours.  The plain form copies
in, has NumPy make all arrays of an expression of slices, and copies out.  It is compared with four others:

    out=            the same, with copy_in(..., out=) into one array
    no new array    the same as out=, and the arithmetic makes no array either
    apart           each processor computes without new arrays on arrays of its own, without supersteps
    NumPy           processor 0 sweeps the whole grid with the same expression, while the others wait

A sweep ends when its last processor has ended it.  In each round, the plain form runs next to each of the others, and a
ratio is the median over these pairs, given with its quartiles.  The column CPU has the median ratio of the CPU times of
the processor that takes the most, which other programs on the computer disturb less.  The first round, which touches
the pages, is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from bursts import placed, quartiles
from numpy.typing import NDArray

import smp

Floats = NDArray[np.float64]
Seconds = tuple[float, float]
OTHERS = {
    "plain / out=": "<= 1.3",
    "plain / no new array": "",
    "plain / apart": "",
    "plain / NumPy": "< 1",
}
"""Ratios, in the order of the other ways, and their targets."""


def means(grid: Floats) -> Floats:
    """Return the means of the four neighbours of the inner points."""
    return 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])


def means_into(grid: Floats, result: Floats) -> None:
    """Set ``result`` to what `means` returns, without new arrays."""
    np.add(grid[:-2, 1:-1], grid[2:, 1:-1], out=result)
    result += grid[1:-1, :-2]
    result += grid[1:-1, 2:]
    result *= 0.25


def program(proc: smp.Processor, old: smp.GlobalArray, new: smp.GlobalArray, rounds: int) -> list[list[Seconds]]:
    """Return the seconds and CPU seconds of the plain form and of another, for each of the others, round by round."""
    n = old.shape[0]
    mine = proc.block(n - 2)
    rows, inner = slice(mine.start, mine.stop + 2), (slice(mine.start + 1, mine.stop + 1), slice(1, n - 1))
    local, result = np.zeros((rows.stop - rows.start, n)), np.zeros((mine.stop - mine.start, n - 2))
    whole = np.zeros((2, n, n) if proc.rank == 0 else 0)

    def plain(out: Floats | None = None) -> None:
        with proc.superstep("sweep") as step:
            grid = step.copy_in(old, rows, out=out)
            step.compute()
            step.copy_out(new, inner, means(grid))

    def no_new_array() -> None:
        with proc.superstep("sweep") as step:
            grid = step.copy_in(old, rows, out=local)
            step.compute()
            means_into(grid, result)
            step.copy_out(new, inner, result)

    def apart() -> None:
        means_into(local, result)
        local[1:-1, 1:-1] = result
        proc.barrier()

    def by_numpy() -> None:
        if proc.rank == 0:
            whole[1, 1:-1, 1:-1] = means(whole[0])
        proc.barrier()

    def seconds(sweep: Callable[[], None]) -> Seconds:
        proc.barrier()
        start, cpu = time.perf_counter(), time.thread_time()
        sweep()
        return time.perf_counter() - start, time.thread_time() - cpu

    others = (lambda: plain(local), no_new_array, apart, by_numpy)
    return [[seconds(way) for other in others for way in (plain, other)] for _ in range(rounds)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    with smp.host(options.processors) as machine:
        old, new = machine.zeros((options.n, options.n)), machine.zeros((options.n, options.n))
        run = machine.run(program, old, new, options.rounds + 1)
    times, cpu = np.moveaxis(np.array(run.results).max(axis=0)[1:], -1, 0)
    title = f"Jacobi, {options.n:,} x {options.n:,}, p = {options.processors}"
    print(f"{title:<32}{'1st':>8}{'median':>8}{'3rd':>8}{'CPU':>8}{'target':>9}{'plain, ms':>11}{'other, ms':>11}")
    for number, (name, target) in enumerate(OTHERS.items()):
        one, other = times[:, 2 * number], times[:, 2 * number + 1]
        low, middle, high = quartiles(one / other)
        of_cpu = float(np.median(cpu[:, 2 * number] / cpu[:, 2 * number + 1]))
        medians = f"{1e3 * np.median(one):>11.1f}{1e3 * np.median(other):>11.1f}"
        print(f"{name:<32}{low:>8.2f}{middle:>8.2f}{high:>8.2f}{of_cpu:>8.2f}{target:>9}{medians}")
    print(f"{options.rounds} pairs of sweeps for each ratio; {placed(run)}")


if __name__ == "__main__":
    main()
