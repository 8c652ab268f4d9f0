"""Source text that lies in no file: cells of a notebook, lines typed at a prompt.

    parent    texts_of(file names of a call's code) ── sent with the call ──▶ learn(texts)    processors

Tracebacks and places then show these lines, under the title that the notebook gives to the cell.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Iterable

Texts = dict[str, tuple[str, list[str]]]
"""By file name: the title, empty where there is none, and the lines."""

_titles: dict[str, str] = {}


def texts_of(files: Iterable[str]) -> Texts:
    """Return the texts of those file names that name no file; places of this process show their titles from now on."""
    found = {}
    for file in files:
        lines = [] if os.path.isfile(file) else linecache.getlines(file)
        if lines:
            found[file] = (_title(file), lines)
    _titles.update({file: title for file, (title, _) in found.items() if title})
    return found


def learn(texts: Texts) -> None:
    """Let tracebacks and places of this process show these texts."""
    for file, (title, lines) in texts.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
        if title:
            _titles[file] = title


def place(file: str, line: int) -> str:
    """Return a source line as people know it: ``count.py:12``, or ``Cell In[4], line 12``."""
    return f"{_titles[file]}, line {line}" if file in _titles else f"{file}:{line}"


def titled(trace: str) -> str:
    """Return the text of a traceback with the titles of cells in the place of their file names."""
    for file, title in _titles.items():
        trace = trace.replace(f'File "{file}", line ', f"{title}, line ")
    return trace


def _title(file: str) -> str:
    """Return what IPython calls the code of a file name; nothing for what is not from IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    return " ".join((describe(file) if describe is not None else None) or ())
