"""The figures of a profile, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from smp._output.drawing import save
from smp._output.figure import Figure

from ..output.format import Data
from ..sections import SECTIONS


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
    Takes about 4 s for all.
    """
    return save(figures(profile, samples), folder)
