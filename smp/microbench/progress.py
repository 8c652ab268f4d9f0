"""Progress while something is measured: a bar on a terminal; lines where there is none, as in a log.

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
"""Between two lines of one section."""


class Progress(Protocol):
    """Where a measurement reports how far it is."""

    def __call__(self, done: float, text: str) -> None:
        """Take the fraction of the whole that is done, and what is being done."""

    def ended(self, name: str, seconds: float) -> None:
        """Take a section that has ended, and how long it took."""


@contextlib.contextmanager
def shown_on(talk: Console) -> Iterator[Progress]:
    """Open what shows progress on a console, and close it at the end of the block."""
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
        """Leave it to the bar, which goes on."""


class Lines:
    """A line for each section that has ended, and every `EVERY_S` seconds for one that takes longer; see `Progress`."""

    def __init__(self, talk: Console) -> None:
        self._talk, self._said = talk, time.monotonic()

    def __call__(self, done: float, text: str) -> None:
        if time.monotonic() - self._said >= EVERY_S:
            self._say(f"{done:.0%}: {text}")

    def ended(self, name: str, seconds: float) -> None:
        """Say how long it took."""
        self._say(f"{name}: {seconds:.1f} s")

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        self._talk.print(text, markup=False, highlight=False, soft_wrap=True)
