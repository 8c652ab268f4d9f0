"""A run as text: its time, and the first of its supersteps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._output import terminal
from smp._output.numbers import time
from smp._output.table import Column, Table, counted, text

_SHOWN = 20
_COLUMNS = {
    "step": counted("step"),
    "label": text("label"),
    "hr": counted("h_r"),
    "hw": counted("h_w"),
    "m": counted("M"),
    "copy_in": Column("copy-in", form="time"),
    "compute": Column("compute", form="time"),
    "copy_out": Column("copy-out", form="time"),
}


def run_table(supersteps: NDArray[np.void], size: int, wall: float, dropped: int) -> str:
    """Return the text of a run.

    Parameters
    ----------
    supersteps : structured array
        Of `Run.summary`.
    size : int
        Processors.
    wall : float
        Seconds.
    dropped : int
        Supersteps that were not recorded.
    """
    said = [
        f"... and {len(supersteps) - _SHOWN:,} more in run.steps" if len(supersteps) > _SHOWN else "",
        f"{dropped:,} further supersteps were not recorded" if dropped else "",
    ]
    shown: list[list[Any]] = [[row[name] for name in _COLUMNS] for row in supersteps[:_SHOWN]]
    title = f"run on {size} processor{'s' if size != 1 else ''}: {time(wall)}"
    return terminal.text(Table(title, list(_COLUMNS.values()) if shown else (), shown, said))
