"""Common parts of the probes of whole programs: rows from the repeats of a program, and its supersteps in intervals.

repeat repeat repeat ... -> those in the main state of the placement
                     -> the one nearest the median -> totals of its interval      one row
                                                   -> superstep by superstep      a row each
                        radix sort, six rounds     -> pooled by label             "count", "prefix sum", ...
                        every length               -> averages by label           the paper's tables 9 to 11

The times of a superstep, measured and predicted, include communication only; ``compute_s`` has its computation.  The
times of a program include its measured computation, as in figure 3 of the SMP paper.  Loc, M/G and verdicts refer to
communication alone everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from smp._runtime.program.run import Run
from smp.microbench.method.windows import LIMITS
from smp.models.placement_log import PlacementLog
from smp.models.supersteps.intervals import Interval
from smp.models.supersteps.locality import SMALL, place
from smp.profiles.kept_apart import families_off
from smp.profiles.profile import Profile

from .rows import Counted, Ran

Row = TypeVar("Row", bound=Ran)
Step = TypeVar("Step", bound=Counted)

ENDS = ("good_s", "bad_s", "random_s")
"""The predictions of a row, in seconds."""
MOST_UNSTEADY = 0.25
"""Largest share of unsteady times with which a section is valid."""
MORE, MORE_S = 2, 4.0
"""Most repeats that are added for each requested one, and most seconds that the added ones of a section may take."""
MOVED = "in none of {} repeats were the CPUs in their most frequent placement throughout"
NO_FUNCTIONS = (
    "no cost functions, so no intervals: measure the section access too, or give a profile that has it with --profile"
)


class Totals(TypedDict, total=False):
    """Times of a run and, if a profile predicts them, their place in the interval: fields of `Ran`."""

    compute_s: float
    measured_s: float
    good_s: float | None
    bad_s: float | None
    random_s: float | None
    loc: float | None
    m_over_g: float | None
    inside: bool
    off: list[str]
    supersteps: int
    supersteps_inside: int
    note: str


class Steadiness(TypedDict):
    """Validity of the median of some repeats, and the reasons against it: fields of `Judged`."""

    valid: bool
    why: list[str]


class Repeats(Totals):
    """Times from the repeats of a program: fields of `Ran`."""

    valid: bool
    why: list[str]
    seconds: float
    repeats: int


class Validity(TypedDict):
    """Source of the predictions, and the validity of the section: fields of `Predicted`."""

    functions_of: str | None
    valid: bool
    why: list[str]


class Found(Generic[Row, Step]):
    """Measurements that a probe has made so far.

    Parameters
    ----------
    profile : Profile, optional
        Profile with fitted cost functions; without it there are no intervals.
    step : type of Counted
        Record type of a superstep.
    log : PlacementLog
        Placement readings of the campaign.

    Attributes
    ----------
    rows : list of Ran
        One row for each program that was run; the probe makes it from the fields that `add` returns.
    steps : list of Counted
        Supersteps of the programs.
    samples : list of tuple
        Key of the row, number of the repeat, and its seconds.
    judgements : list of list of str
        Reasons why the repeats of each row are not steady; empty if they are steady.
    """

    def __init__(self, profile: Profile | None, step: type[Step], log: PlacementLog) -> None:
        self.profile, self._log = profile, log
        self.rows: list[Row] = []
        self.steps: list[Step] = []
        self.samples: list[tuple[Any, ...]] = []
        self.judgements: list[list[str]] = []
        self._step, self._more_s = step, 0.0

    def repeat(self, take: Callable[[], Run], count: int) -> list[Run]:
        """Run a program ``count`` times, and more often while at most ``count / 2`` runs were in the main state.

        Parameters
        ----------
        take : callable
            Function that runs the program once.
        count : int
            Number of runs. At most `MORE` times as many are added, and none once the added runs of the section have
            taken `MORE_S` seconds.
        """
        runs = [take() for _ in range(count)]
        while 2 * self._usual(runs).sum() <= count and len(runs) < (1 + MORE) * count and self._more_s < MORE_S:
            begun = time.monotonic()
            runs.append(take())
            self._more_s += time.monotonic() - begun
        return runs

    def usual(self, runs: Sequence[Run]) -> NDArray[np.intp]:
        """Return the indices of the runs that count: those in the main state of the placement, or all if none is."""
        main = self._usual(runs)
        return np.flatnonzero(main | (not main.any()))

    def _usual(self, runs: Sequence[Run]) -> NDArray[np.bool_]:
        before, after = np.transpose([run.placement for run in runs])
        return self._log.placement(len(runs[0].results)).is_main(before, after)

    def add(self, key: Mapping[str, Any], runs: Sequence[Run], seconds: Sequence[float], pool: bool = False) -> Repeats:
        """Add the supersteps and the samples of one program's repeats.

        Parameters
        ----------
        key : mapping
            Fields that identify the program; its row and its supersteps begin with them.
        runs : sequence of Run
        seconds : sequence of float
            Seconds of each run.
        pool : bool
            True to combine the supersteps of the same label.

        Returns
        -------
        Repeats
            Fields for the program's row, from the repeats in the main state of the placement, or from all repeats if
            none was in it: the median of ``seconds``, the number of these repeats as ``repeats``, and the totals of
            the interval of the repeat nearest to the median.
        """
        main = self._log.note_runs(len(runs[0].results), [run.placement for run in runs])
        moved, chosen = "" if main.any() else MOVED.format(len(runs)), self.usual(runs)
        self.samples += [(*key.values(), repeat, each) for repeat, each in enumerate(seconds)]
        taken = np.asarray(seconds)[chosen]
        median = float(np.median(taken))
        typical = runs[chosen[int(np.abs(taken - median).argmin())]]
        steps = steps_of(typical, self.profile, partial(self._step, **key))
        self.steps += pooled(steps) if pool else steps
        steadiness = self._steadiness(taken)
        found: Totals = {"note": moved} if moved else {}
        if self.profile is not None:
            off = families_off(self.profile, len(typical.results))
            placed = totals(typical.interval(self.profile))
            found = {**placed, "note": "; ".join(filter(None, (placed["note"], moved))), "off": off}
        return {**steadiness, "seconds": median, "repeats": len(chosen), **found}

    def sample(self, key: Mapping[str, Any], seconds: Sequence[float]) -> Steadiness:
        """Keep the raw repeats of a function or program; return their validity."""
        self.samples += [(*key.values(), repeat, each) for repeat, each in enumerate(seconds)]
        return self._steadiness(seconds)

    def _steadiness(self, seconds: Sequence[float] | NDArray[np.float64]) -> Steadiness:
        why = unsteady(seconds)
        self.judgements.append(why)
        return {"valid": not why, "why": why}

    def judged(self) -> Validity:
        """Return when the cost functions were measured, and the validity of the section.

        A section without cost functions is not valid, since it has no intervals. A section with many unsteady times is
        not valid either, since the same disturbance may have slowed other programs evenly.
        """
        why = [NO_FUNCTIONS] if self.profile is None else []
        bad = [each[0] for each in self.judgements if each]
        if len(bad) > MOST_UNSTEADY * len(self.judgements):
            why.append(f"{len(bad)} of {len(self.judgements)} times are not valid; the first: {bad[0]}")
        created = None if self.profile is None else self.profile.data.get("created")
        return {"functions_of": created, "valid": not why, "why": why}


def unsteady(seconds: Sequence[float] | NDArray[np.float64]) -> list[str]:
    """Return why the median of some repeats is not reliable; empty if it is reliable."""
    first, third = np.percentile(seconds, [25, 75])
    if third <= LIMITS.spread * first:
        return []
    return [f"unstable: the third quartile is {third / first:.2f} times the first, above {LIMITS.spread:.2f}"]


def in_supersteps(run: Run, labels: Sequence[str] | None = None) -> float:
    """Return the seconds of a run's supersteps (the paper's time of a program), or of those with some labels."""
    summary = run.summary()
    chosen = summary if labels is None else summary[np.isin(summary["label"], labels)]
    return float(sum(chosen[phase].sum() for phase in ("copy_in", "compute", "copy_out")))


def totals(interval: Interval) -> Totals:
    """Return the totals of a run.

    They include the number of supersteps that are large enough to judge, and the number of these that lie inside.
    """
    total, whole = interval.total, interval.whole
    large = (interval.m >= SMALL) & ~np.isnan(interval.good)
    return {
        "compute_s": float(total.compute[0]),
        "measured_s": whole.measured,
        "good_s": _number(whole.good),
        "bad_s": _number(whole.bad),
        "random_s": _number(whole.random),
        "loc": _number(total.loc[0]),
        "m_over_g": _number(total.m_over_g[0]),
        "inside": bool(total.inside[0]),
        "supersteps": int(large.sum()),
        "supersteps_inside": int((large & interval.inside).sum()),
        "note": "; ".join(interval.notes),
    }


def steps_of(run: Run, profile: Profile | None, step: Callable[..., Step]) -> list[Step]:
    """Return a row for each superstep with its counts and times and, if there is a profile, its place in the interval.

    Parameters
    ----------
    run : Run
    profile : Profile, optional
    step : callable
        Makes a row from the measured fields of a superstep: its record type, with the fields of the program filled in.
    """
    faults = np.zeros(int(run.steps["step"].max(initial=0)) + 1, np.int64)
    np.maximum.at(faults, run.steps["step"], run.steps["faults_in"] + run.steps["faults_out"])
    names = ("step", "hr", "hw", "m", *(("far_reads", "far_writes", "messages") if any(run.nodes) else ()))
    rows = [
        step(
            **{name: int(one[name]) for name in names},
            label=str(one["label"]),
            compute_s=float(one["compute"]),
            measured_s=float(one["copy_in"] + one["copy_out"]),
            footprint=int(one["footprint"]),
            faults=int(faults[one["step"]]),
        )
        for one in run.summary()
    ]
    if profile is None:
        return rows
    interval, off = run.interval(profile), families_off(profile, len(run.results))
    return [
        _placed(row, {"off": off} | {name: _number(getattr(interval, name.removesuffix("_s"))[i]) for name in ENDS})
        for i, row in enumerate(rows)
    ]


def pooled(steps: Iterable[Step]) -> list[Step]:
    """Return one row for each label, with the counts of its first superstep and the sums of all seconds and faults.

    ``times`` is the number of its supersteps.
    """
    labels: dict[str, list[Step]] = {}
    for step in steps:
        labels.setdefault(step.label, []).append(step)
    return [_sum(same) for same in labels.values()]


def _sum(steps: Sequence[Step]) -> Step:
    ends = [name for name in ENDS if getattr(steps[0], name) is not None]
    whole = {name: sum(getattr(step, name) for step in steps) for name in ("compute_s", "measured_s", *ends)}
    faults = sum(step.faults or 0 for step in steps)
    row = steps[0].model_copy(update={"times": len(steps), "faults": faults, **whole})
    return _placed(row) if ends else row


def averages(steps: Iterable[Step], *by: str) -> list[Step]:
    """Return the paper's analysis of supersteps: a row for each label of a program, averaged over its runs.

    Parameters
    ----------
    steps : iterable of Counted
        Supersteps from `pooled`, with the fields of the program that was run.
    *by : str
        Fields that distinguish programs, such as ``"algorithm", "p"``.

    Returns
    -------
    list of Counted
        ``runs`` is the number of runs. ``loc`` and ``m_over_g`` are the means over the runs in which the superstep is
        significant, that is with M of at least `SMALL`, or None if it never is. The counts and times are those of the
        run with the largest M, or of the last such run.
    """
    groups: dict[tuple[Any, ...], list[Step]] = {}
    for step in steps:
        groups.setdefault((*(getattr(step, name) for name in by), step.label), []).append(step)
    return [_average(same) for same in groups.values()]


def _average(steps: Sequence[Step]) -> Step:
    large = [step for step in steps if step.m >= SMALL]
    means = {"loc": _mean(step.loc for step in large), "m_over_g": _mean(step.m_over_g for step in large)}
    return max(reversed(steps), key=lambda step: step.m).model_copy(update={"runs": len(steps), **means})


def sampled(names: Mapping[str, str]) -> np.dtype[np.void]:
    """Return the dtype of `Found.samples` from the names and dtypes of the key's fields."""
    return np.dtype([*names.items(), ("repeat", "i4"), ("seconds", "f8")])


def _placed(row: Step, predicted: Mapping[str, Any] | None = None) -> Step:
    """Return a row with the place of its measured time between its predictions, which are added first if given."""
    row = row.model_copy(update=predicted)
    times = (row.measured_s, row.good_s, row.bad_s, row.random_s)
    measured, good, bad, random = (np.nan if seconds is None else seconds for seconds in times)
    found = place(measured, good, np.fmax(bad, random), row.m)
    return row.model_copy(
        update={
            "loc": _number(found.loc),
            "m_over_g": _number(found.m_over_g),
            "inside": bool(found.inside),
            "verdict": str(found.verdict),
        }
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
