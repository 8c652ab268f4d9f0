"""Run a ladder: one design with each of several delays (the rungs), to see how effects grow with the delay (figure 3).

    rung 1us       rung 2us              the trials of all rungs, in one random order
    a   b          a   b                 a    b
    -   -          -   -                 2us  2us      rung 2us, trial 4
    +   -          +   -          ─▶     -    1us      rung 1us, trial 3
    -   +          -   +                 2us  -        rung 2us, trial 2
    +   +          +   +                 ...

If the machine becomes slower meanwhile, this adds to all rungs alike, instead of to the effects of the later rungs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from smp._output.numbers import time
from smp._output.table import Column, Row, text
from smp._output.terminal import Printed
from smp._runtime.machine import Machine
from smp.models._types import IntArray

from ..analysis.detectable import excluded, worth_having
from ..analysis.ladders import LEAST, Ladder, ladder
from ..designs.design import Design
from ..designs.words import named
from ..files.saved import Saved
from ..places.functions import Given
from ..places.treatments import Treatment, checked
from .experiment import Progress, screen
from .observed import Arguments
from .plan import Plan, is_array, planned
from .runners import running
from .trials import Trials

FORMAT, VERSION = "smp-ladder", 1
_COLUMNS = (
    *(text("factor"), Column("passes", form="short"), Column("slope", form="short")),
    *(Column("per pass", form="fixed", digits=3), Column("offset", form="short", digits=3)),
    *(text("verdict"), text("trusted delays"), text("next step")),
)


@dataclass(frozen=True, eq=False)
class Climb(Saved):
    """Trials of all rungs of a ladder.  Made by `climb`.

    Attributes
    ----------
    design : Design
        Design of each rung.
    trials : Trials
        Trials of all rungs. The rows of the design with the first delay come before those with the second, and so on.
        Level 0 is no treatment, and level k the treatment of rung k, counted from 1.
    """

    WHAT, FORMAT, VERSION, LAYOUT = "ladder", FORMAT, VERSION, "LadderLayout"

    design: Design
    trials: Trials

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """The treatment of each rung."""
        first = self.trials.plan.treatments[self.design.factors[0]]
        return tuple(one for one in first if one is not None)

    @property
    def delays(self) -> tuple[float, ...]:
        """Length of the delay of each rung, in seconds."""
        return tuple(self.trials.lengths[self.design.factors[0]][1:])

    @cached_property
    def rungs(self) -> tuple[Trials, ...]:
        """Trials of each rung, as if each rung had been a separate experiment."""
        return tuple(self._rung(k) for k in range(len(self.treatments)))

    def _rung(self, k: int) -> Trials:
        whole, factors = self.trials, self.design.factors
        rung, trial = np.divmod(whole.table["trial"], self.design.trials)
        table = whole.table[rung == k].copy()
        table["trial"] = trial[rung == k]
        table["levels"] = self.design.levels[table["trial"]]
        treatments: tuple[Treatment | None, ...] = (None, self.treatments[k])
        plan = Plan(factors, self.design.levels.astype(np.int64), dict.fromkeys(factors, treatments), self.design)
        return replace(whole, plan=plan, table=table, lengths={name: [0.0, self.delays[k]] for name in factors})

    def ladders(self, name: str = "time") -> dict[str, Ladder]:
        """Judge the main effects of each factor on one response at all delays (in seconds).

        Raises
        ------
        KeyError, ValueError
            If there is no response of this name, or if trials are missing.
        """
        found = [rung.analyse(name) for rung in self.rungs]
        noise = [max(one.uncertainty, one.rounding) for one in found]
        return {
            factor: ladder(
                self.delays, [one.effect(factor) for one in found], noise, found[0].factor, freedom=found[0].freedom
            )
            for factor in self.design.factors
        }

    def table(self, name: str = "time") -> Printed:
        """Return a table of the verdicts on the ladders and the next steps.

        The factor with the largest effect of the longest delay comes first.

        ``slope`` is the effect per unit delay of the trusted rungs. ``per pass`` is that slope for each pass of a
        processor (1 if the run waits for every pass). ``offset`` is what a delay saves or costs whatever its length.
        """
        found, run = self.ladders(name), float(self.trials.responses(name).mean(axis=0).min())
        rows: list[Row] = []
        for factor in sorted(found, key=lambda factor: -abs(found[factor].effects[-1])):
            one, met = found[factor], self.trials.met[factor]
            passes = met.passes / met.by
            added = one.delays[-1] * passes if name == "time" else math.nan
            worth = worth_having(run, added, met.inside / met.by)
            slopes = [one.slope, one.slope / passes, one.offset] if math.isfinite(one.slope) else [None] * 3
            rows.append([factor, passes, *slopes, one.verdict, _ends(one), _next(one, name, worth)])
        return Printed("", _COLUMNS, rows)

    def __str__(self) -> str:
        """Return the design, the delays and the number of runs as text."""
        rungs, runs = ", ".join(map(time, self.delays)), len(self.trials.table)
        return f"{self.design}\nDelays: {rungs}; {runs} runs, {self.trials.replicates} replicates of all rungs"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, which `from_json` reads. The ladders of the time are included for human readers."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "design": self.design.to_json(),
            "trials": self.trials.to_json(),
            "ladders": {factor: one.to_json() for factor, one in self.ladders().items()},
        }

    @classmethod
    def _made(cls, data: Mapping[str, Any]) -> Climb:
        design, trials = Design.from_json(data["design"]), Trials.from_json(data["trials"])
        plan, first = trials.plan, trials.plan.treatments.get(design.factors[0], ())
        fits = plan.factors == design.factors and plan.design is None and len(first) > 1
        if not fits or not np.array_equal(plan.levels, _levels(design, len(first) - 1)):
            raise ValueError("its trials are not those of its design at each rung")
        same = all(ladder == first for ladder in plan.treatments.values())
        if not same or first[0] is not None or None in first[1:] or len(first) <= LEAST:
            raise ValueError(f"all factors must have the same treatments: none, and at least {LEAST} rungs")
        if not all(0 < length < math.inf for length in trials.lengths[design.factors[0]][1:]):
            raise ValueError("the lengths of all rungs must be above zero")
        return cls(design, trials)


def climb(
    program: Callable[..., Any] | str | os.PathLike[str],
    delays: Sequence[Treatment | str] = ("1us", "2us", "5us", "10us", "20us"),
    design: Design | str | None = None,
    *,
    factors: str | Sequence[str] | None = None,
    functions: Sequence[Given] = (),
    paths: Sequence[str] = (),
    arguments: Arguments = (),
    machine: Machine | None = None,
    replicates: int = 3,
    runs: int = 1,
    seed: int = 0,
    work: float | str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Climb:
    """Run one design with each of several delays.

    Parameters
    ----------
    program, factors, functions, paths, arguments, machine, runs, seed, work, resume, progress
        As for `screen`. After Ctrl-C, ``resume`` holds the trials that were run, and the same call continues.
    delays : sequence of Treatment or str
        At least three treatments whose lengths are known: ``"10us"``, ``"work:100"``, ``"sleep:1ms"``.
    design : Design or str, optional
        Two-level design; by default the smallest full or fractional one of resolution IV.
    replicates : int
        How often the trials of all rungs are run, each time in a fresh order. At least two, so that the noise is known.

    Returns
    -------
    Climb

    Raises
    ------
    TypeError, ValueError
        Before the first trial: for delays that do not make a ladder, a design that is not of two levels, or invalid
        factors.
    TrialFailed, KeyboardInterrupt
        As `screen` does.

    Notes
    -----
    A ladder has as many trials as `screen` runs, times the number of rungs. If no factors are given, the program is run
    once more, to find them.

    Examples
    --------
    >>> import smp
    >>> from smp.perturb import factor
    >>> from smp.perturb.experiments.climbing import climb
    >>> def program(proc):
    ...     for _ in range(3):
    ...         with factor("all"):
    ...             proc.barrier()
    >>> with smp.emulated(2, schedule="clock") as machine:
    ...     found = climb(program, ("10us", "20us", "50us"), machine=machine, replicates=2)
    >>> print(found.table())
    factor  passes  slope  per pass  offset  verdict  trusted delays      next step
    ----------------------------------------------------------------------------------------------
    all          3      3     1.000       0  linear   10.0 us to 50.0 us  screen with any of these
    """
    rungs = _checked(delays)
    if replicates < 2:
        raise ValueError(
            f"a ladder needs at least 2 replicates, not {replicates}: the noise decides which delays agree"
        )
    if isinstance(design, np.ndarray) or (isinstance(design, str) and is_array(design)):
        raise ValueError(
            "a ladder needs a design of two levels, such as 2^3, not an array: a rung has no delay and its own delay"
        )
    if factors is None and isinstance(design, Design):
        factors = design.factors
    if factors is None:
        if progress is not None:
            progress(0.0, "looking for places")
        factors = _met(program, arguments, machine, functions, paths)
    names = named(factors)
    two = planned(design, rungs[0], names).design
    assert two is not None  # otherwise it is an array
    trials = screen(
        program,
        _levels(two, len(rungs)),
        treatment=(None, *rungs),
        factors=names,
        functions=functions,
        paths=paths,
        arguments=arguments,
        machine=machine,
        replicates=replicates,
        runs=runs,
        seed=seed,
        work=work,
        resume=resume,
        progress=progress,
    )
    return Climb(two, trials)


def _levels(design: Design, rungs: int) -> IntArray:
    """Return the level of each factor in the trials of all rungs."""
    return np.concatenate([np.where(design.levels > 0, level, 0) for level in range(1, rungs + 1)])


def _met(
    program: Any, arguments: Arguments, machine: Machine | None, functions: Sequence[Given], paths: Sequence[str]
) -> tuple[str, ...]:
    with running(program, arguments, machine, functions, paths) as (runner, _):
        met = runner.count().met
    if not met:
        raise ValueError("the program passes no factor, so there is nothing to delay: name places in it")
    return tuple(sorted(met))


def _checked(delays: Sequence[Treatment | str]) -> tuple[Treatment, ...]:
    if isinstance(delays, str):
        raise TypeError(f"delays must be a sequence of treatments, not {delays!r}")
    if None in delays:
        raise ValueError(
            "None cannot be a rung of a ladder: leave it out, because each rung has trials without delays anyway"
        )
    found = tuple(checked({f"rung{i}": one for i, one in enumerate(delays)}).values())
    if len(set(found)) < LEAST:
        raise ValueError(f"a ladder needs at least {LEAST} different delays, not {len(set(found))}")
    for one in found:
        if not one.seconds > 0:  # NaN too
            raise ValueError(
                f"{one} cannot be a rung of a ladder: take delays above zero whose length is known, such as 10us"
            )
    return found


def _ends(one: Ladder) -> str:
    trusted = one.delays[one.trusted].tolist()
    return f"{time(trusted[0])} to {time(trusted[-1])}" if trusted else "-"


def _next(one: Ladder, name: str, worth: float) -> str:
    """Return the next step for a ladder; ``worth`` is the effect of its longest delay that is worth having."""
    trusted = [time(delay) for delay in one.delays[one.trusted].tolist()]
    flat = abs(one.slope) <= one.sigmas * one.slope_uncertainty
    if one.verdict == "linear":
        above = int(np.flatnonzero(~one.clear).max(initial=-1)) + 1  # the first rung from which on all are clear
        choices = ["screen with any of these", *(f"screen with {delay} or more" for delay in trusted[1:])]
        text = [*choices, "screen with longer delays"][above]
    elif one.verdict == "large delays":
        text = f"no effect at {trusted[0]} or more" if flat else f"screen with {trusted[0]} or more"
    elif one.verdict == "small delays":
        text = f"no effect up to {trusted[-1]}" if flat else f"screen with {trusted[-1]} at most"
    elif one.verdict == "noise":
        half_width = one.sigmas * one.uncertainties[-1]
        text = "drop it" if excluded(one.effects[-1], half_width, worth) else "undecided: take longer delays"
    else:
        text = "no delay represents the others"
    faster = one.delays[one.clear & (one.effects < 0)].tolist() if name == "time" else []
    return text + (f"; search: the program is faster with {', '.join(map(time, faster))}" if faster else "")
