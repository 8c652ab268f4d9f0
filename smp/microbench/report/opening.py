"""Opens the page of a report in a browser."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

from .page import NAME


def open_page(report: str | os.PathLike[str] = "smp-report") -> Path:
    """Open the page of a report in the default browser.

    Parameters
    ----------
    report : path_like
        The folder of the report, such as ``smp-report`` or ``smp-perturb``, or the page itself.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    FileNotFoundError
        If there is no such page.
    OSError
        If no browser can be started.
    """
    path = Path(report)
    page = (path / NAME if path.is_dir() else path).resolve()
    if not page.is_file():
        raise FileNotFoundError(
            f"there is no page {page}: python -m smp.microbench measures and writes smp-report/{NAME}"
        )
    if not webbrowser.open(page.as_uri()):
        raise OSError(f"no browser can be started here: copy {page} to a computer that has one, it is complete")
    return page
