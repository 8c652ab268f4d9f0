"""Cells that the treatments of a machine's program use: all processors share them, and nothing else uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from smp._runtime.loops.interpreter import here
from smp._runtime.machine import Machine
from smp._runtime.memory.cells import Cells


@dataclass(frozen=True)
class Site:
    """Cells for treatments, as one processor uses them: a message cell per processor, then one shared cell.

    Attributes
    ----------
    cells : Cells
        One cell more than there are processors. All begin full, and each has a cache line of its own.
    rank : int
        Rank of the processor. On an emulated machine, whose processors share the site, `send` uses the rank of the
        running stream instead.
    size : int
        Number of processors.
    """

    cells: Cells
    rank: int
    size: int

    @staticmethod
    def cells_of(machine: Machine) -> Cells:
        """Make the cells of a site."""
        return machine.cells(machine.size + 1, full=True, padded=True)

    def take_and_leave(self) -> None:
        """Take the shared cell, and leave it full with the same value."""
        self.cells.writeef(self.size, self.cells.readfe(self.size))

    def send(self) -> None:
        """Write a word to the next processor's cell."""
        running = getattr(here.interpreter, "running", None)
        rank = self.rank if running is None else cast("Any", running).rank
        self.cells.writexf((rank + 1) % self.size, 1)
