"""Forms in which a command prints its tables: text for the terminal, CSV, Markdown, or JSON."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from . import delimited, markdown, terminal
from .table import Part

WIDTH = 100  # columns of a report that is printed to a file
FORMS = {
    "json": "print the data behind the tables as JSON",
    "csv": "print the tables as CSV: raw numbers, units in the headers, titles and notes in lines with a #",
    "markdown": "print the tables in Markdown",
}


def add_forms(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a form, as ``options.form``."""
    group = parser.add_mutually_exclusive_group()
    for name, what in FORMS.items():
        group.add_argument(f"--{name}", dest="form", action="store_const", const=name, default="text", help=what)


def print_in(form: str, data: Any, parts: Sequence[Part]) -> None:
    """Print data as JSON, or the tables that show them in another form.

    Parameters
    ----------
    form : str
        "text", or one of `FORMS`.
    data : object
        Whatever `json.dumps` takes.
    parts : sequence of Part
    """
    if form == "json":
        print(json.dumps(data, indent=1))
    elif form == "csv":
        print(delimited.report(parts))
    elif form == "markdown":
        print(markdown.report(parts))
    else:
        width = shutil.get_terminal_size((WIDTH, 24)).columns
        print(terminal.report(parts, width, bold=sys.stdout.isatty()))
    sys.stdout.flush()
