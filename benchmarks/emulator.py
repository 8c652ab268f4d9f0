"""Measure the emulator: the steps that it makes in a second, and the time and memory of a machine with many processors.

    python benchmarks/emulator.py [--bursts 5] [--processors 2,64,1024,4096]

The steps are compared with those of a bare engine, in neighbouring bursts of one run: greenlets that a heap resumes in
the order of virtual time, and that do nothing else.  A step of the emulator also looks up its charge, carries out the
primitive on shared words, and keeps what deadlocks, traces and deadlines need.

    atomics     each processor adds to a word of its own
    waits       all processors add to a word, and wait for one another in a loop with pauses
    cells       as many values as processors go round in a ring of cells
    barriers    all processors meet, again and again
    reads       supersteps in which each processor reads a word of its neighbour

``atomics``, ``waits`` and ``cells`` are Python here, and the same three are compiled loops in ``loop-atomics``,
``loop-waits`` and ``loop-cells``.  A burst is one run, so it includes the start of the processors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush, heappushpop
from typing import Any

import numpy as np
from bursts import quartiles
from greenlet import getcurrent, greenlet

import smp
from smp.compiled import fetch_add, load, pause, readfe, writeef

STEPS, EACH = 40_000, 200  # steps of a burst, about, and the fewest of a processor: the start of a run takes time, too
FASTER = 20  # bursts of compiled loops have that many more steps
OPENED = """\
import os, time
import smp

def timed(act):
    begun = time.perf_counter()
    result = act()
    return result, time.perf_counter() - begun

def used():
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

def meet(proc):
    for _ in range(10):
        proc.barrier()

def step(proc):
    with proc.superstep() as step:
        step.compute()

smp.emulated(1, schedule="clock").run(meet)
before = used()
machine, opened = timed(lambda: smp.emulated({processors}, schedule="clock"))
met, stepped = timed(lambda: machine.run(meet))[1], timed(lambda: machine.run(step))[1]
print(opened, met, stepped, used() - before)
"""


# Programs, given the number of times that a processor does its part.


def atomics(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    for _ in range(times):
        fetch_add(words.view, proc.rank, 1)


def waits(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    for turn in range(1, times + 1):
        fetch_add(words.view, 0, 1)
        while load(words.view, 0) < turn * proc.size:
            pause()


def ring(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    for _ in range(times):
        cells.writeef(proc.rank, 1)
        cells.readfe((proc.rank + 1) % proc.size)


@smp.stream
def atomics_in_a_loop(words: Any, rank: int, times: int) -> None:
    for _ in range(times):
        fetch_add(words, rank, 1)


@smp.stream
def waits_in_a_loop(words: Any, size: int, times: int) -> None:
    for turn in range(1, times + 1):
        fetch_add(words, 0, 1)
        while load(words, 0) < turn * size:
            pause()


@smp.stream
def ring_in_a_loop(cells: Any, rank: int, size: int, times: int) -> None:
    for _ in range(times):
        writeef(cells, rank, 1)
        readfe(cells, (rank + 1) % size)


def loop_atomics(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    atomics_in_a_loop(words.view, proc.rank, times)


def loop_waits(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    waits_in_a_loop(words.view, proc.size, times)


def loop_ring(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    ring_in_a_loop(cells, proc.rank, proc.size, times)


def barriers(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    for _ in range(times):
        proc.barrier()


def reads(proc: smp.Processor, words: Any, cells: Any, array: Any, times: int) -> None:
    for _ in range(times):
        with proc.superstep() as step:
            step.copy_in(array, slice((proc.rank + 1) % proc.size, (proc.rank + 1) % proc.size + 1))


PROGRAMS: dict[str, tuple[Callable[..., None], int]] = {
    "atomics": (atomics, 1),
    "waits": (waits, 20),
    "cells": (ring, 10),
    "loop-atomics": (loop_atomics, 1),
    "loop-waits": (loop_waits, 20),
    "loop-cells": (loop_ring, 10),
    "barriers": (barriers, 15),
    "reads": (reads, 40),
}
"""Programs, and the steps that one time takes, about."""


def emulated(machine: smp.Machine, name: str) -> float:
    """Return the steps a second of a program."""
    program, steps = PROGRAMS[name]
    size = machine.size
    words, cells, array = machine.zeros(size, np.int64), machine.cells(size), machine.zeros(size)
    more = FASTER if name.startswith("loop-") else 1
    times = more * max(EACH // steps, STEPS // steps // size)
    emulator: Any = machine._processors
    begun = time.perf_counter()
    machine.run(program, words, cells, array, times)
    return float(emulator.emulator.steps / (time.perf_counter() - begun))


def bare(processors: int) -> float:
    """Return the steps a second of greenlets that a heap resumes."""
    hub, heap, times = getcurrent(), list[tuple[int, int, Any]](), STEPS // processors

    def stream(number: int) -> None:
        now, own = number, getcurrent()
        hub.switch()
        for _ in range(times):
            now += 5 + number % 3
            chosen = heappushpop(heap, (now, number, own))
            if chosen[2] is not own:
                chosen[2].switch()

    for number in range(processors):
        made = greenlet(lambda number=number: stream(number), hub)  # type: ignore[misc]
        made.switch()
        heappush(heap, (number, number, made))
    begun = time.perf_counter()
    while heap:
        heappop(heap)[2].switch()
    return times * processors / (time.perf_counter() - begun)


def print_steps(processors: int, bursts: int) -> None:
    """Print a line for each program."""
    with smp.emulated(processors, schedule="clock", limit=1 << 30) as machine:
        for name in PROGRAMS:
            emulated(machine, name)
            pairs = np.array([(emulated(machine, name), bare(processors)) for _ in range(bursts)])
            first, middle, third = quartiles(pairs[:, 0] / pairs[:, 1])
            ours, theirs = np.median(pairs, axis=0)
            print(
                f"{name:14}{processors:>10,}{first:10.3f}{middle:8.3f}{third:8.3f}{ours:14,.0f}{theirs:14,.0f}",
                flush=True,
            )


def print_opened(processors: int, times: int) -> None:
    """Print what a machine takes to open, and for its first barriers and superstep; new processes do this."""
    script = [sys.executable, "-c", OPENED.format(processors=processors)]
    found = [subprocess.run(script, capture_output=True, text=True, check=True).stdout.split() for _ in range(times)]
    opened, met, stepped, held = np.median(np.array(found, float), axis=0)
    print(f"{processors:>10,}{opened:12.3f}{met:14.3f}{stepped:14.3f}{held:12.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bursts", type=int, default=5, help="pairs of bursts (default: 5)")
    parser.add_argument(
        "--processors", default="2,64,1024,4096", help="numbers of processors (default: 2,64,1024,4096)"
    )
    given = parser.parse_args()
    counts = [int(count) for count in given.processors.split(",")]
    print(f"{'program':14}{'processors':>10}{'1st':>10}{'median':>8}{'3rd':>8}{'steps/s':>14}{'bare, /s':>14}")
    for processors in counts:
        print_steps(processors, given.bursts)
    print(f"\n{'processors':>10}{'opened, s':>12}{'10 barriers':>14}{'a superstep':>14}{'held, MiB':>12}")
    for processors in counts:
        print_opened(processors, 3)
    print(f"1st, median, 3rd: quartiles of steps / bare, over {given.bursts} pairs of bursts; schedule 'clock'")


if __name__ == "__main__":
    main()
