"""The SPMD programs that sort, and the library that chooses among them, see `smp.selection.library`.

    keys  -->  n, span, bits, rare  --models-->  radix with its best digit, sample, column

Radix sort goes over the bits of the keys in ceil(span / digit) rounds.  For each number of rounds only the least digit
is of use, so the best number of rounds is looked for: over these the predicted time falls and then rises.

Source: Brewer, Portable High-Performance Supercomputing, sections 4.5 and 5.3.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from smp import Machine, host
from smp.selection.kept import recalled
from smp.selection.library import Implementation, Library, Parameter

from ..in_process import streams_for
from .data import LOOPS, sort_data
from .forms import FORMS
from .keys import Keys
from .sampling import distinct_bits, look, rare_share

KINDS = ("int32", "int64")
NARROW = 12
"""Bits of keys up to which radix sort is chosen without models."""


@dataclass
class ProgramRequest:
    """Keys to be sorted by a program.

    Attributes
    ----------
    keys : ndarray of shape (n,)
    out : ndarray of shape (n,)
        It may be the keys.
    machine : Machine
    """

    keys: Keys
    out: Keys
    machine: Machine

    @functools.cached_property
    def span(self) -> int:
        """Bits that radix sort has to go over: of the largest integer if none is below 0, else all."""
        whole = 8 * self.keys.dtype.itemsize
        if self.keys.dtype.kind == "f" or not len(self.keys) or self.keys.min() < 0:
            return whole
        return max(1, int(self.keys.max()).bit_length())

    def inputs(self) -> tuple[float, ...]:
        """What the models take: n, span, bits, rare."""
        n = len(self.keys)
        if not n:
            return 0.0, 1.0, 0.0, 0.0
        sample = look(self.keys).sample
        return float(n), float(self.span), distinct_bits(sample), rare_share(sample, n)

    def run(self, algorithm: str, **keywords: Any) -> Keys:
        """Copy the keys into shared memory, run a program, and copy them back; return where they are."""
        shared = self.machine.array(self.keys.astype(self.keys.dtype.newbyteorder("="), copy=False))
        self.machine.run(FORMS[algorithm].loaded(), shared, **keywords)
        self.out[...] = shared.view
        return self.out

    def run_chosen(self, algorithm: str, **keywords: Any) -> Keys:
        """Run a program that was chosen; one that can, goes over no more bits than the keys have."""
        if FORMS[algorithm].by_bits and self.span < 8 * self.keys.dtype.itemsize:
            keywords["bits"] = self.span
        return self.run(algorithm, **keywords)


def program_library(dtype: np.dtype[Any], processors: int) -> Library:
    """Return the library for keys of a type, with the models that are kept for it, if there are any."""
    return _program_library(f"int{8 * dtype.itemsize}", processors)


def libraries(processors: int | None = None) -> list[Library]:
    """Return what is to be calibrated, for so many processors; by default as many as there are CPUs."""
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
    )
    for name, form in FORMS.items():
        if form.terms:
            parameter = Parameter(**form.parameter) if form.parameter else None
            run = functools.partial(ProgramRequest.run_chosen, algorithm=name)
            made.add(Implementation(name, run, list(form.terms), form.when, parameter))
    return recalled(made)


@functools.cache
def _opened(processors: int) -> Machine:
    """A machine to calibrate on, which stays open."""
    return host(processors)
