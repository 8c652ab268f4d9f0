"""Measure how long scripts take that call a loop on each processor, or atomics from Python, with kept machine code.

    python benchmarks/start_up.py [--rounds 9] [--processors 2]

The first way is that of smp: the process that starts the processors imports Numba once, and the machine code of atomics
that Python calls is kept.  In the second way, each processor imports Numba, and each process compiles the atomics that
it calls.  The two ways run in turns.  Their first runs make the machine code and do not count.  The columns have the
median seconds of a whole script, and the median ratio of neighbouring runs with its quartiles.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

EACH_ON_ITS_OWN = """
import sys
from smp._runtime.loops import compiler
compiler.wanted = lambda: "numba" in sys.modules
"""
COMPILED_BY_EACH = """
from smp._runtime.loops import machine_code
def compiled(function):
    from numba import njit
    return njit(nogil=True)(function)
machine_code.dispatcher = compiled
"""
LOOP = """
import numpy as np
import smp

@smp.local
def total(values):
    found = 0
    for value in values:
        found += value
    return found

with smp.host({processors}) as machine:
    machine.run(lambda proc: total(np.arange(9)))
"""
ATOMIC = """
import numba
import numpy as np
import smp
from smp.compiled import fetch_add, load, store

words = np.zeros(1, np.int64)
fetch_add(words, 0, 1)
store(words, 0, 1 + load(words, 0))
"""
CASES = {"a loop on each processor": (LOOP, EACH_ON_ITS_OWN), "three atomics from Python": (ATOMIC, COMPILED_BY_EACH)}


def seconds(script: str, folder: str) -> float:
    """Return the seconds that a script takes in a new process."""
    environment = os.environ | {"SMP_CACHE_DIR": folder, "SMP_DATA_DIR": folder}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--processors", type=int, default=2)
    options = parser.parse_args()
    print(f"{'script':<28}{'smp, s':>10}{'each, s':>10}{'ratio':>8}{'quartiles':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (script, before) in CASES.items():
            text = script.format(processors=options.processors)
            ways = (text, before + text)
            taken = np.array([[seconds(way, folder) for way in ways] for _ in range(options.rounds + 1)])[1:]
            ratios = taken[:, 0] / taken[:, 1]
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            medians = np.median(taken, axis=0)
            figures = f"{medians[0]:>10.2f}{medians[1]:>10.2f}{middle:>8.2f}{low:>8.2f} to {high:.2f}"
            print(f"{name:<28}{figures}", flush=True)


if __name__ == "__main__":
    main()
