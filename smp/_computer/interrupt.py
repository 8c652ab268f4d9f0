"""Holds Ctrl-C back while an operation must not be left half done.

    with HeldBack() as ctrl_c:           SIGINT waits, and its handler is called only at two places:
        events = ctrl_c.poll(poll, ms)   here, where what it raises ends the wait and is counted,
                                         and at the end of the block, from which it is raised
        ctrl_c.came = function           is called with the frame that a SIGINT interrupts; it may poll, and raise

Python turns Ctrl-C into a call of a handler, and that call into an exception, between any two steps of the main thread.
While Ctrl-C is held back, it takes effect only where the code looks for it.  That holds for Python's own handler and
for a handler of the program.  In other threads nothing is done, because they never see the signal.

The handler of another signal, such as that of an alarm, is called when the signal comes.  If it raises an exception
during ``poll``, that counts as a Ctrl-C does; elsewhere the exception interrupts the block.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` looks handlers up among constants, which takes 8 us
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
    """A thread that waits for some time and then calls a function again and again until it is stopped.

    Parameters
    ----------
    seconds : float
        Seconds until the first call.
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
        """Stop the thread, and wait until a call that has begun is over."""
        self._stopped.set()
        self.join()


class HeldBack:
    """Holds Ctrl-C back in a ``with`` block. A nested block leaves it to the outer one.

    Parameters
    ----------
    finalizing : bool
        True for code that runs when an object is dropped, from which no exception can be raised.  A signal that is held
        back then follows a moment after the block.

    Attributes
    ----------
    presses : int
        Number of waits that a KeyboardInterrupt, or another exception from a signal's handler, has ended.
    raised : BaseException or None
        The exception that was the last to end a wait.
    came : callable or None
        Called with the interrupted frame when a signal is held back.
    """

    def __init__(self, finalizing: bool = False) -> None:
        self.presses = 0
        self.raised: BaseException | None = None
        self.came: Callable[[FrameType | None], object] | None = None
        self._rung = False  # whether a signal from `ring` is on its way
        self._finalizing = finalizing
        self._held = 0  # number of signals that have come and whose handler has not been called
        self._waiting = False
        self._handler: Callable[[int, FrameType | None], object] | None = None

    def __enter__(self) -> HeldBack:
        if threading.current_thread() is threading.main_thread():
            handler = _signal.getsignal(signal.SIGINT)
            outer = isinstance(getattr(handler, "__self__", None), HeldBack)
            if callable(handler) and not outer:
                self._handler = handler
                _signal.signal(signal.SIGINT, self._came)
        return self

    @property
    def held(self) -> bool:
        """True if a signal waits for its handler to be called."""
        return self._held > 0

    def ring(self) -> None:
        """Have the main thread call ``came``; to be called from another thread.

        Do nothing if the block is not the main thread's.
        """
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
        """Call the handler once for each signal that was held back."""
        while self._held and self._handler is not None:
            self._held -= 1
            waiting, self._waiting = self._waiting, False
            self._handler(signal.SIGINT, frame)
            self._waiting = waiting

    def poll(self, poll: select.poll, milliseconds: float | None) -> list[tuple[int, int]]:
        """Poll. An exception from a signal's handler ends the wait, and no event is returned."""
        try:
            self._waiting = True  # set before the call, so that a signal that comes after it ends the wait
            self._call()
            events = poll.poll(milliseconds)
            self._waiting = False
        except BaseException as error:
            self._waiting = False
            if self._handler is None:  # this object holds nothing back
                raise
            self.presses += 1
            self.raised = error
            return []
        return events

    def interruption(self) -> BaseException:
        """Return the exception that was the last to end a wait; a KeyboardInterrupt if none has."""
        return self.raised or KeyboardInterrupt()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting = False
        if self._handler is None:
            return
        deadline = time.monotonic() + AGAIN
        while self._rung and time.monotonic() < deadline:  # its signal must not reach the previous handler
            time.sleep(0)
        _signal.signal(signal.SIGINT, self._handler)
        if self._held and self._finalizing:
            threading.Timer(_MOMENT, _thread.interrupt_main).start()
        elif kind is not KeyboardInterrupt:
            self._call()
