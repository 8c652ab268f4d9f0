"""Trials of an experiment: the measurements in the order of the runs, and the settings of each run.

order  replicate  block  trial  run  levels          time    memory   ...
    0          0      0      7    0  [ 1 -1  1  1]   0.213   8.1e7
    1          0      0      7    1  [ 1 -1  1  1]   0.202   8.1e7
    2          0      0      2    0  [-1  1 -1 -1]   0.198   8.1e7

The runs of a trial follow one another; the one with the least time counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import ExperimentError
from smp.models._types import FloatArray, IntArray

from ..analysis.advice import Step, next_steps
from ..analysis.detectable import WORTH
from ..analysis.effects import Analysis, analyse
from ..analysis.report import UNITS, sections
from ..analysis.speedups import Gains, gains, gains_of_speedup
from ..designs.design import Design
from ..files.saved import Saved
from ..places.counting import Met
from ..places.treatments import Treatment
from .plan import Plan
from .search import Search, searched

FORMAT, VERSION = "smp-trials", 4
ORDER = ("replicate", "block", "trial", "run")


@dataclass(frozen=True, eq=False, repr=False)
class Trials(Saved):
    """Trials of an experiment: its plan, its measurements, and the counts of its places.  Made by `screen`.

    Attributes
    ----------
    plan : Plan
    table : structured array
        A row for each run, in the order of running: ``order, replicate, block, trial`` (the row of the design),
        ``run``, ``levels`` (factors,), and the responses.
    met : dict of str to Met
        Counts of all places in the counted runs: the passes, the least seconds inside by all processors together, and
        the number of processors that passed the place.
    warm_up, counting : float
        Seconds of the first run, and of the quickest counted run. None of these runs is a trial.
    lengths : dict of str to list of float
        Seconds that the treatment of each level of each factor takes; see `Plan.lengths`.
    about : dict
        Program, seed, machine, and similar facts.
    """

    WHAT, FORMAT, VERSION, LAYOUT = "trials of an experiment", FORMAT, VERSION, "TrialsLayout"

    plan: Plan
    table: NDArray[np.void]
    met: dict[str, Met]
    warm_up: float
    counting: float
    lengths: dict[str, list[float]]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def design(self) -> Design:
        """Design of two levels.

        Raises
        ------
        ValueError
            For trials of an array of more levels, which have no effects (see `smp.perturb.experiments.search`), and for
            those of the design "speedup".
        """
        if self.plan.design is None:
            if self.plan.speedup:
                raise ValueError("these are trials of the design speedup, which has no effects: take their gains()")
            raise ValueError(
                "these are trials of an array of more than two levels, which has no effects: take the best of them"
            )
        return self.plan.design

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the responses."""
        return tuple((self.table.dtype.names or ())[6:])

    @property
    def runs(self) -> int:
        """Number of times that each trial was run in a row."""
        return int(self.table["run"].max(initial=0)) + 1

    @property
    def replicates(self) -> int:
        """Number of times that all trials were run."""
        return len(self.table) // (len(self.plan.levels) * self.runs)

    def responses(self, name: str = "time") -> FloatArray:
        """Return one response (replicates, trials), in the order of the design's rows.

        If a trial has several runs, the run with the least time counts, whatever the response.

        Raises
        ------
        KeyError
            If there is no response of this name.
        ExperimentError
            If trials are missing.
        """
        if name not in self.names:
            raise KeyError(f"there is no response {name!r}; the responses are {', '.join(self.names)}")
        shape = int(self.table["replicate"].max(initial=0)) + 1, len(self.plan.levels), self.runs
        places = np.ravel_multi_index([self.table[one] for one in ("replicate", "trial", "run")], shape)
        whole = math.prod(shape)
        if missing := whole - len(np.unique(places)):
            raise ExperimentError(f"{missing} of {whole} runs of trials are missing: resume the experiment")
        rows = np.empty(shape, np.int64)
        rows.flat[places] = np.arange(len(self.table))
        quickest = self.table["time"][rows].argmin(axis=2, keepdims=True)
        return np.asarray(self.table[name][np.take_along_axis(rows, quickest, axis=2)[..., 0]])

    def constant(self, name: str) -> bool:
        """Return True if a response is the same in all trials."""
        return not np.ptp(self.responses(name))

    @cached_property
    def blocks(self) -> IntArray:
        """Block (trials,) of each trial within its replication."""
        found = np.zeros(len(self.plan.levels), np.int64)
        found[self.table["trial"]] = self.table["block"]
        return found

    def analyse(self, name: str = "time", order: int = 2) -> Analysis:
        """Return the effects on one response (see `smp.perturb.analysis.effects.analyse`)."""
        return analyse(self.design, self.responses(name), name, UNITS.get(name, ""), order=order, blocks=self.blocks)

    def delayed(self) -> dict[str, float]:
        """Return the seconds that each factor's treatment adds to a run, for one of the processors that pass the place.

        NaN if the length of the treatment is not known beforehand.
        """
        return {name: self.lengths[name][-1] * self.met[name].passes / self.met[name].by for name in self.plan.factors}

    def gains(self) -> Gains:
        """Predict the gain from making each place faster (see `smp.perturb.analysis.speedups`).

        With the design "speedup", a gain is the difference of two trials: with all places delayed, and all but one.
        With a factorial design it is the main effect.  If the place has significant interactions, both ends are given:
        its effect while no other place is delayed, and while all others are.  A full design has a trial for each end,
        and the gain is that of the second one.

        Raises
        ------
        ValueError
            If a factor is a point of `delay`, in which no time can be measured, or its treatment has no known length.
            Also for an array of more than two levels.
        """
        unknown = [name for name in self.plan.factors if not self.met[name].inside > 0]
        if unknown:
            raise ValueError(
                f"no time was measured in {', '.join(unknown)}: points of delay(...) have none, so their gain "
                "cannot be predicted; enclose the code of the place in factor(...) instead"
            )
        spent = {name: self.met[name].inside / self.met[name].by for name in self.plan.factors}
        if self.plan.speedup:
            return gains_of_speedup(self.plan.factors, self.responses(), self.delayed(), spent)
        return gains(self.analyse(), self.delayed(), spent)

    def next_steps(self, worth: float = WORTH) -> list[Step]:
        """Return the next steps for each place, from its effect on the time (see `advice.next_steps`)."""
        spent = {name: met.inside / met.by for name, met in self.met.items()}
        return next_steps(self.analyse(), self.delayed(), spent, worth)

    def search(self, name: str = "time") -> Search:
        """Return the trials as a search for the least response.

        Its settings are the seconds of the treatments, or the levels if the length of a treatment is not known.

        Raises
        ------
        ValueError
            For ``throughput``, whose best value is the largest; search by the time instead.
        """
        self._less_is_better(name)
        lengths = [self.lengths[name] for name in self.plan.factors]
        settings = self.plan.levels if self.plan.design is None else (self.plan.levels + 1) // 2
        if np.isfinite(lengths).all():
            settings = np.take_along_axis(np.transpose(lengths), settings, axis=0)
        return searched(self.plan.factors, settings, self.responses(name))

    def best(self, name: str = "time") -> dict[str, Treatment]:
        """Return the settings of the trial with the least mean response."""
        self._less_is_better(name)
        return self.plan.settings(int(self.responses(name).mean(axis=0).argmin()))

    def _less_is_better(self, name: str) -> None:
        if name == "throughput":
            raise ValueError(
                "the best throughput is the largest, and a search finds the smallest: search by time instead"
            )

    def __str__(self) -> str:
        return "\n\n".join(map(str, sections(self, ["time"])))

    def __repr__(self) -> str:
        return f"<{len(self.table)} runs of {len(self.plan.levels)} trials of {', '.join(self.plan.factors)}>"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads."""
        rows = [[float(row[name]) for name in self.names] for row in self.table]
        lengths = {name: [None if math.isnan(s) else s for s in seconds] for name, seconds in self.lengths.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "plan": self.plan.to_json(),
            "responses": list(self.names),
            "order": [[int(row[name]) for name in ORDER] for row in self.table],
            "rows": [[value if math.isfinite(value) else None for value in row] for row in rows],
            "met": {name: list(one) for name, one in self.met.items()},
            "warm_up": self.warm_up,
            "counting": self.counting,
            "lengths": lengths,
            "about": self.about,
        }

    @classmethod
    def _made(cls, data: Mapping[str, Any]) -> Trials:
        plan = Plan.from_json(data["plan"])
        values = [[math.nan if value is None else value for value in row] for row in data["rows"]]
        table = tabulated(plan, data["order"], data["responses"], values)
        met = {name: Met(*one) for name, one in data["met"].items()}
        lengths = {
            name: [math.nan if s is None else float(s) for s in found] for name, found in data["lengths"].items()
        }
        seconds = data["warm_up"], data["counting"]
        return cls(plan, table, met, *seconds, lengths, dict(data["about"]))


def tabulated(plan: Plan, order: list[Any] | IntArray, names: list[str], values: list[list[float]]) -> NDArray[np.void]:
    """Return the table of trials as a structured array.

    Parameters
    ----------
    plan : Plan
    order : array_like (k, 4)
        Replicate, block, trial and run of each row.
    names : list of str
        Names of the responses.
    values : list of lists of float
        Responses of each row.
    """
    dtype = np.dtype(
        [
            *((name, np.int64) for name in ("order", *ORDER)),
            ("levels", np.int64, (len(plan.factors),)),
            *((name, np.float64) for name in names),
        ]
    )
    table = np.zeros(len(values), dtype)
    table["order"] = np.arange(len(values))
    for i, name in enumerate(ORDER):
        table[name] = [row[i] for row in order][: len(values)]
    table["levels"] = plan.levels[table["trial"]]
    for i, name in enumerate(names):
        table[name] = [row[i] for row in values]
    return table
