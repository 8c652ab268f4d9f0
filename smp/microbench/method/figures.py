"""Numbers of a profile that can be compared with the same of another machine."""

from __future__ import annotations

from typing import NamedTuple

from .spreads import Spread


class Figure(NamedTuple):
    """One number of a section.

    Attributes
    ----------
    what, unit : str
        What it is, and what it is counted in; no other figure of the section has both.
    value : float
    more_is_better : bool
        Of bandwidths; of times, less is.
    valid : bool
    spread : Spread, optional
        How well it is known; None where neither the record nor the samples say.
    """

    what: str
    unit: str
    value: float
    more_is_better: bool = False
    valid: bool = True
    spread: Spread | None = None
