"""Tables of the cost of a word in every state of the placement; the functions are fitted to the first state only."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import size
from smp._output.table import Cell, Table, counted, text
from smp.microbench.output.format import STATES, by_state, known
from smp.profiles.access import Access, Pattern


def in_other_states(found: Access) -> Iterator[Table]:
    """Yield a table for each p whose CPUs had several states of placement: the cost of a word by family and state.

    The pattern of a family is one of suite 1 with x = p: the largest of those that were measured in the most states.
    """
    for p, states in (found.placement or {}).items():
        rows: list[list[Cell]] = []
        mine = [
            row for row in found.patterns if (row.p, row.suite, row.x) == (int(p), 1, int(p)) and known(row.elsewhere_s)
        ]
        for key in dict.fromkeys((row.family, row.footprint) for row in mine):
            row = max((row for row in mine if (row.family, row.footprint) == key), key=_known)
            footprint = f", {size(row.footprint * found.word_bytes)}" if row.footprint else ""
            times = [row.seconds, *(row.elsewhere_s or ()), *[None] * len(states)][: len(states)]
            each: list[Cell] = [None if seconds is None else seconds / (2 * row.h) * 1e9 for seconds in times]
            rows.append([row.family.title() + footprint, row.h, *each])
        if rows:
            title = f"Time per word by placement of the CPUs, p = {p}: {STATES}"
            notes = [
                "The cost functions are fitted to the first state. A dash in another state: nothing was measured in it."
            ]
            yield Table(title, [text("family"), counted("h"), *by_state(states, "ns/word")], rows, notes)


def _known(row: Pattern) -> tuple[int, int]:
    return sum(seconds is not None for seconds in row.elsewhere_s or ()), row.h
