"""Figure of a value that is passed on, after figures 10 and 11 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.figure import Figure
from smp.microbench.output.curves import Samples, select
from smp.microbench.sections.waking.plots import parts

from .report import TITLES
from .rows import Chain

DASHES = {"mass": "solid", "chained": "dashed", "packed": "dotted"}


def figures(found: Chain, samples: Samples = None) -> Iterator[Figure]:
    """Describe the time of passing a value on, in all and per stream."""
    works = sorted({row.work for row in found.rows})
    lines: list[tuple[str, list[Any], dict[str, Any]]] = []
    for how, work in dict.fromkeys((row.how, row.work) for row in found.rows):
        look = {"dash": DASHES[how], "colour": works.index(work), "marker": list(DASHES).index(how)}
        mine = select(found.rows, "streams", how=how, work=work)
        lines.append((f"{TITLES[how]},\n{work} iterations", mine, look))
    yield Figure(
        "chain",
        "Passing a value on: one cell against a chain of cells",
        f"a value through the hands of all, median of the visits; {found.cpus} CPUs; ringed: not valid "
        "(after figures 10 and 11 of the MTA evaluation)",
        parts(lines, "streams"),
        legend="cells, work",
    )
