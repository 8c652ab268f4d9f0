"""Measure how long the first use of a compiled function takes, with functions compiled as smp does, and as Numba does.

    python benchmarks/first_use.py [--rounds 3]

smp leaves functions that only loops call as text until a loop is made of them (``_runtime.loops.with_numba.callees``).
Numba first makes machine code of each function.  Every measurement is in a new process with an empty folder of machine
code, in turns.  Before another loop is measured, a first one is compiled in a process of its own: smp keeps what both
call (``_runtime.loops.with_numba.kept_callees``).  The columns have the least seconds of each way, and the median ratio
of neighbouring measurements.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

from smp.kernels.sorting.by_vectors import vectors

AS_NUMBA = """
from numba.core.compiler import Compiler
from smp._runtime.loops.with_numba.callees import CalleeCompiler
CalleeCompiler.define_pipelines = Compiler.define_pipelines
"""
MEASURED = """
import time
import numpy as np
import smp
from smp._runtime.loops import compiler
from smp.kernels import argsort, random_list, rank_list, sort
compiler.numba()
smp.local(lambda x: x + 1)(1)
keys = np.random.default_rng(0).permutation(1 << 20)
{before}
began = time.perf_counter()
{call}
print(time.perf_counter() - began)
"""
LOOP = """
from smp.compiled import barrier, readfe, writeef

@smp.stream
def loop(sync, cells):
    barrier(sync)
    writeef(cells, 0, readfe(cells, 0) + {added})

machine = smp.host(1, start="fork")  # with the changed compiler
cells = machine.cells(1, full=True)
"""
"""A loop that waits at a barrier and at cells."""
ANOTHER = "another loop with a barrier and cells"
CALLS = {
    "a machine of two processors": "smp.host(2).close()",
    "sort with vectors, int32": "sort(keys.astype(np.int32), algorithm='vectors', threads=2)",
    "sort with vectors, float64": "sort(keys.astype(np.float64), algorithm='vectors', threads=2)",
    "sort by parts, int64": "sort(keys, algorithm='partition', threads=2)",
    "argsort, packed, int32": "argsort(keys.astype(np.int32), algorithm='packed', threads=2)",
    "rank_list, fast": "rank_list(random_list(1 << 20), algorithm='fast', threads=2)",
    ANOTHER: "machine.run(lambda proc, cells: loop(proc.sync, cells), cells)",
}


def seconds(name: str, compiler: str) -> float:
    """Return the seconds of a first call in a new process, with this change of the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SMP_CACHE_DIR": folder, "SMP_DATA_DIR": folder}
        for added in (1, 2) if name == ANOTHER else (1,):
            before = LOOP.format(added=added) if name == ANOTHER else ""
            program = compiler + MEASURED.format(before=before, call=CALLS[name])
            done = subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    print(f"{'first use of':<40}{'smp, s':>10}{'Numba, s':>10}{'ratio':>8}")
    for name in CALLS:
        if "vectors" in name and not vectors.has_vectors():
            continue
        taken = np.array([[seconds(name, compiler) for compiler in ("", AS_NUMBA)] for _ in range(rounds)])
        least, ratio = taken.min(axis=0), np.median(taken[:, 0] / taken[:, 1])
        print(f"{name:<40}{least[0]:>10.1f}{least[1]:>10.1f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
