"""The suite of all primitives.

A model has the number of processors p as an input, and terms in p if p has several values.  One processor never waits
for another, so p begins at 2: two numbers of processors, 1 and 2, would determine no form.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from smp._computer.limits import usable_cpus
from smp._runtime.kinds import host
from smp._runtime.machine import Machine
from smp.models.fit.specification import Specification
from smp.selection.suite import Suite

from . import blocks, collectives, records, sending
from .bench import Bench
from .primitive import Effort, Primitive

NAME = "messages"
GROUPS: dict[str, tuple[Primitive, ...]] = {
    "collectives": collectives.PRIMITIVES,
    "messages": sending.PRIMITIVES,
    "blocks": blocks.PRIMITIVES,
    "records": records.PRIMITIVES,
}
"""All primitives, by group."""
TURNS, POINTS = "linear 1..8 x 8", 32
"""Samples of a primitive without sizes, and most samples of one with sizes, that a model is fitted to."""


def suite_here() -> Suite:
    """Return the suite for the numbers of processors of this computer: powers of two from 2 to that of the CPUs."""
    cpus = len(usable_cpus())
    return suite_of([1 << k for k in range(1, cpus.bit_length())] or [1])


def suite_of(processors: Sequence[int], opened: Callable[[int], Machine] = host, effort: Effort | None = None) -> Suite:
    """Return the suite of the primitives.

    Parameters
    ----------
    processors : sequence of int
        Numbers of processors.
    opened : callable
        Opens a machine of a number of processors.  The machines close when the suite is dropped.
    effort : Effort, optional
    """
    bench = Bench(opened, effort or Effort())
    return Suite(
        NAME,
        (
            specification(each, processors, functools.partial(bench.seconds, each))
            for group in GROUPS.values()
            for each in group
            if each.processors <= min(processors)
        ),
    )


def specification(primitive: Primitive, processors: Sequence[int], task: Callable[..., float]) -> Specification:
    """Return what is measured and fitted of a primitive."""
    inputs = {"p": ", ".join(map(str, processors)), **primitive.sizes}
    made = functools.partial(
        Specification,
        f"{NAME}/{primitive.name}",
        inputs,
        terms(primitive, processors),
        task,
        points=POINTS,
        clocked=True,
    )
    return made() if primitive.sizes else made(loops={**inputs, "turn": TURNS}, of=_processors)


def terms(primitive: Primitive, processors: Sequence[int]) -> list[str]:
    """Return the terms that are offered to a primitive, simple ones first: they stay if two say the same."""
    sizes = ["transfers"] if "transfers" in primitive.sizes else []
    each = "transfers * " if sizes else ""
    sizes += [f"{each}{term}" for term in (("length",) if "length" in primitive.sizes else ()) + primitive.terms]
    if len(processors) == 1:
        return sizes
    return [*sizes, "log2(p)", *(f"{term} * log2(p)" for term in sizes), "p"]


def _processors(p: int, turn: int) -> tuple[float, ...]:
    """Return the only input of a primitive without sizes."""
    return (p,)
