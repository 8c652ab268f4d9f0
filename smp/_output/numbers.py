"""Formats numbers as text, usually with three digits: counts, sizes, times, shares, and the forms of table columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

NONE = "-"
"""Text in a table if there is no number."""


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with the given count of significant digits, or whole if it has more before the point.

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
    """Return a time, given in seconds, with three digits and a suitable unit.

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


def percent(fraction: float | None) -> str:
    """Return a fraction in per cent, without the per cent sign.

    Examples
    --------
    >>> [percent(f) for f in (0.046, 0.1423, 1.2, 0.0)]
    ['4.6', '14.2', '120', '0']
    """
    if fraction is None or not math.isfinite(fraction):
        return NONE
    value = 100 * fraction
    return "0" if value == 0 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"


def fixed(value: float | None, digits: int = 2) -> str:
    """Return a number with the given number of decimals.

    Examples
    --------
    >>> [fixed(x) for x in (0.666, 12.0, math.inf)] + [fixed(1234.5, 0)]
    ['0.67', '12.00', '-', '1,234']
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def short(value: float | None, digits: int = 4) -> str:
    """Return a number with as many significant digits as it needs, but at most ``digits``.

    Examples
    --------
    >>> [short(x) for x in (0.0, 7.0, 12.3456, 1e-5)]
    ['0', '7', '12.35', '1e-05']
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def shown(value: Any, form: str, digits: int | None = None) -> str:
    """Return a value as text in one of the `FORMS`.

    A text stays as it is. A truth value is "yes" or "no", except that ``checked`` shows False as "NO".

    Examples
    --------
    >>> [shown(value, "number") for value in (1.2999, 12, None, "?", True)]
    ['1.30', '12.0', '-', '?', 'yes']
    >>> shown(14.2, "percent"), shown(0.0123, "time"), shown(1.23456, "fixed", 3)
    ('14.2', '12.3 ms', '1.235')
    """
    if isinstance(value, bool):
        return "yes" if value else "NO" if form == "checked" else "no"
    if isinstance(value, str):
        return value
    return FORMS[form](value) if digits is None else FORMS[form](value, digits)


FORMS: dict[str, Callable[..., str]] = {
    "text": lambda value: NONE if value is None else str(value),
    "checked": lambda value: NONE if value is None else str(value),
    "number": number,
    "fixed": fixed,
    "short": short,
    "count": count,
    "bytes": size,
    "time": time,
    "signed": lambda value: NONE if value is None else f"{value:+.0f}",
    "percent": lambda value: percent(None if value is None else value / 100),
}
"""Functions that show a number, by the form of its column."""
