"""The packet network of the emulated CM-5, compared with chapters 6 and 7 of Brewer's thesis."""

from __future__ import annotations

from smp._computer.limits import usable_cpus

from ..rows import Part
from . import settings
from .comparison import all_rows, wanted
from .drawn import congestion_picture, figures
from .jobs import Results

SUMMARY = "the network of the CM-5: capacity, permutations, transposes with and without barriers, interleaving"


def results(quick: bool) -> list[Part]:
    """Run the experiments."""
    found = Results(wanted(quick), len(usable_cpus()))
    rows = list(all_rows(found, quick))
    tables = [] if quick else [settings.table(len(usable_cpus()))]
    return [Part("network of the CM-5", rows, list(figures(found)), tables, [congestion_picture])]
