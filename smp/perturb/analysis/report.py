"""Text report of an experiment: its places, the effects on each response, the gains, and the next steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from smp._output.numbers import short, time
from smp._output.table import Column, Row, counted, share, text
from smp._output.terminal import Printed
from smp.models._types import FloatArray

from ..places.counting import Met
from .advice import Step, steps_table
from .detectable import WORTH
from .effects import Analysis
from .speedups import Gains
from .table import effects_table

UNITS = {"time": "s", "memory": "B", "throughput": "1/s"}
"""Units of the responses that have one."""
LARGEST = 31
"""Largest number of effects that are shown for one response."""


class Trials(Protocol):
    """The parts of trials that a report reads: see `smp.perturb.experiments.trials`."""

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


def places_table(met: Mapping[str, Met], run: float, delayed: Mapping[str, float] | None = None) -> Printed:
    """Return a table of the places that a program passes, the most frequent first (table 1).

    ``of run`` is the share of a run's time in the place, and ``itself`` the share without the places inside it, as a
    profile has it.

    Parameters
    ----------
    met : mapping of str to Met
    run : float
        Seconds of a run in which the places were counted.
    delayed : mapping of float, optional
        Seconds that the treatment of each factor adds to a run of one processor.
    """
    several = max((one.by for one in met.values()), default=1) > 1
    columns = [text("place"), counted("passes"), counted("processors"), Column("time inside", form="time")]
    columns += [share("of run"), share("itself"), Column("delay per run", form="time")]
    rows: list[Row] = []
    for name, one in sorted(met.items(), key=lambda item: (-item[1].passes, item[0])):
        shares = (one.share(run), one.own_share(run)) if one.inside else (None, None)
        rows.append([name, one.passes, one.by, one.inside or None, *shares, (delayed or {}).get(name)])
    shown = [0, 1, *([2] if several else []), 3, 4, 5, *([6] if delayed else [])]
    notes = [
        "itself: without the places inside it" * any(one.own < one.inside for one in met.values()),
        "passes and times: of all processors together; shares: of one processor" * several
        + "; delay: of one processor" * bool(several and delayed),
        "a share above 100%: several threads of a processor were in the place at the same time"
        * any(one.share(run) > 1 for one in met.values()),
    ]
    return Printed("", [columns[i] for i in shown], [[row[i] for i in shown] for row in rows], notes)


def shares(met: Mapping[str, Met], run: float) -> dict[str, dict[str, float]]:
    """Return, as plain JSON, the counts of each place and its shares of a run (see `places_table`)."""
    return {
        name: {**one._asdict(), "share": one.share(run), "own_share": one.own_share(run)} for name, one in met.items()
    }


def summary(trials: Trials) -> Printed:
    """Return a summary of an experiment: program, design, treatments, times."""
    plan = trials.plan
    two = plan.design is not None or plan.speedup
    kinds = {str(ladder[-1]) if two else ", ".join(map(str, ladder)) for ladder in plan.treatments.values()}
    treated = kinds.pop() if len(kinds) == 1 else ", ".join(f"{n} {ls[-1]}" for n, ls in plan.treatments.items())
    design = str(plan.design) if plan.design else f"{len(plan.levels)} trials of {len(plan.factors)} factors"
    if plan.speedup:
        design = f"speedup: {len(plan.levels)} trials, with all {len(plan.factors)} places delayed, and all but one"
    shares = set((trials.about.get("shares") or {}).values())
    if shares:
        treated = f"{' or '.join(sorted(shares))} of the time in each place: {treated}"
    quickest = f"; of {trials.runs} runs of a trial, the quickest counts" if trials.runs > 1 else ""
    count = len(trials.table) // trials.runs
    lines = [
        ("Program", str(trials.about.get("program", ""))),
        ("Design", design),
        ("Treatment", treated),
        ("Trials", f"{count} in {trials.replicates} replicates, each in a new random order{quickest}"),
        (
            "Before",
            f"a warm-up run, {time(trials.warm_up)}; runs to count places, the quickest {time(trials.counting)}",
        ),
    ]
    if trials.about.get("placement"):
        lines.append(("Placement", trials.about["placement"]))
    return Printed(columns=(text(), text()), rows=lines)


def sections(trials: Trials, names: Sequence[str]) -> Iterator[Printed]:
    """Yield the tables of the report on the given responses."""
    yield summary(trials)
    yield places_table(trials.met, trials.counting, trials.delayed())
    for name in names:
        if trials.constant(name):
            yield constant(trials, name)
        elif trials.plan.design is not None:
            yield effects_table(trials.analyse(name), ordered=True, largest=LARGEST)
            if name == "time":
                yield from _advice(trials)
        elif name == "time" and trials.plan.speedup:
            yield from _gains(trials)
        elif name == "time":
            yield replace(trials.search(name).table(LARGEST), title=f"{_titled(name)}, the shortest first")
        else:
            yield _range(trials, name)


def constant(trials: Trials, name: str) -> Printed:
    """Return a note with the value of a response that is the same in all trials."""
    return Printed(notes=[f"{_titled(name)}: {short(trials.responses(name)[0, 0], 10)} in all trials"])


def _range(trials: Trials, name: str) -> Printed:
    means = trials.responses(name).mean(axis=0)
    least, most = (f"{short(means[trial])} in trial {trial + 1}" for trial in (means.argmin(), means.argmax()))
    return Printed(notes=[f"{_titled(name)}: from {least} to {most}, means of the replicates"])


def _advice(trials: Trials) -> Iterator[Printed]:
    yield from _gains(trials)
    steps = trials.next_steps()
    worth = f"the effect to exclude: that of a place that would save {WORTH:.0%} of a run if it took no time"
    undecided = any(step.action in ("drop", "undecided") for step in steps)
    yield replace(steps_table(steps), title="Next steps", notes=[worth * undecided])


def _gains(trials: Trials) -> Iterator[Printed]:
    delayed = trials.delayed()
    if all(delayed[name] > 0 and trials.met[name].inside > 0 for name in trials.plan.factors):
        yield replace(trials.gains().table(), title="Gain if a place took no time")


def _titled(name: str) -> str:
    return f"{name} ({UNITS[name]})" if name in UNITS else name
