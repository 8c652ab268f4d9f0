"""Compare the LoPC model with its simulation: errors of the response time, and losses by the choice of servers.

    python benchmarks/lopc.py [--quick] [--settings 1000] [--plots FOLDER] [--processes 2]

C² is the squared coefficient of variation of the handlers' times, R the response time, and X the throughput. Errors are
(model - simulated) / simulated of R, all-to-all, over machines of 2 to 64 processors with exponential work. Two
processors are listed separately, because constant handlers make them fall in step. A simulated R is LogP's plus the
contention that was met. Half of its 95% interval is shown next to the errors, to distinguish them from those of the
simulation. Losses are (best X - X chosen) / best X of a work-pile, where X is simulated for all numbers of servers
around the choice with the same random numbers. Their interval comes from repeats with other numbers.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._output.drawing import save
from smp.microbench.output import lopc_plots
from smp.models.lopc import Estimate, all_to_all, all_to_all_pattern, best_servers, client_server_pattern, simulate

Result = TypeVar("Result")

VARIATIONS = (0.0, 0.5, 1.0, 2.0)
WORKS = (0.0, 0.25, 1.0, 4.0, 16.0)
WIRES = (0.0, 0.25, 1.0, 4.0)
PROCESSORS = (2, 4, 8, 16, 32, 64)
ROUNDING = 1e-12
NEAR = 3
"""Number of servers that are tried on either side of the choice; the search goes on while the outermost is the best."""
ALLOWED = 0.01
"""Allowed loss; if the interval of a loss reaches beyond, longer runs decide."""
LONGER = 10
REPEATS = 5
FEWEST, MOST = 2, 64
"""Fewest and most processors of a work-pile."""


@dataclass(frozen=True)
class Point:
    """One all-to-all setting, in units of handlers: what was simulated, and the errors of the model and of LogP.

    ``outside`` is True if the model's R is not within its bounds, ``beyond`` if no part of the simulated interval is.
    """

    processors: int
    variation: float
    work: float
    wire: float
    noise: float
    lopc: float
    logp: float
    outside: bool
    beyond: bool


@dataclass(frozen=True)
class Loss:
    """Loss of each choice in one work-pile, and half of the interval of the loss of ``chosen``."""

    processors: int
    variation: float
    rounded: float
    by_model: float
    chosen: float
    noise: float


def point(setting: tuple[int, float, float, float, int]) -> Point:
    processors, variation, work, wire, cycles = setting
    model = all_to_all(work, wire, 1.0, variation=variation)
    done = simulate(*all_to_all_pattern(work, processors), wire, 1.0, variation=variation, cycles=cycles)
    measured, reach = model.logp + done.contention.mean, (done.contention.high - done.contention.low) / 2.0
    return Point(
        *(processors, variation, work, wire),
        noise=reach / measured,
        lopc=model.response / measured - 1.0,
        logp=model.logp / measured - 1.0,
        outside=not model.lower * (1 - ROUNDING) <= model.response <= model.upper * (1 + ROUNDING),
        beyond=measured + reach < model.lower or measured - reach > model.upper,
    )


def draw_setting(number: int) -> tuple[int, float, float, float]:
    """Return P, C², W and S_l of a work-pile, in units of handlers, by its number."""
    rng = np.random.default_rng([number, 6])
    processors = int(np.exp(rng.uniform(np.log(FEWEST), np.log(MOST + 1))))
    work = rng.choice([0.0, 10 ** rng.uniform(-1, 2.5)], p=[0.05, 0.95])
    wire = rng.choice([0.0, 10 ** rng.uniform(-2, 1)], p=[0.2, 0.8])
    return processors, float(rng.choice([0.0, 0.25, 0.5, 1.0, 2.0])), float(work), float(wire)


class Pile:
    """A work-pile whose throughput is simulated for the requested numbers of servers, once for each."""

    def __init__(self, setting: tuple[int, float, float, float], cycles: int) -> None:
        self.processors, self.variation, self.work, self.wire = setting
        self.cycles = cycles
        self.known: dict[int, NDArray[np.float64]] = {}

    def throughput(self, servers: int) -> NDArray[np.float64]:
        """Return X of each repeat, computed from the contention, which has less noise than the count of cycles."""
        if servers not in self.known:
            logp = self.work + 2.0 * self.wire + 2.0
            runs = [
                simulate(
                    *client_server_pattern(self.work, self.processors, servers),
                    *(self.wire, 1.0),
                    variation=self.variation,
                    cycles=self.cycles,
                    batches=2,
                    seed=seed,
                )
                for seed in range(REPEATS)
            ]
            self.known[servers] = np.array([(self.processors - servers) / (logp + r.contention.mean) for r in runs])
        return self.known[servers]

    def best(self, start: int) -> int:
        """Return the best of the numbers of servers around a start; go on as long as the outermost is the best."""
        while True:
            around = range(max(1, start - NEAR), min(self.processors - 1, start + NEAR) + 1)
            found = max(around, key=lambda servers: float(self.throughput(servers).mean()))
            if abs(found - start) < NEAR or found in (1, self.processors - 1):
                return found
            start = found

    def loss(self, servers: int, best: int) -> Estimate:
        """Return the loss of a number of servers against the best, run by run: both met the same random numbers."""
        return Estimate.of(1.0 - self.throughput(servers) / self.throughput(best))


def loss(task: tuple[int, int]) -> Loss:
    number, cycles = task
    setting = processors, variation, work, wire = draw_setting(number)
    choice = best_servers(work, wire, 1.0, processors, variation=variation)
    rounded = min(max(round(choice.ideal), 1), processors - 1)
    for length in (cycles, LONGER * cycles):
        pile = Pile(setting, length)
        best = pile.best(choice.servers)
        chosen = pile.loss(choice.servers, best)
        if chosen.high < ALLOWED:
            break
    return Loss(
        processors,
        variation,
        rounded=pile.loss(rounded, best).mean,
        by_model=pile.loss(choice.by_model, best).mean,
        chosen=chosen.mean,
        noise=(chosen.high - chosen.low) / 2.0,
    )


def progress(what: str, results: Iterable[Result], count: int) -> list[Result]:
    """Collect results, and show on stderr how many of them there are."""
    found = []
    for result in results:
        found.append(result)
        print(f"\r{what}: {len(found)} of {count}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 60, end="\r", file=sys.stderr, flush=True)
    return found


def percent(values: Sequence[float] | NDArray[np.float64], *quantiles: float) -> str:
    return "".join(f"{100.0 * value:>9.2f}" for value in np.quantile(values, quantiles))


def errors(points: list[Point]) -> None:
    print(f"all-to-all, {len(points)} settings: error of the response time, %, and half of its 95% interval")
    print(f"{'':<22}{'count':>7}  {'LoPC':^27}  {'LogP':^18}  {'interval':^18}")
    head = "".join(f"{name:>9}" for name in ("least", "median", "most"))
    print(f"{'':<22}{'':>7}  {head}  {'least':>9}{'median':>9}  {'median':>9}{'most':>9}")
    pairs, many = ([one for one in points if (one.processors == 2) == two] for two in (True, False))
    named = {"variation": "C²", "work": "W / S_o", "wire": "S_l / S_o", "processors": "P"}
    groups = [("P > 2", many)]
    for field, name in named.items():
        for value in sorted({getattr(one, field) for one in many}):
            groups.append((f"{name} = {value:g}", [one for one in many if getattr(one, field) == value]))
    groups.append(("C² = 0, S_l >= S_o", [one for one in many if one.variation == 0.0 and one.wire >= 1.0]))
    for value in VARIATIONS:
        groups.append((f"P = 2, C² = {value:g}", [one for one in pairs if one.variation == value]))
    for name, group in groups:
        lopc, logp, noise = ([getattr(one, field) for one in group] for field in ("lopc", "logp", "noise"))
        if group:
            lines = percent(lopc, 0, 0.5, 1), percent(logp, 0, 0.5), percent(noise, 0.5, 1)
            print(f"{name:<22}{len(group):>7}  {'  '.join(lines)}")
    for name, group in (("P > 2", many), ("P = 2", pairs)):
        outside, beyond = (sum(getattr(one, what) for one in group) for what in ("outside", "beyond"))
        print(f"outside the bounds, {name}: {outside} fixed points and {beyond} simulated intervals of {len(group)}")


def losses(found: list[Loss]) -> None:
    print(f"\nwork-piles, {len(found)} random settings: loss of throughput against the best number of servers, %")
    print(f"{'':<36}{'above 1%':>9}{'':>9}{'median':>9}{'95th':>9}{'99th':>9}{'most':>9}")
    bands = [("all", FEWEST, MOST), ("P = 2 to 7", 2, 7), ("P = 8 to 15", 8, 15), ("P = 16 to 64", 16, 64)]
    fields = {"rounded": "equation 6.8, rounded", "by_model": "best by the model", "chosen": "best_servers().servers"}
    for name, low, high in bands:
        group = [one for one in found if low <= one.processors <= high]
        for field, title in fields.items() if group else ():
            lost = np.array([getattr(one, field) for one in group])
            above = f"{(lost > ALLOWED).sum()} of {len(group)}"
            print(f"{name:<14}{title:<24}{above:>16}{percent(lost, 0.5, 0.95, 0.99, 1)}")
    noise = [one.noise for one in found]
    print(f"half of the interval of the last:{percent(noise, 0.5, 0.95, 0.99, 1):>57}")
    for one in found:
        if one.chosen > ALLOWED:
            lost = f"{100.0 * one.chosen:.2f} ± {100.0 * one.noise:.2f}"
            print(f"above 1%: P = {one.processors}, C² = {one.variation:g}: {lost}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer settings, shorter runs: 20 s")
    parser.add_argument("--settings", type=int, help="number of work-piles (default 1000, quick 40)")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw the plots there")
    parser.add_argument("--processes", type=int, default=len(usable_cpus()))
    options = parser.parse_args()
    processors = PROCESSORS[::2] if options.quick else PROCESSORS
    cycles = 5_000 if options.quick else 20_000
    settings = options.settings or (40 if options.quick else 1_000)
    points = [(*one, cycles) for one in itertools.product(processors, VARIATIONS, WORKS, WIRES)]
    with ProcessPoolExecutor(options.processes) as pool:
        errors(progress("all-to-all", pool.map(point, points, chunksize=8), len(points)))
        piles = [(number, cycles // 5) for number in range(settings)]
        losses(progress("work-piles", pool.map(loss, piles, chunksize=4), len(piles)))
    if options.plots:
        print(*save(lopc_plots.figures(), options.plots), sep="\n")


if __name__ == "__main__":
    main()
