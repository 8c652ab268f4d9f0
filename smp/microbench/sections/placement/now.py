"""A short look at the placement of the CPUs, for users who are about to measure something."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._output.terminal import Printed
from smp.errors import MachineError
from smp.models.placement_log import PlacementLog

from .probe import look_around
from .report import COLUMNS, MEANING, cells
from .rows import Seen


@dataclass(frozen=True, eq=False)
class PlacementNow:
    """Placement of the CPUs over a short time; prints as a table with a row for each state.

    Attributes
    ----------
    states : tuple of Seen
        States of the placement, the most frequent first. Each has ``ns``, the hand-off of a line between neighbouring
        CPUs. A look belongs to the state if its hand-off lies between ``low_ns`` and ``high_ns`` (None: no upper
        bound). ``share`` is the state's share of the time. ``clock_GHz``, ``slowest_GHz`` and ``together`` are medians
        of the looks in it; notes below the printed table explain them.
    at_s, ns : ndarray (n,) float64
        Time of each look, in seconds from the first, and its hand-off; NaN if a neighbour was off its CPU.
    """

    states: tuple[Seen, ...]
    at_s: NDArray[np.float64]
    ns: NDArray[np.float64]

    def __str__(self) -> str:
        return str(Printed("", COLUMNS, [cells(state) for state in self.states], MEANING.splitlines()))


def placement(processors: int | None = None, seconds: float = 1.0) -> PlacementNow:
    """Look for a while at the placement of this computer's CPUs relative to each other.

    The host of a virtual machine may move its CPUs between cores, and this changes the cost of everything that several
    processors share.  Times that were taken in different states of the placement cannot be compared.

    Parameters
    ----------
    processors : int, optional
        Number of processors; by default the number of usable CPUs, at most 8.
    seconds : float
        Length of the observation.  One look takes a twentieth of a millisecond, and there is one every 5 ms.

    Returns
    -------
    PlacementNow

    Raises
    ------
    MachineError
        For fewer than two processors, or more than there are CPUs.

    Examples
    --------
    >>> import smp
    >>> seen = smp.placement(2)
    >>> seen.states[0].ns > 0
    True
    """
    cpus = len(usable_cpus())
    p = min(cpus, 8) if processors is None else processors
    if not 2 <= p <= cpus:
        raise MachineError(
            f"a placement needs at least two processors, each on a CPU of its own: {p} on {cpus} CPU"
            f"{'s' * (cpus != 1)} cannot have one"
        )
    found = look_around(p, seconds, PlacementLog())
    taken = found.taken
    return PlacementNow(tuple(found.rows(p)), taken["at_s"] - taken["at_s"][0], taken["ns"].astype(np.float64))
