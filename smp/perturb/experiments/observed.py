"""Observed runs of a program: their time and memory, the numbers they return, and the places they pass.

plain function      in this process             time: of the call; memory: of this process
SPMD program        on a machine's processors   time: from the start of the first processor to the end of the last, in
                                                virtual time if the machine is emulated; memory: of all processors
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.places import Enclosing, called, now
from smp._runtime.machine import Machine
from smp._runtime.program.processor import Processor

from ..places.contexts import counted, treated
from ..places.counting import Met
from ..places.treatments import Treatment
from . import memory

RESERVED = ("time", "memory", "throughput", "order", "replicate", "block", "trial", "run", "levels")
Arguments = Sequence[Any] | Callable[[], Sequence[Any]]


class Outcome(NamedTuple):
    """Responses of one trial."""

    time: float
    """Seconds."""
    memory: float
    """Peak memory in bytes of all processes that ran the program."""
    numbers: dict[str, float]
    """Numbers that the program returned, by name."""


class Counts(NamedTuple):
    """Results of a run whose places were counted."""

    outcome: Outcome
    met: dict[str, Met]
    """Passes of each place and seconds inside it, by all processors together."""
    virtual: bool = False
    """True if the seconds are virtual time of an emulated machine."""


def numbers(result: Any) -> dict[str, float]:
    """Return the responses in a program's result: one number is named ``result``, those in a mapping by their keys.

    Raises
    ------
    ValueError
        For a key that smp uses itself (`RESERVED`), or a number that is larger than a float can be.
    """
    if _is_number(result):
        result = {"result": result}
    if not isinstance(result, Mapping):
        return {}
    found = {str(key): _float(str(key), value) for key, value in result.items() if _is_number(value)}
    for name in found:
        if name in RESERVED:
            raise ValueError(f"the program returns a number called {name!r}, a name that smp uses itself: rename it")
    return found


def _float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"the program returns a number called {name!r} that is larger than a float can be") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and not isinstance(value, np.complexfloating)


class Here:
    """Runner for a plain function, which it calls in this process.

    Parameters
    ----------
    function : callable
    arguments : sequence or callable
        Arguments of the call, or a function that makes new ones for each call and is not timed.
    """

    def __init__(self, function: Callable[..., Any], arguments: Arguments = ()) -> None:
        self._function, self._arguments = function, arguments

    def trial(self, treatments: Mapping[str, Treatment | None]) -> Outcome:
        """Run the function with treatments."""
        arguments = made(self._arguments)
        memory.begin()
        with treated(treatments):
            began = time.perf_counter()
            result = self._function(*arguments)
            seconds = time.perf_counter() - began
        return Outcome(seconds, memory.peak(), numbers(result))

    def count(self) -> Counts:
        """Run the function without treatments, and count its places."""
        with counted() as met:
            outcome = self.trial({})
        return Counts(outcome, met)


class OnMachine:
    """Runner for an SPMD program on a machine; the numbers are those that processor 0 returns."""

    def __init__(self, machine: Machine, program: Callable[..., Any], arguments: Arguments = ()) -> None:
        self._machine, self._program, self._arguments = machine, program, arguments

    def trial(self, treatments: Mapping[str, Treatment | None]) -> Outcome:
        """Run the program with treatments."""
        return self._run(treatments, Watched(self._program))[0]

    def count(self) -> Counts:
        """Run the program without treatments, and count its places."""
        with counted() as met:
            outcome, seen = self._run({}, Watched(self._program))
        return Counts(outcome, met, seen[0].virtual)

    def _run(self, treatments: Mapping[str, Treatment | None], watched: Watched) -> tuple[Outcome, list[Seen]]:
        arguments = made(self._arguments)
        with treated(treatments):
            run = self._machine.run(watched, *arguments)
        seen: list[Seen] = run.results
        seconds = (max(one.ended for one in seen) - min(one.began for one in seen)) * 1e-9
        peaks = {one.process: one.memory for one in seen}  # processors of an emulated machine share one process
        return Outcome(seconds, sum(peaks.values()), numbers(seen[0].result)), seen


class Seen(NamedTuple):
    """Record of one processor's run: its result, times in ns, process, and peak memory in bytes."""

    result: Any
    began: int
    ended: int
    process: int
    memory: float
    virtual: bool


class Watched(Enclosing):
    """An SPMD program that also returns when it began and ended, and its peak memory."""

    def __call__(self, proc: Processor, /, *args: Any, **kwargs: Any) -> Seen:
        memory.begin()
        began = now()
        result = called(self.program, proc, *args, **kwargs)
        ended = now()
        result = result if proc.rank == 0 and (_is_number(result) or isinstance(result, Mapping)) else None
        return Seen(result, began, ended, os.getpid(), memory.peak(), here.interpreter is not None)


def made(arguments: Arguments) -> Sequence[Any]:
    """Return the arguments of the next call."""
    return arguments() if callable(arguments) else arguments
