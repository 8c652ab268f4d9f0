"""Numbers and tables as the report prints them: three digits, units in the headers, footnotes for what is not valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from smp._output.numbers import NONE as NONE
from smp._output.numbers import count as count
from smp._output.numbers import number as number
from smp._output.numbers import percent as percent
from smp._output.numbers import size as size
from smp._output.numbers import time as time

Data = Mapping[str, Any]
Rows = Sequence[Data]

REASONS = 3
"""How many different reasons against the points of a table are printed below it."""


def by_streams(many: int | None) -> str:
    """Return a number of streams in words.

    Examples
    --------
    >>> [by_streams(many) for many in (1, 2, None)]
    ['1 stream', '2 streams', 'streams']
    """
    return "streams" if many is None else f"{many} stream{'s' * (many != 1)}"


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", caption: str = "", words: int = 1
) -> RenderableType:
    """Return a table: the first ``words`` columns flush left, the numbers flush right.

    Parameters
    ----------
    headers : sequence of str
        With units; a line break makes a header of two lines.
    rows : iterable of sequence of str
    title, caption : str
        Above and below the table.
    words : int
    """
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for i, header in enumerate(headers):
        side: JustifyMethod = "left" if i < words else "right"
        made.add_column(Text(header), justify=side, vertical="bottom", no_wrap=i == 0 or i >= words)
    for row in rows:
        made.add_row(*map(Text, row))
    parts: list[RenderableType] = [Text(title, style="bold")] if title else []
    parts.append(made)
    if caption:
        parts.append(Text(caption))
    return Group(*parts)


def section(title: str, data: Data, parts: Iterable[RenderableType]) -> Group:
    """Return a section: a heading, why it is not valid if so, and its parts with an empty line after each."""
    lines: list[RenderableType] = [Text(), Rule(Text(title, style="bold"), align="left"), Text()]
    if data.get("valid") is False:
        lines += [Text(f"Not valid: {reasons(data)}.", style="bold"), Text()]
    for part in parts:
        lines += [part, Text()]
    return Group(*lines[:-1])


def reasons(data: Data) -> str:
    """Return why something is not valid, as one line."""
    return "; ".join(data.get("why") or ["no reason was recorded"])


def flag(row: Data) -> str:
    """Return the mark of a row that is not valid, explained by `flagged` below the table."""
    return " !" if row.get("valid") is False else ""


def flagged(rows: Rows) -> str:
    """Return what `flag` means in a table: how many rows are not valid, and the commonest reasons; empty for none."""
    bad = [row for row in rows if row.get("valid") is False]
    if not bad:
        return ""
    found: dict[str, int] = {}
    for row in bad:
        for reason in row.get("why") or []:
            found[reason] = found.get(reason, 0) + 1
    common = sorted(found, key=lambda reason: -found[reason])
    told = "; ".join(common[:REASONS])
    more = f"; {len(common) - REASONS} more" if len(common) > REASONS else ""
    return f"! not valid, {len(bad)} of {len(rows)}" + (f": {told}{more}" if told else "")


class Notes:
    """Footnotes: what is not valid, and why.

    A section's is numbered in the order of the marks; those of single numbers, marked !, share the last.
    """

    def __init__(self) -> None:
        self._sections: list[str] = []
        self._numbers: dict[str, list[str]] = {}

    def section(self, name: str, data: Data) -> str:
        """Return the mark of a section, with a blank before it; nothing for a valid one."""
        if data.get("valid") is not False:
            return ""
        text = f"{name} not valid: {reasons(data)}"
        if text not in self._sections:
            self._sections.append(text)
        return f" [{self._sections.index(text) + 1}]"

    def number(self, name: str, row: Data) -> str:
        """Return the mark of a single number; nothing for a valid one."""
        if flag(row):
            reason = (row.get("why") or ["no reason was recorded"])[0]
            self._numbers.setdefault(reason, []).append(name)
        return flag(row)

    def lines(self) -> list[str]:
        """Return the footnotes."""
        lines = [f"[{i}] {text}" for i, text in enumerate(self._sections, 1)]
        numbers = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in self._numbers.items())
        return lines + ([f"! not valid: {numbers}"] if numbers else [])
