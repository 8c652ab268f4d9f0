"""What treatments find in a program of a machine: cells that all processors share, for nothing but them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from smp._runtime.loops.interpreter import here
from smp._runtime.machine import Machine
from smp._runtime.memory.cells import Cells


@dataclass(frozen=True)
class Site:
    """One processor's: a cell of each processor for messages, and behind them one that is taken and left.

    Attributes
    ----------
    cells : Cells
        One more than processors, full, each on a line of its own.
    rank : int
        The processor; on an emulated machine, whose processors share the site, that of the stream that runs.
    size : int
    """

    cells: Cells
    rank: int
    size: int

    @staticmethod
    def cells_of(machine: Machine) -> Cells:
        """Make the cells of a site."""
        return machine.cells(machine.size + 1, full=True, padded=True)

    def take_and_leave(self) -> None:
        """Take the shared cell, and leave it as it was."""
        self.cells.writeef(self.size, self.cells.readfe(self.size))

    def send(self) -> None:
        """Leave a word in the next processor's cell."""
        running = getattr(here.interpreter, "running", None)
        rank = self.rank if running is None else cast("Any", running).rank
        self.cells.writexf((rank + 1) % self.size, 1)
