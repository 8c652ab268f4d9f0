"""Tables 5 to 8: the errors of the functions on suites that they were not fitted on, and which function is best."""

from __future__ import annotations

from smp._output.figure import Axis, Figure, Panel, Series
from smp.models.supersteps.access import FUNCTIONS, PAPER_ERRORS
from smp.models.supersteps.published import ERROR_TABLES, paper_errors

from ..rows import Part, Row
from .functions import BEST, Fitted

CASES = sorted({(family, label, suite) for family, _, label, suite in PAPER_ERRORS})
WITHIN = 0.07
"""The study's bound on the average errors of its best functions."""


def part(fits: dict[int, Fitted]) -> Part:
    """Compare the average errors, and the ranks of the functions."""
    rows = []
    for p, fit in fits.items():
        printed = {(row["family"], row["name"], row["set"], row["suite"]): row["average"] for row in paper_errors(p)}
        for family, label, suite in CASES:
            ours = {name: fit.average(family, name, label, suite) for name in FUNCTIONS[family]}
            theirs = {name: printed.get((family, name, label, suite)) for name in FUNCTIONS[family]}
            table, where = f"table {ERROR_TABLES[family, suite]}", f"{label}, p = {p}"
            rows += [
                Row(table, f"{where}: {name}", "-" if theirs[name] is None else theirs[name], error, "", "shown")
                for name, error in ours.items()
            ]
            rows += _ranks(table, where, family, ours, {name: e for name, e in theirs.items() if e is not None})
    return Part("errors", rows, [_figure(fits)])


def _ranks(table: str, where: str, family: str, ours: dict[str, float], theirs: dict[str, float]) -> list[Row]:
    """Return whether the best and the worst function are those of the study, and HM and HrHw in its order."""
    best = BEST[family]
    rank = 1 + sum(error < ours[best] - 5e-4 for error in ours.values())  # the study prints three digits
    rows = [
        Row(table, f"{where}: rank of {best}", 1, rank, "of 4", "pred", 1, 1),
        Row(table, f"{where}: {best} on average", f"<= {WITHIN}", ours[best], "", "pred", None, WITHIN),
    ]
    if theirs:
        worst = max(theirs, key=theirs.__getitem__)
        from_last = 1 + sum(error > ours[worst] for error in ours.values())
        ratio = theirs["HM"] / theirs["HrHw"]
        low, high = (None, 1.0) if ratio < 1 else (1.0, None)
        rows += [
            Row(table, f"{where}: rank of {worst} from the last", 1, from_last, "of 4", "pred", 1, 1),
            Row(table, f"{where}: HM / HrHw", ratio, ours["HM"] / ours["HrHw"], "", "pred", low, high),
        ]
    return rows


def _figure(fits: dict[int, Fitted]) -> Figure:
    """Draw the errors against p."""
    panels = []
    for family, label, suite in (("good", "R1", 3), ("bad", "all", 3)):
        series = []
        for n, name in enumerate(FUNCTIONS[family]):
            ours = [fit.average("good" if family == "good" else "bad", name, label, suite) for fit in fits.values()]
            theirs = [error for error, _ in PAPER_ERRORS[family, name, label, suite]]
            series.append(Series(name, list(fits), ours, colour=n, marker=n))
            series.append(Series("", [2, 4, 8, 12], theirs, "points", colour=n, marker=n, hollow=True))
        title = f"{family}, {label}, suite {suite} (table {ERROR_TABLES[family, suite]})"
        panels.append(Panel(Axis("processors", ticks=(2, 4, 8, 12, 16)), Axis("average error", low=0), series, title))
    return Figure(
        "bus-tables-06-08",
        "Average errors of the cost functions (tables 6 and 8)",
        "Lines: the emulated machine. Hollow points: printed.",
        panels,
        legend="function",
    )
