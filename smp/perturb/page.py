"""The page of an experiment: what was done, the effects of the places on each response, and their figures.

smp perturb program.py   writes it as smp-perturb/index.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from .._computer.data import write
from .._output.page.page import Page, Section, render
from .._output.table import Table
from .results import Result

NAME = "index.html"


def write_page(found: Result, names: Sequence[str], folder: Path) -> Path:
    """Write the page of an experiment into a folder, completely or not at all; return its path.

    Parameters
    ----------
    found : Result
    names : sequence of str
        The responses to show.
    folder : Path
    """
    write(folder / NAME, page_of(found, names))
    return folder / NAME


def page_of(found: Result, names: Sequence[str]) -> str:
    """Return the page of an experiment as one HTML file. The same experiment gives the same bytes."""
    about = found.trials.about
    page = Page(
        title=f"What the time of {about.get('program') or 'a program'} depends on",
        conditions=", ".join(_conditions(found)),
        cautions=[],
        key_figures=[],
        sections=list(_sections(found, names)),
        data_name=found.file,
        data=json.dumps(found.document(names), allow_nan=False).encode(),
        data_text="The file has all trials, with their order and their responses.",
    )
    return render(page)


def _sections(found: Result, names: Sequence[str]) -> Iterator[Section]:
    tables: list[Table] = list(found.report(names))
    figures = found.figures(names)
    if figures:
        yield Section("figures", "Effects", figures=figures)
    yield Section("tables", "Report", tables=tables)


def _conditions(found: Result) -> Iterator[str]:
    about = found.trials.about
    yield f"{len(found.trials.table)} trials"
    if about.get("date"):
        yield f"made {about['date'][:16].replace('T', ' ')} UTC"
    if about.get("smp"):
        yield f"smp {about['smp']}"
