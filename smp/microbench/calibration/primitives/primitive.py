"""Primitive of the runtime, and the program that takes one sample of its time.

    sample    make the burst ── barrier ── burst ── barrier ── burst ── ...        on all processors
    burst     a number of calls in a row  ->  seconds of one call on this processor; NaN if it is not timed here

The bursts are so long that the step of the clock does not matter, and the start of a run is in none of them.  A sample
is made from several bursts (see ``bench``).  Seconds are those of `proc.clock`, which an emulated machine counts in
virtual time.

Source: Brewer, Portable High-Performance Supercomputing, section 6.3 and figure 6-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smp._runtime.program.processor import Processor

Burst = Callable[[int], float]
"""Makes about as many calls as it is given, and returns the seconds of one on this processor; NaN if not timed here."""
FEW, TRIES = 3, 3
"""Calls of the bursts from which the length of the others is computed, and their number."""
REFERENCE = 1000
"""Turns of the loop that shows the speed of a CPU."""


class Timed(NamedTuple):
    """A burst: seconds of a call, NaN if not timed here, and of the reference loop before or after it, the longer."""

    seconds: float
    reference: float


@dataclass(frozen=True)
class Primitive:
    """A primitive of the runtime.

    Attributes
    ----------
    name : str
    make : callable
        ``make(proc, **sizes)`` returns the burst of a processor.
    sizes : dict of name to text
        Ranges of the sizes on which its time may depend; see `smp.models.fit.inputs.Input.parse`.
    unit : str
        Unit of ``length``.
    terms : tuple of str
        Terms for what the runtime itself does at some lengths: the pieces in which it moves data, and the length from
        which it takes another way.
    published : str
        Cycles on the CM-5, with their place in the source.
    processors : int
        Fewest processors that it needs.
    recorded : str
        ``log`` if it needs the log of the run, ``lines`` if it prints lines that must not be shown.
    """

    name: str
    make: Callable[..., Burst]
    sizes: dict[str, str]
    unit: str = ""
    terms: tuple[str, ...] = ()
    published: str = ""
    processors: int = 1
    recorded: str = ""


@dataclass(frozen=True)
class Effort:
    """Extent of a sample.

    Attributes
    ----------
    bursts : int
        Number of bursts.
    calls : int
        Most calls of a burst.
    seconds : float
        Seconds that the calls of a burst should take.
    """

    bursts: int = 5
    calls: int = 1000
    seconds: float = 3e-4


def sample(proc: Processor, make: Callable[..., Burst], sizes: dict[str, int], effort: Effort) -> list[Timed]:
    """Take the bursts of a primitive on this processor: the program of a sample."""
    burst = make(proc, **sizes)
    few, first = min(FEW, effort.calls), math.inf
    for _ in range(TRIES):  # the first one also touches memory
        proc.barrier()
        first = min(first, float(np.nan_to_num(burst(few))))
    first = proc.max(first)
    calls = effort.calls if first <= 0.0 else math.ceil(min(effort.calls, effort.seconds / first))
    found = []
    for _ in range(effort.bursts):
        proc.barrier()
        before = _reference(proc)
        seconds = burst(calls)
        found.append(Timed(seconds, max(before, _reference(proc))))
    return found


def _reference(proc: Processor) -> float:
    """Return the seconds of a loop that depends on nothing but the speed of this CPU."""
    began, total = proc.clock(), 0
    for k in range(REFERENCE):
        total += k
    return proc.elapsed(began)


def repeated(proc: Processor, call: Callable[..., object], *args: object) -> Burst:
    """Return a burst that makes a call again and again."""

    def burst(calls: int) -> float:
        began = proc.clock()
        for _ in range(calls):
            call(*args)
        return proc.elapsed(began) / calls

    return burst
