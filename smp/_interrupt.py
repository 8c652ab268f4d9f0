"""Ctrl-C, held back while half of something must not be left behind.

    with HeldBack() as ctrl_c:           SIGINT counts in ``ctrl_c.presses`` and does nothing else
        events = ctrl_c.poll(poll, ms)   but it ends this wait
                                         leaving: KeyboardInterrupt, if it came meanwhile

Python turns Ctrl-C into an exception between any two steps of the main thread.  Held back, it is seen where the
code looks for it.  Only Python's own handler is replaced: where a program has set one, that one stays, and what it
raises passes like any other exception.  In other threads nothing is done, for they never see the signal.
"""

from __future__ import annotations

import _thread
import select
import signal
import threading
from types import FrameType, TracebackType

_MOMENT = 0.01  # seconds


class HeldBack:
    """Hold Ctrl-C back in a ``with`` block; one inside another leaves it to the outer one.

    Parameters
    ----------
    finalizing : bool
        For code that runs when an object is dropped, out of which no exception comes: KeyboardInterrupt follows
        a moment after the block.

    Attributes
    ----------
    presses : int
        How often Ctrl-C was pressed in the block.
    answered : bool
        Set it to have the block end without KeyboardInterrupt, because somebody raises it already.
    """

    def __init__(self, finalizing: bool = False) -> None:
        self.presses = 0
        self._finalizing = finalizing
        self.answered = False
        self._holding = self._waiting = False

    def __enter__(self) -> HeldBack:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._holding = True
            signal.signal(signal.SIGINT, self._pressed)
        return self

    def _pressed(self, number: int, frame: FrameType | None) -> None:
        self.presses += 1
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt

    def poll(self, poll: select.poll, milliseconds: float | None, seen: int = 0) -> list[tuple[int, int]]:
        """Poll; return at once when there have been more presses than those ``seen``."""
        try:
            self._waiting = True  # before the look: a press after it ends the wait
            events = poll.poll(milliseconds) if self.presses <= seen else []
            self._waiting = False
        except KeyboardInterrupt:
            if not self._holding or self.presses <= seen:  # not ours
                raise
            return []
        return events

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._holding:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self.presses and self._finalizing:
                threading.Timer(_MOMENT, _thread.interrupt_main).start()
            elif self.presses and not self.answered:
                raise KeyboardInterrupt
