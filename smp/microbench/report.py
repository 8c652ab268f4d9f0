"""The report as rich renderables: a first screen of answers, then a section for each thing that was measured.

Profiles in, renderables out; the command line prints them. Numbers carry their units in the headers, nothing depends
on colour, and what was not measured is left out.
"""

from __future__ import annotations

from rich.console import RenderableType

from .report_access import cost_functions
from .report_bandwidth import bandwidth
from .report_chain import chain
from .report_fine import fine_lists
from .report_format import Data
from .report_instruction import instruction
from .report_latency import latency
from .report_lists import list_ranking
from .report_outstanding import outstanding
from .report_polling import polling
from .report_retries import retries
from .report_sorting import sorting
from .report_stencil import stencil
from .report_summary import summary
from .report_synchronisation import synchronisation
from .report_threads import threads
from .report_waking import waking

__all__ = ["sections", "summary"]

SECTIONS = {
    "latency": latency,
    "bandwidth": bandwidth,
    "synchronisation": synchronisation,
    "access": cost_functions,
    "lists": list_ranking,
    "sorting": sorting,
    "stencil": stencil,
    "instruction": instruction,
    "retries": retries,
    "waking": waking,
    "chain": chain,
    "threads": threads,
    "outstanding": outstanding,
    "polling": polling,
    "fine": fine_lists,
}
"""Section of the profile -> what makes a renderable of the profile."""


def sections(profile: Data) -> list[RenderableType]:
    """Return a renderable for each section that was measured.

    Parameters
    ----------
    profile : mapping
        The JSON document.

    Returns
    -------
    list of renderable
        In the order of `SECTIONS`.
    """
    return [make(profile) for name, make in SECTIONS.items() if profile.get(name)]
