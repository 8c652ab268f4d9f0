"""A deadline for the main thread: what Ctrl-C would do, done by the clock.

    with Deadline(60) as deadline:      deadline.check() raises a KeyboardInterrupt after a minute;
        measure()                       `GRACE_S` later SIGALRM calls the handler of SIGINT, which raises one,
    deadline.passed                     or holds it back as it does Ctrl-C

A KeyboardInterrupt of `check` comes where the code expects it; one of the signal may come upon a callback of C, such as
those of a compiler, which drops it with a message.  The next `check` raises it again.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

GRACE_S = 0.5


class Deadline:
    """Interrupt a block of the main thread after some seconds.

    Parameters
    ----------
    seconds : float or None
        None: never.

    Attributes
    ----------
    passed : bool
        Whether the block was interrupted.
    """

    def __init__(self, seconds: float | None) -> None:
        self.passed = False
        self._end = None if seconds is None else time.monotonic() + seconds
        self._handler: object = None

    @property
    def left(self) -> float | None:
        """The seconds that are left, 0 where there are none; None without a deadline."""
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
        if not callable(ctrl_c):  # ignored, as that of a job in the background
            raise KeyboardInterrupt
        ctrl_c(signal.SIGINT, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._handler)  # type: ignore[arg-type]  # as `signal` has returned it
