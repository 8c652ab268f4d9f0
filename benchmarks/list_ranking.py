"""Measure the nanoseconds per element of every list-ranking algorithm, and its speed-up over the compiled serial loop.

    python benchmarks/list_ranking.py [n] [--processors 2] [--repeats 3] [--order random|ordered|reversed]

The algorithms rank the same list on the same machine in turn, everything inside ``machine.run`` included; the best of
the repeats is shown.  There are two serial loops: one in this process's private memory, which may lie in huge pages,
and one on processor 0, in the shared memory that the other algorithms use.  The ratio is to the faster of the two.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import smp
from smp.kernels import random_list
from smp.kernels.lists.forms import FORMS
from smp.kernels.lists.lists import Nodes
from smp.kernels.lists.serial import rank_here

PROGRAMS = {name: form.loaded() for name, form in FORMS.items() if form.terms}


def listed(n: int, order: str) -> Nodes:
    """Return a list of n int32 nodes."""
    if order == "random":
        return random_list(n)
    step = 1 if order == "ordered" else -1
    successor: Nodes = np.clip(np.arange(n, dtype=np.int32) + np.int32(step), 0, n - 1)
    return successor


def measured(n: int, order: str, processors: int, repeats: int, algorithms: list[str]) -> dict[str, float]:
    """Return the seconds of each algorithm, the best of the repeats; every result is compared with the serial one."""
    successor = listed(n, order)
    best: dict[str, float] = {}
    with smp.host(processors) as machine:
        small, few = machine.array(listed(2000, order)), machine.empty(2000, np.int32)
        rank_here(listed(2000, order))
        for name in algorithms:  # compiles, or loads compiled code
            machine.run(PROGRAMS[name], small, few)
        shared, ranks = machine.array(successor), machine.empty(n, np.int32)
        for _ in range(repeats):
            start = time.perf_counter()
            expected = rank_here(successor)
            best["serial, private"] = min(best.get("serial, private", np.inf), time.perf_counter() - start)
            for name in algorithms:
                ranks.view[:] = -1
                run = machine.run(PROGRAMS[name], shared, ranks)
                best[name] = min(best.get(name, np.inf), run.wall)
                if not np.array_equal(ranks.view, expected):
                    raise SystemExit(f"{name} gives other ranks than the serial loop")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", nargs="?", type=float, default=1e6, help="length of the list (default 1e6)")
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--order", choices=("random", "ordered", "reversed"), default="random")
    parser.add_argument("--algorithms", default=",".join(PROGRAMS), help="some of " + ", ".join(PROGRAMS))
    options = parser.parse_args()
    n = int(options.n)
    best = measured(n, options.order, options.processors, options.repeats, options.algorithms.split(","))
    serial = min(best["serial, private"], best.get("serial", np.inf))
    print(f"{n:,} {options.order} int32 nodes, {options.processors} processors, best of {options.repeats}")
    for name, seconds in best.items():
        print(f"  {name:<16}{seconds / n * 1e9:9.2f} ns{serial / seconds:8.2f} x serial")


if __name__ == "__main__":
    main()
