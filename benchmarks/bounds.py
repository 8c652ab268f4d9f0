"""Measure hot loops, and compare them with a table of instructions: what bounds them?

    python benchmarks/bounds.py [--analyser llvm-mca-19] [--cpu znver4] [--rounds 100] [--code]

The machine code is what smp compiles on this computer.  Its hot cycle (see `assembly`) is given to LLVM's machine-code
analyser.  This has tables of the instructions of many CPUs: the clocks after which a result is there, and the units of
the CPU that an instruction keeps busy.  ``--code`` prints the cycles.

    table       clocks of a round of the cycle, and of a key, cell, node or pair, by the table
    measured    clocks of the same, from the time of the whole loop on data in the nearest cache

The clock rate need not be known: a burst of the loop is compared with neighbouring bursts of a chain of additions, each
of which takes one clock.  All times are differences between long and short runs, so that what a call costs does not
count.  A loop that is measured at much more than the table's clocks waits for something that the table does not have.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from assembly import Hot, analysed, analyser_of, hot_cycle
from bounded_loops import CHAIN, Loop, Part, chain, instructions, lists, of_cells, sorting, sweeps
from bursts import quartiles, rounds_of

import smp
from smp._runtime.loops import compiler, machine_code
from smp._runtime.memory.cells import Cells

TIMES = 10  # calls in a burst
HOW = """no machine-code analyser is on the path, so the loops cannot be compared with a table of instructions.
LLVM's analyser is in the package llvm of most systems ("apt-get install llvm-19" for one that knows AMD's Zen 4);
--analyser names one that has another name."""


class Cycle(NamedTuple):
    """A cycle that was found: its name, its code, the units of a round, and if loads wait for stores."""

    name: str
    code: tuple[str, ...]
    units: float
    through_memory: bool


class Found(NamedTuple):
    """A loop that was measured: clocks of a unit, as quartiles, and its cycles; none if one of them was not found."""

    name: str
    clocks: list[float]
    cycles: list[Cycle]


def listing_of(loop: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the machine code of a loop for some arguments, compiled as smp does, but not taken from disk."""
    compiler.numba()
    from numba.core.caching import NullCache

    function = loop
    while "__wrapped__" in vars(function):
        function = vars(function)["__wrapped__"]
    made = machine_code.dispatcher(function)
    made._cache = NullCache()  # machine code from disk cannot be listed
    made(*args)
    return str(next(iter(made.inspect_asm().values())))


def cycle_of(part: Part) -> Cycle | None:
    """Return the hot cycle of a part of a loop; None if it is not found in the code for this CPU."""
    hot: Hot | None = hot_cycle(listing_of(part.loop, part.args), part.mark, part.without)
    return hot and Cycle(part.name, hot.code, part.units(hot.marks), part.through_memory)


def measured(loop: Loop, rounds: int) -> Found:
    """Return the clocks of a unit of a loop, and its cycles."""
    acts = [*chain(), *loop.acts]
    for act in acts:  # compiled now
        act()
    times = rounds_of(lambda: None, acts, TIMES, rounds)
    addition = (times[:, 0] - times[:, 1]) / CHAIN
    clocks = times[:, 2:] @ np.array(loop.signs) / loop.units / addition
    cycles = [cycle_of(part) for part in loop.parts]
    return Found(loop.name, quartiles(clocks), [cycle for cycle in cycles if cycle] if all(cycles) else [])


def all_measured(proc: smp.Processor, cells: Cells, rounds: int) -> tuple[list[Found], list[Found]]:
    """Measure all loops, on the CPU of a processor; return those of kernels and cells, and those of instructions."""
    loops = itertools.chain(sorting(), sweeps(), lists(), of_cells(cells))
    return [measured(loop, rounds) for loop in loops], [measured(loop, rounds) for loop in instructions()]


def print_table(title: str, found: Iterable[Found], analyser: str, cpu: str, code: bool) -> None:
    """Print the rows of a table, and the code of the cycles if that is wanted."""
    print(f"\n{title:<40}{'instr.':>7}{'table':>8}{'a unit':>8}{'measured':>10}{'quartiles':>15}   bound by the table")
    for loop in found:
        total, several = 0.0, len(loop.cycles) > 1
        for cycle in loop.cycles:
            analysis = analysed(analyser, cpu, cycle.code, cycle.through_memory)
            each = analysis.clocks / cycle.units
            total += each
            numbers = f"{len(cycle.code):>7}{analysis.clocks:>8.1f}{each:>8.2f}"
            result = "" if several else in_clocks(loop.clocks)
            print(f"{'  ' + cycle.name if several else loop.name:<40}{numbers}{result:>25}   {analysis.bound()}")
            if code:
                print("\n".join(f"        {line}" for line in cycle.code))
        if several or not loop.cycles:
            table = f"{total:>8.2f}" if several else f"{'-':>8}"
            print(f"{loop.name:<40}{'':>15}{table}{in_clocks(loop.clocks):>25}")


def in_clocks(found: list[float]) -> str:
    """Return a median and its quartiles as text."""
    low, middle, high = found
    return f"{middle:>10.2f}{f'{low:.2f} to {high:.2f}':>15}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--analyser", help="LLVM's machine-code analyser (default: the newest on the path)")
    parser.add_argument("--cpu", help="CPU of the table, as LLVM calls it (default: that of this computer)")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of bursts for each loop (default: 100)")
    parser.add_argument("--code", action="store_true", help="print the cycles")
    options = parser.parse_args()
    analyser = analyser_of(options.analyser)
    if analyser is None:
        print(HOW)
        return
    from llvmlite.binding import get_host_cpu_name

    cpu = options.cpu or get_host_cpu_name()
    with smp.host(1) as machine:
        loops, single = machine.run(all_measured, machine.cells(1), options.rounds).results[0]
    print(f"table of {cpu} by {analyser}; measured on {get_host_cpu_name()}; in clocks")
    try:
        print_table("loop", loops, analyser, cpu, options.code)
        print_table("instructions, one after the other", single, analyser, cpu, options.code)
    except RuntimeError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
