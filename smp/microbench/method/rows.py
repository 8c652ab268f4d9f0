"""Results of measured points as parts of a section: the fields that records share, one array for the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from .result import Result
from .windows import WINDOW


class Judgement(TypedDict):
    """What of a section says how well it was measured: fields of `smp.profiles.records.Judged`."""

    clean_fraction: float
    valid: bool
    why: list[str]


class Times(Judgement):
    """The statistics of a point: fields of `smp.profiles.records.Visited`."""

    ns: float
    cycles: NotRequired[float]
    minimum_ns: float
    p95_ns: float
    windows: int


def key_of(result: Result) -> tuple[Any, ...]:
    """Return the key of a point whose keys are tuples."""
    return cast("tuple[Any, ...]", result.key)


def row(result: Result, GHz: float | None = None) -> Times:
    """Return a point's statistics in ns an operation, the median first, and in cycles if the rate is given.

    Parameters
    ----------
    result : Result
    GHz : float, optional
        Cycles per ns.

    Returns
    -------
    Times
        ``ns`` and ``cycles`` are of the median of clean windows.
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
    """Return how well a section was measured.

    Parameters
    ----------
    results : sequence of Result
        Its points.
    why : list of str, optional
        What speaks against it; default: the `complaints` of its points.
    """
    against = complaints(results) if why is None else why
    clean = float(np.mean([result.clean_fraction for result in results]))
    return {"clean_fraction": clean, "valid": not against, "why": against}


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
