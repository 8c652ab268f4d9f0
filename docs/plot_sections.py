"""Draws the figures of a stored profile for the page on plots, and writes a section of it for each measurement."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

from smp._output.drawing import save
from smp.microbench.report.plots import figures_of
from smp.microbench.sections import SECTIONS
from smp.profiles import Profile
from smp.profiles.profile import ProfileWarning


def sections(profile: Path, pictures: Path) -> Iterator[str]:
    """Draw all figures into a folder, and yield the text of each section."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProfileWarning)  # it may be of another machine: it is only drawn
        data = Profile.load(profile).data
    for name, section in SECTIONS.items():
        figures = list(figures_of(data, name))
        if not figures:
            continue
        yield f"## {section.title[0].upper()}{section.title[1:]}\n\n    python -m smp.microbench --only {name}"
        for figure, picture in zip(figures, save(figures, pictures), strict=True):
            yield f"![{figure.title}: {figure.reading}]({pictures.parent.name}/{pictures.name}/{picture.name})"
