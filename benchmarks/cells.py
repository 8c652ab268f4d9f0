"""Measure what cells cost, compared with the instructions and system calls that they are built on.

    python benchmarks/cells.py [--rounds 300] [--seconds 3]

All times come from this one run on two processors.  The compared hand-offs take turns, in bursts of many short windows:
a time is the median over the bursts, and a ratio the median of the ratios of neighbouring bursts, with its quartiles.
The hand-off of a line, from the least to the largest over the bursts, shows how the host placed the CPUs meanwhile.
Sleepers are streams that have trapped: they wait in the kernel.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import smp
from smp._runtime.loops.atomics import futex_wait, futex_wake, store_release
from smp._runtime.memory.cells import PLAIN, Cells
from smp.compiled import clock, compare_exchange, fetch_add, load, readfe, readff, store, writeef, writexf

Times = NDArray[np.int64]
Bursts = dict[str, NDArray[np.float64]]
BURSTS = 30
SLEEPERS = 64
REST = 20_000  # ns, after which a waiting thread is asleep


@smp.stream
def rest_for(nanoseconds: int) -> None:
    if nanoseconds > 0:
        until = clock() + nanoseconds
        while clock() < until:
            pass


@smp.stream
def pair_of_operations(cells: Cells, n: int, out: Times) -> None:
    """Time a value that one stream puts into a cell and takes out again."""
    for r in range(len(out)):
        start = clock()
        for k in range(n):
            writeef(cells, 0, k)
            readfe(cells, 0)
        out[r] = clock() - start


@smp.stream
def floor_of_a_pair(words: Times, n: int, out: Times) -> None:
    """Time a compare-exchange and a store."""
    for r in range(len(out)):
        words[0] = 0
        start = clock()
        for k in range(n):
            compare_exchange(words, 0, k, k + 1)
            store_release(words, 1, k)
        out[r] = clock() - start


@smp.stream
def values_to_and_fro(cells: Cells, me: int, rest: int, n: int, out: Times) -> None:
    """Time a value handed over by one cell and back by another; each side rests first, so that the other sleeps."""
    for r in range(len(out)):
        start = clock()
        for k in range(n):
            if me == 0:
                rest_for(rest)
                writeef(cells, 0, k)
                readfe(cells, 1)
            else:
                value = readfe(cells, 0)
                rest_for(rest)
                writeef(cells, 1, value)
        out[r] = clock() - start - 2 * n * rest


@smp.stream
def line_to_and_fro(words: Times, me: int, by_exchange: bool, n: int, out: Times) -> None:
    """Time a line handed over by loading and storing it, or by compare-exchange, which a cell cannot do without."""
    for r in range(len(out)):
        start = clock()
        for k in range(2 * r * n + me, 2 * (r + 1) * n + me, 2):
            if by_exchange:
                while compare_exchange(words, 0, k, k + 1) != k:
                    pass
            else:
                while load(words, 0) != k:
                    pass
                store(words, 0, k + 1)
        out[r] = clock() - start


@smp.stream
def futex_to_and_fro(words: Times, me: int, rest: int, n: int, out: Times) -> None:
    """Time a turn handed over by a futex; each side rests first, so that the other sleeps by then."""
    for r in range(len(out)):
        start = clock()
        for k in range(2 * r * n + me, 2 * (r + 1) * n + me, 2):
            seen = load(words, 0)
            while seen != k:
                futex_wait(words, 0, seen, 1_000_000_000)
                seen = load(words, 0)
            rest_for(rest)
            store(words, 0, k + 1)
            futex_wake(words, 0, 1)
        out[r] = clock() - start - 2 * n * rest


def two_processors(proc: smp.Processor, plain: Cells, padded: Cells, asleep: Cells, words: Any, rounds: int) -> Bursts:
    """Return the ns of each kind of hand-off and back, and of an operation by one stream, burst by burst."""
    found: dict[str, list[float]] = {}
    rank, shared, own = proc.rank, words.view, np.zeros(16, np.int64)

    def burst(name: str, n: int, work: Any, windows: int) -> None:
        out = np.zeros(windows, np.int64)
        proc.barrier()
        words.view[:] = 0
        proc.barrier()
        work(n, out)
        found.setdefault(name, []).append(float(np.median(out)) / n)

    def from_python(n: int, out: Times) -> None:
        for r in range(len(out)):
            start = time.perf_counter_ns()
            for k in range(n):
                plain.writeef(0, k)
                plain.readfe(0)
            out[r] = time.perf_counter_ns() - start

    together = (
        ("line", 300, lambda n, out: line_to_and_fro(shared, rank, False, n, out), rounds),
        ("plain", 300, lambda n, out: values_to_and_fro(plain, rank, 0, n, out), rounds),
        ("exchange", 300, lambda n, out: line_to_and_fro(shared, rank, True, n, out), rounds),
        ("padded", 300, lambda n, out: values_to_and_fro(padded, rank, 0, n, out), rounds),
        ("futex", 20, lambda n, out: futex_to_and_fro(shared, rank, REST, n, out), rounds // 3),
        ("asleep", 20, lambda n, out: values_to_and_fro(asleep, rank, REST, n, out), rounds // 3),
    )
    alone = (
        ("floor", 1000, lambda n, out: floor_of_a_pair(own, n, out), rounds),
        ("pair", 1000, lambda n, out: pair_of_operations(plain, n, out), rounds),
        ("python", 100, from_python, rounds),
    )
    for turn in range(BURSTS + 1):
        for name, n, work, windows in together:
            burst(name, n, work, -(-windows // BURSTS))
        if rank == 0:
            for name, n, work, windows in alone:
                out = np.zeros(-(-windows // BURSTS), np.int64)
                own[:] = 0
                work(n, out)
                found.setdefault(name, []).append(float(np.median(out)) / n)
        if turn == 0:  # compiled now
            found.clear()
    return {name: np.array(each) for name, each in found.items()}


@smp.stream
def sleeper(cells: Cells, rounds: int, went_on: Times) -> None:
    """Wait for each cell in turn, note when the wait ended, and report in the cell after it."""
    for r in range(rounds):
        readff(cells, 2 * r)
        went_on[r] = clock()
        fetch_add(cells, 2 * r + 1, 1)


@smp.stream
def fill_timed(cells: Cells, i: int) -> tuple[int, int]:
    """Fill a cell; return the time when the filling began, and the ns that it took."""
    start = clock()
    writexf(cells, i, 1)
    return start, clock() - start


@smp.stream
def bare_sleeper(words: Times, me: int, rounds: int, done: Times) -> None:
    """Wait on its own futex, and report each wake-up."""
    for r in range(rounds):
        while load(words, 16 * me) == r:
            futex_wait(words, 16 * me, r, 1_000_000_000)
        fetch_add(done, r, 1)


@smp.stream
def wake_timed(words: Times, sleepers: int, r: int) -> int:
    """Return the ns of a store and a futex wake for each sleeper."""
    start = clock()
    for k in range(sleepers):
        store(words, 16 * k, r + 1)
        futex_wake(words, 16 * k, 1)
    return clock() - start


def many_sleepers(
    proc: smp.Processor, cells: Cells, words: Any, done: Any, rounds: int, seconds: float
) -> dict[str, float]:
    """Return the share of a CPU that this processor's sleepers take; on processor 0 also the ns of filling and waking.

    ``fill`` is the time to fill a cell for which all sleepers wait, ``wake all`` the time until the last of them has
    gone on, and ``wake bare`` the time to wake as many threads, each by its own futex.
    """
    each = SLEEPERS // proc.size
    found: dict[str, float] = {}
    with proc.streams(each) as pool:
        went_on = np.zeros((each, rounds), np.int64)
        threads = [pool.start(sleeper, cells, rounds, went_on[k]) for k in range(each)]
        while pool.trapped < each:
            time.sleep(0.01)
        proc.barrier()
        begun, cpu = time.perf_counter(), time.process_time()
        time.sleep(seconds)
        found["cpu"] = (time.process_time() - cpu) / (time.perf_counter() - begun)
        proc.barrier()
        fills = []
        if proc.rank == 0:
            for r in range(rounds):
                fills.append(fill_timed(cells, 2 * r))
                while cells.readxx(2 * r + 1) < SLEEPERS:
                    time.sleep(0.001)
                time.sleep(0.02)  # until all sleep at the next cell
            found["fill"] = float(np.median([ns for _, ns in fills[1:]]))
        for thread in threads:
            thread.result()
    last = np.max(proc.gather(went_on.max(axis=0)), axis=0)
    if proc.rank == 0:
        found["wake all"] = float(np.median((last - [start for start, _ in fills])[1:]))
    proc.barrier()
    with proc.streams(each) as pool:
        for k in range(each):
            pool.start(bare_sleeper, words.view, proc.rank * each + k, rounds, done.view)
        wakes = []
        for r in range(rounds if proc.rank == 0 else 0):
            time.sleep(0.02)
            wakes.append(wake_timed(words.view, SLEEPERS, r))
            while done.view[r] < SLEEPERS:
                time.sleep(0.001)
        if proc.rank == 0:
            found["wake bare"] = float(np.median(wakes[1:]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    with smp.host(2) as machine:
        arguments = (machine.cells(2), machine.cells(2, padded=True), machine.cells(2, retries=0))
        bursts = machine.run(two_processors, *arguments, machine.zeros(16, np.int64), options.rounds).results[0]
    with smp.host(2, pin=False) as machine:
        rounds = 12
        cells = machine.cells(2 * rounds)
        for r in range(rounds):
            cells.writexf(2 * r + 1, 0)
        words, done = machine.zeros(16 * SLEEPERS, np.int64), machine.zeros(rounds, np.int64)
        answers = machine.run(many_sleepers, cells, words, done, rounds, options.seconds).results
    many = answers[0]
    ns = {name: float(np.median(each)) for name, each in bursts.items()}

    def ratio(one: str, other: str, detail: str) -> tuple[float, str]:
        low, middle, high = np.percentile(bursts[one] / bursts[other], (25, 50, 75))
        return float(middle), f"{low:.2f} to {high:.2f}; {detail}"

    cpu = sum(answer["cpu"] for answer in answers)
    rows = [
        ("bytes of a cell", 8 * PLAIN, "", 16),
        ("readfe + writeef / compare-exchange + store", *ratio("pair", "floor", f"{ns['pair']:.1f} ns"), 3),
        ("hand-off by cells / by a line, spinning", *ratio("plain", "line", f"{ns['plain'] / 2:.0f} ns one way"), 2),
        ("  cells on lines of their own / by a line", *ratio("padded", "line", f"{ns['padded'] / 2:.0f} ns"), None),
        (
            "  by cells / by a line, compare-exchange",
            *ratio("plain", "exchange", f"by a line {ns['exchange'] / 2:.0f} ns"),
            None,
        ),
        (
            "hand-off by cells / by a futex, asleep",
            *ratio("asleep", "futex", f"{ns['asleep'] / 2e3:.1f} us one way"),
            2,
        ),
        ("an operation from Python, us", ns["python"] / 2e3, "", 2),
        (f"{SLEEPERS} streams that wait, % of a CPU", 100 * cpu, "", 2),
        (
            f"waking {SLEEPERS}, to the last / one futex wake",
            2 * many["wake all"] / ns["futex"],
            f"{many['wake all'] / 1e3:.0f} us, one sleeper of a futex {ns['futex'] / 2e3:.1f} us",
            64,
        ),
        (
            f"  filling the cell / {SLEEPERS} bare futex wakes",
            many["fill"] / many["wake bare"],
            f"{many['fill'] / 1e3:.0f} us, bare {many['wake bare'] / 1e3:.0f} us",
            None,
        ),
    ]
    line = bursts["line"] / 2
    print(f"{'':<46}{'measured':>8}{'target':>8}")
    for name, got, detail, asked in rows:
        print(f"{name:<46}{got:>8.2f}{'' if asked is None else asked:>8}   {detail}")
    print(f"placement: a line passes to the other CPU in {line.min():.0f} to {line.max():.0f} ns")


if __name__ == "__main__":
    main()
