"""What the report's sections on whole programs share: where a run lies in its interval, and the paper's tables of
supersteps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from rich.console import RenderableType

from smp.microbench.output.format import NONE, Data, Rows, number, table
from smp.models.supersteps.locality import SMALL

TIMES = ("measured_s", "good_s", "bad_s", "random_s")
INTERVAL_HEADERS = ("local\nns", "good\nns", "bad\nns", "random\nns", "Loc", "M/G", "in-\nside", "steps\ninside")
MEANING = (
    "local: the measured local computation; the measured and all predicted times include it (figure 3 of the paper).\n"
    "Loc and M/G: of communication alone. Loc: 1 at good, 0 at the larger of bad and random. M/G: measured over good.\n"
    f"steps inside: of those with M of {SMALL:,} and more."
)
EARLIER = (
    "An earlier version measured this section: M/G, and the times of single supersteps, include local computation; "
    "measure it again."
)
INVALID = "The cost functions that predict are not valid: see their section."
FEW = 3
"""How many of something there is room for."""

Item = TypeVar("Item")


def few(items: Sequence[Item], most: int = FEW) -> list[Item]:
    """Return at most so many of some items, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int)]


def ratio(value: float | None) -> str:
    """Return Loc or M/G with two decimals."""
    return NONE if value is None else f"{value:.2f}"


def places(step: Data) -> list[str]:
    """Return Loc and M/G of a superstep, or of an average of some; dashes where M is too small to tell."""
    small = step.get("m", SMALL) < SMALL
    return [NONE if small else ratio(step.get(name)) for name in ("loc", "m_over_g")]


def place_of(row: Data) -> str:
    """Return whether a row lies inside its interval, in a word."""
    inside = row.get("inside")
    return NONE if inside is None else "yes" if inside else "no"


def predicted(rows: Rows) -> bool:
    """Return whether there are intervals."""
    return any(row.get("good_s") is not None for row in rows)


def each(row: Data, name: str, work: float) -> str:
    """Return a total of a row, in seconds, as ns for each of so many units of work."""
    total = row.get(name)
    return number(None if total is None else total / work * 1e9)


def milliseconds(seconds: float | None) -> str:
    """Return seconds as ms."""
    return number(None if seconds is None else seconds * 1e3)


def interval_cells(row: Data, work: float) -> list[str]:
    """Return the cells below `INTERVAL_HEADERS`."""
    steps, inside = row.get("supersteps"), row.get("supersteps_inside")
    return [
        *(each(row, name, work) for name in ("compute_s", *TIMES[1:])),
        *(ratio(row.get("loc")), ratio(row.get("m_over_g")), place_of(row)),
        NONE if steps is None or inside is None else f"{inside}/{steps}",
    ]


def remarks(profile: Data, data: Data) -> list[str]:
    """Return what there is to say of the predictions of a section: from where they are, and what they rest on."""
    said = list(dict.fromkeys(row["note"] for row in data.get("rows", []) if row.get("note")))
    source = data.get("functions_of")
    if source is not None and source != profile.get("created"):
        said.append(f"Predicted by the cost functions that were measured on {source}.")
    elif (profile.get("access") or {}).get("valid") is False:
        said.append(INVALID)
    if any(with_computation(row) for row in data.get("rows", [])):
        said.append(EARLIER)
    return said


def with_computation(row: Data) -> bool:
    """Return whether the M/G of a row or superstep includes local computation: an earlier version measured it."""
    return row.get("m_over_g") is not None and "compute_s" not in row


def analysis_table(
    title: str, rows: Rows, counts: Callable[[Data], Sequence[str]], caption: str = ""
) -> RenderableType:
    """Return the supersteps of one program as the paper's tables 9 to 11 have them.

    Parameters
    ----------
    title : str
    rows : sequence of dict
        Its averages, for every p and label.
    counts : callable
        Lines that say h_r, h_w and M, of the row of the largest p, whose local computation is printed as well.
    caption : str
    """
    processors = few(sorted({row["p"] for row in rows}))
    headers = ["", "superstep", "h_r; h_w; M"]
    for p in processors:
        headers += [f"p = {p}\nLoc", "\nM/G"]
    headers.append("local\nms")
    cells = []
    for k, label in enumerate(dict.fromkeys(row["label"] for row in rows), 1):
        same = {row["p"]: row for row in rows if row["label"] == label}
        most = same[max(same)]
        first, *others = counts(most)
        found = [cell for p in processors for cell in places(same.get(p, {}))]
        cells.append([str(k), label, first, *found, milliseconds(most.get("compute_s"))])
        cells += [["", "", line, *[""] * (len(found) + 1)] for line in others]
    return table(headers, cells, title=title, caption=caption, words=3)
