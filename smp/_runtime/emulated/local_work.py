"""Local work of an emulated machine: it runs the loops of ``smp.local``, and says how many cycles each call takes.

    Priced      declared in the machine file or at the loop, else counted       the machines that were published
    Bytes       each byte of the arrays once                                    the machine "flat"
    Measured    the time on this computer (see ``measured_work``)               machines made from a profile

    charged = work.run(loop, args, options)      charged.result, charged.cycles
    work.charges()                               for each loop: way, calls, cycles

Cycles are those of the machine's clock, as whole numbers.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from smp.errors import Unsupported

from ..loops.compiler import run
from ..loops.counted.pricing import Pricing
from ..loops.declarations import declared
from ..program.records.account import LoopCharge

if TYPE_CHECKING:
    from smp.machines import MachineFile

Loop = Callable[..., Any]
_KEPT = (bool, int, float, complex, str, np.generic, type(None))


class Charged(NamedTuple):
    """A call of a loop: its result, and the cycles that it takes."""

    result: Any
    cycles: int


class LoopWork(ABC):
    """The price of local work, and a record of what it has charged."""

    def __init__(self) -> None:
        self._record: dict[tuple[Loop, str], list[int]] = {}

    @abstractmethod
    def _run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        """Run a loop; return its result, its cycles, and the way in which they were found."""

    def run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> Charged:
        """Run a loop on its arguments, and return its result with the cycles that it takes.

        Raises
        ------
        Unsupported
            If the cycles cannot be found; the message names the loop, the line and an alternative.
        """
        result, cycles, way = self._run(loop, args, options)
        whole = round(cycles) if 0 <= cycles < np.inf else -1
        if whole < 0:
            raise ValueError(f"the {way} cost of the loop {name_of(loop)!r} is {cycles}; it must be 0 cycles or more")
        entry = self._record.setdefault((loop, way), [0, 0])
        entry[0] += 1
        entry[1] += whole
        return Charged(result, whole)

    def charges(self) -> list[LoopCharge]:
        """Return what the loops have taken since the last `forget`, the most cycles first."""
        summed: dict[tuple[str, str], list[int]] = {}
        for (loop, way), numbers in self._record.items():  # several loops can have one name
            entry = summed.setdefault((name_of(loop), way), [0, 0])
            entry[:] = map(operator.add, entry, numbers)
        found = [LoopCharge(*key, *numbers) for key, numbers in summed.items()]
        return sorted(found, key=lambda one: (-one.cycles, one.loop, one.way))

    def forget(self) -> None:
        """Begin a new record, for a new run."""
        self._record.clear()


def name_of(loop: Loop) -> str:
    """Return the name of a loop in machine files, or else that of its function."""
    declares = declared(loop)
    return declares.name if declares is not None and declares.name else f"{loop.__module__}.{loop.__qualname__}"


class Priced(LoopWork):
    """Declared prices, and otherwise counted operations: the way of the machines that were published.

    Parameters
    ----------
    machine : MachineFile or Pricing
    compute : bool
        False to run a loop that is ``oblivious`` only once for each combination of shapes and other arguments.  Each
        further call takes the same cycles and has the same result, and leaves all arrays as they are.
    """

    def __init__(self, machine: MachineFile | Pricing, compute: bool = True) -> None:
        super().__init__()
        self._pricing = machine if isinstance(machine, Pricing) else Pricing.of_file(machine)
        self._compute = compute
        self._seen: dict[tuple[Any, ...], tuple[Any, float, str]] = {}

    def _run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        declares = declared(loop)
        if declares is None or not declares.oblivious:
            return self._computed(loop, args, options)
        key = (loop, *(_form(value) for value in args), *((name, _form(options[name])) for name in sorted(options)))
        before = self._seen.get(key)
        if before is not None and not self._compute:
            return before
        made = self._computed(loop, args, options)
        if before is None:
            result = None if self._compute else _kept(loop, made[0])
            self._seen[key] = result, made[1], made[2]
        elif before[1] != made[1]:
            raise ValueError(
                f"the loop {name_of(loop)!r} is declared oblivious, but two calls with arrays of the same shapes and "
                f"the same other arguments took {before[1]:,.0f} and {made[1]:,.0f} cycles: its work depends on the "
                "contents of an array. Remove oblivious=True"
            )
        return made

    def _computed(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        price = self._pricing.declared(loop)
        if price is None:
            return (*self._pricing.counted(loop, args, options), "counted")
        cycles = price.cycles(args, options)  # before the loop changes its arrays
        return run(loop, args, options), cycles, "declared"


def _form(value: Any) -> Any:
    """Return what the number of an oblivious loop's operations may depend on, in an argument."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str
    if isinstance(value, tuple):
        return type(value), tuple(map(_form, value))
    return type(value), value


def _kept(loop: Loop, result: Any) -> Any:
    """Return a result that further calls can have, too; raise an error if they cannot."""
    parts = result if isinstance(result, tuple) else (result,)
    if all(isinstance(part, _KEPT) for part in parts):
        return result
    raise Unsupported(
        f"the loop {name_of(loop)!r} is not run again with compute=False, but it returns a {type(result).__name__}, "
        "which calls cannot share: let it return numbers and write arrays that it is given, or remove oblivious=True"
    )


class Bytes(LoopWork):
    """A charge for each byte of the arrays that are passed to a loop.

    Parameters
    ----------
    per_byte : float
        Cycles for each byte.
    """

    def __init__(self, per_byte: float) -> None:
        super().__init__()
        self._per_byte = per_byte

    def _run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        cycles = int(sum(one.nbytes for one in arrays_of(args)) * self._per_byte)
        return run(loop, args, options), cycles, "bytes"


def arrays_of(args: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the arrays among the arguments of a loop."""
    return (one for one in args if isinstance(one, np.ndarray))
