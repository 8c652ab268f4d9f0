"""What the probes of whole programs share: the repeats of a program as a row, its supersteps in their intervals.

repeat repeat repeat -> the one of the median time -> totals of its interval      one row
                                                   -> superstep by superstep      a row each
                        radix sort, six rounds     -> pooled by label             "count", "prefix sum", ...
                        every length               -> averages by label           the paper's tables 9 to 11

The times of a superstep, measured and predicted, are of communication alone; ``compute_s`` stands next to them.  The
times of a program have its measured computation in them, as in figure 3 of the SMP paper.  Loc, M/G and verdicts are of
communication alone everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from smp._runtime.program.run import Run
from smp.models.supersteps.interval import Interval
from smp.models.supersteps.locality import SMALL, place
from smp.profiles.profile import Profile

Row = dict[str, Any]

ENDS = ("good_s", "bad_s", "random_s")
"""The predictions of a row, in seconds."""
NO_FUNCTIONS = (
    "no cost functions, so no intervals: measure the section access too, or name a profile that has it with --profile"
)


class Found:
    """What a probe has measured so far.

    Parameters
    ----------
    profile : Profile, optional
        With fitted cost functions; without it there are no intervals.

    Attributes
    ----------
    rows : list of dict
        One for each program that was run; `add` makes them.
    steps : list of dict
        Their supersteps.
    samples : list of tuple
        A row's key, the number of the repeat and its seconds.
    """

    def __init__(self, profile: Profile | None) -> None:
        self.profile = profile
        self.rows: list[Row] = []
        self.steps: list[Row] = []
        self.samples: list[tuple[Any, ...]] = []

    def add(self, key: Row, runs: Sequence[Run], seconds: Sequence[float], pool: bool = False) -> Row:
        """Add the repeats of one program.

        Parameters
        ----------
        key : dict
            What was run: the fields that its row and its supersteps begin with.
        runs : sequence of Run
        seconds : sequence of float
            What each took.
        pool : bool
            Whether supersteps of the same label are taken together.

        Returns
        -------
        dict
            The row, for the probe to add to: the median of ``seconds``, ``repeats`` and the totals of the interval
            of the repeat nearest to it.
        """
        median = float(np.median(seconds))
        typical = runs[int(np.abs(np.asarray(seconds) - median).argmin())]
        steps = steps_of(typical, self.profile)
        row = key | {"seconds": median, "repeats": len(runs)}
        if self.profile is not None:
            row |= totals(typical.interval(self.profile))
        self.rows.append(row)
        self.steps += [key | step for step in (pooled(steps) if pool else steps)]
        self.sample(key, seconds)
        return row

    def sample(self, key: Row, seconds: Sequence[float]) -> None:
        """Keep the raw repeats of something."""
        self.samples += [(*key.values(), repeat, each) for repeat, each in enumerate(seconds)]

    def data(self) -> Row:
        """Return what all such sections hold; ``functions_of`` says when what predicts was measured."""
        why = [NO_FUNCTIONS] if self.profile is None else []
        return {
            "rows": self.rows,
            "steps": self.steps,
            "functions_of": None if self.profile is None else self.profile.data.get("created"),
            "valid": not why,
            "why": why,
        }


def in_supersteps(run: Run, labels: Sequence[str] | None = None) -> float:
    """Return the seconds of a run's supersteps, or of those of some labels: the paper's time of a program."""
    summary = run.summary()
    chosen = summary if labels is None else summary[np.isin(summary["label"], labels)]
    return float(sum(chosen[phase].sum() for phase in ("copy_in", "compute", "copy_out")))


def totals(interval: Interval) -> Row:
    """Return the totals of a run, and how many of its supersteps that are not too small to tell lie inside."""
    total, whole = interval.total, interval.whole
    large = interval.m >= SMALL
    return {
        "compute_s": float(total.compute[0]),
        "measured_s": whole.measured,
        **{name: _number(getattr(whole, name.removesuffix("_s"))) for name in ENDS},
        "loc": _number(total.loc[0]),
        "m_over_g": _number(total.m_over_g[0]),
        "inside": bool(total.inside[0]),
        "supersteps": int(large.sum()),
        "supersteps_inside": int((large & interval.inside).sum()),
        "note": "; ".join(interval.notes),
    }


def steps_of(run: Run, profile: Profile | None) -> list[Row]:
    """Return a row for each superstep: its counts and what it took; with a profile, where that lies as well."""
    rows = [
        {
            **{name: int(one[name]) for name in ("step", "hr", "hw", "m")},
            "label": str(one["label"]),
            "compute_s": float(one["compute"]),
            "measured_s": float(one["copy_in"] + one["copy_out"]),
        }
        for one in run.summary()
    ]
    if profile is None:
        return rows
    interval = run.interval(profile)
    return [
        _placed(row | {name: _number(getattr(interval, name.removesuffix("_s"))[i]) for name in ENDS})
        for i, row in enumerate(rows)
    ]


def pooled(steps: Iterable[Row]) -> list[Row]:
    """Return one row for the supersteps of a label: the counts of the first, ``times`` and the sum of the seconds."""
    found: dict[str, Row] = {}
    for step in steps:
        times = ("compute_s", "measured_s", *_ends(step))
        same = found.setdefault(step["label"], step | {"times": 0} | dict.fromkeys(times, 0.0))
        same["times"] += 1
        for name in times:
            same[name] += step[name]
    return [_placed(row) if _ends(row) else row for row in found.values()]


def averages(steps: Iterable[Row], *by: str) -> list[Row]:
    """Return the paper's analysis of supersteps: a row for each label of a program, averaged over its runs.

    Parameters
    ----------
    steps : iterable of dict
        As `pooled` returns them, with what was run.
    *by : str
        The fields that tell programs apart, such as ``"algorithm", "p"``.

    Returns
    -------
    list of dict
        ``runs``; ``loc`` and ``m_over_g``: the means over the runs in which the superstep is significant, with M of
        `SMALL` and more, None where it never is; and the counts and times of the last of the runs in which M is the
        largest.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for step in steps:
        groups.setdefault((*(step[name] for name in by), step["label"]), []).append(step)
    return [
        max(reversed(same), key=lambda step: int(step["m"]))
        | {
            "runs": len(same),
            **{name: _mean(step.get(name) for step in same if step["m"] >= SMALL) for name in ("loc", "m_over_g")},
        }
        for same in groups.values()
    ]


def sampled(names: Mapping[str, str]) -> np.dtype[np.void]:
    """Return the dtype of `Found.samples`, by name and dtype of the key's fields."""
    return np.dtype([*names.items(), ("repeat", "i4"), ("seconds", "f8")])


def _placed(row: Row) -> Row:
    """Add where a row's measured time lies between its predictions."""
    measured, good, bad, random = (np.nan if row[name] is None else row[name] for name in ("measured_s", *ENDS))
    found = place(measured, good, np.fmax(bad, random), row["m"])
    return row | {
        "loc": _number(found.loc),
        "m_over_g": _number(found.m_over_g),
        "inside": bool(found.inside),
        "verdict": str(found.verdict),
    }


def _ends(row: Row) -> tuple[str, ...]:
    return tuple(name for name in ENDS if row.get(name) is not None)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
