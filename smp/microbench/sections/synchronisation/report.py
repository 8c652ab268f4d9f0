"""The report's section on synchronisation: fetch-and-add, barriers, empty supersteps, the hand-off of a line."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import NONE, Data, flag, flagged, number, section, table

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


def operations(data: Data) -> list[tuple[str, float, Data]]:
    """Return what does not go by p: a name, ns, and the row that says whether it is valid."""
    adds = data.get("fetch_add_ns") or {}
    contended = adds.get("contended") or {}
    most = max(contended, key=int, default="0")
    found = [
        ("line handed over, one way", data.get("handoff_store_ns"), "store", 2),
        ("  by compare-exchange", data.get("handoff_exchange_ns"), "exchange", 2),
        ("fetch-add alone", adds.get("alone"), "alone", 1),
        (f"fetch-add by {most}, contended", contended.get(most), "contended", int(most)),
    ]
    return [(name, ns, _row(data, what, p)) for name, ns, what, p in found if ns is not None]


def barriers(data: Data) -> list[tuple[int, list[float | None], Data]]:
    """Return for each p, ascending, a barrier's ns compiled and from Python, and the row of one that is not valid."""
    made = []
    for p, us in sorted((data.get("barrier_us") or {}).items(), key=lambda item: int(item[0])):
        ns = [None if us.get(how) is None else us[how] * 1e3 for how in ("compiled", "python")]
        rows = [_row(data, how, int(p)) for how in ("compiled", "python")]
        made.append((int(p), ns, next((row for row in rows if row.get("valid") is False), {})))
    return made


def _row(data: Data, what: str, p: int) -> Data:
    found = (row for row in data.get("rows", []) if (row["what"], row["processors"]) == (what, p))
    return next(found, {})


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
