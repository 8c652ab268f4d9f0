"""Figures 18 to 20: list ranking."""

from __future__ import annotations

import numpy as np

from smp._output.figure import Axis, Figure, Mark, Panel, Series
from smp._runtime.emulated.multithreaded.experiments.ranking import random_list, ranked
from smp.machines import MachineFile

from ..rows import Part, Row, near

Line = dict[int, float]
SHOWN = {"serial": "serial", "wyllie_cells": "Wyllie with cells", "wyllie_lists": "Wyllie, two lists"}
SHOWN |= {"reid_miller": "Reid-Miller", "reid_miller_threads": "Reid-Miller, threads"}
COUNTS = {
    "serial": (1,),
    "wyllie_cells": (40,),
    "wyllie_lists": (2, 8, 16, 32, 64),
    "reid_miller": (120,),
    "reid_miller_threads": (2, 8, 16, 32, 64),
}


def part(machine: MachineFile, quick: bool) -> Part:
    """Rank random lists with all algorithms; the results are checked."""
    lengths = (1_000, 10_000, 100_000) if quick else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
    counts = {name: (found[0], found[-1]) if quick else found for name, found in COUNTS.items()}
    lines = {
        (name, streams): {n: _microseconds(machine, name, n, streams) for n in lengths}
        for name, of in counts.items()
        for streams in dict.fromkeys(of)
    }
    serial = lines["serial", 1]
    rows = [near("figure 18", f"serial, {n:,} nodes", 2.1, serial[n], "us/node", "pred", 0.1) for n in serial]
    for n in (10_000, 100_000):
        for figure, name, streams, above in (
            ("figure 18", "wyllie_cells", 40, True),
            ("figure 19", "wyllie_lists", 64, False),
            ("figure 18", "reid_miller", 120, False),
        ):
            what = f"{SHOWN[name]}, {streams} streams / serial, {n:,} nodes"
            ratio = lines[name, streams][n] / serial[n]
            low, high = (1, None) if above else (None, 1)
            rows.append(Row(figure, what, "above 1" if above else "below 1", ratio, "ratio", "pred", low, high))
    threads = lines["reid_miller_threads", 64]
    for n, above in ((1_000, True), (100_000, False)):
        what = f"Reid-Miller, 64 threads / serial, {n:,} nodes"
        low, high = (1, None) if above else (None, 1)
        rows.append(Row("figure 20", what, "crosses 1", threads[n] / serial[n], "ratio", "pred", low, high))
    data = {f"{SHOWN[name]}, {streams}": found for (name, streams), found in lines.items()}
    return Part("list ranking", rows, _figures(lines), data=data)


def _microseconds(machine: MachineFile, name: str, n: int, streams: int) -> float:
    order = random_list(n)
    found = ranked(machine, name, order, streams)
    if (found.ranks[order] != np.arange(n)).any():
        raise ArithmeticError(f"{name} with {streams} streams ranks a list of {n} nodes wrongly")
    return found.seconds / n * 1e6


def _figures(lines: dict[tuple[str, int], Line]) -> list[Figure]:
    def figure(number: int, title: str, reading: str, keys: list[tuple[str, int]], low: float) -> Figure:
        series = [
            Series(
                f"{SHOWN[name]}, {streams}" if streams > 1 else SHOWN[name],
                list(lines[name, streams]),
                list(lines[name, streams].values()),
                colour=n % 6,
                marker=n,
                dash="solid" if name != "serial" else "dashed",
            )
            for n, (name, streams) in enumerate(keys)
        ]
        marks = [Mark(2.1, text="printed for serial: 2.1", axis="y", dash="dotted")]
        return Figure(
            f"mta-figure-{number}",
            title,
            reading,
            [Panel(Axis("nodes", scale="log"), Axis("time of a node", "us", "log", low, 100), series, marks=marks)],
            legend="algorithm, streams",
        )

    of = {name: [key for key in lines if key[0] == name] for name in SHOWN}
    best = of["wyllie_lists"][-1:]
    return [
        figure(18, "List ranking, parallel by the compiler (figure 18)", "The hardware starts the streams.",
               [*of["serial"], *of["wyllie_cells"], *of["reid_miller"]], 0.05),
        figure(19, "Wyllie's algorithm on two lists (figure 19)", "The runtime creates the streams.",
               [*of["serial"], *of["wyllie_lists"], *of["reid_miller"]], 0.05),
        figure(20, "The Reid-Miller algorithm with threads (figure 20)", "The runtime creates the streams.",
               [*of["serial"], *best, *of["reid_miller_threads"]], 0.05),
    ]  # fmt: skip
