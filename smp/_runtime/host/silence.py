"""Hints about processors that do not go on: their process is stopped, or waits for what the records do not show.

    every LOOK seconds of a run     the state and the CPU time of each processor's process, from /proc
    HINT seconds stopped            a warning: the process waits for SIGCONT
    HINT seconds without CPU time   a warning, if another processor waits for a cell or at a barrier, and this one does
                                    not: it may wait for a plain lock, a queue or a file

A hint ends nothing: the run goes on as soon as the processor does.  Only the parent looks, in its own waiting loop.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from ..program.place import Place
from ..program.who_waits import RUNS, Row, table_of

LOOK, HINT = 1.0, 5.0
"""Seconds between two looks, and seconds after which a hint is given."""
IDLE = 0.1
"""Share of a CPU; a process that uses less does not go on."""
_STOPPED = "Tt"  # by a signal, or by a debugger
_STATE, _USER, _SYSTEM = 0, 11, 12  # fields after the name


class Silence:
    """Looks for processors that do not go on.

    Parameters
    ----------
    pids : sequence of int
        Process of each processor.
    seen : callable
        Returns where a processor was last seen, by its rank.
    """

    def __init__(self, pids: Sequence[int], seen: Callable[[int], Place]) -> None:
        self._pids, self._seen = pids, seen
        self._looked = time.monotonic()
        self._used = [0.0] * len(pids)
        self._idle_since = [self._looked] * len(pids)
        self._stopped_since: list[float | None] = [None] * len(pids)
        self._said: set[int] = set()  # ranks whose present silence a hint was given about

    def look(self, rows: Callable[[], Sequence[Row]], all_wait: bool) -> None:
        """Look if it is time to, and warn.

        Parameters
        ----------
        rows : callable
            Returns a row for each stream that shows what it does.
        all_wait : bool
            Whether all streams wait: then there may be a deadlock, which is looked for elsewhere.
        """
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        on_time, passed, self._looked = now - self._looked < HINT, now - self._looked, now
        for rank, pid in enumerate(self._pids):
            state, used = _state_of(pid)
            before, self._used[rank] = self._used[rank], used
            if state in _STOPPED:
                self._stopped_since[rank] = self._stopped_since[rank] or now
            elif self._stopped_since[rank] is not None:
                self._stopped_since[rank] = None
                self._said.discard(rank)
            if used - before > IDLE * passed or not on_time:  # this process itself may have been stopped
                self._idle_since[rank] = now
        self._hint_at_stopped(now)
        if not all_wait and not any(self._stopped_since):
            self._hint_at_idle(now, rows)

    def _hint_at_stopped(self, now: float) -> None:
        for rank, since in enumerate(self._stopped_since):
            if since is not None and now - since >= HINT and rank not in self._said:
                self._said.add(rank)
                at = str(self._seen(rank))
                _warn(
                    f"processor {rank} of {len(self._pids)} does not answer: its process {self._pids[rank]} has been "
                    f"stopped for {HINT:g} s (state T in /proc/{self._pids[rank]}/stat)"
                    + (f"; last seen at {at}" if at else "")
                    + f". The run waits for it: kill -CONT {self._pids[rank]} lets it go on"
                )

    def _hint_at_idle(self, now: float, rows: Callable[[], Sequence[Row]]) -> None:
        idle = [rank for rank, since in enumerate(self._idle_since) if now - since >= HINT and rank not in self._said]
        if not idle:
            return
        shown = rows()
        waiting = {row.processor for row in shown if row.what != RUNS and float(row.since.split()[0]) >= HINT}
        going = {row.processor for row in shown if row.what == RUNS}
        silent = [rank for rank in idle if str(rank) in going or str(rank) not in waiting]
        if not waiting or not silent or len(idle) < len(self._pids):
            return
        self._said.update(idle)
        who = f"processor{'s' * (len(silent) > 1)} {', '.join(map(str, silent))} of {len(self._pids)}"
        _warn(
            f"{who} used no CPU for {HINT:g} s, while others wait. A wait for a plain lock, a queue or a file is not "
            "recognised as a deadlock: the run goes on waiting; machine.run(..., timeout=seconds) or Ctrl-C ends "
            f"it\n{table_of(shown)}"
        )


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=10)  # the caller of machine.run


def _state_of(pid: int) -> tuple[str, float]:
    """Return the letter of a process's state and the seconds of CPU time that it has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended, or there is no /proc
        return "?", 0.0
    ticks = int(fields[_USER]) + int(fields[_SYSTEM])
    return fields[_STATE], ticks / os.sysconf("SC_CLK_TCK")
