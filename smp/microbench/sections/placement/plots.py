"""Figure of the placement over time, with the readings of a campaign and the states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import number, percent
from smp.microbench.output.curves import Samples
from smp.models.placement_log import READING
from smp.profiles.records import PlacementState

from .report import describe
from .rows import Placement

MOST = 4_000
"""Largest number of points in a panel; if there are more readings, evenly spaced ones are drawn."""


def figures(found: Placement, samples: Samples = None) -> Iterator[Figure]:
    """Describe the figure of the readings over time, with a panel for each number of processors."""
    if samples is None or samples.dtype != READING or not len(samples):
        return
    panels = [_panel(int(p), states, samples[samples["p"] == int(p)]) for p, states in (found.states or {}).items()]
    if panels:
        yield Figure(
            "placement",
            "How were the CPUs placed during the measurement?",
            "hand-off of a line between neighbouring CPUs, one way, before and after the samples of all sections; "
            "a colour for each state",
            panels,
            legend="state",
            share_y="all",
        )


def _panel(p: int, states: list[PlacementState], readings: NDArray[np.void]) -> Panel:
    readings = np.sort(readings, order="at_s")
    readings = readings[:: max(1, -(-len(readings) // MOST))]
    seconds, ns = readings["at_s"] - readings["at_s"][0], readings["ns"]
    ends = [(state.low_ns, np.inf if state.high_ns is None else state.high_ns) for state in states]
    inside = [(ns >= low) & (ns < high) for low, high in ends]
    series = [
        Series(f"{number(state.ns)} ns, {percent(state.share)}%", seconds[mine], ns[mine], kind="points", colour=k % 6)
        for k, (state, mine) in enumerate(zip(states, inside, strict=True))
    ]
    rest = ~np.any(inside, axis=0)
    if rest.any():
        series.append(Series("in no state", seconds[rest], ns[rest], kind="points", colour=GREY))
    marks = [Mark(state.ns, axis="y", colour=k % 6, dash="dotted") for k, state in enumerate(states)]
    title = f"p = {p}: {describe(states).split(',')[0]}"
    return Panel(Axis("time", "seconds"), Axis("hand-off", "ns", "log"), series, title, marks)
