"""How the CPUs lie now: a look of a second, for whoever is about to measure something."""

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
    """What a look at the CPUs has shown; printed, a row for each state.

    Attributes
    ----------
    states : tuple of Seen
        The most frequent first: the hand-over ``ns`` of a line between neighbouring CPUs, ``low_ns`` and ``high_ns``
        between which it counts as this state, the ``share`` of the looks, and medians of what was seen meanwhile.
    at_s, ns : ndarray (n,) float64
        When each look was taken, in seconds from the first, and its hand-over; NaN where a neighbour was off its CPU.
    """

    states: tuple[Seen, ...]
    at_s: NDArray[np.float64]
    ns: NDArray[np.float64]

    def __str__(self) -> str:
        return str(Printed("", COLUMNS, [cells(state) for state in self.states], MEANING.splitlines()))


def placement(processors: int | None = None, seconds: float = 1.0) -> PlacementNow:
    """Look for a while at how the CPUs of this computer lie to each other.

    The host of a virtual machine may move its CPUs between cores; what several processors share then has another
    price.  Times that were taken in different states cannot be compared.

    Parameters
    ----------
    processors : int, optional
        By default all usable CPUs, at most 8.
    seconds : float
        How long; a look takes a twentieth of a millisecond, every 5 ms.

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
    >>> seen = smp.placement(2, seconds=0.1)
    >>> seen.states[0].ns > 0
    True
    """
    cpus = len(usable_cpus())
    p = min(cpus, 8) if processors is None else processors
    if not 2 <= p <= cpus:
        raise MachineError(
            f"{p} processors have no placement on {cpus} CPU{'s' * (cpus != 1)}: it is how the CPUs of neighbours lie "
            "to each other, so it takes two at least, and a CPU for each"
        )
    found = look_around(p, seconds, PlacementLog())
    taken = found.taken
    return PlacementNow(tuple(found.rows(p)), taken["at_s"] - taken["at_s"][0], taken["ns"].astype(np.float64))
