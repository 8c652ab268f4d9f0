"""Draw the figures of a profile, section by section; the processors of a machine share the drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import usable_cpus
from smp._output.drawing import save
from smp._output.figure import Figure
from smp._runtime.kinds import host
from smp._runtime.program.processor import Processor
from smp.errors import MachineError

from ..method.windows import WINDOW, per_operation
from ..output.format import Data
from ..output.timings import timings_figure
from ..sections import SECTIONS

EACH, MOST = 4, 4
"""Fewest figures for each processor that draws, since it takes half a second to import the drawing code, and most
processors."""


def figures(profile: Data, samples: Mapping[str, NDArray[Any]] | None = None) -> Iterator[Figure]:
    """Describe the figures of a profile, one at a time.

    Parameters
    ----------
    profile : mapping
        The profile as a JSON document.
    samples : mapping of str to ndarray, optional
        Raw samples by section; they show how far the section's measurements spread.

    Yields
    ------
    Figure
    """
    for name in SECTIONS:
        yield from figures_of(profile, name, samples)


def figures_of(profile: Data, name: str, samples: Mapping[str, NDArray[Any]] | None = None) -> Iterator[Figure]:
    """Describe the figures of one section, if it was measured and has any; otherwise as `figures`."""
    section = SECTIONS[name]
    if section.drawn and profile.get(name):
        found = section.records().model_validate(profile[name])
        yield from section.part("plots", "figures")(found, (samples or {}).get(name))
    if profile.get(name) and (histogram := _timings(name, section.title, (samples or {}).get(name))) is not None:
        yield histogram


def _timings(name: str, title: str, samples: NDArray[Any] | None) -> Figure | None:
    """Describe the histogram of the windows of a section; None if it has none, or too few."""
    names = () if samples is None else samples.dtype.names or ()
    if samples is None or not set(WINDOW.names or ()) <= set(names):
        return None
    windows = samples[(samples["operations"] > 0) & (samples["wall_ns"] > samples["timer_ns"])]
    keys = [field for field in names if field not in (WINDOW.names or ())]
    points = np.unique(windows[keys], return_inverse=True)[1] if keys else np.zeros(len(windows), np.intp)
    order = np.argsort(points, kind="stable")
    ends = np.flatnonzero(np.diff(points[order])) + 1
    times, clean = (np.split(each[order], ends) for each in (per_operation(windows), np.asarray(windows["flags"] == 0)))
    return timings_figure(f"{name}-timings", title[0].upper() + title[1:], times, clean)


def draw(profile: Data, samples: Mapping[str, NDArray[Any]] | None, folder: Path) -> list[Path]:
    """Draw the figures of a profile as PNG files of 1200 x 800 pixels.

    Parameters
    ----------
    profile, samples
        As for `figures`.
    folder : Path
        Folder of the files. It is made if it is missing; files of the same names are replaced.

    Returns
    -------
    list of Path
        Paths of the written files.

    Notes
    -----
    All figures together take about 8 s of CPU time.
    """
    described = list(figures(profile, samples))
    processors = min(len(usable_cpus()), len(described) // EACH, MOST)
    if processors < 2:
        return save(described, folder)
    try:
        machine = host(processors)
    except MachineError:  # no machine can be opened, but the figures can still be drawn
        return save(described, folder)
    with machine:
        drawn = machine.run(_draw_share, described, folder).results
    return [drawn[k % processors][k // processors] for k in range(len(described))]


def _draw_share(proc: Processor, described: list[Figure], folder: Path) -> list[Path]:
    return save(described[proc.rank :: proc.size], folder)
