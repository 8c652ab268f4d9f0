"""All schedules of a small program, those with the fewest preemptions first.

    a schedule      a choice at each scheduling point at which several streams could make the next step
    a preemption    the turn is taken from one that could go on; where a stream sleeps, pauses or ends, it is free

A schedule is run by replaying its choices, and beyond them whoever goes on, goes on.  What else could have been chosen
there is another schedule, of as many preemptions or of one more: it is run later, in the order of their number.  So no
schedule is run twice, and those of k preemptions are all done before the first of k + 1.

Most errors show with two preemptions (Musuvathi and Qadeer, Iterative context bounding, section 1), and the number of
schedules is a polynomial of the number of steps, of the degree of the bound.
"""

from __future__ import annotations

import operator
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..emulated.emulator import Step
from ..emulated.schedules import Choices
from ..memory.witness import Unseen
from ..program.run import Run
from .reused import STEPS, Check, ReusedMachine, Setup

SCHEDULES = 1_000_000
"""Schedules of one exploration, where no other limit is given."""
_SHOWN = 40  # steps, or places

Work = tuple[Sequence[int], int, int]  # the choices of a schedule; at a point of it, the choice to be made instead


@dataclass(frozen=True)
class FailedSchedule:
    """A schedule under which a program fails.

    Attributes
    ----------
    error : Exception
        What `replay` raises.
    preemptions : int
        The fewest with which it fails in some way.
    schedule : tuple of int
        The choices, for `replay`, and for ``smp.emulated(schedule=...)``: at each point at which several streams could
        make the next step, 0 for the one that goes on, 1, 2, ... for the others in order; where none goes on, 0 for the
        first of them.  Zeros at the end are left out.
    steps : list of (processor, stream, primitive, where)
        What was done, in order.
    number : int
        How many schedules had been tried when it was found, with it.
    """

    error: Exception
    preemptions: int
    schedule: tuple[int, ...]
    steps: list[Step]
    number: int

    def __str__(self) -> str:
        lines = [
            f"{type(self.error).__name__}: {self.error}",
            f"with {_several(self.preemptions, 'preemption')}, schedule {list(self.schedule)}:",
        ]
        lines += [
            f"  processor {rank}.{stream}  {name:<16} {where}".rstrip()
            for rank, stream, name, where in self.steps[-_SHOWN:]
        ]
        if len(self.steps) > _SHOWN:
            lines.insert(2, f"  ... {len(self.steps) - _SHOWN} steps before")
        return "\n".join(lines)


@dataclass(frozen=True)
class Exploration:
    """What `explore` has found.

    Attributes
    ----------
    schedules : int
        How many were run, each once.
    complete : bool
        Whether those were all schedules of the program's steps, of however many preemptions.  Steps are what it does
        with cells, barriers, streams and the atomics of `smp.compiled`; other accesses are in ``unseen``.
    bound : int or None
        Up to so many preemptions all schedules were run; None for any number, -1 where not even those without were.
    failure : FailedSchedule or None
        The first that failed.
    seconds : float
        How long it took.
    unseen : tuple of Unseen
        Accesses to shared arrays that are no steps, so that no other processor's came in between: a race on them does
        not show.  Each is ``(where, array, by)``: the line, the array and what accesses it.
    """

    schedules: int
    complete: bool
    bound: int | None
    failure: FailedSchedule | None
    seconds: float
    unseen: tuple[Unseen, ...] = ()

    def __str__(self) -> str:
        rate = f"{_several(self.schedules, 'schedule')} in {self.seconds:.3g} s"
        if self.failure is not None:
            failure = self.failure
            kind, preemptions = type(failure.error).__name__, _several(failure.preemptions, "preemption")
            text = f"schedule {list(failure.schedule)}: {str(failure.error).splitlines()[0]}"
            return f"failed: {kind} with {preemptions}, found by {rate}\n{text}"
        if self.complete:
            claim = f"all schedules of {'its cells, barriers and atomics' if self.unseen else 'the program'}"
        elif self.bound == -1:
            claim = "not all, not even of those without a preemption"
        else:
            claim = f"all with at most {_several(self.bound or 0, 'preemption')}; others have more"
        lines = [f"no failure: {rate}", f"these are {claim}"]
        if self.unseen:
            lines.append("other accesses were not interleaved, so that races on them are not seen:")
            lines += [f"  {one}" for one in self.unseen[:_SHOWN]]
        if len(self.unseen) > _SHOWN:
            lines.append(f"  ... and {len(self.unseen) - _SHOWN} more")
        return "\n".join(lines)


def explore(
    program: Callable[..., Any],
    processors: int,
    bound: int | None = 2,
    *,
    streams: int = 1,
    setup: Setup | None = None,
    check: Check | None = None,
    limit: int = SCHEDULES,
    longest: int = STEPS,
) -> Exploration:
    """Run a small program under all schedules of at most so many preemptions.

    Parameters
    ----------
    program : callable
        Called as ``program(proc, *args)`` on each processor, as `Machine.run` does; nothing is copied.
    processors : int
    bound : int or None
        Preemptions at most; None for any number.
    streams : int
        Streams of each processor's team.
    setup : callable, optional
        ``setup(machine) -> args``: makes what the processors of one schedule share: arrays, cells, or NumPy arrays.  A
        tuple gives the program's arguments; anything else is the only one.
    check : callable, optional
        ``check(run, *args)`` judges the outcome of a schedule: by raising, or by returning what is false and not None.
    limit : int
        Schedules at most.
    longest : int
        Steps of a schedule at most; one that makes more fails with `LivelockError`.

    Returns
    -------
    Exploration
        How many schedules were run, whether those were all, and the first that failed: with an exception on a
        processor, a deadlock, steps without end, or what the check says.

    Raises
    ------
    TypeError, ValueError
        Numbers that make no sense.

    Notes
    -----
    A schedule is run from the beginning, so the program must do the same each time: no random numbers, no clock of the
    world, nothing kept from one schedule to the next.  At the end of a program there is no barrier, as there is in
    `Machine.run`.

    Only steps are interleaved: what is done with cells, barriers, streams and the atomics of `smp.compiled`.  Between
    two steps a processor is alone, so that ``array.view[0] += 1`` loses no update here, as it may on the host.  Where
    a processor accesses an array otherwise, through ``array.view``, in a NumPy array that ``setup`` returned (by
    itself, or in tuples, lists and dicts), or in a compiled loop by `smp.local`, `Exploration.unseen` has the line.
    Other Python objects that processors share, arrays among them that they do not get as arguments, are not noticed.

    Copies of a superstep are whole, each at once.  Where no two processors copy out to the same element, as should be,
    their order makes no difference; where two do, ``unseen`` has that too.

    A wait with a deadline may end at any moment: in some schedules its time is over at once.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.compiled import load, store
    >>> def count(proc, words):
    ...     n = load(words, 0)
    ...     store(words, 0, n + 1)
    >>> found = smp.explore(count, 2, setup=lambda m: np.zeros(1, np.int64), check=lambda run, words: words[0] == 2)
    >>> found.failure.preemptions, found.failure.schedule
    (1, (1, 1))
    >>> [(rank, name) for rank, stream, name, where in found.failure.steps]
    [(1, 'load'), (0, 'load'), (0, 'store'), (1, 'store')]
    """
    most = None if bound is None else operator.index(bound)
    if most is not None and most < 0:
        raise ValueError(f"the bound is a number of preemptions from 0, or None, not {bound}")
    start, count = time.perf_counter(), 0
    todo: list[list[Work]] = [[((), 0, 0)]]  # by preemptions
    done, beyond = -1, False
    with ReusedMachine(program, processors, streams, setup, check, longest) as machine:
        while done + 1 < len(todo) and count < limit:
            preemptions = done + 1
            while todo[preemptions] and count < limit:
                prefix = _prefix(todo[preemptions].pop())
                choices = Choices(prefix)
                count += 1
                try:
                    machine.run(choices)
                except Exception as error:
                    failure = _failure(machine, error, preemptions, choices.taken, count)
                    bound, seconds = None if most is None else done, time.perf_counter() - start
                    return Exploration(count, False, bound, failure, seconds, machine.witness.places)
                beyond |= _branch(choices, len(prefix), preemptions, most, todo)
            if todo[preemptions]:
                break
            done = preemptions
    complete = not any(todo) and not beyond
    seconds = time.perf_counter() - start
    return Exploration(count, complete, None if complete else done, None, seconds, machine.witness.places)


def _prefix(work: Work) -> array[int]:
    choices, point, instead = work
    prefix = array("H", choices[:point])
    if instead:
        prefix.append(instead)
    return prefix


def _branch(choices: Choices, begin: int, preemptions: int, most: int | None, todo: list[list[Work]]) -> bool:
    """Note what else could have been chosen after the first ``begin`` points; return whether some is out of bounds."""
    beyond = False
    for point in range(begin, len(choices.taken)):
        offered = choices.offered[point]
        cost = preemptions + (offered > 0)
        if most is not None and cost > most:
            beyond = True
            continue
        while len(todo) <= cost:
            todo.append([])
        todo[cost] += [(choices.taken, point, instead) for instead in range(abs(offered) - 1, 0, -1)]
    return beyond


def _failure(
    machine: ReusedMachine, error: Exception, preemptions: int, taken: Sequence[int], number: int
) -> FailedSchedule:
    """Run the schedule once more, for its steps."""
    schedule = list(taken)
    while schedule and schedule[-1] == 0:
        schedule.pop()
    steps: list[Step] = []
    try:
        machine.run(Choices(schedule), steps)
    except Exception as again:
        error = again
    else:
        error.add_note("Run once more, the schedule did not fail: the program does not do the same each time.")
    return FailedSchedule(error, preemptions, tuple(schedule), steps, number)


def replay(
    schedule: FailedSchedule | Exploration | Sequence[int],
    program: Callable[..., Any],
    processors: int,
    *,
    streams: int = 1,
    setup: Setup | None = None,
    check: Check | None = None,
    longest: int = STEPS,
    trace: Callable[[str], object] | None = None,
) -> Run:
    """Run a program once more under one schedule.

    Parameters
    ----------
    schedule : FailedSchedule, Exploration or sequence of int
        What `explore` has found.
    program, processors, streams, setup, check, longest
        As for `explore`.
    trace : callable, optional
        Given each step as a line of text when the run has ended, however it did: ``print``, say.

    Returns
    -------
    Run

    Raises
    ------
    Exception
        What the schedule fails with.
    ScheduleError
        When it is of another program.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.compiled import fetch_add
    >>> def program(proc, words):
    ...     return int(fetch_add(words, 0, 1))
    >>> smp.replay((1,), program, 2, setup=lambda m: np.zeros(1, np.int64)).results
    [1, 0]
    """
    if isinstance(schedule, Exploration):
        if schedule.failure is None:
            raise ValueError(f"there is no failure to replay: {str(schedule).splitlines()[0]}")
        schedule = schedule.failure
    choices = schedule.schedule if isinstance(schedule, FailedSchedule) else schedule
    steps: list[Step] = []
    with ReusedMachine(program, processors, streams, setup, check, longest) as machine:
        try:
            return machine.run(Choices(choices), None if trace is None else steps)
        finally:
            for rank, stream, name, where in steps:
                assert trace is not None
                trace(f"processor {rank}.{stream}  {name:<16} {where}".rstrip())


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
