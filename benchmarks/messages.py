"""Measure what collectives and messages cost, as ratios of one run, and next to MPI if it is installed.

    python benchmarks/messages.py [--bursts 60]

The two sides of each ratio are timed in neighbouring bursts, and the ratio is the median over the pairs of bursts.  A
copy is that of an array of the same length from one private array into another.

If mpi4py and its mpiexec are installed, MPI's calls are timed in processes of their own, before and after those of smp.
Their rows have the median time of smp's bursts divided by that of MPI's.
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

WORDS = (8, 10_000, 1_000_000)
WINDOW = 64
Act = Callable[[], object]

TARGETS = {
    "any / barrier": 1.1,
    "reduce of 1,000,000 words / copy": 3.0,
    "scan of 1,000,000 words / copy": 3.0,
}
MPI_TARGETS = {
    "request and reply": 1.2,
    "message and handler": 1.0,
    "reduce of 8 words": 1.0,
    "reduce of 10,000 words": 0.8,
    "reduce of 1,000,000 words": 1.0,
    "scan of 8 words": 1.0,
    "scan of 10,000 words": 0.8,
    "scan of 1,000,000 words": 1.0,
    "broadcast of 8 words": 2.0,
    "broadcast of 1,000,000 words": 1.0,
}


def times_of(words: int) -> int:
    """Return the number of calls in a burst."""
    return max(3, 200_000 // (words + 1000))


def burst(barrier: Act, do: Act, times: int) -> float:
    """Return the seconds of one call, from a burst of calls that all processors begin together."""
    barrier()
    began = time.perf_counter()
    for _ in range(times):
        do()
    return (time.perf_counter() - began) / times


def ratio(barrier: Act, one: Act, other: Act, times: int, bursts: int) -> list[float]:
    """Return the quartiles of the ratio of neighbouring bursts, and the median seconds of both."""
    pairs = np.array([(burst(barrier, one, times), burst(barrier, other, times)) for _ in range(bursts)])
    return [*np.percentile(pairs[:, 0] / pairs[:, 1], (25, 50, 75)).tolist(), *np.median(pairs, axis=0).tolist()]


def collectives(proc: smp.Processor, bursts: int) -> list[tuple[str, list[float]]]:
    barrier = proc.barrier
    found = [
        ("any / barrier", ratio(barrier, lambda: proc.any(False), barrier, 300, bursts)),
        ("split barrier and wait / barrier", ratio(barrier, lambda: proc.split.barrier().wait(), barrier, 300, bursts)),
    ]
    for n in WORDS:
        mine, out, other = np.arange(n) + 1.0 * proc.rank, np.zeros(n), np.zeros(n)

        def copy(mine: Any = mine, other: Any = other) -> None:
            other[:] = mine

        calls: dict[str, Act] = {
            "reduce": lambda mine=mine, out=out: proc.reduce(mine, out=out),
            "scan": lambda mine=mine, out=out: proc.scan(mine, out=out),
            "exclusive scan": lambda mine=mine, out=out: proc.scan(mine, exclusive=True, out=out),
            "broadcast": lambda mine=mine, out=out: proc.broadcast(mine, out=out),
        }
        against, name = (barrier, "barrier") if n < 1000 else (copy, "copy")
        for what, call in calls.items():
            found.append((f"{what} of {n:,} words / {name}", ratio(barrier, call, against, times_of(n), bursts)))
    return found


def messages(proc: smp.Processor, bursts: int) -> list[tuple[str, list[float]]]:
    """Time messages of four numbers: there and back, and one way with a wait after each window."""
    count, windows = [0], [0]  # messages that have come, and windows that were begun
    others = [0]

    def came(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        count[0] += 1

    def pushed(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        others[0] += 1

    def asked(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        message.reply(arrived, a, b, c, d)

    arrived = proc.handler(came)
    wanted, stored = proc.handler(asked, replies=True), proc.handler(pushed)

    def there_and_back() -> None:
        if proc.rank == 0:
            due = count[0] + 1
            proc.request(1, wanted, 1, 2, 3, 4.0)
            proc.wait_until(lambda: count[0] == due)

    def window() -> None:
        windows[0] += 1  # the messages of this window may have begun to come in the barrier before
        if proc.rank == 0:
            for _ in range(WINDOW):
                proc.send(1, stored, 1, 2, 3, 4.0)
        else:
            proc.wait_until(lambda: others[0] == WINDOW * windows[0])
        proc.barrier()

    back = ratio(proc.barrier, there_and_back, proc.barrier, 100, bursts)
    one_way = ratio(proc.barrier, window, proc.barrier, 10, bursts)
    one_way = [*(each / WINDOW for each in one_way[:4]), one_way[4]]
    return [("request and reply / barrier", back), ("message and handler / barrier", one_way)]


def program(proc: smp.Processor, bursts: int) -> list[tuple[str, list[float]]]:
    return collectives(proc, bursts) + messages(proc, bursts)


def mpi_program(bursts: int) -> None:
    """Print the median seconds of MPI's calls as JSON."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found: dict[str, float] = {}

    def timed(name: str, call: Act, times: int) -> None:
        found[name] = float(np.median([burst(world.Barrier, call, times) for _ in range(bursts)]))

    timed("barrier", world.Barrier, 300)
    for n in WORDS:
        mine, out = np.arange(n) + 1.0 * world.rank, np.zeros(n)
        timed(f"reduce of {n:,} words", lambda mine=mine, out=out: world.Allreduce(mine, out), times_of(n))
        timed(f"scan of {n:,} words", lambda mine=mine, out=out: world.Scan(mine, out), times_of(n))
        timed(f"exclusive scan of {n:,} words", lambda mine=mine, out=out: world.Exscan(mine, out), times_of(n))
        timed(f"broadcast of {n:,} words", lambda mine=mine: world.Bcast(mine), times_of(n))
    packet, buffers = np.zeros(4), np.zeros((WINDOW, 4))

    def there_and_back() -> None:
        if world.rank == 0:
            world.Send(packet, 1)
            world.Recv(packet, 1)
        else:
            world.Recv(packet, 0)
            world.Send(packet, 0)

    def window() -> None:
        if world.rank == 0:
            MPI.Request.Waitall([world.Isend(buffers[k], 1) for k in range(WINDOW)])
        else:
            MPI.Request.Waitall([world.Irecv(buffers[k], 0) for k in range(WINDOW)])
        world.Barrier()

    timed("request and reply", there_and_back, 100)
    timed("message and handler", window, 10)
    found["message and handler"] /= WINDOW
    if world.rank == 0:
        print(json.dumps(found))


def measured_mpi(bursts: int) -> dict[str, float] | None:
    """Return the seconds of MPI's calls, or None if it is not installed."""
    start = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
    if importlib.util.find_spec("mpi4py") is None or start is None:
        return None
    command = [start, "-n", "2", sys.executable, __file__, "--mpi", f"--bursts={bursts}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def main() -> None:
    line = argparse.ArgumentParser(description="Measure what collectives and messages cost, as ratios of one run.")
    line.add_argument("--bursts", type=int, default=60, help="pairs of bursts for each ratio (default: 60)")
    line.add_argument("--mpi", action="store_true", help="measure MPI alone, in processes that mpiexec has started")
    options = line.parse_args()
    if options.mpi:
        mpi_program(options.bursts)
        return
    before = measured_mpi(options.bursts)
    with smp.host(2) as machine:
        rows = machine.run(program, options.bursts).results[0]
    after = measured_mpi(options.bursts)
    print(f"{'2 processors':<46}{'1st':>8}{'median':>8}{'3rd':>8}{'target':>8}{'us':>11}{'other, us':>11}")
    for name, (low, middle, high, one, other) in rows:
        target = f"{TARGETS[name]:.1f}" if name in TARGETS else ""
        numbers = f"{low:>8.2f}{middle:>8.2f}{high:>8.2f}{target:>8}{one * 1e6:>11.2f}{other * 1e6:>11.2f}"
        print(f"{name:<46}{numbers}")
    if before is None or after is None:
        print("MPI is not compared: mpi4py or its mpiexec is not installed")
        return
    print(f"\n{'smp / MPI':<46}{'before':>8}{'after':>8}{'':>8}{'target':>8}{'us':>11}{'MPI, us':>11}")
    times = {name.split(" / ")[0]: values[3] for name, values in rows}
    times["barrier"] = rows[0][1][4]
    for name, seconds in before.items():
        one, two = times[name] / seconds, times[name] / after[name]
        target = f"{MPI_TARGETS[name]:.1f}" if name in MPI_TARGETS else ""
        print(f"{name:<46}{one:>8.2f}{two:>8.2f}{'':>8}{target:>8}{times[name] * 1e6:>11.2f}{seconds * 1e6:>11.2f}")


if __name__ == "__main__":
    main()
