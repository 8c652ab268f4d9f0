"""Show the progress of a measurement: as a bar on a terminal, otherwise as lines, for example in a log.

latency: 5.2 s
62%: access patterns, p = 2
access: 14.1 s
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichBar

EVERY_S = 10.0
"""Seconds between two lines of one section."""


class Progress(Protocol):
    """Receiver of a measurement's progress reports."""

    def __call__(self, done: float, text: str) -> None:
        """Show the fraction of the whole that is done, and a text about the current work."""

    def ended(self, name: str, seconds: float) -> None:
        """Show that a section has ended, and the seconds that it took."""


@contextlib.contextmanager
def shown_on(talk: Console) -> Iterator[Progress]:
    """Open a progress display on a console, and close it at the end of the block."""
    if not talk.is_terminal:
        yield Lines(talk)
        return
    columns = (
        TextColumn("{task.description:<44.44}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with RichBar(*columns, console=talk, transient=True) as bar:
        yield Bar(bar)


class Bar:
    """A progress bar with the time left; see `Progress`."""

    def __init__(self, bar: RichBar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=1.0)

    def __call__(self, done: float, text: str) -> None:
        self._bar.update(self._task, completed=done, description=text)

    def ended(self, name: str, seconds: float) -> None:
        """Do nothing: the bar goes on."""


class Lines:
    """Prints a line when a section has ended, and every `EVERY_S` seconds while one takes longer; see `Progress`."""

    def __init__(self, talk: Console) -> None:
        self._talk, self._said = talk, time.monotonic()

    def __call__(self, done: float, text: str) -> None:
        if time.monotonic() - self._said >= EVERY_S:
            self._say(f"{done:.0%}: {text}")

    def ended(self, name: str, seconds: float) -> None:
        """Print the seconds that a section took."""
        self._say(f"{name}: {seconds:.1f} s")

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        self._talk.print(text, markup=False, highlight=False, soft_wrap=True)
