"""Calibrates a specification, a library or a suite by measuring it on this machine and fitting models.

    loop nest + random points kept apart  ->  rounds over all of them, in random order  ->  minima  ->  models

A round takes one timing of every task at every point, so that a slow moment of the computer does not affect only one
point or one implementation.  After the first round, points are added for implementations that apply at few points.
There are three rounds.  A point whose middle three timings differ by more than 10% gets two more timings, and another
two if they still do.  The fit takes the least timing of each point, and leaves out points at which all timings are slow
(see `smp.models.fit.robust`).  All timings are kept, except for those that are repeated because the host has moved the
CPUs (see `Looker`); the model says how many these are.  The timings are saved every few seconds and on Ctrl-C, and a
later calibration can resume from them.

Source: Brewer, Portable High-Performance Supercomputing, sections 3.3 to 3.5.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

import numpy as np

from .._computer.description import hardware
from .._computer.version import VERSION
from .._runtime.host.looking import Looker
from .._runtime.machine import Machine
from ..errors import ModelError
from ..models.fit.fitting import check_enough, fit_model
from ..models.fit.inputs import drawn, nest, scattered
from ..models.fit.model import Model
from ..models.fit.specification import Specification
from .guards import determined
from .library import Library
from .suite import Suite
from .timings import FEWEST, Series, keep, take_up

VERIFICATION = 20
"""Number of points that are kept apart from the fit."""
SAVE_S = 5.0
"""Seconds after which the timings are saved again."""
Progress = Callable[[float, str], None]


@overload
def calibrate(
    what: Specification,
    machine: Machine | None = None,
    *,
    verification: int = VERIFICATION,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Model: ...
@overload
def calibrate(
    what: Library,
    machine: Machine | None = None,
    *,
    verification: int = VERIFICATION,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Library: ...
@overload
def calibrate(
    what: Suite,
    machine: Machine | None = None,
    *,
    verification: int = VERIFICATION,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Suite: ...


def calibrate(
    what: Specification | Library | Suite,
    machine: Machine | None = None,
    *,
    verification: int = VERIFICATION,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Model | Library | Suite:
    """Measure a specification's task, a library's implementations or a suite's tasks, and fit their models.

    Parameters
    ----------
    what : Specification, Library or Suite
    machine : Machine, optional
        Machine for tasks that are SPMD programs, which are then timed as ``machine.run(task, ...)``.  ``setup`` gets it
        as its first argument.
    verification : int
        Number of random points on which the models are tested, and to which they are not fitted.
    seed : int
        Seed of these points, and of the order in which all points are measured.
    resume : path_like, optional
        File that keeps the timings while the measurement is under way.  If it exists, the timings in it are not taken
        again.  It is removed once the models are fitted.
    progress : callable, optional
        Called with the share of the work that is done, and with a short text on the work under way.

    Returns
    -------
    Model, Library or Suite
        The model of a specification, or the library or suite itself, whose models are replaced.  The guard of a library
        that has one is determined as well (`Library.worth`).

    Raises
    ------
    ModelError
        If a library has no implementations, or if ``resume`` is damaged or belongs to another measurement.
    FitError
        If there are no more points than terms, or if the timings cannot be fitted.
    KeyboardInterrupt
        On Ctrl-C. The file ``resume``, if given, then has the timings taken so far.

    Warns
    -----
    ModelWarning
        If a model has a mean relative error above 10% on the points kept apart.

    Notes
    -----
    A call of less than 0.2 ms is timed in a batch of as many calls as take half a millisecond.  A call of less than
    10 ms is timed right after another one, and so finds its memory and code as that one has left them.  A longer call
    is timed the first time it is made.

    Examples
    --------
    >>> import numpy as np, smp
    >>> model = smp.calibrate(smp.Specification("zeros", {"n": "1e5..1e7 x 6"}, ["n"], np.ones), verification=5)
    >>> model.predict(2_000_000) > model.predict(1_000_000)
    True
    """
    specifications = [what] if isinstance(what, Specification) else list(what.specifications())
    if not specifications:
        raise ModelError(f"the library {what.name} has no implementations to calibrate: add some")
    series = [_series(group, verification, seed) for group in alike(specifications)]
    kept, looker = None if resume is None else Path(resume), Looker()
    _measure(series, machine, seed, kept, progress or _nothing, looker)
    here = hardware() | {"smp": VERSION}
    if looker.said():
        here["placement"] = looker.said()
    if machine is not None:
        here["processors"] = machine.size
    models = {
        task.specification.name: fit_model(task.specification, *each.measured(task), here)
        for each in series
        for task in each.tasks
    }
    if not isinstance(what, Specification):
        what.use(models)
    if isinstance(what, Library) and what.guard is not None:
        (progress or _nothing)(1.0, f"{what.name}: look and choice")
        what.worth = determined(what, seed)
    if kept is not None:
        kept.unlink(missing_ok=True)
    return models[what.name] if isinstance(what, Specification) else what


def alike(specifications: list[Specification]) -> list[list[Specification]]:
    """Return groups of specifications whose tasks can be given the same arguments at the same points."""
    groups: dict[Any, list[Specification]] = {}
    for each in specifications:
        key = (
            tuple(each.inputs.items()),
            tuple((each.loops or {}).items()),
            each.setup,
            each.cleanup,
            tuple(each.keywords),
            each.points,
            each.of,
        )
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _series(group: list[Specification], verification: int, seed: int) -> Series:
    first, rng = group[0], np.random.default_rng(seed)
    apart = drawn(first.nested, rng, verification)
    grid = nest(first.nested) if first.points is None else scattered(first.nested, rng, first.points)
    total = len(next(iter(grid.values())))
    for each in group:
        check_enough(each, total)
    points = {name: np.concatenate([grid[name], apart[name]]) for name in grid}
    return Series(group, points, np.arange(total + verification) >= total)


def _measure(
    series: list[Series], machine: Machine | None, seed: int, kept: Path | None, progress: Progress, looker: Looker
) -> None:
    """Take all timings. If a file is given, save them on the way and at the end, even after an error or Ctrl-C."""
    if kept is None:
        return take(series, machine, seed, progress, looker, _nothing)
    take_up(series, kept)
    saved = time.monotonic()

    def save() -> None:
        nonlocal saved
        if time.monotonic() > saved + SAVE_S:
            keep(series, kept)
            saved = time.monotonic()

    try:
        take(series, machine, seed, progress, looker, save)
    finally:
        keep(series, kept)


def take(
    series: list[Series],
    machine: Machine | None,
    seed: int,
    progress: Progress,
    looker: Looker,
    between: Callable[[], None],
) -> None:
    """Take timings until no point needs another one; ``between`` is called after each visit to a point."""
    rng = np.random.default_rng(seed + 1)
    done, whole = sum(each.taken() for each in series), FEWEST * sum(len(each.verification) for each in series)
    share = 0.0
    while visits := [(each, point) for each in series for point in each.wanting()]:
        whole = max(whole, done + len(visits))
        for index in rng.permutation(len(visits)).tolist():
            each, point = visits[index]
            share = max(share, done / whole)  # more rounds make the whole larger, but the share must not fall
            progress(share, each.tells(point))
            each.visit(point, machine, rng, looker)
            between()
            done += 1
        for each in series:
            each.supplement(machine, rng)
    progress(1.0, "fitting")


def _nothing(*_: object) -> None:
    pass
