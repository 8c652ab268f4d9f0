"""Library that chooses among the SPMD programs that sort, see `smp.selection.library`.

    keys  -->  n, span, bits, rare  --models-->  radix with its best digit, sample, column

Radix sort goes over the bits of the keys in ceil(span / digit) rounds.  For each number of rounds only the smallest
digit is useful, so the search is for the best number of rounds.  With this number, the predicted time first falls and
then rises.

Source: Brewer, Portable High-Performance Supercomputing, sections 4.5 and 5.3.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from smp import Machine, host
from smp._computer.limits import measuring_cpus
from smp.selection.implementation import Implementation, Parameter
from smp.selection.kept import recalled
from smp.selection.library import Library

from ..in_process import streams_for
from .data import LOOPS, sort_data
from .forms import FORMS
from .keys import Keys
from .sampling import figures, look

KINDS = ("int32", "int64")
NARROW = 12
"""Number of bits of the keys up to which radix sort is chosen without models."""


@dataclass
class ProgramRequest:
    """Keys to be sorted by a program.

    Attributes
    ----------
    keys : ndarray of shape (n,)
    out : ndarray of shape (n,)
        Receives the result; it may be the keys.
    machine : Machine
    """

    keys: Keys
    out: Keys
    machine: Machine

    @functools.cached_property
    def span(self) -> int:
        """Number of bits that radix sort has to go over: those of the largest integer if none is negative, else all."""
        whole = 8 * self.keys.dtype.itemsize
        if self.keys.dtype.kind == "f" or not len(self.keys) or self.keys.min() < 0:
            return whole
        return max(1, int(self.keys.max()).bit_length())

    def inputs(self) -> tuple[float, ...]:
        """Return the inputs of the models: n, span, bits, rare."""
        n = len(self.keys)
        if not n:
            return 0.0, 1.0, 0.0, 0.0
        found = figures(look(self.keys).sample, n)
        return float(n), float(self.span), found.bits, found.rare

    def run(self, algorithm: str, **keywords: Any) -> Keys:
        """Copy the keys into shared memory, run a program, copy them back, and return the array with the result."""
        shared = self.machine.array(self.keys.astype(self.keys.dtype.newbyteorder("="), copy=False))
        self.machine.run(FORMS[algorithm].loaded(), shared, **keywords)
        self.out[...] = shared.view
        return self.out

    def run_chosen(self, algorithm: str, **keywords: Any) -> Keys:
        """Run a program that was chosen; if it can, it goes over no more bits than the keys have."""
        if FORMS[algorithm].by_bits and self.span < 8 * self.keys.dtype.itemsize:
            keywords["bits"] = self.span
        return self.run(algorithm, **keywords)


def program_library(dtype: np.dtype[Any], processors: int) -> Library:
    """Return the library for keys of a type, with the models that are stored for it, if there are any."""
    return _program_library(f"int{8 * dtype.itemsize}", processors)


def libraries(processors: int | None = None) -> list[Library]:
    """Return the libraries to calibrate for a number of processors, by default as many as there are CPUs."""
    count = streams_for(None) if processors is None else processors
    return [_program_library(kind, count) for kind in KINDS]


@functools.cache
def _program_library(kind: str, processors: int) -> Library:
    def setup(n: int, shape: int, span: int) -> tuple[ProgramRequest]:
        keys = sort_data(np.dtype(kind), n, shape, span)
        return (ProgramRequest(keys, np.empty_like(keys), _opened(processors)),)

    made = Library(
        f"sort programs[{kind}, {processors} processors]",
        {"n": "100..2e6", "span": "1..64", "bits": "linear 0..21 real", "rare": "linear 0..1 real"},
        ProgramRequest.inputs,
        setup=setup,
        rule=lambda n, span, *_: "radix" if span <= NARROW else "sample",
        points=36,
        loops={"n": "100..2e6 x 25"} | LOOPS,
        correct=False,  # the machine may be emulated: its runs repeat exactly, and the computer's time is not theirs
    )
    for name, form in FORMS.items():
        if form.terms:
            parameter = Parameter(**form.parameter) if form.parameter else None
            run = functools.partial(ProgramRequest.run_chosen, algorithm=name)
            made.add(Implementation(name, run, list(form.terms), form.when, parameter))
    return recalled(made)


@functools.cache
def _opened(processors: int) -> Machine:
    """Return a machine for calibration, which stays open."""
    return host(processors, pin=measuring_cpus(processors))
