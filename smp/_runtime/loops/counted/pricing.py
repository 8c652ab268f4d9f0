"""The price of local loops on a machine: declared in its file or at the loop, and otherwise counted.

machine file  [loops."name"]     1st        coefficients times the terms that the loop declares
loop          cost=...           2nd        cycles
counted                          3rd        operations times the prices in [processor.ops]

The price of the loop "clear" is the table [processor.clear], unless it is among the loops of the file.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

from smp.errors import Unsupported

from ..declarations import KINDS, Price, declared

if TYPE_CHECKING:
    from smp.machines import MachineFile

    from .twins import Twins


CLEAR = "clear"
"""Name of the loop that clears memory."""


class Pricing:
    """The prices of local work on one machine.

    Parameters
    ----------
    machine : str
        Name of the machine, for messages.
    ops : mapping of str to float
        Cycles of each kind of operation: of all, or of none if they are not known.
    loops : mapping of str to mapping
        Declared coefficients of named loops.
    """

    def __init__(self, machine: str, ops: Mapping[str, float], loops: Mapping[str, Mapping[str, float]]) -> None:
        self.machine, self.loops = machine, loops
        self.ops = {kind: ops[kind] for kind in KINDS if kind in ops}
        self._declared: dict[Any, Price | None] = {}
        self._counting: dict[Any, Any] = {}
        self._of_totals = (*self.ops.values(), 1.0)  # in the order of the totals, the last of which are cycles

    @classmethod
    def of_file(cls, machine: MachineFile) -> Pricing:
        """Return the prices of a machine file."""
        if machine.processor is None:
            return cls(machine.name, {}, machine.loops)
        ops, clear = machine.processor.ops, machine.processor.clear
        known = {} if clear is None else {CLEAR: {"constant": clear.start, "per_byte": clear.per_byte}}
        return cls(machine.name, {kind: getattr(ops, kind) for kind in KINDS}, {**known, **machine.loops})

    def declared(self, loop: Any) -> Price | None:
        """Return the declared price of a loop; None if it has to be counted."""
        if not isinstance(loop, FunctionType):
            return None
        if loop not in self._declared:
            declares = declared(loop)
            self._declared[loop] = None if declares is None else declares.price(self.machine, self.loops, self.ops)
        return self._declared[loop]

    def counted(self, loop: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float]:
        """Run a loop that counts; return its result and its cycles."""
        if not self.ops:
            raise Unsupported(
                f"the operations of the loop {loop.__name__!r} have no price: the machine {self.machine!r} has no "
                "table [processor.ops]. Declare the loop's cost: @smp.local(cost=...)"
            )
        from numba.core.errors import NumbaError

        counting = self._counting.get(loop)
        if counting is None:
            counting = self._counting[loop] = self.counter.of(loop)
        try:
            result, totals = counting(*args, **options)
        except NumbaError as error:
            error.add_note(
                f"Numba could not compile the loop {loop.__name__!r} in the form that counts its operations. If it "
                "compiles the loop itself, declare the loop's cost: @smp.local(cost=...)"
            )
            raise
        return result, sum(map(operator.mul, totals, self._of_totals))

    @cached_property
    def counter(self) -> Twins:
        from .twins import Twins  # imports Numba

        return Twins(self.declared)
