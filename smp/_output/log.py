"""Lines by Python's `logging` that say what takes long.

A line goes to the logger "smp", at level INFO.  If the program has set up no logging, it is
written to the standard error, provided that this is a terminal or a notebook.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from itertools import count
from time import monotonic

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
    alarm = _alarm()
    number = alarm.set(text, silent)
    try:
        yield
    finally:
        alarm.cancel(number)


class _Alarm:
    """A thread that says each line when it is due, unless it is cancelled before; it lives as long as the process.

    A thread for each line would end soon.  Linux may then leave out a fence that this process accepts (decision 0049).
    """

    def __init__(self) -> None:
        self._changed, self._lines, self._numbers = threading.Condition(), dict[int, tuple[float, str]](), count()
        threading.Thread(target=self._serve, name="smp log", daemon=True).start()

    def set(self, text: str, seconds: float) -> int:
        """Say a line after some seconds; return the number by which it can be cancelled."""
        number = next(self._numbers)
        with self._changed:
            self._lines[number] = monotonic() + seconds, text
            self._changed.notify()
        return number

    def cancel(self, number: int) -> None:
        """Do not say a line, if it has not been said."""
        with self._changed:
            self._lines.pop(number, None)

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._lines:
                    self._changed.wait()
                    continue
                first = min(self._lines, key=self._lines.__getitem__)
                due, text = self._lines[first]
                if (left := due - monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                del self._lines[first]
            say(text)


@functools.cache
def _alarm() -> _Alarm:
    """Return the process's alarm."""
    return _Alarm()


os.register_at_fork(after_in_child=_alarm.cache_clear)  # the child has none of the parent's threads
