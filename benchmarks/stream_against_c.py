"""Compare our four STREAM kernels with the same kernels in C, alternately, on the same arrays, with one processor.

    python benchmarks/stream_against_c.py [--mebibytes 64] [--repeats 20] [--options=-O3]

The C code is compiled with gcc in this run, by default with -O2.  Its arrays do not overlap (``restrict``), like
STREAM's static ones.  As in STREAM, the best of all repeats except the first is shown.  Next to it is the median ratio
of the pairs, on which other load has the least influence.  The values are verified as in STREAM.  Target: within 5%, by
the pairs.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable

import numpy as np
from latency_against_c import library

from smp.microbench.sections.bandwidth.kernels import STREAM
from smp.microbench.sections.bandwidth.loops import BYTES, SCALAR, add, copy, expected, scale, triad
from smp.microbench.sections.latency.pages import Pages

TARGET = 0.05

SOURCE = """
typedef double *restrict array;

void copy(long n, array a, array c) { for (long j = 0; j < n; j++) c[j] = a[j]; }
void scale(long n, array b, array c, double s) { for (long j = 0; j < n; j++) b[j] = s * c[j]; }
void add(long n, array a, array b, array c) { for (long j = 0; j < n; j++) c[j] = a[j] + b[j]; }
void triad(long n, array a, array b, array c, double s) { for (long j = 0; j < n; j++) a[j] = b[j] + s * c[j]; }
"""


def in_c(options: list[str], *arrays: np.ndarray) -> list[Callable[[], None]]:
    """Return the four kernels in C on these arrays."""
    made = library(SOURCE, *options)
    n = ctypes.c_long(arrays[0].size)
    a, b, c = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
    s = ctypes.c_double(SCALAR)
    return [
        lambda: made.copy(n, a, c),
        lambda: made.scale(n, b, c, s),
        lambda: made.add(n, a, b, c),
        lambda: made.triad(n, a, b, c, s),
    ]


def ours(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[Callable[[], None]]:
    """Return our four kernels on these arrays."""
    return [
        lambda: copy(a, c),
        lambda: scale(b, c, SCALAR),
        lambda: add(a, b, c),
        lambda: triad(a, b, c, SCALAR),
    ]


def compared(nbytes: int, repeats: int, huge: bool, options: list[str]) -> np.ndarray:
    """Return ns of each repeat, kernel and side (ours, C's); repeat 0 is for warming up."""
    arrays = [Pages(nbytes, huge).words.view(np.float64) for _ in range(3)]
    for array, value in zip(arrays, (2.0, 2.0, 0.0), strict=True):
        array[:] = value
    sides = ours(*arrays), in_c(options, *arrays)
    times = np.zeros((repeats, len(STREAM), 2))
    for repeat in range(repeats):
        for kernel in range(len(STREAM)):
            for side in (0, 1) if repeat % 2 else (1, 0):  # the second side finds its results already written
                begun = time.perf_counter_ns()
                sides[side][kernel]()
                times[repeat, kernel, side] = time.perf_counter_ns() - begun
    for name, array, value in zip("abc", arrays, expected(repeats), strict=True):
        if not np.allclose(array, value, rtol=1e-13, atol=0):
            raise SystemExit(f"the values of {name} are wrong: {array.min()} to {array.max()} instead of {value}")
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mebibytes", type=int, default=64, help="size of each array (default 64)")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--options", default="-O2", help="options of the C compiler (default -O2)")
    options = parser.parse_args()
    nbytes = options.mebibytes << 20
    for huge in (False, True):
        times = compared(nbytes, options.repeats, huge, options.options.split())[1:]
        print(f"three arrays of {options.mebibytes} MiB in {'huge' if huge else 'small'} pages, gcc {options.options}")
        for k, kernel in enumerate(STREAM):
            mine, theirs = BYTES[k] * nbytes / 8 / times[:, k].min(axis=0)
            pairs = float(np.median(times[:, k, 1] / times[:, k, 0]))
            verdict = "" if pairs >= 1 - TARGET else "   missed"
            print(
                f"  {kernel:<6} ours {mine:6.2f} GB/s   C {theirs:6.2f} GB/s   best {mine / theirs:5.3f}, "
                f"median of pairs {pairs:5.3f}{verdict}"
            )


if __name__ == "__main__":
    main()
