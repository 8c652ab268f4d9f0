"""Results of measured points as the rows of a section: plain JSON for the profile, one array for the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .result import Result
from .windows import WINDOW


def key_of(result: Result) -> tuple[Any, ...]:
    """Return the key of a point whose keys are tuples."""
    return cast("tuple[Any, ...]", result.key)


def row(result: Result, GHz: float | None = None) -> dict[str, Any]:
    """Return a point's statistics in ns an operation, the median first, and in cycles if the rate is given.

    Parameters
    ----------
    result : Result
    GHz : float, optional
        Cycles per ns.

    Returns
    -------
    dict
        ``ns`` and ``cycles`` of the median of clean windows, ``minimum_ns``, ``p95_ns``, ``windows``,
        ``clean_fraction``, ``valid`` and ``why``.
    """
    cycles = {} if GHz is None else {"cycles": result.median * GHz}
    return {
        "ns": result.median,
        **cycles,
        "minimum_ns": result.minimum,
        "p95_ns": result.p95,
        "windows": result.count,
        "clean_fraction": result.clean_fraction,
        "valid": result.valid,
        "why": result.why,
    }


def stack(results: Sequence[Result], names: Mapping[str, str]) -> NDArray[np.void]:
    """Join the windows of all points, each with the point's key in front.

    Parameters
    ----------
    results : sequence of Result
        Their keys are tuples.
    names : mapping of str to str
        Name and dtype of each part of the keys.

    Returns
    -------
    structured array
        With the fields ``names`` and those of `windows.WINDOW`.
    """
    fields: list[Any] = [*names.items(), *WINDOW.descr]
    joined = np.zeros(sum(result.count for result in results), np.dtype(fields))
    start = 0
    for result in results:
        part = joined[start : start + result.count]
        for name, value in zip(names, key_of(result), strict=True):
            part[name] = value
        for name in WINDOW.names or ():
            part[name] = result.windows[name]
        start += result.count
    return joined


def complaints(
    results: Sequence[Result], most: float = 0.25, name: Callable[[Result], str] = lambda result: str(result.key)
) -> list[str]:
    """Say what speaks against a set of points as a whole: more than a part of them are not valid.

    Parameters
    ----------
    results : sequence of Result
    most : float
        The fraction that may be.
    name : callable, optional
        What to call a point.

    Returns
    -------
    list of str
        Empty, or one sentence.
    """
    bad = [result for result in results if not result.valid]
    if len(bad) <= most * len(results):
        return []
    return [f"{len(bad)} of {len(results)} points are not valid; the first, {name(bad[0])}: {bad[0].why[0]}"]
