"""Makes one HTML file of a page that is described as plain data.

    Page ── KeyFigure   a large number with its unit, its spread and a link
       ├─── Caution     a result that is not valid, with the reason and a link
       ├─── Section     a heading, a sentence of result, figures, folded tables
       └─── data        a file in the page, to be saved

The file is complete in itself, and no request leaves it: its Content-Security-Policy forbids them.  All text is
escaped, and the same page gives the same bytes.
"""

from __future__ import annotations

import base64
import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .. import html
from ..figure import Figure
from ..table import Table
from .described import to_json
from .points import tables


@dataclass(frozen=True)
class KeyFigure:
    """A number to quote."""

    name: str
    value: str
    unit: str
    about: Sequence[str] = ()  # its spread, and other small print
    section: str = ""  # id of the section that explains it
    why: str = ""  # why it is not valid; empty if it is
    number: float = math.nan  # the value as a number
    history: Sequence[float] = ()  # its values in earlier measurements, and in this one


@dataclass(frozen=True)
class Caution:
    """A result that is not valid, and the reason."""

    name: str
    why: str
    section: str = ""  # id of the section to read


@dataclass(frozen=True)
class Section:
    """A part of the page, with figures, and with tables that are folded if there are figures."""

    id: str
    title: str
    text: str = ""
    why: str = ""  # why it is not valid; empty if it is
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Page:
    """A whole page; ``data`` are the bytes of the file ``data_name``, which the reader can save."""

    title: str
    conditions: str
    cautions: Sequence[Caution]
    key_figures: Sequence[KeyFigure]
    sections: Sequence[Section]
    data_name: str
    data: bytes
    data_text: str


def render(page: Page) -> str:
    """Return the HTML file of a page.

    Parameters
    ----------
    page : Page
    """
    surroundings = Environment(
        autoescape=True,
        loader=PackageLoader(__package__, ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    surroundings.filters.update(table=_table, described=_described, points=tables, anchor=_anchor, line=_line)
    packed = base64.b64encode(gzip.compress(page.data, 9, mtime=0)).decode()
    own = {name.replace(".", "_"): _own(name) for name in ("style.css", "figures.js", "frame.js")}
    return surroundings.get_template("page.html.j2").render(page=page, packed=packed, **own)


def _table(one: Table) -> Markup:
    return Markup(html.table(one))


def _described(figure: Figure) -> Markup:
    return Markup(to_json(figure))


def _line(values: Sequence[float]) -> str:
    """Return the points of a line through some values, in a box of 60 x 16, as SVG has them."""
    low, high = min(values), max(values)
    places = (15 - 14 * (value - low) / (high - low or 1) for value in values)
    return " ".join(f"{1 + 58 * k / (len(values) - 1):.1f},{y:.1f}" for k, y in enumerate(places))


def _anchor(name: str) -> str:
    return quote(name, safe="")


def _own(name: str) -> Markup:
    """Return a file of this package, without its indentation and its lines of comments."""
    lines = map(str.strip, (files(__package__) / name).read_text(encoding="utf-8").splitlines())
    return Markup("\n".join(line for line in lines if line and not line.startswith("//")))
