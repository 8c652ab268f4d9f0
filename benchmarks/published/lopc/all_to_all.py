"""The error of the response time, where all processors send requests to all (chapter 5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from smp._output.figure import Axis, Figure, Mark, Panel, Series
from smp._output.table import Column, Table, text

from ..rows import Part, Row
from .runs import Case, Found, all_found

HANDLER = 200.0
PROCESSORS, VARIATIONS = (4, 16, 32, 64), (0.0, 0.5, 1.0, 2.0)
WORKS, WIRES = (0.0, 0.25, 1.0, 4.0, 16.0), (0.0, 0.25, 1.0, 4.0)
"""W and S_l, in handlers."""
CYCLES, QUICK_CYCLES = 2000, 600
"""Cycles that count in each setting."""
QUICK = ((4, 16), (0.0, 1.0), (0.0, 1.0, 16.0), (0.0, 1.0))
LEAST = -0.002
MOST = {0.0: 0.068, 0.5: 0.093, 1.0: 0.112, 2.0: 0.136}
"""The errors of the model against its own simulation, by C²; all are above `LEAST` (docs/lopc.md)."""
WITH_WORK = 0.034
"""The same for W >= 4 S_o."""
LOGP = {0.0: -0.39, 0.5: -0.42, 1.0: -0.44, 2.0: -0.48}
"""The worst errors of LogP there."""
Group = tuple[str, float, list[tuple[Case, Found]]]


def part(quick: bool) -> Part:
    """Run all settings of one hop."""
    sizes = QUICK if quick else (PROCESSORS, VARIATIONS, WORKS, WIRES)
    return _part("all-to-all", cases(_cycles(quick), *sizes), _groups)


def part_apart(quick: bool) -> Part:
    """Run settings with protocol processors."""
    return _part("all-to-all, protocol processors", cases(_cycles(quick), *_one_size(quick), apart=True), _by_variation)


def part_of_two_hops(quick: bool) -> Part:
    """Run settings whose requests visit two nodes."""
    return _part("requests of two hops", cases(_cycles(quick), *_one_size(quick), hops=2), _by_variation)


def _one_size(quick: bool) -> tuple[Sequence[int], Sequence[float], Sequence[float], Sequence[float]]:
    return ((16,), *(QUICK[1:] if quick else (VARIATIONS, WORKS, WIRES)))


def _cycles(quick: bool) -> int:
    return QUICK_CYCLES if quick else CYCLES


def cases(
    cycles: int,
    processors: Iterable[int],
    variations: Iterable[float],
    works: Iterable[float],
    wires: Iterable[float],
    apart: bool = False,
    hops: int = 1,
) -> list[Case]:
    """Return the product of settings."""
    return [
        Case(p, work * HANDLER, wire * HANDLER, HANDLER, c2, hops=hops, apart=apart, cycles=cycles)
        for p, c2, work, wire in itertools.product(processors, variations, works, wires)
    ]


def _part(title: str, chosen: list[Case], groups: Callable[[list[tuple[Case, Found]]], list[Group]]) -> Part:
    done = list(zip(chosen, all_found(chosen, title), strict=True))
    grouped = groups(done)
    rows = []
    for name, most, group in grouped:
        least_of = min(one.error + one.noise for _, one in group)
        most_of = max(one.error - one.noise for _, one in group)
        rows.append(Row(name, "error of R, least", f"{LEAST:.1%}", 100 * least_of, "%", "pred", 100 * LEAST))
        rows.append(Row(name, "error of R, most", f"{most:.1%}", 100 * most_of, "%", "pred", None, 100 * most))
    for c2, printed in LOGP.items() if groups is _groups else ():
        group = [one for case, one in done if case.variation == c2]
        if group:
            worst = 100 * min(one.error_of_logp for one in group)
            rows.append(Row(f"C² = {c2:g}", "error of R by LogP, worst", f"{printed:.0%}", worst, "%", "shown"))
    data = {"settings": [_record(case, one) for case, one in done]}
    return Part(title, rows, figures=[_figure(title, done)], tables=[_table(title, grouped)], data=data)


def _by_variation(done: list[tuple[Case, Found]]) -> list[Group]:
    found = sorted({case.variation for case, _ in done})
    return [(f"C² = {c2:g}", MOST[c2], [one for one in done if one[0].variation == c2]) for c2 in found]


def _groups(done: list[tuple[Case, Found]]) -> list[Group]:
    with_work = [one for one in done if one[0].work >= 4 * HANDLER]
    return [*_by_variation(done), ("W >= 4 S_o", WITH_WORK, with_work)]


def _record(case: Case, one: Found) -> dict[str, float]:
    names = ("processors", "variation", "work", "wire", "handler", "hops", "apart")
    measured = {"lopc": one.lopc, "logp": one.logp, "measured": one.measured, "noise": one.noise, "cycles": one.cycles}
    return {name: getattr(case, name) for name in names} | measured


def _table(title: str, groups: list[Group]) -> Table:
    """Return the table of errors, of which the rows with targets take off the interval."""
    percent = ("%", "fixed")
    columns = (
        text("settings"),
        Column("count"),
        Column("LoPC, least", *percent, digits=1, scale=100.0),
        Column("LoPC, median", *percent, digits=1, scale=100.0),
        Column("LoPC, most", *percent, digits=1, scale=100.0),
        Column("LogP, worst", *percent, digits=0, scale=100.0),
        Column("LogP, median", *percent, digits=0, scale=100.0),
        Column("interval, median", *percent, digits=1, scale=100.0),
        Column("interval, most", *percent, digits=1, scale=100.0),
    )
    rows = []
    for name, _, group in groups:
        lopc = [one.error for _, one in group]
        logp = [one.error_of_logp for _, one in group]
        noise = [one.noise for _, one in group]
        of_lopc = (min(lopc), float(np.median(lopc)), max(lopc))
        rows.append(
            [name, len(group), *of_lopc, min(logp), float(np.median(logp)), float(np.median(noise)), max(noise)]
        )
    return Table(f"{title}: errors of the response time, and half of its 95% interval", columns, rows)


def _figure(title: str, done: list[tuple[Case, Found]]) -> Figure:
    """Draw the errors of both models by the work between two requests."""
    series = []
    for k, (name, error) in enumerate((("LoPC", "error"), ("LogP", "error_of_logp"))):
        x = [case.work / HANDLER for case, _ in done]
        y = [100 * getattr(one, error) for _, one in done]
        series.append(Series(name, x, y, kind="points", colour=k, marker=k))
    axes = Axis("work between two requests, W / S_o", scale="symlog"), Axis("error of the response time", "%")
    return Figure(
        f"lopc-machine-{title.replace(',', '').replace(' ', '-')}",
        f"Errors of the models on the emulated machine: {title}",
        "Each point is one setting of the machine, with its number of processors, its wire and its handlers. Points "
        "above zero are settings for which the model predicts too much time.",
        [Panel(*axes, series, marks=[Mark(0.0, axis="y")])],
    )
