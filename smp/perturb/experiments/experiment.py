"""An experiment: the trials of a design, run on a program in random order (steps 2 and 3 of section 2.1).

    warm-up  ─▶  some counted runs: which places are passed  ─▶  replicates of all trials, each in a fresh order

If the host moved the CPUs during a run, the run is repeated, as long as there is time for that (see `Looker`).
Measurements are saved during the experiment, and the same call resumes it.
"""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from smp._runtime.host.looking import Looker
from smp._runtime.machine import Machine
from smp.errors import SmpError, TrialFailed
from smp.models._types import IntArray

from ..designs.design import Design
from ..designs.words import named
from ..places.counting import Met
from ..places.functions import Given
from ..places.paths import PATHS
from ..places.treatments import checked
from .observed import Arguments, Outcome
from .order import blocked, schedule
from .plan import Levels, Plan, is_array, planned
from .resuming import about_program, keep, taken_up
from .runners import Runner, counted, name_of, running
from .trials import Trials, tabulated

SAVE_S = 2.0
"""Seconds between two saves of the measurements."""
Progress = Callable[[float, str], None]


def screen(
    program: Callable[..., Any] | str | os.PathLike[str],
    design: Design | str | IntArray | None = None,
    *,
    treatment: Levels = "10us",
    factors: str | Sequence[str] | None = None,
    functions: Sequence[Given] = (),
    paths: Sequence[str] = (),
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
    """Run an experiment on a program: all trials of a design, in random order.

    Parameters
    ----------
    program : callable or path_like
        A function, called as ``program(*arguments)``. With a machine, an SPMD program, ``program(proc, *arguments)``.
        Or the path of a script, each trial of which is a separate process (see `smp.perturb.experiments.script`).
    design : Design, str, or ndarray (trials, factors) of int, optional
        ``"2^(6-2)"``, ``"PB12"``, ``"OA25(5^6)"``, ``"speedup"``, ..., or an array of levels 0, 1, 2, ... By default
        the smallest full or fractional factorial design of resolution IV.  ``"speedup"`` is for `Trials.gains` alone:
        its trials delay all places, and all but one.
    treatment : Treatment, str, mapping or sequence
        Treatment of the level +1; or one for each factor; or, for an array, one for each level, with None for no
        treatment. ``"20%"`` is that share of the mean time of a pass of the place without treatments. The mean is over
        all processors, and includes waiting and inner places. Use shares for places whose times differ by orders of
        magnitude. ``"stretch:20%"`` is that share of the time of each pass itself, at its end.
    factors : str or sequence of str, optional
        ``"push,pop"``, or ``"abc"`` for three. By default the factors of the design, or all that the program passes,
        sorted by name.
    functions : sequence of str or callable
        Functions whose calls are places, too, although their source names none: ``"module.function"``,
        ``"module.Class.method"``, or the function itself (see `smp.perturb.placed`). For a script, its own functions
        are those of the module ``__main__``, or of its name without ``.py``.
    paths : sequence of str
        Data paths whose operations are places, too: ``copy_in``, ``copy_out``, ``send``, ``receive``, ``send_block``,
        ``collectives``, ``barriers``, ``cells``; operations from Python, not those of compiled loops.
    arguments : sequence or callable
        Arguments of the program, or a function that is called before each run to make new ones, and is not timed. The
        arguments of a script are its command line.
    machine : Machine, optional
    replicates : int
        How often all trials are run, each time in a fresh order.
    runs : int
        How often each trial is run in a row. The run with the least time counts, with all its responses. Several runs
        help if other programs on the computer hold this one up for moments. If it is slow for longer than a trial
        takes, the same number of additional replicates is worth more. If each run has new arguments, the least time is
        that of the luckiest arguments.
    blocks : int
        Number of blocks in time into which each replicate of a full or fractional design is divided.
    seed : int
        Seed of the random order.
    work : float or str, optional
        Work that a run does, or the name of the result that holds it. Adds the response ``throughput``, work divided by
        time.
    resume : path_like, optional
        A file that holds the trials while the experiment is under way. Trials that it already holds are not run again.
        It is removed at the end.
    progress : callable, optional
        Called with the completed share, from 0 to 1, and a word on what is under way.

    Returns
    -------
    Trials
        Trials with the responses ``time`` in seconds, ``memory`` in bytes, and the numbers that the program returns.

    Raises
    ------
    TypeError, ValueError
        Before the first trial: for a factor that the program never passes, an invalid design or treatment, a share of
        the time in a place in which no time was measured, or a file ``resume`` that does not fit (ExperimentError).
    TrialFailed
        If the program fails in a trial; the message gives the settings.
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
    replicates, runs, blocks, seed = map(operator.index, (replicates, runs, blocks, seed))
    if replicates < 1 or runs < 1 or seed < 0:
        raise ValueError(
            f"{replicates} replicates of {runs} runs, seed {seed}: give at least one of each, and a seed from 0"
        )
    given = _named(design, factors)
    say = progress or _nothing
    with running(program, arguments, machine, functions, paths) as (runner, places):
        say(0.0, "warm-up")
        try:
            warm_up = runner.trial({}).time
            say(0.0, "counting places")
            counts = counted(runner, 4 * replicates * runs)
        except SystemExit as error:
            raise TrialFailed(f"the program ended in a run without treatments: {_said(error)}") from error
        plan = planned(design, treatment, _passed(given, places, counts.met))
        order = _ordered(plan, replicates, runs, blocks, seed)
        names = ["time", "memory", *(["throughput"] if work is not None else []), *counts.outcome.numbers]
        if isinstance(work, str) and work not in counts.outcome.numbers:
            raise ValueError(
                f"the program returns no number {work!r} to take as its work; its numbers: {', '.join(names)}"
            )
        about = {"program": name_of(program), "seed": seed, "machine": None if machine is None else repr(machine)}
        about["shares"] = plan.shares()
        for kind, one in ("functions", [name for name in places if name not in paths]), ("paths", list(paths)):
            if one:
                about[kind] = one
        exact = plan.measured(counts.met, counts.virtual)
        rows: list[list[float]] = []
        save: Callable[[], object] = _nothing
        if resume is not None:
            run = {"plan": plan.to_json(), "order": order.tolist(), "responses": names}
            identity = {**about, **about_program(program, arguments), **run}
            exact, rows = taken_up(identity, exact, Path(resume))
            save = partial(keep, identity, exact, rows, Path(resume))
        plan, taken, looker = exact, len(rows), None if counts.virtual else Looker()
        try:
            _run(runner, plan, order, names, work, rows, save, say, looker)
        finally:
            if rows:
                save()
    if resume is not None:
        Path(resume).unlink(missing_ok=True)
    if looker is not None and looker.said():
        about["placement"] = f"since the experiment was resumed, {looker.said()}" if taken else looker.said()
    table = tabulated(plan, order, names, rows)
    seconds = warm_up, counts.outcome.time
    return Trials(plan, table, counts.met, *seconds, plan.lengths(counts.met, counts.virtual), about)


def _named(design: Design | str | IntArray | None, factors: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the requested factors, before anything is run; None if they are to be found in a counted run."""
    if factors is None:
        return design.factors if isinstance(design, Design) else None
    names = named(factors)
    if isinstance(design, str):
        planned(design, [None] * 99 if is_array(design) else "lock", names)
    checked(dict.fromkeys(names, "lock"))
    return names


def _passed(names: tuple[str, ...] | None, places: tuple[str, ...], met: Mapping[str, Met]) -> tuple[str, ...]:
    """Return the factors, after checking that the program passes them, and calls the functions that are places."""
    for name in places:
        if name not in met:
            if name in PATHS:
                raise ValueError(
                    f"the program makes no operation of the data path {name} from Python, and those of compiled loops "
                    f"are not seen: leave it out, or write delay({name!r}) next to the operations in loops"
                )
            raise ValueError(f"the program never calls {name}, so there is nothing to delay: leave it out")
    if not met:
        raise ValueError(
            "the program passes no factor: name places in it with factor(...) of smp.perturb, or with delay(...) in "
            "compiled loops, or give functions whose calls are places"
        )
    if names is None:
        return tuple(sorted(met))
    never = [name for name in names if name not in met]
    if never:
        raise ValueError(f"the program never passes {', '.join(never)}; it passes {', '.join(sorted(met))}")
    return names


def _ordered(plan: Plan, replicates: int, runs: int, blocks: int, seed: int) -> IntArray:
    """Return replicate, block, trial and run (rows, 4) of each row of the table."""
    if plan.design is not None and replicates == 1 and plan.design.trials - blocks < 3:
        raise ValueError(
            f"{plan.design.trials} trials in {blocks} blocks, without replicates, are too few to estimate their noise: "
            "make 2 replicates, or take a larger design"
        )
    parts = plan.design.blocks if plan.design is not None and plan.design.folds else None
    if plan.speedup and replicates == 1:
        raise ValueError("the design speedup needs at least 2 replicates, from whose scatter its gains get their +/-")
    if blocks != 1:
        if plan.design is None:
            raise ValueError(f"only factorial designs can be divided into {blocks} blocks: make each replicate a block")
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
    save: Callable[[], object],
    say: Progress,
    looker: Looker | None,
) -> None:
    """Run the trials that are not in ``rows`` yet."""
    saved = time.monotonic()
    for replicate, _, trial, _ in order[len(rows) :].tolist():
        settings = plan.settings(trial)
        run = partial(runner.trial, {**dict.fromkeys(plan.factors), **settings})
        say(len(rows) / len(order), f"replicate {replicate + 1}, trial {trial + 1}")
        try:
            rows.append(_row(looker.time(run) if looker else run(), names, work))
        except (Exception, SystemExit) as error:
            set_ = ", ".join(f"{name} = {one}" for name, one in settings.items()) or "no treatments"
            where = f"trial {trial + 1} of replicate {replicate + 1}"
            raise TrialFailed(f"{where} failed ({set_}): {_said(error)}") from error
        if time.monotonic() > saved + SAVE_S:
            save()
            saved = time.monotonic()
    say(1.0, "")


def _row(outcome: Outcome, names: Sequence[str], work: float | str | None) -> list[float]:
    found = {**outcome.numbers, "time": outcome.time, "memory": outcome.memory}
    if {*found, *(("throughput",) if work is not None else ())} != set(names):
        raise SmpError(f"it returned {', '.join(sorted(found))}, but the first run returned {', '.join(sorted(names))}")
    if work is not None:
        if outcome.time == 0:
            raise SmpError("it took no time, so it has no throughput")
        found["throughput"] = (found[work] if isinstance(work, str) else float(work)) / outcome.time
    return [found[name] for name in names]


def _said(error: BaseException) -> str:
    return f"it exited with {error.code!r}" if isinstance(error, SystemExit) else str(error) or type(error).__name__


def _nothing(*_: object) -> None:
    pass
