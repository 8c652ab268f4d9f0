"""Figures 7-2 and 7-4 to 7-9 of Brewer's thesis, measured on the emulated CM-5, with the numbers that he prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import BLACK, GREY, Axis, Figure, Mark, Panel, Series

from .comparison import (
    BLOCK,
    CONGESTED,
    SIZES,
    capacities,
    collisions,
    scattered,
    transposed,
)
from .jobs import Job, Results
from .patterns import CMMD, MATCHED, NODES, ONCE, OPEN, PLAIN, Loop, barriers, send, transpose

RATE = Axis("rate of a node, one direction", "MB/s", low=0.0)
SIZE = Axis("size of a block", "bytes", scale="log")
TRIALS = 1000
EVERY = 1000
"""Cycles between two samples of figure 7-7."""


def figures(found: Results) -> Iterator[Figure]:
    """Describe the figures, except 7-7."""
    yield held()
    yield busiest()
    yield targets(found)
    yield by_size(found)
    yield matching(found)
    yield interleaving(found)


def held() -> Figure:
    packets = capacities()
    nodes = list(packets)
    values = np.array(list(packets.values()))
    axis = Axis("nodes", scale="log", ticks=nodes)
    printed = Mark(10.0, text="printed: about 10", axis="y", colour=GREY, dash="dashed")
    one = Series("emulated", nodes, values, marker=0)
    both = Series("emulated", nodes, values * nodes, marker=0)
    return Figure(
        "networks-7-2-capacity",
        "Packets that the CM-5's network holds while no node receives (figure 7-2)",
        "A level of the tree is added at 8, 32 and 128 nodes; more levels hold more packets.",
        [
            Panel(axis, Axis("packets a node", low=0.0, high=14.0), [one], "of each node", [printed]),
            Panel(axis, Axis("packets", scale="log"), [both], "of all nodes"),
        ],
    )


def busiest() -> Figure:
    most = collisions(TRIALS)
    least, largest = int(most.min()), int(most.max())
    values = range(least, largest + 1)
    counts = [int((most == value).sum()) for value in values]
    marks = [
        Mark(4.3 - least, text="printed mean: 4.3", axis="y", colour=GREY, dash="dashed"),
        Mark(float(most.mean()) - least, text=f"our mean: {most.mean():.2f}", axis="y"),
    ]
    bars = Series("", counts, range(len(values)), kind="bar")
    names = Axis("most transfers to one processor", names=[str(value) for value in values])
    panel = Panel(Axis("trials"), names, [bars], marks=marks)
    return Figure(
        "networks-7-4-collisions",
        f"Most of 64 random transfers that meet at one processor, in {TRIALS} trials (figure 7-4)",
        "The exact mean is 3.955: random targets take about four times as long as a permutation.",
        [panel],
    )


def targets(found: Results) -> Figure:
    names = ("random targets", "cyclic shift by 4", "exchange")
    panels = []
    for loop in (PLAIN, MATCHED, ONCE):
        jobs = [Job(pattern, 1, BLOCK, loop) for pattern in ("random", "shift", "exchange")]
        values = [found.mean(job) for job in jobs]
        printed = Series("printed", [5.3 / 3.6, 5.3, 5.3], range(3), kind="points", colour=BLACK, hollow=True)
        bars = Series("emulated", values, range(3), kind="bar")
        panels.append(Panel(Axis("rate of a node", "MB/s", low=0.0), Axis("", names=names), [bars, printed], loop.name))
    return Figure(
        "networks-7-5-targets",
        "Rates of blocks of 4 KB by the distribution of their targets (figure 7-5)",
        "The thesis does not say which loop it used; 5.3 MB/s lies between the two that are matched.",
        panels,
        share_x="all",
        share_y="all",
    )


def _curve(name: str, found: Results, job: Any, colour: int, **look: Any) -> Series:
    """Return a line over the sizes of blocks, with the range of the seeds."""
    rates = [found.of(job(size)) for size in SIZES]
    return Series(
        *(name, SIZES, [one.mean() for one in rates]),
        low=[one.min() for one in rates],
        high=[one.max() for one in rates],
        colour=colour,
        marker=colour,
        **look,
    )


def _printed(name: str, points: list[tuple[float, float]], colour: int) -> Series:
    x, y = zip(*points, strict=True)
    return Series(name, x, y, kind="points", colour=colour, hollow=True)


def by_size(found: Results) -> Figure:
    ours = [
        _curve("Strata, barrier each 512 bytes", found, lambda size: transposed(MATCHED, size, barriers(size)), 0),
        _curve("Strata, barrier each round", found, lambda size: transposed(MATCHED, size, 1), 1),
        _curve("CMMD, barrier each round", found, lambda size: transposed(CMMD, size, 1), 2),
        _curve("Strata, no barriers", found, lambda size: transposed(MATCHED, size), 3),
        _curve("CMMD, no barriers", found, lambda size: transposed(CMMD, size), 4),
    ]
    hundred = float(found.mean(transposed(MATCHED, rounds=100)))
    ours.append(Series("Strata, no barriers, 100 rounds", [BLOCK], [hundred], kind="points", colour=3))
    printed = [
        _printed("printed: CMMD with barriers", [(BLOCK, 3.6)], 2),
        _printed("printed: Strata without, 32 and 100 rounds", [(BLOCK, 2.22), (BLOCK, 1.67)], 3),
        _printed("printed: CMMD without, asymptote", [(1024, 1.43)], 4),
    ]
    return Figure(
        "networks-7-6-barriers",
        "Transpose as cyclic shifts, with and without barriers (figure 7-6)",
        "Each processor sends 128 KB in all, so the largest blocks have only 32 rounds. Hollow points are printed.",
        [Panel(SIZE, RATE, [*ours, *printed])],
    )


def matching(found: Results) -> Figure:
    ours = [
        _curve(loop.name, found, lambda size, loop=loop: transposed(loop, size, 1), colour)
        for colour, loop in enumerate((ONCE, MATCHED, PLAIN, CMMD))
    ]
    printed = [
        _printed("printed: poll once", [(BLOCK, 5.33)], 0),
        _printed("printed: matched, 10% less", [(BLOCK, 5.33 / 1.1)], 1),
        _printed("printed: CMMD", [(BLOCK, 3.6)], 3),
    ]
    return Figure(
        "networks-7-8-matching",
        "Bandwidth matching and the transpose with a barrier each round (figure 7-8)",
        "Matching gains less than printed: half of the rounds meet the limit of the narrowest cut, 5 MB/s.",
        [Panel(SIZE, RATE, [*ours, *printed])],
    )


def interleaving(found: Results) -> Figure:
    ours = [
        _curve("transpose, barriers", found, lambda size: transposed(MATCHED, size, barriers(size)), 0),
        _curve(f"transpose, {OPEN} open", found, lambda size: transposed(PLAIN, size, together=OPEN), 1),
        _curve(f"random targets, {OPEN} open", found, lambda size: scattered(PLAIN, size, OPEN), 2),
        _curve("transpose, no barriers", found, lambda size: transposed(PLAIN, size), 3),
        _curve("random targets", found, lambda size: scattered(PLAIN, size), 4),
    ]
    gains = [
        Series(
            name,
            SIZES,
            [found.mean(job(PLAIN, size, together=OPEN)) / found.mean(job(PLAIN, size)) for size in SIZES],
            colour=colour,
            marker=colour,
        )
        for name, job, colour in (("gain, transpose", transposed, 1), ("gain, random targets", scattered, 2))
    ]
    marks = [
        Mark(2.1, text="printed: transpose 2.1", axis="y", colour=1, dash="dashed"),
        Mark(1.8, text="printed: random 1.8", axis="y", colour=2, dash="dashed"),
    ]
    gain = Axis("rate with 8 transfers open, over one", "times", low=0.0)
    return Figure(
        "networks-7-9-interleaving",
        "Packets of several transfers in turn (figure 7-9)",
        "For blocks over 400 bytes, interleaving doubles the rate where no schedule is known.",
        [Panel(SIZE, RATE, ours), Panel(SIZE, gain, gains, marks=marks)],
    )


def congestion_picture(folder: Path) -> Path:
    """Draw figure 7-7: packets in the network for each processor against time, without and with barriers."""
    from matplotlib import pyplot

    runs: tuple[tuple[str, Loop, int], ...] = (
        ("without barriers", MATCHED, 0),
        ("with a barrier each round", MATCHED, 1),
    )
    figure, axes = pyplot.subplots(2, 1, figsize=(12, 8), layout="constrained", sharex=True)
    pictures: list[NDArray[np.int64]] = []
    for _, loop, every in runs:
        options = {"barrier_every": every, "sample_every": EVERY, "samples": 1 << 14}
        pictures.append(send(transpose(NODES), CONGESTED, loop, 1, **options).picture)
    darkest = 17
    for part, picture, (name, _, _) in zip(axes, pictures, runs, strict=True):
        extent = (0.0, len(picture) * EVERY / 1000, -0.5, NODES - 0.5)
        shown = part.imshow(
            picture.T,
            origin="lower",
            aspect="auto",
            cmap="Greys",
            vmin=0,
            vmax=darkest,
            extent=extent,
            interpolation="nearest",
        )
        part.set_title(f"{name}: at most {picture.max()} packets for one processor", loc="left", fontsize=10.5)
        part.set_ylabel("processor")
    axes[-1].set_xlabel("time, thousands of cycles")
    figure.colorbar(
        shown, ax=axes, label=f"packets in the network for the processor; black: {darkest} (printed most) or more"
    )
    figure.suptitle("Transpose of blocks of 1,600 bytes (figure 7-7)", x=0.01, ha="left")
    path = folder / "networks-7-7-congestion.png"
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return path
