"""A form of a kernel: one SPMD program, together with all that the rest of the package needs to know about it.

The folders ``grids``, ``lists`` and ``sorting`` each have a table of forms, by name.  Four parts of the package read
these fields of a form:

    functions       run the program that a user names            program
    the choice      chooses by a model of the program's time     terms, when, parameter
    predictions     charge what the program accesses             cost, work, element_bytes, title
    probes          measure the programs that have a cost        longest

To add a form, write its module and one line of the table.
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
        Name of the form in a sentence.
    program : callable or str
        Program for ``machine.run``.  A string ``module:function`` names a program that is imported on first use,
        because importing its module also imports Numba.
    cost : callable, optional
        Function of n and p that returns the supersteps in closed form, as an array of `smp.kernels.costs.COST`.
    work : callable
        Function of n and p that returns the number of local operations of the processor with the most work, up to a
        constant factor.
    element_bytes : int
        Bytes of each element that the program reads or writes, for predictions.
    longest : int, optional
        Largest number of elements that is measured.  More elements show nothing new and take most of the time.
    terms : sequence of str
        Terms of the model of the program's time.  A form without terms is never chosen automatically.
    when : str
        Condition under which the form may be chosen.
    parameter : mapping
        Arguments of `smp.selection.implementation.Parameter`, for a program that has a parameter to choose.
    """

    title: str
    program: Program | str
    cost: Callable[[int, int], Costs] | None = None
    work: Callable[[int, int], float] = longest_block
    element_bytes: int = 8
    longest: int | None = None
    terms: tuple[str, ...] = ()
    when: str = ""
    parameter: Mapping[str, Any] = field(default_factory=dict)

    def loaded(self) -> Program:
        """Return the program, imported if necessary."""
        if not isinstance(self.program, str):
            return self.program
        module, _, name = self.program.partition(":")
        program: Program = getattr(importlib.import_module(module), name)
        return program
