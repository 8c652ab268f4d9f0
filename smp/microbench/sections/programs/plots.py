"""Common parts of the figures of whole programs: time per element by length, with a line for each algorithm and p."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import COLOURS, MARKERS, Axis, Panel, Series
from smp._output.numbers import count, number
from smp.microbench.output.curves import Samples, column, curve, select

DASHES = ("solid", "dashed", "dashdot", "dotted")
BARS = "; bars: the fastest to the slowest"
TIME = Axis("time per element", "ns", "log")
UNSTEADY = "Red rings around measured times: the repeats differ too much."
FARTHEST = 3.0
"""Bars of repeats are drawn up to this multiple of the slowest median, and down to the fastest median divided by it."""


def measured(rows: Sequence[Any]) -> NDArray[np.float64]:
    """Return ns an element of each run's supersteps with their computation; of the whole run if that is not stored."""
    supersteps, whole = column(rows, "measured_s"), column(rows, "seconds")
    return per_element(rows, np.where(np.isnan(supersteps), whole, supersteps))


def per_element(rows: Sequence[Any], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the seconds of each row as ns an element."""
    return seconds / column(rows, "n") * 1e9


def every_time(rows: Sequence[Any], title_of: Callable[[str], str], samples: Samples) -> list[Series]:
    """Return the curves of ns an element by n, with a colour for each algorithm and a dash for each p."""
    counts = sorted({row.p for row in rows})
    return [
        timed(
            f"{title_of(name)}, p = {p}",
            select(rows, "n", algorithm=name, p=p),
            *(samples, name),
            colour=i % COLOURS,
            marker=k % MARKERS,
            dash=DASHES[(len(counts) - 1 - k) % len(DASHES)],
        )
        for i, name in enumerate(dict.fromkeys(row.algorithm for row in rows))
        for k, p in enumerate(counts)
    ]


def timed(name: str, rows: Sequence[Any], samples: Samples, algorithm: str, **look: Any) -> Series:
    """Return a curve of ns an element by n, with the spread of the repeats of each point, from fastest to slowest.

    The ``p`` of a sample is the number of processors of a program, the number of streams of a form, or 1 for the serial
    loop.
    """
    if samples is not None:
        mine = samples[samples["algorithm"] == algorithm]
        many = [getattr(row, "p", None) or getattr(row, "streams", None) or 1 for row in rows]
        same = [(mine["n"] == row.n) & (mine["p"] == p) for row, p in zip(rows, many, strict=True)]
        repeats = [mine["seconds"][one] / row.n * 1e9 for row, one in zip(rows, same, strict=True)]
        for side, end in (("low", np.min), ("high", np.max)):
            look[side] = [end(ns) if ns.size else np.nan for ns in repeats]
    return curve(name, rows, "n", "ns_per_element", spread="bars", **look)


def fastest(what: str, rows: Mapping[str, Any], time: str, base: Any, of: str) -> str:
    """Return a title that names the fastest of some rows; it is a question if any of them is not valid.

    Parameters
    ----------
    what : str
        Word for a row, such as "program".
    rows : mapping of str to record
        Rows by their printed names.
    time : str
        Name of the field with a row's time.
    base : record or None
        Record that the rows are compared with.
    of : str
        Printed name of ``base``.
    """
    if any(row.valid is False for row in (*rows.values(), *([base] if base else []))):
        return f"which {what} is the fastest?"
    best = min(rows, key=lambda name: float(getattr(rows[name], time)))
    said = f"the fastest {what} is {best}"
    if base is None or rows[best] is base:
        return said
    return f"{said} ({number(getattr(base, time) / getattr(rows[best], time))} times {of}'s speed)"


def with_room(x: Axis, y: Axis, lines: Sequence[Series]) -> tuple[Panel, str]:
    """Return a panel in which long bars do not flatten the medians, and remarks on cut bars and on marks.

    A single slow repeat may take a hundred times the median. Its bar is cut at the edge and ends in an arrowhead.
    """
    medians = np.concatenate([np.asarray(line.y, float) for line in lines] or [np.ones(1)])
    least, most = np.nanmin(medians) / FARTHEST, np.nanmax(medians) * FARTHEST
    drawn, said, ends = [], [], {}
    for line in lines:
        low, high = (np.asarray(end, float) for end in (line.low, line.high))
        drawn.append(replace(line, low=np.maximum(low, least), high=np.minimum(high, most)))
        for name, bars, edge, marker in (("low", low, least, 3), ("high", high, most, 2)):
            beyond = bars < edge if name == "low" else bars > edge
            if beyond.any():
                at = np.asarray(line.x)[beyond]
                drawn.append(Series("", at, np.full(len(at), edge), "points", colour=line.colour, marker=marker))
                said += [f"{line.name}, {count(n)}: {number(ns)}" for n, ns in zip(at, bars[beyond], strict=True)]
                ends[name] = edge * (1.1 if name == "high" else 1 / 1.1)
    remarks = [f"Arrowheads: bars that are cut. They reach (ns): {'; '.join(said)}."] if said else []
    remarks += [UNSTEADY] if any(any(line.invalid) for line in lines) else []
    return Panel(x, replace(y, **ends), drawn), " ".join(remarks)
