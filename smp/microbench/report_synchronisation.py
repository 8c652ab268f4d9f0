"""The report's section on synchronisation: fetch-and-add, barriers, empty supersteps, the hand-off of a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType

from .report_format import NONE, Data, flag, flagged, number, section, table

Matrix = list[list[float | None]]

OPERATIONS = {
    "alone": "fetch-add by one processor",
    "contended": "fetch-add by all on one word",
    "store": "hand-off of a line, by load and store",
    "exchange": "hand-off of a line, by compare-exchange",
    "compiled": "barrier in a compiled loop",
    "python": "barrier from Python",
    "superstep": "empty superstep from Python",
}
MATRICES = {"store": "load and store", "exchange": "compare-exchange"}
WIDEST = 10
"""CPUs of a matrix that is printed; a larger one is in the profile."""


def synchronisation(profile: Data) -> Group:
    """Return the section of a profile whose synchronisation was measured."""
    return section("Synchronisation", profile["synchronisation"], _parts(profile["synchronisation"]))


def fact_rows(data: Data) -> list[tuple[str, str]]:
    """Return what it costs, and its ns, of operations that do not go by p: the alone, contended and hand-off times."""
    adds = data.get("fetch_add_ns") or {}
    contended = sorted((adds.get("contended") or {}).items(), key=lambda item: int(item[0]))
    found: list[tuple[str, Any]] = [
        ("hand-off of a line, one way", data.get("handoff_store_ns")),
        ("  by compare-exchange", data.get("handoff_exchange_ns")),
        ("fetch-add, alone", adds.get("alone")),
        *((f"fetch-add, contended by {p}", ns) for p, ns in contended[-1:]),
    ]
    return [(name, number(ns)) for name, ns in found if ns is not None]


def barrier_rows(data: Data) -> list[tuple[int, str, str]]:
    """Return for each p, ascending, what a barrier costs in ns: compiled, and from Python."""
    barriers = data.get("barrier_us") or {}
    return [
        (
            int(p),
            *(
                number(us * 1e3) if (us := barriers[p].get(name)) is not None else NONE
                for name in ("compiled", "python")
            ),
        )
        for p in sorted(barriers, key=int)
    ]


def _parts(data: Data) -> Iterator[RenderableType]:
    rows = data.get("rows") or []
    single = [row for row in rows if row["what"] not in MATRICES]
    if single:
        order = list(OPERATIONS)
        single = sorted(single, key=lambda row: (order.index(row["what"]), row["processors"]))
        cells = [
            [
                OPERATIONS[row["what"]] + flag(row),
                f"{row['processors']}{'*' if row.get('oversubscribed') else ' '}",
                *(number(row.get(name)) for name in ("ns", "cycles", "minimum_ns", "p95_ns")),
                f"{100 * row['clean_fraction']:.0f}" if "clean_fraction" in row else NONE,
            ]
            for row in single
        ]
        above = "* more processors than CPUs: they take turns" if any(r.get("oversubscribed") for r in single) else ""
        yield table(
            ("operation", "p ", "median\nns", "\ncycles", "minimum\nns", "p95\nns", "clean\n%"),
            cells,
            title="Time of one operation",
            caption="\n".join(filter(None, (above, flagged(single)))),
        )
    cpus = data.get("handoff_cpus") or []
    for name, how in MATRICES.items():
        matrix = (data.get("handoff_ns") or {}).get(name)
        if matrix and len(cpus) > 1:
            handed = [row for row in rows if row["what"] == name]
            yield _matrix(matrix, cpus, f"Hand-off of a line between two CPUs, one way, by {how} (ns)", flagged(handed))


def _matrix(matrix: Matrix, cpus: list[int], title: str, caption: str) -> RenderableType:
    shown = range(min(len(cpus), WIDEST))
    cells = [[f"CPU {cpus[i]}", *(number(matrix[i][j]) for j in shown)] for i in shown]
    if len(cpus) > WIDEST:
        caption = "\n".join(filter(None, (f"the first {WIDEST} of {len(cpus)} CPUs; the profile has all", caption)))
    return table(["", *(f"CPU {cpus[j]}" for j in shown)], cells, title=title, caption=caption)
