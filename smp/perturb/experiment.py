"""An experiment: the trials of a design, run on a program in random order (steps 2 and 3 of section 2.1).

    warm-up  ─▶  some runs counted: which places are passed  ─▶  replicates of all trials, each in a fresh order

What is measured is saved on the way, and taken up again by the same call.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .. import Machine
from .._counting import Met
from .._kept import write
from ..errors import SmpError, TrialFailed
from ._types import IntArray
from .design import Design
from .observed import Arguments, Counts, Here, OnMachine, Outcome
from .plan import Levels, Plan, is_array, planned
from .schedule import blocked, schedule
from .script import Script
from .treatments import Treatment, checked
from .trials import Trials, tabulated
from .words import named

COUNTED, AGREEING, NEARLY = 12, 3, 1.1
"""Runs that are counted at most; so many suffice whose times in each place differ by no more than a tenth."""
SAVE_S = 2.0
"""Seconds between saving what was measured."""
Progress = Callable[[float, str], None]


class Runner(Protocol):
    """What runs trials of one program."""

    def trial(self, treatments: Mapping[str, Treatment]) -> Outcome: ...
    def count(self) -> Counts: ...


def screen(
    program: Callable[..., Any] | str | os.PathLike[str],
    design: Design | str | IntArray | None = None,
    *,
    treatment: Levels = "10us",
    factors: str | Sequence[str] | None = None,
    arguments: Arguments = (),
    machine: Machine | None = None,
    replicates: int = 3,
    runs: int = 1,
    blocks: int = 1,
    seed: int = 0,
    work: float | str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Trials:
    """Run an experiment on a program.

    Parameters
    ----------
    program : callable or path_like
        A function, called as ``program(*arguments)``; with a machine an SPMD program, ``program(proc, *arguments)``; or
        the path of a script, each trial of which is a process of its own (see `smp.perturb.script`).
    design : Design, str, or ndarray (trials, factors) of int, optional
        ``"2^(6-2)"``, ``"PB12"``, ``"OA25(5^6)"``, ..., or levels 0, 1, 2, ...; by default the smallest full or
        fractional factorial design of resolution IV.
    treatment : Treatment, str, mapping or sequence
        Of the level +1; or one for each factor; or, for an array, one for each level, None for no treatment. ``"20%"``
        is so much of the mean time that a pass of the place takes without treatments, on all processors, with waiting
        and inner places: for places whose times differ by orders of magnitude.
    factors : str or sequence of str, optional
        ``"push,pop"``, or ``"abc"`` for three. By default those of the design, or all that the program passes, by name.
    arguments : sequence or callable
        Or what makes them anew for each run, which is not timed. A script's are its command line.
    machine : Machine, optional
    replicates : int
        How often all trials are run, each time in a fresh order.
    runs : int
        How often each trial is run in a row; the run with the least time counts, with all its responses. For a program
        that others on the computer hold up for moments. Where it is slow for longer than a trial takes, as many more
        replicates are worth more; where arguments are made anew, the least time is that of the luckiest.
    blocks : int
        In how many blocks in time each replicate of a full or fractional design is run.
    seed : int
        Of the order.
    work : float or str, optional
        What a run does, or the number among its results that tells it: makes the response ``throughput``, work by time.
    resume : path_like, optional
        A file where the trials are kept while the experiment is under way; those that it holds are not run again. It is
        removed at the end.
    progress : callable, optional
        Called with the share that is done and a word on what is under way.

    Returns
    -------
    Trials
        Responses ``time`` in seconds, ``memory`` in bytes, and the numbers that the program returns.

    Raises
    ------
    TypeError, ValueError
        Before the first trial: for a factor that the program never passes, a design or treatment that is none, a share
        of the time in a place in which none was measured.
    TrialFailed
        When the program fails in a trial; the message has the settings.
    KeyboardInterrupt
        On Ctrl-C; ``resume``, if given, holds the trials that were run.

    Examples
    --------
    >>> import smp
    >>> from smp.perturb import factor, screen
    >>> def program(proc):
    ...     for _ in range(20):
    ...         with factor("hot"):
    ...             pass
    ...     with factor("cold"):
    ...         pass
    >>> with smp.emulated(1, schedule="clock") as machine:  # virtual time: no noise
    ...     trials = screen(program, treatment="100us", machine=machine)
    >>> found = trials.analyse("time")
    >>> [f"{1e6 * found.effect(place):.0f} us" for place in ("hot", "cold")]
    ['2000 us', '100 us']
    """
    if replicates < 1 or runs < 1:
        raise ValueError(f"{replicates} replicates of {runs} runs: there must be one of each at least")
    given = _named(design, factors)
    runner = runner_of(program, arguments, machine)
    say = progress or _nothing
    say(0.0, "warm-up")
    warm_up = runner.trial({}).time
    say(0.0, "counting places")
    counts = _counted(runner, min(COUNTED, 4 * replicates * runs))
    plan = planned(design, treatment, _passed(given, counts.met))
    order = _ordered(plan, replicates, runs, blocks, seed)
    names = ["time", "memory", *(["throughput"] if work is not None else []), *counts.outcome.numbers]
    if isinstance(work, str) and work not in counts.outcome.numbers:
        raise ValueError(f"the program returns no number {work!r} that tells its work: there are {', '.join(names)}")
    about = {"program": _told(program), "seed": seed, "machine": None if machine is None else repr(machine)}
    identity = {**about, "plan": plan.to_json(), "order": order.tolist(), "responses": names}
    about["shares"] = plan.shares()
    plan = plan.measured(counts.met, counts.virtual)
    kept = None if resume is None else Path(resume)
    plan, rows = _taken_up(identity, plan, kept)
    keep = _nothing if kept is None else partial(_keep, identity, plan, rows, kept)
    try:
        _run(runner, plan, order, names, work, rows, keep, say)
    finally:
        if rows:
            keep()
    if kept is not None:
        kept.unlink(missing_ok=True)
    table = tabulated(plan, order, names, rows)
    seconds = warm_up, counts.outcome.time
    return Trials(plan, table, counts.met, counts.processors, *seconds, plan.lengths(counts.virtual), about)


def _named(design: Design | str | IntArray | None, factors: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The factors that are asked for, before anything is run; None where they are to be found."""
    if factors is None:
        return design.factors if isinstance(design, Design) else None
    names = named(factors)
    if not names:
        raise ValueError("no factors: name some, or leave them out to have all places found that the program passes")
    if isinstance(design, str):
        planned(design, [None] * 99 if is_array(design) else "lock", names)
    checked(dict.fromkeys(names, "lock"))
    return names


def _passed(names: tuple[str, ...] | None, met: Mapping[str, Met]) -> tuple[str, ...]:
    """The factors, all of which the program passes."""
    if not met:
        raise ValueError(
            "the program passes no factor: name places in it, with factor(...) of smp.perturb, or with delay(...) in "
            "compiled loops"
        )
    if names is None:
        return tuple(sorted(met))
    never = [name for name in names if name not in met]
    if never:
        raise ValueError(f"the program never passes {', '.join(never)}; it passes {', '.join(sorted(met))}")
    return names


def runner_of(program: Any, arguments: Arguments = (), machine: Machine | None = None) -> Runner:
    """Return what runs trials of a program; see `screen`."""
    if isinstance(program, str | os.PathLike):
        if machine is not None or callable(arguments):
            raise TypeError("a script opens its machines itself, and its arguments are a sequence of strings")
        return Script(program, arguments)
    if not callable(program):
        raise TypeError(f"a program is a function or the path of a script, not a {type(program).__name__}")
    return Here(program, arguments) if machine is None else OnMachine(machine, program, arguments)


def _counted(runner: Runner, most: int) -> Counts:
    """Count the places in several runs, until they agree; on an emulated machine, which has no noise, in one.

    Of the time in each place the least is kept: others on the computer add to it, to one place and not to the next.
    """
    counts = [runner.count()]
    while not (counts[0].virtual or len(counts) >= most or _agree(counts)):
        counts.append(runner.count())
    met = {name: found[0] for name, found in _by_place(counts).items()}
    return counts[0]._replace(met=met, outcome=min((one.outcome for one in counts), key=lambda outcome: outcome.time))


def _agree(counts: Sequence[Counts]) -> bool:
    """Whether in each place the least times of so many runs are the same, nearly; points of `delay` have none."""
    return all(
        not found[-1].inside
        or (len(found) >= AGREEING and _pass_time(found[AGREEING - 1]) <= NEARLY * _pass_time(found[0]))
        for found in _by_place(counts).values()
    )


def _by_place(counts: Sequence[Counts]) -> dict[str, list[Met]]:
    """What the runs met in each place, the least time first."""
    names = {name for one in counts for name in one.met}
    return {name: sorted((one.met[name] for one in counts if name in one.met), key=_pass_time) for name in names}


def _pass_time(met: Met) -> float:
    return met.inside / met.passes


def _ordered(plan: Plan, replicates: int, runs: int, blocks: int, seed: int) -> IntArray:
    """Replicate, block, trial and run (rows, 4) of each row of the table."""
    parts = plan.design.blocks if plan.design is not None and plan.design.folds else None
    if blocks != 1:
        if plan.design is None:
            raise ValueError(f"{blocks} blocks: an array of more levels is not divided; make each replicate a block")
        parts = blocked(plan.design, blocks)[0]
    order = np.repeat(np.transpose(schedule(len(plan.levels), replicates, seed, parts)), runs, axis=0)
    return np.column_stack([order, np.arange(len(order)) % runs])


def _run(
    runner: Runner,
    plan: Plan,
    order: IntArray,
    names: Sequence[str],
    work: float | str | None,
    rows: list[list[float]],
    keep: Callable[[], object],
    say: Progress,
) -> None:
    """Run the trials that are not in ``rows`` yet."""
    saved = time.monotonic()
    for replicate, _, trial, _ in order[len(rows) :].tolist():
        settings = plan.settings(trial)
        say(len(rows) / len(order), f"replicate {replicate + 1}, trial {trial + 1}")
        try:
            rows.append(_row(runner.trial(settings), names, work))
        except Exception as error:
            set_ = ", ".join(f"{name} = {one}" for name, one in settings.items()) or "no treatments"
            raise TrialFailed(f"trial {trial + 1} of replicate {replicate + 1} failed ({set_}): {error}") from error
        if time.monotonic() > saved + SAVE_S:
            keep()
            saved = time.monotonic()
    say(1.0, "")


def _row(outcome: Outcome, names: Sequence[str], work: float | str | None) -> list[float]:
    found = {**outcome.numbers, "time": outcome.time, "memory": outcome.memory}
    if work is not None:
        amount = outcome.numbers[work] if isinstance(work, str) else float(work)
        found["throughput"] = amount / outcome.time
    if set(found) != set(names):
        raise SmpError(f"it returned {', '.join(sorted(found))}; the first run returned {', '.join(sorted(names))}")
    return [found[name] for name in names]


def _taken_up(identity: Mapping[str, Any], plan: Plan, kept: Path | None) -> tuple[Plan, list[list[float]]]:
    """The plan and the rows that `_keep` has saved, if it has: another count would make other delays of shares.

    Raises
    ------
    ValueError
        They are of another experiment.
    """
    if kept is None or not kept.exists():
        return plan, []
    try:
        data = json.loads(kept.read_text(encoding="utf-8"))
        same = data["experiment"] == json.loads(json.dumps(identity))
        plan, rows = Plan.from_json(data["plan"]), data["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"cannot resume from {kept}: {error}; remove it to begin anew") from error
    if not same:
        raise ValueError(f"{kept} holds trials of another experiment: remove it (--anew does), or give another file")
    return plan, [[float(value) for value in row] for row in rows]


def _keep(identity: Mapping[str, Any], plan: Plan, rows: list[list[float]], kept: Path) -> None:
    write(kept, json.dumps({"experiment": identity, "plan": plan.to_json(), "rows": rows}))


def _told(program: Any) -> str:
    if isinstance(program, str | os.PathLike):
        return str(program)
    return ".".join(getattr(program, part, "?") for part in ("__module__", "__qualname__"))


def _nothing(*_: object) -> None:
    pass
