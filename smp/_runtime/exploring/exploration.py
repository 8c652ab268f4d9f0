"""Runs a small program under all its schedules, those with the fewest preemptions first.

    a schedule      a choice at each scheduling point at which several streams could make the next step
    a preemption    the turn is taken from a stream that could go on, not from one that sleeps, pauses or ends

A schedule is run by replaying its choices.  After the last of them, each stream goes on as long as it can.  Each other
choice at one of these later points leads to a further schedule, with as many preemptions or with one more.  These
further schedules are run later, in the order of their numbers of preemptions.  So no schedule is run twice, and all
schedules with k preemptions are run before the first with k + 1.

Most errors show with two preemptions (Musuvathi and Qadeer, Iterative context bounding, section 1).  The number of
schedules is a polynomial in the number of steps, whose degree is the bound.
"""

from __future__ import annotations

import operator
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from smp.errors import DeadlockError

from ..emulated.effects import Redundant
from ..emulated.networks.kinds import Kind
from ..emulated.schedules import Choices
from ..program.run import Run
from .operations import Operations
from .outcome import Exploration, FailedSchedule, listed
from .reduced import Reduced
from .reused import STEPS, Check, ReusedMachine, Setup

SCHEDULES = 1_000_000
"""Most schedules of one exploration, if no other limit is given."""

Work = tuple[Sequence[int], int, int]  # choices of a schedule; a point in it; the choice to make there instead


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
    network: Kind | None = None,
    races: bool = True,
    reduction: bool = False,
) -> Exploration:
    """Run a small program under all schedules with at most the given number of preemptions.

    Parameters
    ----------
    program : callable
        Called as ``program(proc, *args)`` on each processor, as `Machine.run` does; nothing is copied.
    processors : int
    bound : int or None
        Most preemptions of a schedule; None for any number.
    streams : int
        Number of streams in each processor's team.
    setup : callable, optional
        ``setup(machine) -> args`` makes the objects that the processors of one schedule share: global arrays, cells, or
        NumPy arrays.  If it returns a tuple, its items are the program's arguments; any other value is the only one.
    check : callable, optional
        ``check(run, *args)`` judges the outcome of a schedule.  The schedule fails if it raises an exception, or
        returns a false value other than None.
    limit : int
        Most schedules that are run.
    longest : int
        Most steps of a schedule; a schedule that makes more fails with `LivelockError`.
    network : network, optional
        Network of messages, one of `smp.networks`; by default ``ideal()``.  With little room in it, few messages show
        whether a program can wait for room for ever.
    races : bool
        If True, a schedule fails if it has a race: two accesses to an element of an array, at least one of them a
        write, whose order no barrier, cell, message or atomic decides.  If False, races are not looked for.  Each
        access of plain Python to an array's elements is then a step of its own, and ``check`` judges the outcomes.
    reduction : bool
        If True, schedules that differ only in the order of independent steps are run once.  Two steps are independent
        unless they touch the same word and one of them changes it.  The outcomes are the same, and there are far fewer
        schedules.  With ``bound=None``, a failure may nevertheless come later than without: the deepest choices are
        tried first, not those with the fewest preemptions.  The program must not share Python objects other than
        arrays, cells and networks.

    Returns
    -------
    Exploration
        The number of schedules that were run, whether they were all schedules, and the first one that failed.  A
        schedule fails with an exception on a processor, a deadlock, steps without end, or a failed check.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.

    Notes
    -----
    Each schedule is run from the beginning, so the program must do the same each time.  It must not read the
    real time, keep anything from one schedule to the next, or use random numbers other than those of ``proc.random``,
    whose seed is 0 in each schedule.  There is no barrier at the end of a program, unlike in `Machine.run`.

    Steps are interleaved: operations on cells, barriers, streams and the atomics of `smp.compiled`.  The code between
    two steps runs alone.  Its accesses to global arrays, and to NumPy arrays that ``setup`` returned (by itself, or in
    tuples, lists and dicts), are looked at for races.  Without a race, no other order of these accesses could make a
    difference, so they need no steps.  Copies of supersteps are accesses, too.

    `Exploration.unseen` has the lines of accesses that cannot be seen: in a loop compiled by `smp.local`, or through
    an array's raw memory.  Other Python objects that processors share are not noticed, including arrays that they do
    not get as arguments.

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
        raise ValueError(f"the bound must be a number of preemptions, 0 or more, or None, not {bound}")
    if reduction:
        with ReusedMachine(program, processors, streams, setup, check, longest, network, races, True) as machine:
            return _reduced(machine, most, limit)
    start, count = time.perf_counter(), 0
    todo: list[list[Work]] = [[((), 0, 0)]]  # indexed by the number of preemptions
    done, beyond = -1, False
    with ReusedMachine(program, processors, streams, setup, check, longest, network, races) as machine:
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
                    seconds = time.perf_counter() - start
                    return Exploration(count, False, done, failure, seconds, machine.witness.places)
                beyond |= _branch(choices, len(prefix), preemptions, most, todo)
            if todo[preemptions]:
                break
            done = preemptions
    complete = not any(todo) and not beyond
    seconds = time.perf_counter() - start
    return Exploration(count, complete, None if complete else done, None, seconds, machine.witness.places)


def _reduced(machine: ReusedMachine, most: int | None, limit: int) -> Exploration:
    """Run one schedule for all those that differ only in the order of independent steps."""
    start, count, tried = time.perf_counter(), 0, 0
    todo = Reduced(most, machine.effects)
    while todo and tried < limit:
        schedule = todo.next()
        tried += 1
        try:
            machine.run(schedule)
            count += 1
        except Redundant:
            pass
        except Exception as error:
            failure = _failure(machine, error, schedule.preemptions, schedule.taken, count + 1)
            seconds = time.perf_counter() - start
            return Exploration(count + 1, False, todo.done, failure, seconds, machine.witness.places)
        todo.ran(schedule)
    complete = not todo and not todo.beyond
    seconds = time.perf_counter() - start
    return Exploration(
        count, complete, None if complete else todo.done, None, seconds, machine.witness.places, todo.beyond
    )


def _prefix(work: Work) -> array[int]:
    choices, point, instead = work
    prefix = array("H", choices[:point])
    if instead:
        prefix.append(instead)
    return prefix


def _branch(choices: Choices, begin: int, preemptions: int, most: int | None, todo: list[list[Work]]) -> bool:
    """Add the schedules that make another choice after the first ``begin`` points.

    Return True if some of them have more preemptions than ``most``; these are not added.
    """
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
    """Run the schedule once more to get its steps, and return the failure."""
    schedule = list(taken)
    while schedule and schedule[-1] == 0:
        schedule.pop()
    record = Operations()
    try:
        machine.run(Choices(schedule), record)
    except Exception as again:
        error = again
    else:
        error.add_note("When it was run again, the schedule did not fail: the program does not do the same each time.")
    lines = record.lines(isinstance(error, DeadlockError))
    return FailedSchedule(error, preemptions, tuple(schedule), record.steps, lines, number)


def replay(
    schedule: FailedSchedule | Exploration | Sequence[int],
    program: Callable[..., Any],
    processors: int,
    *,
    streams: int = 1,
    setup: Setup | None = None,
    check: Check | None = None,
    longest: int = STEPS,
    network: Kind | None = None,
    races: bool = True,
    trace: Callable[[str], object] | None = None,
) -> Run:
    """Run a program once more under one schedule.

    Parameters
    ----------
    schedule : FailedSchedule, Exploration or sequence of int
        The schedule, or the result of `explore` whose failure is replayed.
    program, processors, streams, setup, check, longest, network, races
        As for `explore`.
    trace : callable, optional
        Called with each operation as a line of text when the run has ended, even if it failed; for example ``print``.

    Returns
    -------
    Run

    Raises
    ------
    Exception
        The exception with which the schedule fails.
    ScheduleError
        If the schedule belongs to another program.

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
    record = None if trace is None else Operations()
    with ReusedMachine(program, processors, streams, setup, check, longest, network, races) as machine:
        try:
            return machine.run(Choices(choices), record)
        finally:
            if record is not None and trace is not None:
                for line in listed(record.lines(isinstance(sys.exception(), DeadlockError))):
                    trace(line)
