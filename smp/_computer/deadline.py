"""A deadline that interrupts the main thread as Ctrl-C would.

    with Deadline(60) as deadline:      after a minute, deadline.check() raises a KeyboardInterrupt;
        measure()                       `GRACE_S` later, SIGALRM calls the handler of SIGINT, which raises one,
    deadline.passed                     or holds the signal back as it does Ctrl-C

A KeyboardInterrupt from `check` is raised at a place where the code expects it.  One from the signal may be raised in a
callback from C code, for example a compiler's, which drops it with a message.  The next `check` raises it again.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

GRACE_S = 0.5


class Deadline:
    """Interrupts a block of the main thread after a number of seconds.

    Parameters
    ----------
    seconds : float or None
        Seconds until the interruption; None for no deadline.

    Attributes
    ----------
    passed : bool
        True if the block was interrupted.
    """

    def __init__(self, seconds: float | None) -> None:
        self.passed = False
        self._end = None if seconds is None else time.monotonic() + seconds
        self._handler: object = None

    @property
    def left(self) -> float | None:
        """Seconds that are left, 0 if the time is over, and None without a deadline."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise a KeyboardInterrupt if the time is over."""
        if self.left == 0.0:
            self.passed = True
            raise KeyboardInterrupt

    def __enter__(self) -> Deadline:
        if self.left is not None and threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGALRM, self._come)
            signal.setitimer(signal.ITIMER_REAL, self.left + GRACE_S)
        return self

    def _come(self, number: int, frame: FrameType | None) -> None:
        self.passed = True
        ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(ctrl_c):  # SIGINT is ignored, as in a background job
            raise KeyboardInterrupt
        ctrl_c(signal.SIGINT, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._handler)  # type: ignore[arg-type]  # the value that `signal` returned
