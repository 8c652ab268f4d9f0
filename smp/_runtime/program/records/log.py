"""The log of a run: a file with a line for each entry, which is up to date at any moment.

    {"processor": 1, "seconds": 5021.734060721, "text": "waits in barrier at lab.py:12"}

Each entry is one write to the end of the file.  The system keeps what was written when the processor is killed, and
entries of different processors are not mixed.  If a processor is killed while it writes, the entry of another may
follow on the same line.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import NamedTuple

from ...source.lines import where
from .runtime_states import LOGGING, RuntimeStates

EVENTS = {
    "barrier": "waits of the program for all other processors: barriers, votes, phases of supersteps",
    "broadcast": "broadcast and gather",
    "combine": "reduce and scan",
    "message": "messages that are sent, and handlers that run",
    "print": "what the program prints with proc.print",
}
"""The events of the runtime that can be logged."""
_COLLECTIVES = {"broadcast": "broadcast", "gather": "broadcast", "reduce": "combine", "scan": "combine"}
_START = b'{"processor": '


class Entry(NamedTuple):
    """An entry of a log: its processor, the seconds of the clock that all processors share, and its text."""

    processor: int
    seconds: float
    text: str

    def __str__(self) -> str:
        return f"processor {self.processor} at {self.seconds:.6f} s: {self.text}"


class Log:
    """One processor's end of the log.

    Parameters
    ----------
    path : str
    rank : int
    clock : callable
        Returns the seconds of the clock that all processors share.
    events : collection of str
        The events of the runtime that are logged, of EVENTS.
    states : RuntimeStates
        States of the processor, which has states of its own during these events, and while it writes an entry.
    """

    def __init__(
        self, path: str, rank: int, clock: Callable[[], float], events: Collection[str], states: RuntimeStates
    ) -> None:
        self._file = io.FileIO(path, "a")  # each write goes to the end of the file; it closes itself when it is dropped
        self._rank, self._clock, self._events, self._states = rank, clock, frozenset(events), states

    def write(self, text: str) -> None:
        """Write an entry."""
        with self._states.during(LOGGING):
            entry = Entry(self._rank, round(self._clock(), 9), text)
            line = json.dumps(entry._asdict(), ensure_ascii=False) + "\n"
            try:
                self._file.write(line.encode(errors="backslashreplace"))  # JSON has the same escapes for surrogates
            except OSError as error:
                raise OSError(error.errno, f"{error.strerror} for the log of the run", self._file.name) from error

    def event(self, name: str, text: str) -> None:
        """Write an entry about an event of the runtime, if this kind of event is logged."""
        if name in self._events:
            self.write(f"{name}: {text}")

    def during(self, name: str, state: str) -> AbstractContextManager[None]:
        """Return a block during which the processor has a state, if this kind of event is logged."""
        return self._states.during(state) if name in self._events else contextlib.nullcontext()

    def begins(self, description: str) -> None:
        """Write an entry about a collective that the program begins, and waits for later."""
        if _event(description) in self._events:
            self._collective("begins", description)

    def waits(self, description: str) -> None:
        """Write an entry about a collective in which the program waits from now on."""
        event = _event(description)
        if event in self._events:
            self._states.begin(event)  # the states of these events have their names
            self._collective("waits in", description)

    def passed(self, description: str) -> None:
        """Write an entry about the end of a wait in a collective."""
        self._waited("has passed", description)

    def timed_out(self, description: str) -> None:
        """Write an entry about a wait in a collective that has reached its time limit."""
        self._waited("timed out in", description)

    def _waited(self, does: str, description: str) -> None:
        if _event(description) in self._events:
            self._collective(does, description)
            self._states.finish()

    def _collective(self, does: str, description: str) -> None:
        at = where(sys._getframe(1))
        self.write(f"{does} {description}" + (f" at {at}" if at else ""))


def _event(description: str) -> str:
    """Return the event of a collective."""
    return _COLLECTIVES.get(description.partition("(")[0], "barrier")


def last_entries(path: str | os.PathLike[str]) -> dict[int, Entry]:
    """Return the last entry of each processor in the log of a run, by rank.

    The log may be read while the run goes on.  A processor without entries is left out.

    Parameters
    ----------
    path : path_like
        The file that ``machine.run(..., log=path)`` has written.

    Raises
    ------
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, smp, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.log")
    >>> with smp.host(2) as machine:
    ...     run = machine.run(lambda proc: proc.log(f"half of {proc.size}"), log=path)
    >>> [(rank, entry.text) for rank, entry in sorted(smp.last_entries(path).items())]
    [(0, 'half of 2'), (1, 'half of 2')]
    """
    last: dict[bytes, bytes] = {}
    with open(path, "rb") as file:
        for line in file:
            start = line.rfind(_START)  # this is not in a text, where quotes are escaped
            if start >= 0 and line.endswith(b"}\n"):
                last[line[start : line.index(b",", start)]] = line[start:]
    entries = [Entry(**json.loads(line)) for line in last.values()]
    return {entry.processor: entry for entry in entries}


def last_lines(path: str, size: int) -> str:
    """Return the last entries as text, with a line for each of ``size`` processors."""
    try:
        entries = last_entries(path)
    except OSError as error:  # it was removed while the program ran
        return f"The log cannot be read: {error}"
    lines = [f"  {entries.get(rank, f'processor {rank}: no entry')}" for rank in range(size)]
    return "\n".join([f"The last entries of the log {path}:", *lines])
