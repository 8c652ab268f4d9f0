"""Measure what barriers, supersteps, runs and machines cost, and compare the figures with their targets.

    python benchmarks/barrier.py [--rounds 60] [--seconds 0.01]

    a round │ barrier, compiled │ line │ line by exchange │ barrier, Python │ multiprocessing.Barrier │ superstep

A ratio is the median, with its quartiles, over all rounds, each of which has a burst of every operation.  The round
trip of a cache line is that between two processors that load and store it in turn, as the barrier does.
``multiprocessing.Barrier`` is passed by two separate processes, which sleep during the other bursts.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier

import numpy as np
from bursts import Times, compared, quartiles

import smp
from smp._computer.limits import usable_cpus
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.result import summarise
from smp.microbench.sections.synchronisation.loops import SHARED_WORDS
from smp.microbench.sections.synchronisation.tasks import Task, visit, warm_up

PAIR = ("compiled", "store", "exchange", "python", "superstep")
ROUNDS_OF_ONE, PASSES = 200, 100

IMPORT = "import time; t = time.perf_counter(); import smp; print(time.perf_counter() - t)"
START = """
import time
import smp
t = time.perf_counter()
for k in range({count}):
    with smp.host(2):
        if k == 0:
            print(time.perf_counter() - t)
print(time.perf_counter() - t)
"""


Burst = Callable[[], float]


class Rounds:
    """Bursts of operations on a machine, one burst of each in a round."""

    def __init__(self, machine: smp.Machine, what: Sequence[str], seconds: float) -> None:
        self._machine, self._seconds = machine, seconds
        self._words = machine.zeros(SHARED_WORDS, np.int64)
        self._tasks = [Task(name, tuple(range(machine.size))) for name in what]
        self.placed: list[float] = []
        """Nanoseconds in which a cache line passes between the CPUs, before and after each burst."""
        warm_up(machine, self._words, self._tasks)

    def timed(self, rounds: int, between: Mapping[str, Burst] | None = None) -> dict[str, Times]:
        """Return the ns of each operation, round by round; after a named operation a burst of something else follows.

        The times of that burst have the key of the operation, with a star.
        """
        taken: dict[str, list[float]] = {}
        for turn in range(rounds):
            for task in self._tasks:
                windows = visit(self._machine, self._words, task, self._seconds, timer_cost(), turn)
                self.placed += [*windows["placed_before_ns"], *windows["placed_after_ns"]]
                taken.setdefault(task.what, []).append(summarise(task.what, windows, "median").median)
                if between and task.what in between:
                    taken.setdefault(f"{task.what}*", []).append(between[task.what]())
        return {name: np.array(values) for name, values in taken.items()}


def empty_run(repeats: int) -> float:
    """Return the median us of a run of an empty program on two processors."""
    with smp.host(2) as machine:
        times = []
        for _ in range(repeats):
            begun = time.perf_counter()
            machine.run(_nothing)
            times.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(times))


def _nothing(proc: smp.Processor) -> None:
    pass


@contextlib.contextmanager
def standard_barrier() -> Iterator[Burst]:
    """Yield a function that returns the ns in which two processes pass a ``multiprocessing.Barrier``, in a burst."""
    context = multiprocessing.get_context("spawn")
    barrier, mine, theirs = context.Barrier(2), *context.Pipe()
    other = context.Process(target=_pass_when_asked, args=(barrier, theirs), daemon=True)
    other.start()

    def burst() -> float:
        mine.send(True)
        return _pass(barrier)

    try:
        burst()
        yield burst
    finally:
        mine.send(False)
        other.join()


def _pass_when_asked(barrier: Barrier, asked: Connection) -> None:
    while asked.recv():
        _pass(barrier)


def _pass(barrier: Barrier) -> float:
    barrier.wait(60)
    begun = time.perf_counter_ns()
    for _ in range(PASSES):
        barrier.wait(60)
    return (time.perf_counter_ns() - begun) / PASSES


def in_a_fresh_process(code: str, repeats: int = 3) -> list[float]:
    """Return the numbers that some code prints in a fresh interpreter, each the least of all repeats."""
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(repeats)
    ]
    return [min(map(float, column)) for column in zip(*runs, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.01, help="length of each burst (default 0.01)")
    options = parser.parse_args()
    cpus = len(usable_cpus())
    if cpus < 2:
        print("skipped: this process may use one CPU only, and every figure here is for two")
        raise SystemExit(0)

    def show(what: str, value: float, unit: str, target: float, note: str = "") -> None:
        print(f"{what:<52}{value:>9.3g} {unit:<3} at most {target:<5g}{'' if value <= target else 'missed  '}{note}")

    def show_ratio(what: str, one: Times, other: Times, target: float, note: str = "") -> None:
        low, middle, high, mine, others = compared(one, other)
        show(what, middle, "x", target, f"{low:.3g} to {high:.3g}; {mine:.0f} of {others:.0f} ns{note}")

    with smp.host(2) as machine, standard_barrier() as standard:
        pair = Rounds(machine, PAIR, options.seconds)
        ns = pair.timed(options.rounds, {"python": standard})
    exchange = f"; by compare_exchange {2 * np.median(ns['exchange']):.0f} ns"
    show_ratio("barrier of 2, compiled, over the round trip of a line", ns["compiled"], 2 * ns["store"], 2, exchange)
    show_ratio("barrier of 2, Python, over multiprocessing.Barrier", ns["python"], ns["python*"], 0.2)
    placed = np.array(pair.placed)
    known = placed[np.isfinite(placed)]  # not where the other processor did not take part in time
    if len(known):
        low, middle, high = quartiles(known)
        far = f"a cache line passed from CPU to CPU in {middle:.0f} ns ({low:.0f} to {high:.0f})"
    else:
        far = "how far apart the CPUs were is not known"
    print(f"{'':<52}{far}, at {len(known)} of {len(placed)} looks")
    with smp.host(2 * cpus) as machine:
        crowd = Rounds(machine, ("compiled", "python"), 5 * options.seconds).timed(9)
    show(f"barrier of {2 * cpus} on {cpus} CPUs, compiled", float(np.median(crowd["compiled"])) / 1e3, "us", 50)
    show(f"barrier of {2 * cpus} on {cpus} CPUs, Python", float(np.median(crowd["python"])) / 1e3, "us", 50)
    show("empty superstep from Python, p = 2", float(np.median(ns["superstep"])) / 1e3, "us", 30)
    show("run() of an empty program, p = 2", empty_run(ROUNDS_OF_ONE), "us", 500)
    show("import smp", in_a_fresh_process(IMPORT)[0], "s", 0.6)
    first, every = in_a_fresh_process(START.format(count=4))
    show("start of a machine of 2, the first of a process", first, "s", 0.5)
    show("4 machines of 2, one after another", every, "s", 2)


if __name__ == "__main__":
    main()
