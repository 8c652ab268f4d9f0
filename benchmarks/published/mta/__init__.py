"""The study of the Tera MTA on emulated multithreaded processors: every figure and table of its measurements.

Source: E. J. Riedy and R. Vuduc, Microbenchmarking the Tera MTA, 1999.
"""

from __future__ import annotations

import smp

from ..rows import Part
from . import bandwidth, latencies, polling, ranking, runtime, synchronisation

SUMMARY = "the study of the Tera MTA"


def results(quick: bool) -> list[Part]:
    """Return the rows and figures of all experiments."""
    machine = smp.machines.load("mta")
    modules = (latencies, runtime, synchronisation, bandwidth, ranking, polling)
    return [module.part(machine, quick) for module in modules]
