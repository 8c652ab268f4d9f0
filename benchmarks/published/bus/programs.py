"""Figure 3 and tables 9 to 11: the sorting programs in the interval from good to bad.

The programs are those of `smp.kernels`; their supersteps and labels are those of the study.  The good end is the sum of
what HrHwM-c predicts for the supersteps, and the bad end that of HrHwM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import smp
from smp._output.figure import Axis, Figure, Panel, Series
from smp.kernels.sorting.column import sort_column
from smp.kernels.sorting.radix import sort_radix
from smp.kernels.sorting.sample import sort_sample
from smp.machines import MachineFile
from smp.models.supersteps.locality import loc, m_over_g
from smp.models.supersteps.published import PAPER_STEPS, PROCESSORS
from smp.models.supersteps.published.supersteps import TABLES

from ..rows import Part, Row
from .functions import Fitted
from .patterns import WORD

PROGRAMS: dict[str, Callable[..., Any]] = {"radix": sort_radix, "sample": sort_sample, "column": sort_column}
KEYS, QUICK = (50_000, 250_000, 500_000), (50_000,)
"""Keys of each processor, of the study's."""
Times = dict[str, dict[int, tuple[float, float, float]]]
"""For each program and number of keys: good, measured and bad seconds."""


def part(machine: MachineFile, fits: dict[int, Fitted], quick: bool) -> Part:
    """Sort keys, and place the times in their intervals."""
    rows: list[Row] = []
    for fit in fits.values():
        found, times = _sorted(machine, fit, QUICK if quick else KEYS)
        rows += found
    return Part("programs", rows, [_figure(times, max(fits))])


def _sorted(machine: MachineFile, fit: Fitted, keys: tuple[int, ...]) -> tuple[list[Row], Times]:
    """Sort on p processors; return the rows, and the times of the programs."""
    p, times, rows = fit.p, Times(), list[Row]()
    for name, program in PROGRAMS.items():
        steps: dict[str, tuple[list[float], list[float]]] = {label: ([], []) for label in PAPER_STEPS[name]}
        times[name] = {}
        for each in keys:
            good, took, bad, labels = _run(machine, fit, program, each * p)
            times[name][each * p] = float(good.sum()), float(took.sum()), float(bad.sum())
            for label, (locs, ratios) in steps.items():
                here = labels == label
                if here.any():
                    locs.append(float(loc(took[here].sum(), good[here].sum(), bad[here].sum())))
                    ratios.append(float(m_over_g(took[here].sum(), good[here].sum())))
        for n, (good_end, measured, bad_end) in times[name].items():
            what = f"{name}, {n:,} keys, p = {p}: measured"
            printed = f"{good_end * 1e3:.3g} to {bad_end * 1e3:.3g}"
            rows.append(Row("figure 3", what, printed, measured * 1e3, "ms", "pred", good_end * 1e3, bad_end * 1e3))
        for label, (locs, ratios) in steps.items():
            if p in PROCESSORS and locs:
                printed_loc, printed_ratio = PAPER_STEPS[name][label].at(p)
                table, where = f"table {TABLES[name]}", f"{label}, p = {p}"
                rows.append(Row(table, f"{where}: Loc", printed_loc, float(np.mean(locs)), "", "shown"))
                if printed_ratio is not None:
                    rows.append(Row(table, f"{where}: M/G", printed_ratio, float(np.mean(ratios)), "", "shown"))
    return rows, times


def _run(machine: MachineFile, fit: Fitted, program: Callable[..., Any], n: int) -> tuple[Any, Any, Any, Any]:
    """Return the good, measured and bad seconds of each superstep, and the labels."""
    with smp.emulated(fit.p, machine=machine, limit=1 << 40) as opened:
        keys = opened.array(np.random.default_rng(n).integers(0, 1 << 31, n, dtype=np.int32))
        steps = opened.run(program, keys).summary()
        assert (np.diff(keys.view) >= 0).all()
    hr, hw, m = (steps[f"{count}_bytes"] / WORD for count in ("hr", "hw", "m"))
    good, bad = (fit.predicted(family, hr, hw, m) for family in ("good", "bad"))
    return good, steps["copy_in"] + steps["copy_out"], bad, steps["label"]


def _figure(times: Times, p: int) -> Figure:
    panels = []
    for name, found in times.items():
        series = [
            Series(what, list(found), [1e3 * each[k] for each in found.values()], colour=k, marker=k)
            for k, what in enumerate(("good", "measured", "bad"))
        ]
        panels.append(Panel(Axis("keys", scale="log"), Axis("time", "ms", scale="log"), series, name))
    return Figure(
        "bus-figure-03",
        f"Sorting programs in their intervals, p = {p} (figure 3)",
        "Times are of copy-in and copy-out.",
        panels,
    )
