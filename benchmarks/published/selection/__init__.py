"""The selection experiment: how often models that were calibrated on an emulated machine choose what is the fastest.

    calibrate at few points  ─▶  choose for random inputs  ─▶  run all implementations  ─▶  count and time the errors

Source: E. A. Brewer, Portable High-Performance Supercomputing, chapters 4 and 5.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from smp import machines

from ..rows import Part, Row
from . import drawn, parameters, sorting, stencils
from .outcomes import Outcome, joined, penalties, share_right

SUMMARY = "choices by models: layouts of a stencil, sorts, and parameters, on four machines"
MACHINES = ("cm5", "alewife", "paragon", "atm")
LARGEST = 64
GRIDS = {16: (500, 0), 32: (500, 0), LARGEST: (3000, 2000)}
"""For each number of processors: random grids, and how many of them are near a predicted boundary."""
QUICK = {LARGEST: (200, 133)}
EVALUATIONS = 100_000
Case = tuple[str, int]
"""A machine and a number of processors."""


def results(quick: bool) -> list[Part]:
    """Run the experiment; the quick form has 64 processors and 200 grids."""
    grids, rng = QUICK if quick else GRIDS, np.random.default_rng(1)
    cases = [(name, p) for name in MACHINES for p in grids]
    layouts, sorts = {}, {}
    for name, p in cases:
        machine = machines.load(name)
        layouts[name, p], sorts[name, p] = stencils.Choosing(machine, p), sorting.Choosing(machine, p, rng)
        _tell(f"{name}, {p} processors: calibrated")
    outcomes = {}
    for name, p in cases:
        one = layouts[name, p]
        outcomes[name, p] = one.outcome(one.cases(*grids[p], np.random.default_rng(2)))
        _tell(f"{name}, {p} processors: stencils chosen")
    parts = [_stencils(outcomes), *_sorts(sorts), _parameters(layouts, sorts, 10 if quick else 25)]
    largest = {name: (layouts[name, LARGEST], outcomes[name, LARGEST]) for name in MACHINES}
    figures = [drawn.layouts(largest), drawn.algorithms({name: sorts[name, LARGEST] for name in MACHINES})]
    return [*parts, _cost(layouts["alewife", LARGEST]), Part("figures", figures=figures)]


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


def _stencils(outcomes: dict[Case, Outcome]) -> Part:
    rows = []
    for (name, p), outcome in outcomes.items():
        what = f"{name}, {p} processors"
        rows.append(share_right("table 4-1", what, outcome, "98.9 to 99.8", 99.0 if p == LARGEST else 98.5))
        rows += penalties("table 4-2", what, outcome)
    losses = np.concatenate([one.losses for one in outcomes.values()])
    right, wrong = 100 * float(np.mean(losses == 0)), losses[losses > 0]
    lost = 100 * float(wrong.mean()) if len(wrong) else 0.0
    rows.append(Row("table 4-1", f"all: right of {len(losses):,}", 99.42, right, "%", "pred", 99.0, 100.0))
    rows.append(Row("table 4-2", f"all: mean loss of the {len(wrong)} wrong", 2.12, lost, "%", "pred", high=2.0))
    worst = {f"{name}, {p}": outcome.worst() for (name, p), outcome in outcomes.items()}
    return Part("choices of a layout", rows, data={"worst": worst})


def _sorts(choosing: dict[Case, sorting.Choosing]) -> list[Part]:
    by_distance, by_runs, worst = [], [], {}
    for (name, p), one in choosing.items():
        what, found = f"{name}, {p} processors", []
        for width in sorting.WIDTHS:
            right = 100 * (1 - one.missed(width))
            of_width = f"{what}, {width} bits: numbers of keys"
            by_distance.append(Row("table 4-4", of_width, "99.39 to 100", right, "%", "pred", 99.0, 100.0))
            found.append(one.outcome(width))
        outcome = joined(found)
        by_runs += [share_right("", what, outcome, "", None), *penalties("", what, outcome)]
        worst[what] = [case for each in found for case in each.worst(5)]
        _tell(f"{what}: sorts chosen")
    mean = float(np.mean([row.ours for row in by_distance]))
    by_distance.append(Row("table 4-4", "all: numbers of keys", 99.84, mean, "%", "pred", 99.0, 100.0))
    return [
        Part("choices of a sort, over all numbers of keys up to 10,000", by_distance),
        Part("choices of a sort, in runs of which most are near a boundary", by_runs, data={"worst": worst}),
    ]


def _parameters(layouts: dict[Case, stencils.Choosing], sorts: dict[Case, sorting.Choosing], count: int) -> Part:
    rows, rng, data = [], np.random.default_rng(3), {}
    for name in MACHINES:
        found = parameters.extra_losses(layouts[name, LARGEST], count, rng)
        right = sum(loss <= parameters.SWING for _, _, loss in found)
        some = sum(best != (0, 0) for _, best, _ in found)
        what = f"{name}: extra rows and columns, right of {count}; the best are not 0, 0 in {some}"
        rows.append(Row("section 5.2", what, count, right, "", "pred", low=count))
        worst = max(loss for _, _, loss in found)
        rows.append(Row("section 5.2", f"{name}: worst loss", "", 100 * worst, "%", "shown"))
        data[name] = [{"predicted": guess, "best": best, "loss": loss} for guess, best, loss in found]
        digits = parameters.digit_losses(sorts[name, LARGEST], 10, rng)
        right = sum(loss <= parameters.SWING for _, _, loss in digits)
        rows.append(Row("section 5.3", f"{name}: digit of radix sort, right of 10", 10, right, "", "pred", low=10))
        _tell(f"{name}: parameters set")
    return Part("parameters", rows, data=data)


def _cost(choosing: stencils.Choosing) -> Part:
    """Return the time of a prediction; the only number that is not virtual."""
    predict = [model.predict for model in choosing.models.values()]
    begun = time.perf_counter()
    for k in range(EVALUATIONS):
        for one in predict:
            one(100 + k % 900, 100)
    each = (time.perf_counter() - begun) / EVALUATIONS / len(predict)
    return Part(
        "cost of a choice", [Row("", "prediction for an implementation", 2.0, 1e6 * each, "us", "pred", high=1.0)]
    )
