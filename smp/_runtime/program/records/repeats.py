"""Repetition of a program: the programs and options that are accepted, and the record that is kept."""

from __future__ import annotations

import inspect
import operator
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from smp.errors import ProgramError

from ...loops.places import Enclosing
from ..answers import Done
from ..steps import sequence
from .checked import WithCheck
from .hardware import WithCounters
from .recorded import Repeat
from .recording import WithEvents


def prepared(
    program: Callable[..., Any],
    args: Sequence[Any],
    warmup: int,
    repeat: int,
    counters: bool,
    record: bool,
    check: bool,
) -> Callable[..., Any]:
    """Return the program to send; refuse options that are not valid or that could be meant for the program.

    Raises
    ------
    TypeError, ValueError
        If the program or an option is not valid, or if the program has a parameter of the same name without a value.
    """
    if not callable(program):
        raise TypeError(f"a program must be a function of a processor, not a {type(program).__name__}")
    for name, number, least in (("warmup", warmup, 0), ("repeat", repeat, 1)):
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise TypeError(f"{name} must be a whole number of runs, not {number!r}")
        if number < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
    options = {"warmup": warmup > 0, "repeat": repeat > 1, "counters": counters, "record": record, "check": check}
    for name, given in options.items():
        if given:
            must_have(program, args, name)
    if counters:
        program = WithCounters(program)
    if record:
        program = WithEvents(program)
    return WithCheck(program) if check else program


def seeded(
    program: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], seed: int | None, usual: int | None
) -> tuple[int, Mapping[str, Any]]:
    """Return the seed of a run, and the arguments by name, with the seed if the program has such a parameter, too.

    Without a seed, it is the usual one of the machine, or else a fresh one.  The same holds if only the program can use
    the argument that is given, which need not be a number then.
    """
    if seed is not None and not _lacks(program, args, "seed"):
        return checked_seed(seed), kwargs
    other = int.from_bytes(os.urandom(8), "little") if usual is None else usual
    if seed is None:
        return other, kwargs
    kwargs = {**kwargs, "seed": seed}
    try:
        return checked_seed(seed), kwargs
    except (TypeError, ValueError):
        return other, kwargs


def checked_seed(seed: int) -> int:
    """Return a seed, or raise an error that says why it is not valid."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed must be a whole number, 0 or more, not {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be a whole number, 0 or more, not {seed}")
    return operator.index(seed)


def must_have(program: Callable[..., Any], args: Sequence[Any], name: str) -> None:
    """Refuse an option of `machine.run` if the program has a parameter of that name to which the call gives no value.

    Raises
    ------
    TypeError
        If it has one.
    """
    if _lacks(program, args, name):
        raise TypeError(
            f"{name}= is an option of machine.run, but the program has a parameter of this name, too: pass the "
            "program's argument by position, or run a function that calls the program"
        )


def _lacks(program: Callable[..., Any], args: Sequence[Any], name: str) -> bool:
    """Return True if a program has a parameter of that name to which the call gives no value."""
    while isinstance(program, Enclosing):
        program = program.program
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
        If they differ.  The message names the first superstep that differs.
    """
    one, two = (sequence(repeat.packs[0]) for repeat in (first, other))
    shared = min(len(one), len(two))
    differing = np.flatnonzero(one[:shared] != two[:shared])
    at = int(differing[0]) if len(differing) else shared
    if at == max(len(one), len(two)):
        return
    said = [
        f"superstep {rows[at]['step']} ({str(rows[at]['label'])!r})" if at < len(rows) else "no superstep"
        for rows in (one, two)
    ]
    raise ProgramError(
        f"the repeats of the program differ, so there are no medians of their times: where repeat 0 has {said[0]}, "
        f"repeat {number} has {said[1]}; let each repeat begin from the same data, or run the program once at a time"
    )


def repeated(
    once: Callable[[], tuple[list[Done], object]], warmup: int, repeat: int
) -> tuple[list[Done], object, list[Repeat]]:
    """Run a call without a record to warm up, and then with a record of each run.

    Parameters
    ----------
    once : callable
        Runs the call; returns the answers and an object that keeps the processors' arrays, as `Processors.call` does.
    warmup, repeat : int
        Number of runs without a record, and with one.

    Returns
    -------
    answers, arrays
        Those of the last run.
    records : list of Repeat
        Records of all repeats.

    Raises
    ------
    ProgramError
        If the supersteps of a repeat are not those of the first.
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
        del answers, arrays  # free this run's arrays: only those of the last run are kept
