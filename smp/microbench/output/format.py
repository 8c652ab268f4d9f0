"""Numbers and tables as the report prints them: three digits, units in the headers, footnotes for what is not valid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, JustifyMethod, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

Data = Mapping[str, Any]
Rows = Sequence[Data]

NONE = "-"
"""What stands in a table where there is no number."""
REASONS = 3
"""How many different reasons against the points of a table are printed below it."""


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits; whole where it has more before the point.

    Examples
    --------
    >>> [number(x) for x in (0.0, 1.2999, 12.0, 1234.5, -0.03456, 2.5e-7, None)]
    ['0', '1.30', '12.0', '1,234', '-0.0346', '2.50e-07', '-']
    """
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    if exponent < -4:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def count(value: float | None) -> str:
    """Return a whole number in full.

    Examples
    --------
    >>> count(16_000_000)
    '16,000,000'
    """
    return NONE if value is None else f"{value:,.0f}"


def size(nbytes: float | None) -> str:
    """Return a size in bytes with its unit.

    Examples
    --------
    >>> [size(n) for n in (64, 49152, 748340, 2 << 20)]
    ['64 B', '48 KiB', '731 KiB', '2 MiB']
    """
    if nbytes is None or not math.isfinite(nbytes):
        return NONE
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= scale:
            return f"{nbytes / scale:.{3 if nbytes < 999.5 * scale else 4}g} {unit}"
    return f"{nbytes:.0f} B"


def time(value: float | None) -> str:
    """Return a time with three digits and its unit.

    Examples
    --------
    >>> [time(t) for t in (180e-9, 12.34e-6, 0.0123, 75.0)]
    ['180 ns', '12.3 us', '12.3 ms', '75.0 s']
    """
    if value is None or not math.isfinite(value):
        return NONE
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if abs(value) * scale < 999.5:
            return f"{number(value * scale)} {unit}"
    return f"{number(value)} s"


def by_streams(many: int | None) -> str:
    """Return a number of streams in words.

    Examples
    --------
    >>> [by_streams(many) for many in (1, 2, None)]
    ['1 stream', '2 streams', 'streams']
    """
    return "streams" if many is None else f"{many} stream{'s' * (many != 1)}"


def percent(fraction: float | None) -> str:
    """Return a fraction in per cent, without the sign.

    Examples
    --------
    >>> [percent(f) for f in (0.046, 0.1423, 1.2, 0.0)]
    ['4.6', '14.2', '120', '0']
    """
    if fraction is None or not math.isfinite(fraction):
        return NONE
    value = 100 * fraction
    return "0" if value == 0 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"


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
