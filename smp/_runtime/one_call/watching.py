"""Progress of a long `map`, as a bar on the terminal of the error output; elsewhere nothing is shown."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

NAME = "smp progress"
"""Name of the thread, which is one of `watchdog.OURS`: it touches no cell of the program."""
PATIENCE = 0.5
"""Seconds after which the bar appears: a short call shows none."""
EVERY = 0.1
"""Seconds between two looks."""


@contextlib.contextmanager
def watched(name: str, count: int, done: Callable[[], int]) -> Iterator[None]:
    """Show how many of the items are done, while the block runs."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(name, count, done, ended), name=NAME, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(name: str, count: int, done: Callable[[], int], ended: threading.Event) -> None:
    if ended.wait(PATIENCE):
        return
    from rich.console import Console  # imported late: most programs show no bar

    from smp._output.progress import shown_on

    with shown_on(Console(stderr=True)) as bar:
        while True:
            number = done()
            bar(number / count, f"{name:.20}: {number:,} of {count:,} items")
            if ended.wait(EVERY):
                return
