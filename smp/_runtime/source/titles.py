"""Source text that is in no file: cells of a notebook, lines typed at a prompt.

    parent    texts_of(file names of a call's code) ── sent with the call ──▶ learn(texts)    processors

Tracebacks and places then show these lines, under the title that the notebook gives to the cell.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable

Texts = dict[str, tuple[str, list[str]]]
"""Title and lines by file name; the title is empty if there is none."""

_titles: dict[str, str] = {}


def texts_of(files: Iterable[str]) -> Texts:
    """Return the texts of those file names that are not the names of files.

    From then on, places of this process show their titles.
    """
    found = {}
    for file in files:
        lines = [] if os.path.isfile(file) else linecache.getlines(file)
        if lines:
            found[file] = (_title(file), lines)
    _titles.update({file: title for file, (title, _) in found.items() if title})
    return found


def learn(texts: Texts) -> None:
    """Make tracebacks and places of this process show these texts."""
    for file, (title, lines) in texts.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
        if title:
            _titles[file] = title


def place(file: str, line: int) -> str:
    """Return a source line in the form that users know: ``count.py:12``, or ``Cell In[4], line 12``.

    Programs of emulated machines run in the process of the notebook, where no text was sent: it knows its own titles.
    """
    title = _titles.get(file) or _title(file)
    return f"{title}, line {line}" if title else f"{file}:{line}"


def titled(trace: str) -> str:
    """Return the text of a traceback, with file names of cells replaced by the titles of the cells."""
    for file, title in _titles.items():
        trace = trace.replace(f'File "{file}", line ', f"{title}, line ")
    return trace


def _title(file: str) -> str:
    """Return IPython's name for the code of a file name; empty if the code is not from IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    return " ".join((describe(file) if describe is not None else None) or ())
