"""Ctrl-C, held back while half of something must not be left behind.

    with HeldBack() as ctrl_c:           SIGINT waits, and its handler is not called
        events = ctrl_c.poll(poll, ms)   but here, where a KeyboardInterrupt of it ends the wait and is counted,
                                         and at the end of the block, out of which it goes

Python turns Ctrl-C into a call of a handler, and that into an exception, between any two steps of the main thread.
Held back, it is seen where the code looks for it.  That holds for Python's own handler and for a program's.  In
other threads nothing is done, for they never see the signal.
"""

from __future__ import annotations

import _thread
import select
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

_MOMENT = 0.01  # seconds


class HeldBack:
    """Hold Ctrl-C back in a ``with`` block; one inside another leaves it to the outer one.

    Parameters
    ----------
    finalizing : bool
        For code that runs when an object is dropped, out of which no exception comes: what waits then follows a
        moment after the block.

    Attributes
    ----------
    presses : int
        How many waits have been ended by a KeyboardInterrupt.
    """

    def __init__(self, finalizing: bool = False) -> None:
        self.presses = 0
        self._finalizing = finalizing
        self._held = 0  # signals that have come and whose handler has not been called
        self._waiting = False
        self._handler: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> HeldBack:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            outer = isinstance(getattr(handler, "__self__", None), HeldBack)
            if callable(handler) and not outer:
                self._handler = handler
                signal.signal(signal.SIGINT, self._came)
        return self

    def _came(self, number: int, frame: FrameType | None) -> None:
        self._held += 1
        if self._waiting:
            self._call(frame)

    def _call(self, frame: FrameType | None = None) -> None:
        """Call the handler for what was held back."""
        while self._held and self._handler is not None:
            self._held -= 1
            waiting, self._waiting = self._waiting, False
            self._handler(signal.SIGINT, frame)
            self._waiting = waiting

    def poll(self, poll: select.poll, milliseconds: float | None) -> list[tuple[int, int]]:
        """Poll; a KeyboardInterrupt of the handler's ends it, with no event."""
        try:
            self._waiting = True  # before the look: what comes after it ends the wait
            self._call()
            events = poll.poll(milliseconds)
            self._waiting = False
        except KeyboardInterrupt:
            self._waiting = False
            if self._handler is None:  # not by way of us
                raise
            self.presses += 1
            return []
        return events

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting = False
        if self._handler is None:
            return
        signal.signal(signal.SIGINT, self._handler)
        if self._held and self._finalizing:
            threading.Timer(_MOMENT, _thread.interrupt_main).start()
        elif kind is not KeyboardInterrupt:
            self._call()
