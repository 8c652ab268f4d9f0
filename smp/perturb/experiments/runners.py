"""Runners, which run the trials of a program of any kind, and the runs in which its places are counted."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from smp._runtime.machine import Machine

from ..places.counting import Met
from ..places.functions import Given, placed
from ..places.paths import checked_path
from ..places.treatments import Treatment
from .observed import Arguments, Counts, Here, OnMachine, Outcome
from .script import Script

COUNTED, AGREEING, NEARLY = 12, 3, 1.1
"""Most runs that are counted; number of these that must agree; largest ratio of their times in each place."""


class Runner(Protocol):
    """Runs trials of one program. The treatment None removes one that is set outside."""

    def trial(self, treatments: Mapping[str, Treatment | None]) -> Outcome: ...
    def count(self) -> Counts: ...


@contextlib.contextmanager
def running(
    program: Any,
    arguments: Arguments = (),
    machine: Machine | None = None,
    functions: Sequence[Given] = (),
    paths: Sequence[str] = (),
) -> Iterator[tuple[Runner, tuple[str, ...]]]:
    """Give a runner for the trials of a program, and the names of functions and data paths, which are places meanwhile.

    A script's functions become places in the processes of its trials, since they exist only there.

    Parameters
    ----------
    program, arguments, machine, functions, paths
        As for `smp.perturb.experiments.experiment.screen`.

    Raises
    ------
    TypeError, ValueError
        If this is not a program, the arguments do not suit it, or the calls of a function cannot be places.
    """
    for kind, given in ("functions", functions), ("paths", paths):
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError(f"{kind} must be a sequence, such as [{given!r}], not {given!r}")
    if isinstance(program, str | os.PathLike):
        if objects := [one for one in functions if not isinstance(one, str)]:
            raise TypeError(
                f"a script's functions must be given by their names, such as script.main, not {objects[0]!r}"
            )
        names = tuple(map(str, functions)), tuple(map(checked_path, paths))
        yield runner_of(program, arguments, machine, *names), tuple(dict.fromkeys([*names[0], *names[1]]))
        return
    runner = runner_of(program, arguments, machine)
    with placed(*functions, paths=paths) as places:
        yield runner, places


def runner_of(
    program: Any,
    arguments: Arguments = (),
    machine: Machine | None = None,
    functions: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> Runner:
    """Return a runner for the trials of a program; functions and data paths are for a script alone (see `running`).

    Raises
    ------
    TypeError
        If this is not a program, or the arguments do not suit it.
    """
    if isinstance(arguments, str):
        raise TypeError(f"arguments must be a sequence, such as [{arguments!r}], not {arguments!r}")
    if isinstance(program, str | os.PathLike):
        if machine is not None or callable(arguments):
            raise TypeError("a script must open its machines itself, and its arguments must be a sequence of strings")
        return Script(program, arguments, functions, paths)
    if not callable(program):
        raise TypeError(f"a program must be a function or the path of a script, not a {type(program).__name__}")
    if inspect.isgeneratorfunction(program) or inspect.iscoroutinefunction(program):
        raise TypeError(f"{name_of(program)} does not run when it is called: give a function that runs it to its end")
    return Here(program, arguments) if machine is None else OnMachine(machine, program, arguments)


def name_of(program: Any) -> str:
    """Return the name of a program."""
    if isinstance(program, str | os.PathLike):
        return str(program)
    while isinstance(program, functools.partial):
        program = program.func
    named = program if hasattr(program, "__qualname__") else type(program)
    return f"{named.__module__}.{named.__qualname__}"


def counted(runner: Runner, most: int) -> Counts:
    """Count the places in several runs, until they agree; on an emulated machine, which has no noise, in one run.

    The least time in each place is kept, because other programs on the computer may lengthen the time in one place and
    not that in the next. ``most`` limits the number of runs, and so does `COUNTED`.
    """
    counts = [runner.count()]
    while not (counts[0].virtual or len(counts) >= min(most, COUNTED) or _agree(counts)):
        counts.append(runner.count())
    met = {name: found[0] for name, found in _by_place(counts).items()}
    return counts[0]._replace(met=met, outcome=min((one.outcome for one in counts), key=lambda outcome: outcome.time))


def _agree(counts: Sequence[Counts]) -> bool:
    """Return True if the least times of enough runs nearly agree in each place; points of `delay` have no time."""
    return all(
        not found[-1].inside
        or (len(found) >= AGREEING and _pass_time(found[AGREEING - 1]) <= NEARLY * _pass_time(found[0]))
        for found in _by_place(counts).values()
    )


def _by_place(counts: Sequence[Counts]) -> dict[str, list[Met]]:
    """Return the counts of all runs for each place, the least time first."""
    names = {name for one in counts for name in one.met}
    return {name: sorted((one.met[name] for one in counts if name in one.met), key=_pass_time) for name in names}


def _pass_time(met: Met) -> float:
    return met.inside / met.passes
