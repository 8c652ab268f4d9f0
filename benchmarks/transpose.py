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

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import smp

WORDS = (100, 10_000, 1_000_000, 8_000_000)
TARGETS = {1_000_000: (1.3, 0.8)}
"""Ratios to a copy and to MPI that the transpose is built for, by words of a processor."""
PROCESSORS = 2
Act = Callable[[], object]


def burst(barrier: Act, do: Act, times: int) -> float:
    """Return the seconds of one call, from a burst of calls that all processors begin together."""
    barrier()
    began = time.perf_counter()
    for _ in range(times):
        do()
    return (time.perf_counter() - began) / times


def ratio(barrier: Act, one: Act, other: Act, words: int, bursts: int) -> tuple[float, ...]:
    """Return the quartiles of the ratio of neighbouring bursts, and the median seconds of both."""
    times = max(3, 200_000 // (words + 1000))
    pairs = np.array([(burst(barrier, one, times), burst(barrier, other, times)) for _ in range(bursts)])
    return (*np.percentile(pairs[:, 0] / pairs[:, 1], (25, 50, 75)).tolist(), *np.median(pairs, axis=0).tolist())


def arrays(words: int, rank: int) -> tuple[Any, Any]:
    """Return an array with a part for each processor, and an array for the result."""
    data = np.arange(float(words)).reshape(PROCESSORS, -1) + rank
    return data, np.zeros_like(data)


def program(proc: smp.Processor, words: int, bursts: int) -> list[tuple[float, ...]]:
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
    return [ratio(proc.barrier, one, copy, words, bursts) for one in transposes]


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

        found.append(ratio(world.Barrier, transpose, copy, words, bursts))
    if world.rank == 0:
        print(json.dumps(found))


def measured_mpi(bursts: int) -> list[tuple[float, ...]] | None:
    """Return the ratios of MPI's Alltoall, or None if it is not installed."""
    start = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if importlib.util.find_spec("mpi4py") is None or start is None:
        return None
    command = [start, "-n", str(PROCESSORS), sys.executable, __file__, "--mpi", f"--bursts={bursts}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ratios: list[tuple[float, ...]] = json.loads(done.stdout)
    return ratios


def row(name: str, values: tuple[float, ...], target: float | None) -> str:
    low, middle, high, one, other = values
    shown = "" if target is None else f"{target:.1f}"
    return f"{name:<40}{low:>15.2f}{middle:>9.2f}{high:>9.2f}{shown:>9}{one * 1e6:>12.2f}{other * 1e6:>12.2f}"


def main() -> None:
    line = argparse.ArgumentParser(description="Measure what a transpose costs, as ratios of one run.")
    line.add_argument("--bursts", type=int, default=60, help="pairs of bursts for each ratio (default: 60)")
    line.add_argument("--mpi", action="store_true", help="measure MPI alone, in processes that mpiexec has started")
    options = line.parse_args()
    if options.mpi:
        mpi_program(options.bursts)
        return
    by_mpi = measured_mpi(options.bursts)
    print(
        f"{'2 processors':<40}{'first quartile':>15}{'median':>9}{'third':>9}{'target':>9}{'us':>12}{'other, us':>12}"
    )
    with smp.host(PROCESSORS) as machine:
        for number, words in enumerate(WORDS):
            run = machine.run(program, words, options.bursts)
            transposed, straight = run.results[0]
            target, of_mpi = TARGETS.get(words, (None, None))
            print(row(f"transpose of {words:,} words / copy", transposed, target))
            print(row("  straight / copy", straight, None))
            if by_mpi is not None:
                print(row("  MPI Alltoall / copy", by_mpi[number], None))
                quotient = transposed[1] / by_mpi[number][1]
                print(f"{'  transpose / MPI Alltoall':<55}{quotient:>9.2f}{'' if of_mpi is None else of_mpi:>18}")
            print(f"  a cache line passes from CPU to CPU in {run.placement[1]:.0f} ns")
    if by_mpi is None:
        print("MPI was not measured: mpi4py or mpiexec is not installed")


if __name__ == "__main__":
    main()
