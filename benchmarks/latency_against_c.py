"""Compare our pointer chase, which measures memory latency, with the same chase in C through the same memory.

    python benchmarks/latency_against_c.py [--seconds 2]

The C code is compiled with gcc -O2 in this run.  Both walk one random cycle, half of it apart, in alternating windows.
The ratio is the median over the pairs of windows in which both stayed on their CPU.  Target: within 5%.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from smp.microbench.method.clocks import timer_cost
from smp.microbench.sections.latency.walks import UNROLLED, Walk, random_walk

SIZES = (16 << 10, 256 << 10, 8 << 20, 256 << 20)
TARGET = 0.05
WINDOW_NS = 500_000
OFF_CPU = 0.02

SOURCE = """
#define _POSIX_C_SOURCE 199309L
#include <time.h>

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

#define ONE p = (void **)*p;
#define FOUR ONE ONE ONE ONE

/* Follow the pointers from *at, 16 a repeat; note wall and CPU time. */
void chase(void ***at, long repeat, long *wall, long *cpu)
{
    void **p = *at;
    long spent = now(CLOCK_THREAD_CPUTIME_ID), begun = now(CLOCK_MONOTONIC);
    for (long i = 0; i < repeat; i++) {
        FOUR FOUR FOUR FOUR
    }
    *wall = now(CLOCK_MONOTONIC) - begun;
    *cpu = now(CLOCK_THREAD_CPUTIME_ID) - spent;
    *at = p;
}
"""


def library(source: str, *options: str) -> ctypes.CDLL:
    """Compile C into a library of this process; exit with a message if there is no compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("skipped: there is no C compiler (gcc or cc) to compare with")
        raise SystemExit(0)
    with tempfile.TemporaryDirectory() as folder:
        file, made = Path(folder, "ours.c"), Path(folder, "ours.so")
        file.write_text(source)
        subprocess.run([compiler, *(options or ("-O2",)), "-shared", "-fPIC", "-o", made, file], check=True)
        return ctypes.CDLL(str(made))  # stays mapped when the file is gone


class WalkInC:
    """The same as `Walk`, in C."""

    def __init__(self, walk: Walk, chase: ctypes._NamedFuncPointer) -> None:
        self._chase, self._at = chase, ctypes.c_void_p(walk.at)

    def __call__(self, repeat: int) -> tuple[int, int]:
        wall, cpu = ctypes.c_long(), ctypes.c_long()
        self._chase(ctypes.byref(self._at), ctypes.c_long(repeat), ctypes.byref(wall), ctypes.byref(cpu))
        return wall.value, cpu.value


def compared(nbytes: int, seconds: float, chase: ctypes._NamedFuncPointer) -> tuple[float, float, float, int]:
    """Return ns per load of ours and of C, the median ratio of the pairs, and the number of clean pairs."""
    ours = random_walk(nbytes, 64, True, np.random.default_rng(0))
    theirs = WalkInC(ours, chase)
    # half a lap ahead, because a walk that follows closely finds the lines in the cache
    ours(max(1, nbytes // 64 // 2 // UNROLLED))
    lap = max(1, min(nbytes // 64, 1 << 16) // UNROLLED)
    repeat = max(1, lap * WINDOW_NS // max(1, min(ours(lap)[0], theirs(lap)[0])))
    pairs, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        pairs.append([*ours(repeat), *theirs(repeat)])
    times = np.array(pairs)
    clean = ((times[:, 0::2] - times[:, 1::2]) <= OFF_CPU * times[:, 0::2]).all(axis=1)
    walls = (times[clean if clean.any() else slice(None)][:, 0::2] - timer_cost()) / (repeat * UNROLLED)
    return *np.median(walls, axis=0), float(np.median(walls[:, 0] / walls[:, 1])), int(clean.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each size (default 2)")
    options = parser.parse_args()
    chase = library(SOURCE).chase
    print(f"{'array':>10}{'ours':>10}{'C':>10}{'ratio':>8}   clean pairs; target {1 - TARGET:.2f} to {1 + TARGET:.2f}")
    for nbytes in SIZES:
        ours, theirs, ratio, clean = compared(nbytes, options.seconds, chase)
        verdict = "" if abs(ratio - 1) <= TARGET else "   missed"
        print(f"{nbytes >> 10:>6} KiB{ours:>7.2f} ns{theirs:>7.2f} ns{ratio:>8.3f}   {clean}{verdict}")


if __name__ == "__main__":
    main()
