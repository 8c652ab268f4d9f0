"""The SMP cost study on an emulated machine with a bus: the fitted functions, their ranks, and the interval.

Source: N. M. Amato, A. Pietracaprina, G. Pucci, L. K. Dale and J. Perdue, A Cost Model for Communication on a Symmetric
MultiProcessor, 1998, sections 4 and 5, tables 1 to 11.
"""

from __future__ import annotations

import smp

from ..rows import Part
from . import bounds, coefficients, errors, programs
from .functions import Fitted

SUMMARY = "the SMP cost study on a bus with caches"
PROCESSORS, QUICK = (2, 4, 8, 12, 16), (4, 8)


def results(quick: bool) -> list[Part]:
    """Return the rows and figures of all parts."""
    machine = smp.machines.load("powerchallenge")
    fits = {p: Fitted(machine, p, quick) for p in (QUICK if quick else PROCESSORS)}
    return [
        coefficients.part(fits),
        errors.part(fits),
        bounds.part(machine, fits),
        programs.part(machine, fits, quick),
    ]
