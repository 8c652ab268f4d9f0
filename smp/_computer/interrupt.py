"""Ctrl-C, held back while half of something must not be left behind.

    with HeldBack() as ctrl_c:           SIGINT waits, and its handler is not called
        events = ctrl_c.poll(poll, ms)   but here, where a KeyboardInterrupt of it ends the wait and is counted,
                                         and at the end of the block, out of which it goes
        ctrl_c.came = function           is called with the frame that a SIGINT has come upon; it may poll, and raise

Python turns Ctrl-C into a call of a handler, and that into an exception, between any two steps of the main thread.
Held back, it is seen where the code looks for it.  That holds for Python's own handler and for a program's.  In
other threads nothing is done, for they never see the signal.
"""

from __future__ import annotations

import _thread
import select
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType

_MOMENT = 0.01  # seconds
AGAIN = 0.1  # seconds between two calls of an alarm


class Alarm(threading.Thread):
    """A thread that calls a function again and again, from a time on, until it is stopped.

    Parameters
    ----------
    seconds : float
        Until the first call.
    function : callable
    """

    def __init__(self, seconds: float, function: Callable[[], object]) -> None:
        super().__init__(name="smp alarm", daemon=True)
        self._seconds, self._function, self._stopped = min(seconds, threading.TIMEOUT_MAX), function, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._stopped.wait(self._seconds):
            self._function()
            self._seconds = AGAIN

    def stop(self) -> None:
        """Stop, and wait until a call that has begun is over."""
        self._stopped.set()
        self.join()


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
    came : callable or None
        Called with the frame that is interrupted when a signal is held back.
    """

    def __init__(self, finalizing: bool = False) -> None:
        self.presses = 0
        self.came: Callable[[FrameType | None], object] | None = None
        self._rung = False  # whether a signal of `ring` is on the way
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

    @property
    def held(self) -> bool:
        """Whether a signal waits for its handler to be called."""
        return self._held > 0

    def ring(self) -> None:
        """From another thread, have ``came`` called; do nothing where the block is not the main thread's."""
        if self._handler is not None and not self._rung:
            self._rung = True
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self._rung:
            self._rung = False
        else:
            self._held += 1
        if self._waiting:
            self._call(frame)
        elif self.came is not None:
            self.came(frame)

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
        deadline = time.monotonic() + AGAIN
        while self._rung and time.monotonic() < deadline:  # its signal must not meet the handler of before
            time.sleep(0)
        signal.signal(signal.SIGINT, self._handler)
        if self._held and self._finalizing:
            threading.Timer(_MOMENT, _thread.interrupt_main).start()
        elif kind is not KeyboardInterrupt:
            self._call()
