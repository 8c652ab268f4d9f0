"""Numbers as text: times in a sensible unit, ratios, and rows aligned in columns."""

from collections.abc import Collection, Sequence

import numpy as np


def time_text(seconds: float) -> str:
    """Return a time with three digits and its unit; "-" for NaN.

    Examples
    --------
    >>> [time_text(t) for t in (0.0, 12.34e-6, 0.9996e-3, -0.25, 75.0)]
    ['0 us', '12.3 us', '1 ms', '-250 ms', '75 s']
    """
    if np.isnan(seconds):
        return "-"
    for unit, scale in (("us", 1e6), ("ms", 1e3)):
        if abs(seconds) * scale < 999.5:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def ratio_text(value: float) -> str:
    """Return a ratio with two decimals; "-" where it is NaN or infinite."""
    return f"{value:.2f}" if np.isfinite(value) else "-"


def aligned(rows: Sequence[Sequence[str]], words: Collection[int]) -> str:
    """Return rows as lines of equally wide columns, flush left for `words`, else flush right.

    Examples
    --------
    >>> print(aligned([["step", "label"], ["7", "count"]], words={1}))
    step  label
       7  count
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
