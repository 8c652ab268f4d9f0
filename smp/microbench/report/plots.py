"""The plots of a profile, as PNG files of 1200 x 800 pixels.

latency-strides    latency-map    latency-random    bandwidth
access-functions   access-h       lists-interval    lists-time
sorting-predicted  sorting-time   stencil-time

instruction    retries    waking    chain    threads
outstanding-far    outstanding-near    outstanding-chains    polling    fine-lists
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..output.axes import Data
from ..sections.access import plots
from ..sections.bandwidth import plots as plots_bandwidth
from ..sections.chain import plots as plots_chain
from ..sections.fine import plots as plots_fine
from ..sections.instruction import plots as plots_instruction
from ..sections.latency import plots as plots_latency
from ..sections.lists import plots as plots_lists
from ..sections.outstanding import plots as plots_outstanding
from ..sections.polling import plots as plots_polling
from ..sections.retries import plots as plots_retries
from ..sections.sorting import plots as plots_sorting
from ..sections.stencil import plots as plots_stencil
from ..sections.threads import plots as plots_threads
from ..sections.waking import plots as plots_waking

Samples = Mapping[str, NDArray[Any]]


def figures(profile: Data, samples: Samples | None = None) -> Iterator[tuple[str, Figure | None]]:
    """Make the plots, one at a time.

    Parameters
    ----------
    profile : mapping
        The JSON document.
    samples : mapping of str to ndarray, optional
        The raw samples; those of a section show how far its measurements spread.

    Yields
    ------
    str
        The plot's name.
    Figure or None
        None where its section was not measured.
    """
    raw = samples or {}
    yield "latency-strides", plots_latency.strides(profile)
    yield "latency-map", plots_latency.stride_map(profile)
    yield "latency-random", plots_latency.random_order(profile)
    yield "bandwidth", plots_bandwidth.bandwidth(profile)
    yield "access-functions", plots.every_function(profile, raw.get("access"))
    yield "access-h", plots.h_against_best(profile)
    yield "lists-interval", plots_lists.intervals(profile)
    yield "lists-time", plots_lists.times(profile, raw.get("lists"))
    yield "sorting-predicted", plots_sorting.predictions(profile)
    yield "sorting-time", plots_sorting.times(profile, raw.get("sorting"))
    yield "stencil-time", plots_stencil.times(profile)
    yield "instruction", plots_instruction.clocks(profile)
    yield "retries", plots_retries.counted(profile)
    yield "waking", plots_waking.waking(profile)
    yield "chain", plots_chain.chain(profile)
    yield "threads", plots_threads.threads(profile)
    yield "outstanding-far", plots_outstanding.groups(profile, "far")
    yield "outstanding-near", plots_outstanding.groups(profile, "near")
    yield "outstanding-chains", plots_outstanding.chains(profile)
    yield "polling", plots_polling.slowdown(profile)
    yield "fine-lists", plots_fine.times(profile)


def draw(profile: Data, samples: Samples | None, folder: Path) -> list[Path]:
    """Draw what was measured, as files ``NAME.png``.

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
    Takes about 3 s for all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures(profile, samples):
        if figure is not None:
            written.append(folder / f"{name}.png")
            figure.savefig(written[-1])
    return written
