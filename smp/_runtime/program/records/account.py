"""The charges of an emulated machine for the local work of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class LoopCharge(NamedTuple):
    """The calls of one loop on all processors, and the cycles that they have taken.

    Attributes
    ----------
    loop : str
        Name of the loop in machine files, or else of its function.
    way : {"declared", "counted", "bytes", "measured"}
        How the cycles were found.
    calls, cycles : int
        Cycles of the machine's clock.
    """

    loop: str
    way: str
    calls: int
    cycles: int


class Account(NamedTuple):
    """The account of one run.

    Attributes
    ----------
    machine : str
        Name of the machine; empty if it was not named.
    charges : list of LoopCharge
        The loops over local data, those that took the most cycles first.
    unknown : tuple of str
        Assumptions of the machine that nothing was measured for.
    times : mapping, optional
        The times of this run that were measured on this computer.
    """

    machine: str = ""
    charges: tuple[LoopCharge, ...] = ()
    unknown: tuple[str, ...] = ()
    times: Mapping[str, Any] | None = None


NOTHING = Account()
"""The account of a machine in real time."""
