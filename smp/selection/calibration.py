"""Calibration: a specification, or a library of implementations, measured and fitted on this machine.

    loop nest + random points kept apart  ->  rounds over all of them, in random order  ->  medians  ->  models

A round takes one timing of every task at every point, so that a slow moment of the computer does not fall on one point
or one implementation alone.  After the first, points are added for implementations that apply at few.  There are three
rounds; a point whose middle three timings differ by more than 10% gets two more, twice if need be; all are kept, but
those that are taken again because the host has moved the CPUs (see `Looker`): the model says how many.  What is
measured is saved every few seconds and on Ctrl-C, and taken up again.

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
from ..models.fit.inputs import drawn, nest
from ..models.fit.model import Model
from ..models.fit.specification import Specification
from .library import Library
from .timings import FEWEST, Series, keep, take_up

VERIFICATION = 20
"""Points kept apart from the fit."""
SAVE_S = 5.0
"""Seconds between saving what was measured."""
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


def calibrate(
    what: Specification | Library,
    machine: Machine | None = None,
    *,
    verification: int = VERIFICATION,
    seed: int = 1,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Model | Library:
    """Measure a specification's task, or a library's implementations, and fit their models.

    Parameters
    ----------
    what : Specification or Library
    machine : Machine, optional
        Tasks are then SPMD programs, timed as ``machine.run(task, ...)``; ``setup`` is given the machine first.
    verification : int
        Random points on which the models are tried and to which they are not fitted.
    seed : int
        Of these points, and of the order of all.
    resume : path_like, optional
        A file where timings are kept while the measurement is under way; if it is there, what it holds is not measured
        again.  It is removed once the models are fitted.
    progress : callable, optional
        Called with the share that is done and a word on what is under way.

    Returns
    -------
    Model or Library
        The library itself, with the models in place of those it had.

    Raises
    ------
    ModelError
        A library without implementations; a file to resume from that belongs to another measurement.
    FitError
        No more points than terms; timings that cannot be fitted.
    KeyboardInterrupt
        On Ctrl-C; ``resume``, if given, holds what was measured.

    Warns
    -----
    ModelWarning
        A model with a mean relative error above 10%.

    Notes
    -----
    A call of under 0.2 ms is timed as one of as many calls as take half a millisecond.  Within a call that takes under
    10 ms, memory and code are as a call just before has left them; longer ones are timed at once.

    Examples
    --------
    >>> import numpy as np, smp
    >>> model = smp.calibrate(smp.Specification("zeros", {"n": "1e5..1e7 x 6"}, ["n"], np.ones), verification=5)
    >>> model.predict(2_000_000) > model.predict(1_000_000)
    True
    """
    specifications = list(what.specifications()) if isinstance(what, Library) else [what]
    if not specifications:
        raise ModelError(f"the library {what.name} has no implementations to be calibrated: add some")
    series = [_series(group, verification, seed) for group in _alike(specifications)]
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
    if kept is not None:
        kept.unlink(missing_ok=True)
    if isinstance(what, Library):
        what.use(models)
        return what
    return models[what.name]


def _alike(specifications: list[Specification]) -> list[list[Specification]]:
    """Bring specifications together whose tasks can be given the same arguments at the same points."""
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
    grid, apart = nest(first.nested), drawn(first.nested, rng, verification)
    total = len(next(iter(grid.values())))
    if first.points is not None and first.points < total:
        some = np.sort(rng.choice(total, first.points, replace=False))
        grid, total = {name: values[some] for name, values in grid.items()}, len(some)
    for each in group:
        check_enough(each, total)
    points = {name: np.concatenate([grid[name], apart[name]]) for name in grid}
    return Series(group, points, np.arange(total + verification) >= total)


def _measure(
    series: list[Series], machine: Machine | None, seed: int, kept: Path | None, progress: Progress, looker: Looker
) -> None:
    """Take all timings, saving them on the way and whatever ends it."""
    if kept is None:
        return _take(series, machine, seed, progress, looker, _nothing)
    take_up(series, kept)
    saved = time.monotonic()

    def save() -> None:
        nonlocal saved
        if time.monotonic() > saved + SAVE_S:
            keep(series, kept)
            saved = time.monotonic()

    try:
        _take(series, machine, seed, progress, looker, save)
    finally:
        keep(series, kept)


def _take(
    series: list[Series],
    machine: Machine | None,
    seed: int,
    progress: Progress,
    looker: Looker,
    between: Callable[[], None],
) -> None:
    """Take timings until no point wants one."""
    rng = np.random.default_rng(seed + 1)
    done, whole = sum(each.taken() for each in series), FEWEST * sum(len(each.verification) for each in series)
    share = 0.0
    while visits := [(each, point) for each in series for point in each.wanting()]:
        whole = max(whole, done + len(visits))
        for index in rng.permutation(len(visits)).tolist():
            each, point = visits[index]
            share = max(share, done / whole)  # more rounds make the whole larger, and nothing undone
            progress(share, each.tells(point))
            each.visit(point, machine, rng, looker)
            between()
            done += 1
        for each in series:
            each.supplement(machine, rng)
    progress(1.0, "fitting")


def _nothing(*_: object) -> None:
    pass
