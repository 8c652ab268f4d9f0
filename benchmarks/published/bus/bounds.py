"""The price of a further word of every processor: bounds by the bandwidth of the bus, and the part of the cache.

good    a read word is a part of one transfer, a written word of two: its line is fetched, and written back later
bad     a word is a whole transfer at least
"""

from __future__ import annotations

import numpy as np

from smp._output.figure import Axis, Figure, Panel, Series
from smp.machines import MachineFile
from smp.models.supersteps.suites import Pattern

from ..rows import Part, Row
from .functions import Fitted
from .patterns import WORD, Family, timed

US = 1e6
SIZES: dict[tuple[Family, str], tuple[int, int]] = {
    ("good", "beyond the cache"): (700_000, 1_000_000),
    ("bad", "lines fit into the cache"): (5_000, 15_000),
    ("bad", "beyond the cache"): (20_000, 40_000),
}
Prices = dict[tuple[str, str, str], float]


def part(machine: MachineFile, fits: dict[int, Fitted]) -> Part:
    """Measure the prices for all numbers of processors, and compare them with the bounds."""
    prices = {p: _prices(machine, p) for p in fits}
    assert machine.memory is not None
    assert machine.network is not None
    assert machine.memory.line
    assert machine.network.link_bandwidth
    transfer = US * machine.memory.line / machine.network.link_bandwidth[0]
    words = machine.memory.line // WORD
    rows = []
    for p, found in prices.items():
        for (family, where, what), price in found.items():
            transfers = 1 if family == "bad" or what == "read" else 2
            bound = p * transfers * transfer / (words if family == "good" else 1)
            title = f"{family}, {where}: word {what}, p = {p}"
            rows.append(Row("bandwidth", title, f">= {bound:.4f}", price, "us", "pred", 0.999 * bound, None))
        for what in ("read", "written"):
            inside, beyond = (found["bad", where, what] for family, where in SIZES if family == "bad")
            title = f"bad: word {what} beyond / within the cache, p = {p}"
            rows.append(Row("section 4.2.2", title, "about 1", beyond / inside, "", "pred", 0.8, 1.25))
    return Part("bounds", rows, [_figure(prices, transfer, words)])


def _prices(machine: MachineFile, p: int) -> Prices:
    """Return the us of a further word of every processor, by family, place and direction."""
    found: Prices = {}
    for (family, where), sizes in SIZES.items():
        for what in ("read", "written"):
            counts = [(np.full(p, h), np.zeros(p, np.int64))[:: 1 if what == "read" else -1] for h in sizes]
            patterns = [Pattern("vary", p, h, *each) for h, each in zip(sizes, counts, strict=True)]
            low, high = timed(machine, family, p, patterns).seconds
            found[family, where, what] = US * float(high - low) / (sizes[1] - sizes[0])
    return found


def _figure(prices: dict[int, Prices], transfer: float, words: int) -> Figure:
    panels = []
    families: tuple[Family, ...] = ("good", "bad")
    for family in families:
        series = [
            Series(
                what,
                list(prices),
                [found[family, "beyond the cache", what] for found in prices.values()],
                colour=n,
                marker=n,
            )
            for n, what in enumerate(("read", "written"))
        ]
        one = transfer / (words if family == "good" else 1)
        ends = [min(prices), max(prices)]
        series.append(Series("a transfer of each processor", ends, [one * p for p in ends], colour=5, dash="dashed"))
        axis = Axis("processors", ticks=(2, 4, 8, 12, 16))
        panels.append(Panel(axis, Axis("price of a word", "us", low=0), series, f"{family}, beyond the cache"))
    return Figure(
        "bus-bounds",
        "The price of a further word of every processor",
        "Where a line lies above the latency of a miss, the bus is full.",
        panels,
    )
