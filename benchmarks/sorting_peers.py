"""Compare sorting with NumPy's sort and, if its sources are there, with Intel's x86-simd-sort, in turns.

    python benchmarks/sorting_peers.py [--sources FOLDER] [--lengths 1000000,10000000,50000000] [--values 5]
                                       [--repeats 7]

FOLDER is the folder ``src`` of x86-simd-sort (https://github.com/intel/x86-simd-sort), whose headers are compiled here
with OpenMP by ``c++``.  All sort the same random keys, in place and, except for x86-simd-sort, into a new array.  Each
figure is a median of the repeats, in ns a key, and each ratio is the median of the ratios of neighbouring bursts.  The
last column has the placement of the CPUs, see ``kernels.py``.

The threads of OpenMP sleep while they wait, unless OMP_WAIT_POLICY says otherwise.  If they did not, they would take
CPUs away from the next burst for some milliseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels import in_turns
from smp.kernels import sort

Keys = NDArray[Any]
InPlace = Callable[[Keys], object]
NAMES = {"uint32": "uint32_t", "int32": "int32_t", "float32": "float", "int64": "int64_t", "float64": "double"}
"""Types of keys, and their names in C++."""
SOURCE = """
#include <cstdint>
#include "x86simdsort-static-incl.h"
{functions}
"""
FUNCTION = 'extern "C" void sort_{name}({type} *keys, size_t n) {{ x86simdsortStatic::qsort(keys, n, false, false); }}'


def compiled(sources: Path, folder: Path) -> InPlace:
    """Compile x86-simd-sort for the types of keys; return its sort."""
    functions = "\n".join(FUNCTION.format(name=name, type=kind) for name, kind in NAMES.items())
    (folder / "sort.cpp").write_text(SOURCE.format(functions=functions))
    made = folder / "sort.so"
    flags = ["-std=c++17", "-O3", "-march=native", "-fopenmp", "-DXSS_USE_OPENMP", "-shared", "-fPIC", f"-I{sources}"]
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    subprocess.run(["c++", *flags, str(folder / "sort.cpp"), "-o", str(made)], check=True)
    library = ctypes.CDLL(str(made))

    def sort_by_it(keys: Keys) -> None:
        getattr(library, f"sort_{keys.dtype}")(ctypes.c_void_p(keys.ctypes.data), ctypes.c_size_t(len(keys)))

    return sort_by_it


def drawn(dtype: str, n: int, values: int = 0) -> Keys:
    """Return random keys over the whole range of a type, or of a few such values; floats between 0 and 1."""
    rng, kind = np.random.default_rng(0), np.dtype(dtype)
    if values:
        return rng.choice(drawn(dtype, values), n)
    if kind.kind == "f":
        return rng.random(n).astype(kind)
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, n, kind, endpoint=True)


def compare(dtype: str, n: int, values: int, peers: dict[str, InPlace], repeats: int) -> None:
    """Print a line for sorting in place, and one for sorting into a new array."""
    keys = drawn(dtype, n, values)
    expected, place = np.sort(keys), np.empty_like(keys)
    for peer, function in peers.items():
        np.copyto(place, keys)
        function(place)
        assert np.array_equal(place, expected), peer

    def in_place(function: InPlace) -> None:
        np.copyto(place, keys)  # part of every burst, so the ratios are a little too close to 1
        function(place)

    copying = partial(in_place, lambda place: None)
    both = {peer: partial(in_place, function) for peer, function in peers.items()}
    inside = in_turns({"copy": copying, **both}, repeats, 0.01)
    for peer in peers:
        inside.seconds[peer] -= inside.seconds["copy"]
    outside = in_turns({"numpy": partial(np.sort, keys), "smp": partial(sort, keys)}, repeats, 0.01)
    for how, turns in (("in place", inside), ("new array", outside)):
        figures = "".join(f"{turns.ns(peer, n):8.2f}" if peer in turns.seconds else " " * 8 for peer in NAMED)
        ratios = "".join(f"{turns.ratio(peer, 'smp'):8.2f}" if peer in turns.seconds else " " * 8 for peer in OTHERS)
        print(f"{dtype:<9}{n:>12,} {how:<10}{figures}{ratios}   {turns.placed()}", flush=True)


NAMED, OTHERS = ("numpy", "intel", "smp"), ("numpy", "intel")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", type=Path, help="folder with x86simdsort-static-incl.h")
    parser.add_argument("--lengths", default="1000000,10000000,50000000")
    parser.add_argument("--types", default=",".join(NAMES), help="some of the types of keys")
    parser.add_argument("--values", type=int, default=0, help="keys of this many different values")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    peers: dict[str, InPlace] = {"numpy": lambda keys: keys.sort(), "smp": lambda keys: sort(keys, out=keys)}
    with tempfile.TemporaryDirectory() as folder:
        if options.sources is not None:
            peers = {"numpy": peers["numpy"], "intel": compiled(options.sources, Path(folder)), "smp": peers["smp"]}
        columns = "".join(f"{name:>8}" for name in NAMED) + "".join(f"{f'{name}/':>8}" for name in OTHERS)
        print(f"{'':<32}{columns}\n{'ns a key':>48}{'smp':>24}{'smp':>8}")
        for dtype in options.types.split(","):
            for n in map(int, options.lengths.split(",")):
                compare(dtype, n, options.values, peers, options.repeats)


if __name__ == "__main__":
    main()
