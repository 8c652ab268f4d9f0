"""Treatments on a machine: they travel with the program, and are set on its processors while it runs.

host        each processor is a process: it sets the treatments before its program, and removes them after it
emulated    all processors share this process: the first to begin sets the treatments, the last to end removes them
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.places import PLACES, Enclosing, Order
from smp._runtime.machine import Machine
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor

from .functions import placed_here, spots
from .settings import current
from .site import Site
from .treatments import Cell, Message, Treatment

_inside = 0  # number of programs of an emulated machine that are running treated in this process
_before: dict[str, Order] = {}


class Carried(Enclosing):
    """A program with treatments, which is called instead of the program itself.

    Parameters
    ----------
    program : callable
        Called as ``program(proc, *args, **kwargs)``.
    treatments : mapping of str to Treatment
    cells : Cells or None
        Cells of a `Site`, if a treatment needs one.

    It also takes along the functions whose calls are places in this process.
    """

    def __init__(self, program: Callable[..., Any], treatments: Mapping[str, Treatment], cells: Cells | None) -> None:
        super().__init__(program)
        self.treatments, self.cells, self.functions = dict(treatments), cells, spots()

    def __call__(self, proc: Processor, /, *args: Any, **kwargs: Any) -> Any:
        with self._set(proc), placed_here(self.functions):
            return self.program(proc, *args, **kwargs)

    @contextlib.contextmanager
    def _set(self, proc: Processor) -> Iterator[None]:
        global _inside, _before
        interpreted = here.interpreter is not None
        site = None if self.cells is None else Site(self.cells, proc.rank, proc.size)
        if not _inside:
            _before = PLACES.orders()
            PLACES.install({name: one.order(site) for name, one in self.treatments.items()}, interpreted)
        _inside += 1
        try:
            yield
        finally:
            _inside -= 1
            if not _inside:
                PLACES.install(_before)


def carried(program: Callable[..., Any], machine: Machine) -> Callable[..., Any]:
    """Return a program that runs on a machine's processors with the treatments that are set in this process.

    While treatments are set, ``machine.run`` calls `carried` by itself. After a failed run, call `carried` again for a
    new program: a cell of the old one's treatments may have been left empty.

    Parameters
    ----------
    program : callable
        As for ``machine.run``.
    machine : Machine

    Examples
    --------
    >>> import smp
    >>> from smp.perturb import carried, factor, treated
    >>> def program(proc):
    ...     with factor("swap"):
    ...         return proc.rank
    >>> with smp.emulated(2) as machine, treated({"swap": "1us"}):
    ...     machine.run(carried(program, machine)).results
    [0, 1]
    """
    if isinstance(program, Carried):
        return program
    treatments = current()
    shared = any(isinstance(one, Cell | Message) for one in treatments.values())
    return Carried(program, treatments, Site.cells_of(machine) if shared else None)
