"""Turn the results of points into parts of a section: the fields that its records share, and one array of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from .result import Result
from .windows import WINDOW


class Judgement(TypedDict):
    """Fields of a section that say how well it was measured: those of `smp.profiles.records.Judged`."""

    clean_fraction: float
    valid: bool
    why: list[str]


class Times(Judgement):
    """Statistics of a point: the fields of `smp.profiles.records.Visited`."""

    ns: float
    cycles: NotRequired[float]
    minimum_ns: float
    p95_ns: float
    windows: int


def key_of(result: Result) -> tuple[Any, ...]:
    """Return the key of a point whose key is a tuple."""
    return cast("tuple[Any, ...]", result.key)


def row(result: Result, GHz: float | None = None) -> Times:
    """Return a point's statistics in ns per operation, the median first, and in cycles if the clock rate is given.

    Parameters
    ----------
    result : Result
    GHz : float, optional
        Clock rate in cycles per ns.

    Returns
    -------
    Times
        ``ns`` and ``cycles`` are the median of the clean windows.
    """
    made: Times = {
        "ns": result.median,
        "minimum_ns": result.minimum,
        "p95_ns": result.p95,
        "windows": result.count,
        "clean_fraction": result.clean_fraction,
        "valid": result.valid,
        "why": result.why,
    }
    if GHz is not None:
        made["cycles"] = result.median * GHz
    return made


def judged(results: Sequence[Result], why: list[str] | None = None) -> Judgement:
    """Return the fields that say how well a section was measured.

    Parameters
    ----------
    results : sequence of Result
        Results of the section's points.
    why : list of str, optional
        Reasons why the section is not valid; by default the `complaints` of its points.
    """
    against = complaints(results) if why is None else why
    clean = float(np.mean([result.clean_fraction for result in results]))
    return {"clean_fraction": clean, "valid": not against, "why": against}


def stack(results: Sequence[Result], names: Mapping[str, str]) -> NDArray[np.void]:
    """Join the windows of all points, each with the point's key in front.

    Parameters
    ----------
    results : sequence of Result
        Results whose keys are tuples.
    names : mapping of str to str
        Name and dtype of each part of the keys.

    Returns
    -------
    structured array
        All windows, with the fields ``names`` and those of `windows.WINDOW`.
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


def named(result: Result) -> str:
    """Return the name of a point, the parts of its key separated by commas."""
    return ", ".join(map(str, result.key)) if isinstance(result.key, tuple) else str(result.key)


def complaints(results: Sequence[Result], most: float = 0.25, name: Callable[[Result], str] = named) -> list[str]:
    """Return the reason against a set of points as a whole: too many of them are not valid.

    Parameters
    ----------
    results : sequence of Result
    most : float
        Largest fraction of the points that may be invalid.
    name : callable, optional
        Returns the name of a point.

    Returns
    -------
    list of str
        Empty, or one sentence.
    """
    bad = [result for result in results if not result.valid]
    if len(bad) <= most * len(results):
        return []
    return [f"{len(bad)} of {len(results)} points are not valid; the first, {name(bad[0])}: {bad[0].why[0]}"]
