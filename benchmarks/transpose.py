"""Measure what a transpose costs, as ratios to a private copy of the same bytes in the same run.

    python benchmarks/transpose.py [--bursts 60]

The two sides of each ratio are timed in neighbouring bursts, and the ratio is the median over the pairs of bursts.  A
copy is that of a processor's array into another private array, on both processors at the same time.  The row
"straight" is a program that needs only one copy, because its arrays are shared: two barriers, and in between each
processor copies its parts out of the arrays of both.

If mpi4py and its mpiexec are installed, MPI's Alltoall is measured in the same way, in processes of its own.  Then the
quotient of the two ratios is printed, too.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from bursts import NO_MPI, of_mpi, options, placed, ratio

import smp

WORDS = (100, 10_000, 1_000_000, 8_000_000)
TARGETS = {1_000_000: (1.3, 0.8)}
"""Ratios to a copy and to MPI that the transpose is built for, by words of a processor."""
PROCESSORS = 2


def times_of(words: int) -> int:
    """Return the number of calls in a burst."""
    return max(3, 200_000 // (words + 1000))


def arrays(words: int, rank: int) -> tuple[Any, Any]:
    """Return an array with a part for each processor, and an array for the result."""
    data = np.arange(float(words)).reshape(PROCESSORS, -1) + rank
    return data, np.zeros_like(data)


def program(proc: smp.Processor, words: int, bursts: int) -> list[list[float]]:
    """Return the ratio of a transpose to a copy, and that of copying straight out of shared arrays."""
    data, out = arrays(words, proc.rank)
    everything = proc.empty((proc.size, *data.shape))
    shared = everything.view
    shared[proc.rank] = data
    order = np.roll(np.arange(proc.size), -proc.rank - 1).tolist()

    def copy() -> None:
        out[...] = data

    def straight() -> None:
        proc.barrier()
        for source in order:
            out[source] = shared[source, proc.rank]
        proc.barrier()

    transposes = (lambda: proc.transpose(data, out)), straight
    return [ratio(proc.barrier, one, copy, times_of(words), bursts) for one in transposes]


def mpi_program(bursts: int) -> None:
    """Print the ratio of MPI's Alltoall to a copy, for each number of words, as JSON."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found = []
    for words in WORDS:
        data, out = arrays(words, world.rank)

        def copy(data: Any = data, out: Any = out) -> None:
            out[...] = data

        def transpose(data: Any = data, out: Any = out) -> None:
            world.Alltoall(data, out)

        found.append(ratio(world.Barrier, transpose, copy, times_of(words), bursts))
    if world.rank == 0:
        print(json.dumps(found))


def row(name: str, values: list[float], target: float | None) -> str:
    low, middle, high, one, other = values
    shown = "" if target is None else f"{target:.1f}"
    return f"{name:<40}{low:>15.2f}{middle:>9.2f}{high:>9.2f}{shown:>9}{one * 1e6:>12.2f}{other * 1e6:>12.2f}"


def main() -> None:
    bursts, mpi = options("Measure what a transpose costs, as ratios of one run.")
    if mpi:
        mpi_program(bursts)
        return
    by_mpi = of_mpi(__file__, bursts)
    print(
        f"{'2 processors':<40}{'first quartile':>15}{'median':>9}{'third':>9}{'target':>9}{'us':>12}{'other, us':>12}"
    )
    with smp.host(PROCESSORS) as machine:
        for number, words in enumerate(WORDS):
            run = machine.run(program, words, bursts)
            transposed, straight = run.results[0]
            target, to_mpi = TARGETS.get(words, (None, None))
            print(row(f"transpose of {words:,} words / copy", transposed, target))
            print(row("  straight / copy", straight, None))
            if by_mpi is not None:
                print(row("  MPI Alltoall / copy", by_mpi[number], None))
                quotient = transposed[1] / by_mpi[number][1]
                print(f"{'  transpose / MPI Alltoall':<55}{quotient:>9.2f}{'' if to_mpi is None else to_mpi:>18}")
            print(f"  {placed(run)}")
    print(f"{bursts} pairs of bursts for each ratio")
    if by_mpi is None:
        print(NO_MPI)


if __name__ == "__main__":
    main()
