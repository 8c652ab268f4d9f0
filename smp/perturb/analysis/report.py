"""What an experiment found, as text: the places, the effects on each response, gains, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from smp._output.tables import aligned, time_text

from .._types import FloatArray
from ..places.counting import Met
from .advice import Step, steps_table
from .effects import Analysis
from .gains import Gains
from .power import WORTH
from .table import effects_table

UNITS = {"time": "s", "memory": "B", "throughput": "1/s"}
"""Of the responses that have one."""
LARGEST = 31
"""Effects that are shown of one response."""


class Trials(Protocol):
    """What is read of trials: see `smp.perturb.experiments.trials`."""

    @property
    def plan(self) -> Any: ...
    @property
    def table(self) -> Any: ...
    @property
    def about(self) -> dict[str, Any]: ...
    @property
    def replicates(self) -> int: ...
    @property
    def met(self) -> Mapping[str, Met]: ...
    @property
    def warm_up(self) -> float: ...
    @property
    def counting(self) -> float: ...
    @property
    def runs(self) -> int: ...
    def constant(self, name: str) -> bool: ...
    def responses(self, name: str) -> FloatArray: ...
    def analyse(self, name: str) -> Analysis: ...
    def search(self, name: str) -> Any: ...
    def delayed(self) -> dict[str, float]: ...
    def gains(self) -> Gains: ...
    def next_steps(self) -> list[Step]: ...


def places_table(met: Mapping[str, Met], delayed: Mapping[str, float] | None = None) -> str:
    """Return the places that a program passes, the most frequent first.

    Parameters
    ----------
    met : mapping of str to Met
    delayed : mapping of float, optional
        Seconds that the treatment of each factor adds to a run, of one processor.
    """
    several = max((one.by for one in met.values()), default=1) > 1
    rows = [["place", "passes", *(["by"] if several else []), "inside", *(["delay a run"] if delayed else [])]]
    for name in sorted(met, key=lambda name: (-met[name].passes, name)):
        one = met[name]
        row = [name, f"{one.passes:,}", *([str(one.by)] if several else [])]
        row.append(time_text(one.inside) if one.inside else "-")
        rows.append([*row, *([time_text((delayed or {}).get(name, math.nan))] if delayed else [])])
    text = aligned(rows, words={0})
    if several:
        text += "\nby so many processors, all together" + ("; the delay is that of each" if delayed else "")
    return text


def summary(trials: Trials) -> str:
    """Return what was run: program, design, treatments, times."""
    plan = trials.plan
    kinds = {str(ladder[-1]) if plan.design else ", ".join(map(str, ladder)) for ladder in plan.treatments.values()}
    treated = kinds.pop() if len(kinds) == 1 else ", ".join(f"{n} {ls[-1]}" for n, ls in plan.treatments.items())
    design = str(plan.design) if plan.design else f"{len(plan.levels)} trials of {len(plan.factors)} factors"
    shares = set((trials.about.get("shares") or {}).values())
    if shares:
        treated = f"{' or '.join(sorted(shares))} of the time in a place: {treated}"
    quickest = f"; the quickest of {trials.runs} runs each" if trials.runs > 1 else ""
    lines = [
        ("Program", str(trials.about.get("program", ""))),
        ("Design", design),
        ("Treatment", treated),
        (
            "Trials",
            f"{len(trials.table) // trials.runs}, {trials.replicates} replicates, each in a fresh order{quickest}",
        ),
        ("Before", f"a first run, {trials.warm_up:.4g} s, and some counted, the quickest {trials.counting:.4g} s"),
    ]
    return "\n".join(f"{name:<11} {text}" for name, text in lines)


def sections(trials: Trials, names: Sequence[str]) -> list[str]:
    """Return the parts of the report on some responses."""
    parts = [summary(trials), places_table(trials.met, trials.delayed())]
    for name in names:
        if trials.constant(name):
            parts.append(constant_text(trials, name))
        elif trials.plan.design is not None:
            analysis = trials.analyse(name)
            parts.append(effects_table(analysis, ordered=True, largest=LARGEST))
            parts += _advice(trials) if name == "time" else []
        elif name == "time":
            parts.append(f"{_titled(name)}, the least first\n{trials.search(name).table(LARGEST)}")
        else:
            parts.append(_range_text(trials, name))
    return parts


def constant_text(trials: Trials, name: str) -> str:
    """Return what a response is that is the same in all trials."""
    return f"{_titled(name)}: {trials.responses(name)[0, 0]:.10g} in all trials"


def _range_text(trials: Trials, name: str) -> str:
    means = trials.responses(name).mean(axis=0)
    ends = [f"{means[trial]:.4g} in trial {trial + 1}" for trial in (means.argmin(), means.argmax())]
    return f"{_titled(name)}: from {ends[0]} to {ends[1]}, means of the replicates"


def _advice(trials: Trials) -> list[str]:
    parts = []
    delayed = trials.delayed()
    if all(delayed[name] > 0 and trials.met[name].inside > 0 for name in trials.plan.factors):
        parts.append("If a place took no time:\n" + str(trials.gains()))
    steps = trials.next_steps()
    text = "Next:\n" + steps_table(steps)
    if any(step.action in ("drop", "undecided") for step in steps):
        text += f"\nexcluded or not: the effect of a place that would save {WORTH:.0%} of a run if it took no time"
    return [*parts, text]


def _titled(name: str) -> str:
    return f"{name} ({UNITS[name]})" if name in UNITS else name
