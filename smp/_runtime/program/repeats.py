"""A program that is run again and again: who may be, and what is kept of it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from smp.errors import ProgramError

from .answers import Done
from .recorded import Repeat
from .steps import sequence


def must_be_numbers_of_runs(program: Callable[..., Any], args: Sequence[Any], **given: tuple[Any, int]) -> None:
    """Refuse numbers of runs that make no sense, or that could as well be meant for the program.

    Parameters
    ----------
    program, args
        Of the call.
    **given : (number, int)
        What was given by each name, and the least that may be.

    Raises
    ------
    TypeError, ValueError
    """
    for name, (number, least) in given.items():
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise TypeError(f"{name} must be a whole number of runs, not {number!r}")
        if number < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
        if number > least and _lacks(program, args, name):
            raise TypeError(
                f"{name}= is for machine.run, which repeats the program, and the program has a parameter of this name "
                "as well: give the program's by position, or run a function that calls it"
            )


def _lacks(program: Callable[..., Any], args: Sequence[Any], name: str) -> bool:
    """Whether a program has a parameter of that name that the call gives no value."""
    try:
        bound = inspect.signature(program).bind_partial(None, *args)
    except (TypeError, ValueError):  # it has no signature, or the call does not fit it, which the processors report
        return False
    parameter = bound.signature.parameters.get(name)
    return parameter is not None and parameter.kind is not parameter.VAR_KEYWORD and name not in bound.arguments


def _must_match(first: Repeat, other: Repeat, number: int) -> None:
    """Refuse a repeat whose supersteps are not those of the first.

    Raises
    ------
    ProgramError
        Which superstep is the first that differs.
    """
    one, two = (sequence(repeat.packs[0]) for repeat in (first, other))
    shared = min(len(one), len(two))
    differing = np.flatnonzero(one[:shared] != two[:shared])
    at = int(differing[0]) if len(differing) else shared
    if at == max(len(one), len(two)):
        return
    said = [
        f"superstep {rows[at]['step']} ({str(rows[at]['label'])!r})" if at < len(rows) else "none"
        for rows in (one, two)
    ]
    raise ProgramError(
        f"the repeats of the program differ, so their times have no medians: where repeat 0 has {said[0]}, repeat "
        f"{number} has {said[1]}; have it begin each repeat from the same data, or run it once at a time"
    )


def repeated(
    once: Callable[[], tuple[list[Done], object]], warmup: int, repeat: int
) -> tuple[list[Done], object, list[Repeat]]:
    """Run a call without a record, and then with one.

    Parameters
    ----------
    once : callable
        Returns the answers and what keeps the arrays that processors have made, as `Processors.call`.
    warmup, repeat : int
        How often each.

    Returns
    -------
    answers, arrays
        Of the last run.
    records : list of Repeat
        Of all repeats.

    Raises
    ------
    ProgramError
        When the supersteps of a repeat are not those of the first.
    """
    for _ in range(warmup):
        once()
    records: list[Repeat] = []
    while True:
        start = time.perf_counter()
        answers, arrays = once()
        wall = time.perf_counter() - start
        records.append(Repeat([answer.record for answer in answers], wall))
        if len(records) > 1:
            _must_match(records[0], records[-1], len(records) - 1)
        if len(records) == repeat:
            return answers, arrays, records
        del answers, arrays  # of the program's arrays, only the last run's are wanted
