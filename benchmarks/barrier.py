"""Measure what barriers, supersteps, runs and machines cost, and compare the figures with their targets.

    python benchmarks/barrier.py [--rounds 9] [--seconds 0.05]

All figures come from this one run, in which the operations alternate.  The round trip of a cache line is that between
two processors that load and store it in turn, as the barrier does; the round trip by compare_exchange is shown next to
it.  ``multiprocessing.Barrier`` is passed by two separate processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import time
from multiprocessing.synchronize import Barrier

import numpy as np
from numpy.typing import NDArray

import smp
from smp._computer.limits import usable_cpus
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.result import summarise
from smp.microbench.sections.synchronisation.loops import SHARED_WORDS
from smp.microbench.sections.synchronisation.tasks import Task, visit, warm_up

PAIR = ("compiled", "python", "superstep", "store", "exchange")
ROUNDS_OF_ONE = 200

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


def medians(p: int, what: tuple[str, ...], rounds: int, seconds: float) -> dict[str, NDArray[np.float64]]:
    """Return ns of each operation by p processors: for each round the median of its clean windows."""
    taken: dict[str, list[float]] = {name: [] for name in what}
    with smp.host(p) as machine:
        words = machine.zeros(SHARED_WORDS, np.int64)
        tasks = [Task(name, tuple(range(p))) for name in what]
        warm_up(machine, words, tasks)
        for turn in range(rounds):
            for task in tasks:
                windows = visit(machine, words, task, seconds, timer_cost(), turn)
                taken[task.what].append(summarise(task.what, windows, "median").median)
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


def standard_barrier(repeats: int = 2000) -> float:
    """Return the median us in which two processes pass a ``multiprocessing.Barrier``, from windows of 100 passes."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    other = context.Process(target=_pass, args=(barrier, repeats), daemon=True)
    other.start()
    times = _pass(barrier, repeats)
    other.join()
    return 1e6 * float(np.median(times))


def _pass(barrier: Barrier, repeats: int) -> list[float]:
    barrier.wait(60)
    times = []
    for _ in range(repeats // 100):
        begun = time.perf_counter()
        for _ in range(100):
            barrier.wait(60)
        times.append((time.perf_counter() - begun) / 100)
    return times


def in_a_fresh_process(code: str, repeats: int = 3) -> list[float]:
    """Return the numbers that some code prints in a fresh interpreter, each the least of all repeats."""
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(repeats)
    ]
    return [min(map(float, column)) for column in zip(*runs, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.05, help="length of each measurement (default 0.05)")
    options = parser.parse_args()
    if len(usable_cpus()) < 2:
        print("skipped: this process may use one CPU only, and every figure here is for two")
        raise SystemExit(0)

    def show(what: str, value: float, unit: str, target: float, note: str = "") -> None:
        print(f"{what:<52}{value:>9.3g} {unit:<3} at most {target:<5g}{'' if value <= target else 'missed  '}{note}")

    pair = medians(2, PAIR, options.rounds, options.seconds)
    ns = {name: float(np.median(values)) for name, values in pair.items()}
    # the CPUs of a virtual machine move, so only times of the same round are compared
    ratio = float(np.median(pair["compiled"] / (2 * pair["store"])))
    note = f"{ns['compiled']:.0f} of {2 * ns['store']:.0f} ns; by compare_exchange {2 * ns['exchange']:.0f} ns"
    show("barrier of 2, compiled, over the round trip of a line", ratio, "x", 2, note)
    standard = standard_barrier()
    ours = ns["python"] / 1e3
    note = f"{ours:.2f} us of {standard:.1f} us"
    show("barrier of 2, Python, over multiprocessing.Barrier", ours / standard, "x", 0.2, note)
    four = medians(2 * len(usable_cpus()), ("compiled", "python"), options.rounds, options.seconds)
    crowd = f"barrier of {2 * len(usable_cpus())} on {len(usable_cpus())} CPUs"
    show(f"{crowd}, compiled", float(np.median(four["compiled"])) / 1e3, "us", 50)
    show(f"{crowd}, Python", float(np.median(four["python"])) / 1e3, "us", 50)
    show("empty superstep from Python, p = 2", ns["superstep"] / 1e3, "us", 30)
    show("run() of an empty program, p = 2", empty_run(ROUNDS_OF_ONE), "us", 500)
    show("import smp", in_a_fresh_process(IMPORT)[0], "s", 0.6)
    first, every = in_a_fresh_process(START.format(count=4))
    show("start of a machine of 2, the first of a process", first, "s", 0.5)
    show("4 machines of 2, one after another", every, "s", 2)


if __name__ == "__main__":
    main()
