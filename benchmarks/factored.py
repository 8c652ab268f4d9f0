"""Measure how well factored and hybrid models predict whole programs, at sizes that no model was calibrated with.

    python benchmarks/factored.py [--profile FILE] [--largest 2e6] [--repeats 5] [--processors 1,2]

Sizes ascend geometrically.  Hybrid models are calibrated with every other size, for each p, and all models are verified
with the sizes between those.  A time is the median, over the repeats, of the sum of a run's supersteps.  MRE is the
geometric mean of 1 + |relative error|, minus 1.  All of it takes about 25 s; `docs/factored.md` explains the models.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import smp
from smp.kernels import random_list
from smp.kernels.lists.forms import FORMS as RANKING
from smp.kernels.sorting.forms import FORMS as SORTING
from smp.microbench.predictions.changes import model_of
from smp.microbench.predictions.programs import kernel_of
from smp.microbench.sections.programs.probe import in_supersteps
from smp.models.fit.linear import mean_relative_error
from smp.models.supersteps.hybrid import Hybrid, calibrate

NAMES = ("radix", "sample", "column", "wyllie", "reid-miller", "helman-jaja")
LONGEST = {"wyllie": 500_000}
"""Largest n of kernels with n log n work, which would take most of the time beyond it."""
SMALLEST, SIZES = 3_000, 11
MODELS = ("factored", "alpha, beta", "and gamma", "from first p")
"""Good accesses alone; the hybrid of the thesis; the same with local work; the last as calibrated for the first p."""
Times = NDArray[np.float64]


def runner(machine: smp.Machine, name: str, n: int) -> Callable[[], smp.Run]:
    """Return a function that runs a kernel once, on the same input every time."""
    if name in RANKING:
        successor, ranks = machine.array(random_list(n, seed=n)), machine.empty(n, np.int32)
        return lambda: machine.run(RANKING[name].loaded(), successor, ranks)
    keys = np.random.default_rng(n).integers(0, 1 << 32, n, dtype=np.uint32)
    shared = machine.empty(n, keys.dtype)

    def run() -> smp.Run:
        shared.view[:] = keys
        return machine.run(SORTING[name].loaded(), shared)

    return run


def measured(machine: smp.Machine, name: str, sizes: list[int], repeats: int) -> Times:
    """Return the seconds of a kernel at each size: the median of the repeats, after a run that loads its loops."""
    medians = []
    for n in sizes:
        run = runner(machine, name, n)
        run()
        medians.append(np.median([in_supersteps(run()) for _ in range(repeats)]))
    return np.array(medians)


def mre(predicted: Times, seconds: Times) -> float:
    return mean_relative_error(np.abs(predicted / seconds - 1))


def errors(
    profile: smp.Profile, name: str, p: int, sizes: list[int], seconds: Times, elsewhere: Hybrid | None
) -> tuple[list[float], int, Hybrid]:
    """Return the MRE of each of `MODELS` at sizes between the calibrated ones, the number of such sizes, and a hybrid.

    The hybrid is the one with local work, calibrated for this p. ``elsewhere`` is that of the first p, or None.
    """
    charged = np.array([model_of(profile, name, n, p).total() for n in sizes])
    work = np.array([kernel_of(name).work(n, p) for n in sizes])
    used = np.arange(len(sizes)) % 2 == 0
    two, three = calibrate(charged[used], seconds[used]), calibrate(charged[used], seconds[used], work[used])
    crossed = np.full(len(sizes), np.nan) if elsewhere is None else elsewhere.predict(charged, work)
    models = (charged, two.predict(charged), three.predict(charged, work), crossed)
    return [mre(each[~used], seconds[~used]) for each in models], int((~used).sum()), three


def cells(found: Iterable[float]) -> str:
    return "".join(f"{'-' if np.isnan(each) else f'{100 * each:.1f}':>13}" for each in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--profile", type=Path, help="profile of this machine; by default the one measured last")
    parser.add_argument("--largest", type=float, default=2e6, help="keys or nodes (default 2e6)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--processors", default="", help="such as 1,2; by default those of the profile")
    options = parser.parse_args()
    profile = smp.Profile.load(options.profile) if options.profile else smp.Profile.find()
    chosen = [int(text) for text in options.processors.split(",")] if options.processors else profile.processors
    print(f"MRE in % at sizes between those of the calibration; medians of {options.repeats} repeats")
    print(f"{'kernel':<14}{'p':>3}{'sizes':>7}{'n, up to':>12}" + "".join(f"{name:>13}" for name in MODELS))
    found, hybrids = [], dict[str, Hybrid]()
    for p in chosen:
        with smp.host(p) as machine:
            for name in NAMES:
                largest = min(options.largest, LONGEST.get(name, np.inf))
                sizes = [round(n) for n in np.geomspace(SMALLEST, largest, SIZES)]
                seconds = measured(machine, name, sizes, options.repeats)
                each, count, hybrid = errors(profile, name, p, sizes, seconds, hybrids.get(name))
                hybrids.setdefault(name, hybrid)
                found.append(each)
                print(f"{name:<14}{p:>3}{count:>7}{max(sizes):>12,}{cells(each)}")
    logs = np.log1p(found)
    print(f"{'geometric mean':<36}" + cells(np.expm1(column[~np.isnan(column)].mean()) for column in logs.T))


if __name__ == "__main__":
    main()
