"""Compare the fast kernels with their peers and with the machine's own limits.

    python benchmarks/kernels.py [lists] [sorting] [stencil] [memory] [--repeats 7] [--quick]

All figures come from this one run on all CPUs, in which the compared tasks alternate.  Each ratio is the median, over
the rounds, of the ratio of neighbouring bursts; the times next to it are medians, too.  The placement of the CPUs,
which the host may change, is that of each round: the least and the largest time in which a cache line passes from CPU
to CPU.  Installed packages that sort (polars, pyarrow, torch) take part.  ``--quick`` leaves out the lengths that take
longest.
"""

from __future__ import annotations

import argparse
import importlib
import time
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.host import looking
from smp._runtime.loops.atomics import prefetch
from smp._runtime.program.processor import share
from smp.kernels import argsort, random_list, rank_list, relax, sort
from smp.kernels.in_process import side_by_side
from smp.kernels.lists import fast
from smp.kernels.lists.serial import rank_here

Task = Callable[[], Any]
CPUS = len(usable_cpus())
AHEAD = 64


class Turns(NamedTuple):
    """Seconds of tasks that took turns."""

    seconds: dict[str, NDArray[np.float64]]
    """Of a call of each task, round by round."""
    line: NDArray[np.float64]
    """Nanoseconds in which a cache line passed from CPU to CPU, before each round."""

    def ratio(self, task: str, to: str) -> float:
        """Return the median over the rounds of the ratio of two tasks' times."""
        return float(np.median(self.seconds[task] / self.seconds[to]))

    def ns(self, task: str, n: int) -> float:
        """Return the median nanoseconds of a task, for each of ``n`` elements."""
        return 1e9 * float(np.median(self.seconds[task])) / n

    def each(self, n: int) -> str:
        """Return the nanoseconds of all tasks, for each of ``n`` elements."""
        return ", ".join(f"{task} {self.ns(task, n):.2f}" for task in self.seconds) + " ns an element"

    def placed(self) -> str:
        """Return the range of the placements."""
        known = self.line[np.isfinite(self.line)]
        return f"line {known.min():.0f} to {known.max():.0f} ns" if len(known) else ""


def in_turns(tasks: Mapping[str, Task], repeats: int, least: float = 0.0) -> Turns:
    """Time tasks in turns; short ones are repeated for ``least`` seconds."""
    often = {}
    for name, task in tasks.items():
        task()  # compiles, and touches new memory
        start = time.perf_counter()
        task()
        often[name] = max(1, int(least / (time.perf_counter() - start)))
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    line = []
    for _ in range(repeats):
        line.append(looking.look())
        for name, task in tasks.items():
            start = time.perf_counter()
            for _ in range(often[name]):
                task()
            seconds[name].append((time.perf_counter() - start) / often[name])
    return Turns({name: np.array(taken) for name, taken in seconds.items()}, np.array(line))


def row(what: str, got: float, asked: str, detail: str = "", placed: str = "") -> None:
    print(f"{what:<58}{got:>8.2f}  {asked:<8}  {'; '.join(filter(None, (detail, placed)))}", flush=True)


def heading(what: str) -> None:
    print(f"\n{what:<58}{'ratio':>8}  {'target':<8}", flush=True)


# ------------------------------------------------------------------------------------------------ lists


@smp.local
def random_loads(table: NDArray[Any], order: NDArray[Any]) -> int:
    """Add up elements in random order, with prefetches: the loads do not depend on one another."""
    total, n = np.int64(0), len(order)
    for i in range(n):
        prefetch(table, np.uint64(order[min(i + AHEAD, n - 1)]))
        total += table[np.uint64(order[i])]
    return total


@smp.local
def random_updates(table: NDArray[Any], order: NDArray[Any]) -> None:
    """Change elements in random order, with prefetches: the updates do not depend on one another."""
    n = len(order)
    for i in range(n):
        prefetch(table, np.uint64(order[min(i + AHEAD, n - 1)]))
        table[np.uint64(order[i])] += 1


def lists(repeats: int, quick: bool) -> None:
    heading("List ranking, random lists of int32")
    n = 4_000_000 if quick else 16_000_000
    successor = random_list(n)
    table, order = successor.copy(), np.random.default_rng(1).permutation(np.arange(n, dtype=np.int32))
    blocks = [share(n, k, CPUS) for k in range(CPUS)]
    words, firsts, found = np.empty(n, np.int32), np.zeros(1 << 15, np.int32), np.zeros((CPUS, 3), np.int64)

    def passes() -> None:
        """Pass over the memory before and after the walk, as `rank_list` does, but into memory that is there."""
        side_by_side(
            *(
                partial(fast.copy_surveyed, successor[b], words[b], b.start, n, f)
                for b, f in zip(blocks, found, strict=True)
            )
        )
        side_by_side(*(partial(fast.finish, words[b], words[b], firsts, -1) for b in blocks))

    turns = in_turns(
        {
            "loads": lambda: side_by_side(*(partial(random_loads, table, order[block]) for block in blocks)),
            "fast": partial(rank_list, successor),
            "updates": lambda: side_by_side(*(partial(random_updates, table, order[block]) for block in blocks)),
            "passes": passes,
            "serial": partial(rank_here, successor),
        },
        repeats,
    )
    detail = turns.each(n)
    row(f"{n:,}: over as many random updates by {CPUS} CPUs", turns.ratio("fast", "updates"), "<= 1", detail)
    row(f"{n:,}: of it, the two passes over memory", turns.ratio("passes", "updates"), "")
    row(f"{n:,}: over as many random loads", turns.ratio("fast", "loads"), "<= 1.3", turns.placed())
    row(f"{n:,}: times the serial loop's speed", turns.ratio("serial", "fast"), ">= 18")
    lengths = [10**k * m for k in range(3, 7) for m in (1, 3)] + ([] if quick else [16_000_000, 64_000_000])
    for n in lengths:
        successor = random_list(n)
        both = {"fast": partial(rank_list, successor), "serial": partial(rank_here, successor)}
        turns = in_turns(both, repeats if n < 10_000_000 else 3, 0.005)
        asked = ">= 7" if n == 1_000_000 else ">= 0.9"
        row(f"{n:,}: times the serial loop's speed", turns.ratio("serial", "fast"), asked, turns.placed())


# ---------------------------------------------------------------------------------------------- sorting


def peers() -> dict[str, Callable[[NDArray[Any]], Any]]:
    """Return the sorts of other packages that are installed."""

    def of_polars(package: Any) -> Callable[[NDArray[Any]], Any]:
        return lambda keys: package.Series(keys).sort()

    def of_pyarrow(package: Any) -> Callable[[NDArray[Any]], Any]:
        compute = importlib.import_module("pyarrow.compute")
        return lambda keys: compute.take(package.array(keys), compute.sort_indices(package.array(keys)))

    def of_torch(package: Any) -> Callable[[NDArray[Any]], Any]:
        return lambda keys: package.sort(package.from_numpy(keys)).values

    found = {}
    for name, made in {"polars": of_polars, "pyarrow": of_pyarrow, "torch": of_torch}.items():
        try:
            found[name] = made(importlib.import_module(name))
        except ImportError:
            continue
    return found


def sorted_into(place: NDArray[Any], keys: NDArray[Any]) -> None:
    np.copyto(place, keys)
    place.sort()


def sorting(repeats: int, quick: bool) -> None:
    heading("Sorting: times the speed of numpy.sort")
    rng, n = np.random.default_rng(0), 1_000_000 if quick else 10_000_000
    inputs: dict[str, tuple[NDArray[Any], str]] = {
        "random uint32": (rng.integers(0, 1 << 32, n, np.uint32), ">= 2"),
        "random float64": (rng.random(n), ">= 2"),
        "uint32 below 2^16": (rng.integers(0, 1 << 16, n, np.uint32), ">= 6"),
        "int64 below 2^16": (rng.integers(0, 1 << 16, n), ">= 6"),
        "random int64": (rng.integers(-(1 << 63), (1 << 63) - 1, n), ""),
        "random float32": (rng.random(n, np.float32), ""),
        "sorted float64": (np.sort(rng.random(n)), ""),
        "reversed int32": (np.arange(n, 0, -1, dtype=np.int32), ""),
        "all equal float64": (np.ones(n), ""),
        "few distinct float64": (rng.integers(0, 10, n).astype(float), ""),
    }
    others = peers()
    for name, (keys, asked) in inputs.items():
        tasks: dict[str, Task] = {"smp": partial(sort, keys), "numpy": partial(np.sort, keys)}
        if name in ("random uint32", "random float64"):
            tasks |= {peer: partial(function, keys) for peer, function in others.items()}
        turns = in_turns(tasks, repeats)
        row(f"{n:,} {name}", turns.ratio("numpy", "smp"), asked, turns.each(n), turns.placed())
    for name, (keys, _) in list(inputs.items())[:4]:
        place, other = np.empty_like(keys), np.empty_like(keys)
        tasks = {"smp": partial(sort, keys, out=place), "numpy": partial(sorted_into, other, keys)}
        turns = in_turns(tasks, repeats)
        what = f"{n:,} {name}, into an existing array"
        row(what, turns.ratio("numpy", "smp"), "", turns.each(n), turns.placed())
    for dtype in (np.uint32, np.float64):
        for n in [*(10**k * m for k in range(7) for m in (1, 3)), *([] if quick else [50_000_000])]:
            keys = (rng.random(n) * (1 << 32)).astype(dtype)
            both = {"smp": partial(sort, keys), "numpy": partial(np.sort, keys)}
            turns = in_turns(both, repeats if n < 10_000_000 else 3, 0.005)
            row(f"{n:,} random {np.dtype(dtype)}", turns.ratio("numpy", "smp"), ">= 0.97", placed=turns.placed())
    for name in ("random uint32", "random float64", "random int64", "int64 below 2^16", "few distinct float64"):
        for keys in (inputs[name][0], inputs[name][0][:100_000]):
            forms: dict[str, Task] = {"smp": partial(argsort, keys), "numpy": partial(np.argsort, keys)}
            forms |= {form: partial(argsort, keys, algorithm=form) for form in ("packed", "partition")}
            if "few" in name:
                forms["values"] = partial(argsort, keys, algorithm="values")
            turns = in_turns(forms, 3, 0.005)
            detail = turns.each(len(keys))
            row(f"argsort of {len(keys):,} {name}", turns.ratio("numpy", "smp"), "", detail, turns.placed())


# ---------------------------------------------------------------------------------------------- stencil


def prange_sweep() -> Callable[[NDArray[Any], float, float], None]:
    """Return a plain red-black sweep with Numba's own parallel loops."""
    import numba

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def sweep(grid: NDArray[Any], quarter: float, keep: float) -> None:
        for colour in range(2):
            for i in numba.prange(1, grid.shape[0] - 1):
                for j in range(1 + (i + 1 + colour) % 2, grid.shape[1] - 1, 2):
                    around = (grid[i - 1, j] + grid[i + 1, j]) + (grid[i, j - 1] + grid[i, j + 1])
                    grid[i, j] = quarter * around + keep * grid[i, j]

    return sweep  # type: ignore[no-any-return]


def stencil(repeats: int, quick: bool) -> None:
    n = 2048 if quick else 8192
    heading(f"Red-black relaxation of {n} x {n} float64")
    grid = np.random.default_rng(0).random((n, n))
    other, plain = grid.copy(), grid.copy()
    blocks = [share(n, k, CPUS) for k in range(CPUS)]
    sweep = prange_sweep()
    turns = in_turns(
        {
            "copy": lambda: side_by_side(*(partial(np.copyto, other[block], grid[block]) for block in blocks)),
            "one": lambda: relax(grid, iterations=1, omega=1.5, out=grid),
            "eight": lambda: relax(grid, iterations=8, omega=1.5, out=grid),
            "prange": lambda: sweep(plain, 1.5 / 4, 1 - 1.5),
        },
        repeats,
    )
    turns.seconds["eight"] /= 8
    ns = {name: turns.ns(name, n**2) for name in turns.seconds}
    bandwidth = 16 / ns["copy"]
    row("a sweep over a copy of the grid", turns.ratio("one", "copy"), "<= 1.2", f"{ns['one']:.3f} ns a cell")
    detail = f"{ns['eight']:.3f} ns a cell; copying {ns['copy']:.3f}, both ways {bandwidth:.1f} GB/s"
    row("8 sweeps blocked in time, each over a copy of the grid", turns.ratio("eight", "copy"), "< 0.9", detail)
    row("times the speed of plain prange, one sweep", turns.ratio("prange", "one"), ">= 4", f"{ns['prange']:.3f}")
    row("times the speed of plain prange, 8 sweeps", turns.ratio("prange", "eight"), ">= 4", placed=turns.placed())


# ----------------------------------------------------------------------------------------------- memory


def memory(repeats: int, quick: bool) -> None:
    heading("Memory beyond the input, in inputs (NumPy's own count of what it has allocated)")
    n = 1_000_000 if quick else 10_000_000
    rng = np.random.default_rng(0)
    narrow, wide = random_list(n), random_list(n, dtype=np.int64)
    calls: dict[str, tuple[Callable[[Any], Any], NDArray[Any], str]] = {
        "list ranking, int32": (rank_list, narrow, "<= 3"),
        "list ranking, int64": (rank_list, wide, "<= 3"),
        "sort, uint32": (sort, rng.integers(0, 1 << 32, n, np.uint32), "<= 2.2"),
        "sort, uint32 below 2^16": (sort, rng.integers(0, 1 << 16, n, np.uint32), "<= 2.2"),
        "sort, float64": (sort, rng.random(n), "<= 2.2"),
        "sort by halves, every other of float64": (sort, rng.random(2_000_000)[::2], "<= 2.2"),
        "sort by parts, every other of float64": (sort, rng.random(2 * n)[::2], "<= 2.2"),
        "argsort, float64": (argsort, rng.random(n), ""),
        "sort in place, float64": (lambda keys: sort(keys, out=keys), rng.random(n), "<= 2.2"),
        "relaxation, float64": (lambda grid: relax(grid, iterations=8), rng.random((n // 1000, 1000)), ""),
    }
    for name, (function, given, asked) in calls.items():
        function(given.copy())  # compiles
        tracemalloc.start()
        function(given)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        row(name, peak / given.nbytes, asked)


PARTS = {"lists": lists, "sorting": sorting, "stencil": stencil, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="by default all")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in options.parts or PARTS:
        PARTS[name](options.repeats, options.quick)


if __name__ == "__main__":
    main()
