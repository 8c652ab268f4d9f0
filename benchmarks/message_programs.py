"""Measure programs by messages against the same programs by supersteps, as ratios of one run.

    python benchmarks/message_programs.py [--bursts 40]

The programs are four of `examples/`: histogram, gather, triangular and pile.  The two sides of each ratio are timed in
neighbouring bursts, and the ratio is the median over the pairs of bursts.  The last two columns have the median times
of both sides, for one call of the program.  `benchmarks/messages.py` measures single messages.
"""

import argparse
import runpy
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from messages import ratio
from scipy import sparse

import smp

HISTOGRAM, GATHER, TRIANGULAR, PILE = (
    runpy.run_path(str(Path(__file__).parents[1] / "examples" / f"{name}.py"))
    for name in ("histogram", "gather", "triangular", "pile")
)
COUNTERS, TABLE = 1_000, 100_000
ITEMS = {100: 10, 10_000: 1}  # keys or places of each processor, and calls in a burst
UNKNOWNS = {200: 5, 5_000: 1}  # and calls in a burst
TASKS = 200
NUMBERS = {"small": 1_000, "large": 1_000_000_000}  # the first number whose factors are found

Act = Callable[[], object]
Case = tuple[str, Act, Act, int]
"""A name, the two sides of the ratio, and the number of calls in a burst."""


def histogram(proc: smp.Processor) -> Iterator[Case]:
    for n, times in ITEMS.items():
        keys = np.random.default_rng(proc.rank).integers(0, COUNTERS, n)
        single, long, transpose = (
            partial(HISTOGRAM[f"by_{name}"], proc, keys, -(-COUNTERS // proc.size))
            for name in ("single_messages", "long_messages", "transpose")
        )
        yield f"histogram, {n:,} keys, a message each", single, transpose, times
        yield f"histogram, {n:,} keys, 400 in a message", long, transpose, times


def gather(proc: smp.Processor) -> Iterator[Case]:
    values = np.random.default_rng(0).random(TABLE)
    table, part = proc.array(values), values[proc.block(TABLE)]
    for n, times in ITEMS.items():
        places = np.random.default_rng(proc.rank).integers(0, TABLE, n)
        one, other = (
            partial(GATHER["by_requests"], proc, part, TABLE // proc.size, places),
            partial(GATHER["by_superstep"], proc, table, places),
        )
        yield f"gather, {n:,} values", one, other, times


def triangular(proc: smp.Processor) -> Iterator[Case]:
    def by_messages(*args: Any) -> None:
        TRIANGULAR["by_messages"](proc, *args)
        proc.barrier()

    for n, times in UNKNOWNS.items():
        b, solved = np.random.default_rng(0).random(n), proc.zeros(n)
        few = sparse.tril(sparse.random(n, n, 6 / n, random_state=0), -1).tocsr()
        chain = sparse.diags([0.5], [-1], (n, n)).tocsr()
        for lower in (few, chain):
            parts, steps = TRIANGULAR["prepared"](proc, lower)
            other = partial(TRIANGULAR["by_supersteps"], proc, steps, b, solved)
            yield f"triangle, {n:,} unknowns, {len(steps):,} levels", partial(by_messages, parts, b), other, times


def pile(proc: smp.Processor) -> Iterator[Case]:
    cell = proc.cells(1, full=True)

    def by_cell(first: int) -> None:
        if proc.rank == 0:
            cell.writeff(0, 0)
        proc.barrier()
        PILE["by_cell"](proc, first, TASKS, cell)
        proc.barrier()

    for name, first in NUMBERS.items():
        one, other = (partial(PILE[f"by_{form}"], proc, first, TASKS) for form in ("requests", "superstep"))
        yield f"pile, {TASKS} {name} tasks / fixed shares", one, other, 1
        yield f"pile, {TASKS} {name} tasks / cell", one, partial(by_cell, first), 1


def program(proc: smp.Processor, bursts: int) -> list[tuple[str, Any]]:
    sections = histogram, gather, triangular, pile
    return [
        (name, ratio(proc.barrier, one, other, times, bursts))
        for section in sections
        for name, one, other, times in section(proc)
    ]


def main() -> None:
    line = argparse.ArgumentParser(description="Measure programs by messages, as ratios to the same by supersteps.")
    line.add_argument("--bursts", type=int, default=40, help="pairs of bursts for each ratio (default: 40)")
    bursts = line.parse_args().bursts
    with smp.host(2) as machine:
        run = machine.run(program, bursts)
    print(f"{'2 processors':<44}{'first quartile':>15}{'median':>9}{'third':>9}{'us':>12}{'other, us':>12}")
    for name, (low, middle, high, one, other) in run.results[0]:
        print(f"{name:<44}{low:>15.2f}{middle:>9.2f}{high:>9.2f}{one * 1e6:>12.2f}{other * 1e6:>12.2f}")


if __name__ == "__main__":
    main()
