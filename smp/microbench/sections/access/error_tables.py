"""Tables of validation errors, after tables 5 to 8 of the SMP paper, next to the errors that it printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from smp._output.table import Column, Table, share, text
from smp.models.supersteps.published import ERROR_TABLES, paper_errors
from smp.profiles.access import Error

ORDER = ("H", "HM", "HrHw", "HrHwM", "HrHwM-c")
TOGETHER = 3
"""Most values of p that are side by side in one table of errors."""


def after(paper: int | None) -> str:
    """Return the number of the paper's table, in brackets."""
    return f" (after table {paper})" if paper else ""


def errors(validation: Sequence[Error], family: str, suite: int) -> Iterator[Table]:
    """Yield the tables of a family's errors on one suite, a few p in each; nothing if there are no errors."""
    mine = [row.model_dump() for row in validation if (row.family, row.suite) == (family, suite)]
    measured = sorted({row["p"] for row in mine})
    title = f"{family.title()}: errors on suite {suite}{after(ERROR_TABLES.get((family, suite)))}"
    for start in range(0, len(measured), TOGETHER):
        chosen = measured[start : start + TOGETHER]
        yield _errors([row for row in mine if row["p"] in chosen], chosen, title)


def _errors(rows: list[dict[str, Any]], chosen: list[int], title: str) -> Table:
    """Return a table for some p, with the paper's errors next to ours if it printed any."""
    ours = {_key(row): row for row in rows}
    paper = {_key(row): row for p in chosen for row in paper_errors(p) if _key(row) in ours}
    columns: list[Column] = [text("function"), text("set")]
    sources: list[tuple[int, Mapping[Any, Any]]] = []
    for p in chosen:
        for name, source in ((f"p = {p}", ours), ("paper", paper)):
            if any(key[0] == p for key in source):
                columns += [share(f"{name} ave."), share(f"{name} max.")]
                sources.append((p, source))
    shown = []
    for label, name in sorted({(row["set"], row["name"]) for row in rows}, key=_place):
        found = [source.get((p, name, label, rows[0]["family"], rows[0]["suite"]), {}) for p, source in sources]
        shown.append([name, label, *(row.get(kind) for row in found for kind in ("average", "maximum"))])
    # rounded to three decimals, as in the paper
    better = [all(round(ours[k][kind], 3) <= row[kind] for kind in ("average", "maximum")) for k, row in paper.items()]
    note = f"No worse than the paper in both errors: {sum(better)} of {len(better)}." if better else ""
    return Table(title, columns, shown, [note])


def _place(key: tuple[str, str]) -> tuple[str, int]:
    """Return the sort key of a row: its set, then the paper's order of the functions."""
    return key[0], ORDER.index(key[1])


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["p"], row["name"], row["set"], row["family"], row["suite"]
