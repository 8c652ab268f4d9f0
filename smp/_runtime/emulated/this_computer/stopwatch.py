"""A stopwatch for the code of programs: it runs while a processor executes its own code, and not inside the emulator.

    program        NumPy, Python ...   │ barrier, step, compiled loop │ NumPy, Python ...
    stopwatch      ━━━━━━━━━━━━━━━━━━━━▶ stop                     go  ┣━━━━━━━━━━━━━━━━━━▶
    virtual time   + what it has measured      + what the machine charges

There is one stopwatch for all processors, since only one of them runs at a time: they take turns inside the emulator,
where the stopwatch stands still.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .recorded import Recorded

TRIALS = 50


class Stopwatch:
    """Measures the stretches of a program between calls of the emulator, as CPU time of this thread.

    Parameters
    ----------
    recorded : Recorded
        Keeps the measured times.
    passes : callable
        Lets the virtual time of this processor pass, by a number of ns.
    clock : callable
        Returns the CPU time of this thread, in ns.
    """

    def __init__(
        self,
        recorded: Recorded,
        passes: Callable[[int], None],
        clock: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._recorded, self._passes, self._clock = recorded, passes, clock
        self._since: int | None = None
        self._own = sorted(self._stretch() for _ in range(TRIALS))[TRIALS // 2]

    def _stretch(self) -> int:
        """Return what is measured of a stretch without any work: the time of the stopwatch itself."""
        self.go(self._call_of_nothing())
        since, self._since = self._since, None
        assert since is not None
        return self._clock() - since

    def _call_of_nothing(self) -> bool:
        return True

    def stop(self) -> bool:
        """Stand still, and let the measured time pass; return whether it ran."""
        if self._since is None:
            return False
        measured = self._clock() - self._since - self._own
        self._since = None
        self._passes(self._recorded.next(measured))
        return True

    def go(self, ran: bool = True) -> None:
        """Go on, if it ran before it was stopped."""
        if ran:
            self._since = self._clock()


class Standing:
    """A stopwatch that never runs, for machines whose programs are not measured."""

    def stop(self) -> bool:
        return False

    def go(self, ran: bool = True) -> None:
        """Do nothing."""


STANDING = Standing()
