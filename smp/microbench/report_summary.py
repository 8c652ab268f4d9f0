"""The first screen of the report: the answers.

conditions       what was measured, and how quiet it was
latency          of each level, and its knee            bandwidth and synchronisation beside it
shared memory    Good against Bad and Random
programs         one superstep, and the best list ranking
footnotes        what is not valid, and why
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .profile import BEST, Profile
from .report_access import cost_table, word_costs
from .report_bandwidth import processors, stream_row
from .report_format import NONE, Data, Notes, count, number, percent, reasons, seconds, table
from .report_latency import LEVEL_HEADERS, level_rows
from .report_lists import best_ranking, describe_step, place_of, ratio, serial_time, title_of
from .report_synchronisation import barrier_rows, fact_rows

FEW = 4
"""Numbers of processors that the first screen shows of each measurement; the sections have all."""
LONG = 190
"""Characters of a footnote; the sections have the reasons in full."""

Item = TypeVar("Item")
Fact = tuple[str, str]


def summary(profile: Data) -> Group:
    """Return the first screen; what was not measured is left out."""
    notes = Notes()
    parts: list[RenderableType] = [facts(_conditions(profile)), Text()]
    beside = [part for part in (_memory(profile, notes), _synchronisation(profile, notes)) if part is not None]
    if beside:
        parts += [Columns(beside, padding=(0, 5)), Text()]
    access = profile.get("access") or {}
    if access.get("functions"):
        parts += [cost_table(profile, few(word_costs(profile)), notes.invalid("access patterns", access)), Text()]
    programs = [*_programs(profile, notes)]
    if programs:
        parts += [facts(programs), Text()]
    parts += [Text(textwrap.shorten(line, LONG, placeholder=" ...")) for line in notes.lines()]
    return Group(*parts)


def few(items: list[Item]) -> list[Item]:
    """Return at most `FEW` of some items, the first and the last among them."""
    if len(items) <= FEW:
        return items
    return [items[i] for i in np.linspace(0, len(items) - 1, FEW).round().astype(int)]


def facts(rows: Iterable[Fact]) -> Table:
    """Return names with what there is to say of each beside them."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column()
    for name, text in rows:
        made.add_row(Text(name, style="bold"), Text(text))
    return made
