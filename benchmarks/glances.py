"""Compare calls that choose by a glance with calls that look at a sample and ask the models.

    python benchmarks/glances.py [--repeats 60]

Keys are sorted and ordered between passes over a few megabytes, so that neither the keys nor the code of the choice are
in the nearest caches.  The figures are medians, over the repeats, of ratios of neighbouring calls: the public call over
the fastest named form, and over it a call that looks and asks.  Without kept models (``python -m smp.microbench
--calibrate sort``) there is nothing to compare.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from kernels import CPUS, Task, in_turns
from smp.kernels import argsort, sort
from smp.kernels.sorting.choice import Request, argsort_library, sort_library
from smp.kernels.sorting.data import sort_data
from smp.kernels.sorting.keys import Keys
from smp.selection.library import Library

LENGTHS = (150_000, 400_000, 1_000_000)
KINDS = {"all differ": (0, 64), "few differ": (2, 16)}
"""Kinds of keys: a shape and the bits of the range, see `smp.kernels.sorting.data`."""
BETWEEN = np.zeros(1 << 19)


def work() -> None:
    """Pass over memory that fills the nearest caches."""
    BETWEEN.__iadd__(1)


def looks_and_asks(library: Library, keys: Keys) -> None:
    library(Request(keys))


def compare(what: str, auto: Task, asks: Task, named: list[Task], repeats: int) -> None:
    """Print the ratios of two calls to the fastest of some named forms."""
    tried = in_turns({str(k): task for k, task in enumerate(named)}, 5)
    best = min(range(len(named)), key=lambda k: float(np.median(tried.seconds[str(k)])))
    calls = {"first": named[best], "then": work, "named": named[best], "again": work, "auto": auto, "and again": work}
    turns = in_turns(calls | {"asks": asks}, repeats)
    by_glance, by_look = turns.ratio("auto", "named"), turns.ratio("asks", "named")
    took = 1e6 * float(np.median(turns.seconds["named"]))
    print(f"{what:<40}{took:>10.0f}{by_glance:>10.3f}{by_look:>10.3f}   {turns.placed()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=60)
    repeats = parser.parse_args().repeats
    print(f"{'':<40}{'named, us':>10}{'glance':>10}{'look':>10}   {CPUS} CPUs")
    for dtype in ("float32", "float64"):
        for kind, (shape, span) in KINDS.items():
            for n in LENGTHS:
                keys = sort_data(np.dtype(dtype), n, shape, span)
                for call, form, library in (
                    (sort, "vectors", sort_library(keys.dtype, CPUS)),
                    (argsort, "packed", argsort_library(keys.dtype, CPUS)),
                ):
                    if library.models and (call is sort or kind == "all differ"):
                        named = [partial(call, keys, algorithm=form, threads=t) for t in (1, CPUS)]
                        what = f"{call.__name__} of {n:,} {dtype}, {kind}"
                        compare(what, partial(call, keys), partial(looks_and_asks, library, keys), named, repeats)


if __name__ == "__main__":
    main()
