"""Lines by Python's `logging` that say what takes long.

A line goes to the logger "smp", at level INFO.  If the program has set up no logging, it is
written to the standard error, provided that this is a terminal or a notebook.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

LOGGER = "smp"


def say(text: str) -> None:
    """Log a line, or show it to a person who watches."""
    import logging  # importing it takes milliseconds

    logger = logging.getLogger(LOGGER)
    if logger.hasHandlers():
        logger.info(text)
    elif sys.stderr is not None and (sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")):
        sys.stderr.write(f"smp: {text}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def reported(text: str, silent: float) -> Iterator[None]:
    """Log a line if the block takes longer than ``silent`` seconds."""
    timer = threading.Timer(silent, say, [text])
    timer.name, timer.daemon = "smp alarm", True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
