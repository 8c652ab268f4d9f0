"""The figures of a profile, section by section; they are drawn by a machine, every processor its share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._output.drawing import save
from smp._output.figure import Figure
from smp._runtime.machine import host
from smp._runtime.program.processor import Processor
from smp.errors import MachineError

from ..output.format import Data
from ..sections import SECTIONS

EACH, MOST = 4, 4
"""Figures at least for each processor, which takes half a second to import what draws; processors at most."""


def figures(profile: Data, samples: Mapping[str, NDArray[Any]] | None = None) -> Iterator[Figure]:
    """Describe the figures of what was measured, one at a time.

    Parameters
    ----------
    profile : mapping
        The JSON document.
    samples : mapping of str to ndarray, optional
        The raw samples; those of a section show how far its measurements spread.

    Yields
    ------
    Figure
    """
    for name, section in SECTIONS.items():
        if section.drawn and profile.get(name):
            found = section.records().model_validate(profile[name])
            yield from section.part("plots", "figures")(found, (samples or {}).get(name))


def draw(profile: Data, samples: Mapping[str, NDArray[Any]] | None, folder: Path) -> list[Path]:
    """Draw what was measured, as PNG files of 1200 x 800 pixels.

    Parameters
    ----------
    profile, samples
        As `figures` takes them.
    folder : Path
        Made if it is missing; files of the same names are replaced.

    Returns
    -------
    list of Path
        Of the files written.

    Notes
    -----
    Takes about 8 s of CPU time for all.
    """
    described = list(figures(profile, samples))
    processors = min(len(usable_cpus()), len(described) // EACH, MOST)
    if processors < 2:
        return save(described, folder)
    try:
        machine = host(processors)
    except MachineError:  # a report can be drawn where no machine can be opened
        return save(described, folder)
    with machine:
        drawn = machine.run(_draw_share, described, folder).results
    return [drawn[k % processors][k // processors] for k in range(len(described))]


def _draw_share(proc: Processor, described: list[Figure], folder: Path) -> list[Path]:
    return save(described[proc.rank :: proc.size], folder)
