"""The page of a calibration: the errors and the formulas of the models, and their figures, library by library.

smp calibrate sort   writes it as smp-report/calibration.html, next to calibration.json
"""

from __future__ import annotations

import json
from pathlib import Path

from smp._computer.data import write
from smp._output.page.page import Caution, Page, Section, render

from ..output.format import Data
from . import plots, tables

NAME = "calibration.html"
POOR = "its error on points that it was not fitted to is large: look at its residuals"


def write_page(data: Data, folder: Path) -> Path:
    """Write the page of a calibration's document into a folder, completely or not at all; return its path."""
    write(folder / NAME, page_of(data))
    return folder / NAME


def page_of(data: Data) -> str:
    """Return the page of a calibration's document as one HTML file. The same document gives the same bytes."""
    summary, *parts = tables.report(dict(data))
    sections = [
        Section(
            f"library-{k}", part.title, part.note, figures=list(plots.of_library(name, library)), tables=part.tables
        )
        for k, (part, (name, library)) in enumerate(zip(parts, data["libraries"].items(), strict=True))
    ]
    machine = data.get("machine") or {}
    conditions = [f"{machine.get('cpu', 'an unnamed CPU')}, {machine.get('cpus', '?')} CPUs"]
    if data.get("created"):
        conditions.append(f"calibrated {data['created'][:16].replace('T', ' ')} UTC")
    interrupted = [Caution("Interrupted", "the other libraries were not calibrated")] if data.get("interrupted") else []
    poor = [Caution(name, POOR) for name in tables.poor(data)]
    page = Page(
        title=f"Models of {', '.join(data['libraries']) or 'nothing'}",
        conditions=", ".join(conditions),
        cautions=[*interrupted, *poor],
        key_figures=[],
        sections=[Section("summary", "Summary", tables=summary.tables), *sections],
        data_name="calibration.json",
        data=json.dumps(data, allow_nan=False).encode(),
        data_text="The calibration has the models with all digits, and the timings that they were fitted to.",
    )
    return render(page)
