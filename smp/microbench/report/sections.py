"""The report as rich renderables: a first screen of answers, then a section for each thing that was measured.

Profiles in, renderables out; the command line prints them. Numbers carry their units in the headers, nothing depends
on colour, and what was not measured is left out.
"""

from __future__ import annotations

from rich.console import RenderableType

from ..output.format import Data
from ..sections.access.report import cost_functions
from ..sections.bandwidth.report import bandwidth
from ..sections.chain.report import chain
from ..sections.fine.report import fine_lists
from ..sections.instruction.report import instruction
from ..sections.latency.report import latency
from ..sections.lists.report import list_ranking
from ..sections.outstanding.report import outstanding
from ..sections.polling.report import polling
from ..sections.retries.report import retries
from ..sections.sorting.report import sorting
from ..sections.stencil.report import stencil
from ..sections.synchronisation.report import synchronisation
from ..sections.threads.report import threads
from ..sections.waking.report import waking
from .first_screen import summary

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
