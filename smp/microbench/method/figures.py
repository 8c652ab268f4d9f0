"""Numbers of a profile that can be compared with the same numbers of another machine."""

from __future__ import annotations

from typing import NamedTuple

from .spreads import Spread


class Figure(NamedTuple):
    """One number of a section.

    Attributes
    ----------
    what, unit : str
        Name and unit of the number; no other figure of the section has the same name and unit.
    value : float
    more_is_better : bool
        True for bandwidths, False for times.
    valid : bool
    spread : Spread, optional
        Uncertainty of the value; None if neither the record nor the samples give it.
    """

    what: str
    unit: str
    value: float
    more_is_better: bool = False
    valid: bool = True
    spread: Spread | None = None
