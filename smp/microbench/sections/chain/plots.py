"""Figure of a value that is passed on, after figures 10 and 11 of the MTA evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.figure import Figure
from smp._output.numbers import fixed
from smp.microbench.output.curves import Samples, doubted, nth, select
from smp.microbench.sections.waking.plots import PARTS, part

from .report import TITLES
from .rows import Chain


def figures(found: Chain, samples: Samples = None) -> Iterator[Figure]:
    """Describe the time of passing a value on, in all and per stream, with a column for each amount of work."""
    works = sorted({row.work for row in found.rows})
    panels = []
    for field in PARTS:
        for work in works:
            lines: list[tuple[str, list[Any], dict[str, Any]]] = [
                (title, mine, nth(k))
                for k, (how, title) in enumerate(TITLES.items())
                if (mine := select(found.rows, "streams", how=how, work=work))
            ]
            panels.append(part(field, lines, "streams", f"{work} iterations of work" if work else "no work"))
    yield Figure(
        "chain",
        _title(found),
        f"a value passes through all streams; median of the visits; {found.cpus} CPUs; ringed: not valid "
        "(after figures 10 and 11 of the MTA evaluation)",
        panels,
        columns=len(works),
        share_x="all",
        share_y="row",
        legend="passed on through",
    )


def _title(found: Chain) -> str:
    most = max(row.streams for row in found.rows)
    rows = {(row.how, row.work): row for row in found.rows if row.streams == most}
    pairs = [
        (row, rows["mass", work]) for (how, work), row in rows.items() if how == "chained" and ("mass", work) in rows
    ]
    if not pairs:
        return "Does it matter whether a value passes through one cell or along a chain of cells?"
    ratios = [chain.ns / one.ns for chain, one in pairs]
    low, high = fixed(min(ratios)), fixed(max(ratios))
    said = low if low == high else f"{low} to {high}"
    title = f"{most} streams pass a value along a chain of cells in {said} times the time of one cell"
    return doubted(title, [row for pair in pairs for row in pair])
