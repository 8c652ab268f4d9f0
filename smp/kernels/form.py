"""A form of a kernel: one SPMD program, and all that the functions, the choice, predictions and probes know of it.

Each folder of kernels has one table of its forms, by name:

    functions       run the program that a user names            program, options
    the choice      has a model of its time, by which it is chosen    terms, when, parameter
    predictions     charge what it accesses                      cost, work, element_bytes, title
    probes          measure those that have a cost               longest

To add a form is to write its module and one line of the table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .costs import Costs, longest_block

Program = Callable[..., Any]


@dataclass(frozen=True)
class Form:
    """One SPMD program of a kernel.

    Parameters
    ----------
    title : str
        What it is called in a sentence.
    program : callable or str
        For ``machine.run``; as ``module:function`` where it is imported only when it is asked for, because its loops
        need Numba at once.
    options : mapping
        Keywords of the program by which this form is told from others of the same program.
    cost : callable, optional
        Of n and p: the supersteps in closed form, an array of `smp.kernels.costs.COST`.
    work : callable
        Of n and p: local operations of the processor that has most, up to a constant factor.
    element_bytes : int
        Of what it reads and writes, in predictions.
    longest : int, optional
        Elements up to which it is measured: beyond, it says nothing new and takes most of the time.
    terms : sequence of str
        Of the model of its time; without any it is not chosen by itself.
    when : str
        The condition under which it is chosen.
    parameter : mapping
        What `smp.selection.library.Parameter` is made of, for a program that has one.
    """

    title: str
    program: Program | str
    options: Mapping[str, Any] = field(default_factory=dict)
    cost: Callable[[int, int], Costs] | None = None
    work: Callable[[int, int], float] = longest_block
    element_bytes: int = 8
    longest: int | None = None
    terms: tuple[str, ...] = ()
    when: str = ""
    parameter: Mapping[str, Any] = field(default_factory=dict)

    def loaded(self) -> Program:
        """Return its program, imported if need be."""
        if not isinstance(self.program, str):
            return self.program
        module, _, name = self.program.partition(":")
        program: Program = getattr(importlib.import_module(module), name)
        return program
