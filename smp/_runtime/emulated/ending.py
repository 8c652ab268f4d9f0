"""Ends an emulated run from outside its program: on Ctrl-C, at a time limit, or on `Machine.close` in another thread.

a step        the emulator checks at intervals, and at the next step after a signal or an alarm
plain code    makes no step, so the handler of a signal checks, after Ctrl-C or an alarm that rings repeatedly;
              it raises `Aborted` if the user's own code is running (see ``lines``); if not, the next step is near
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType

import numpy as np
from numpy.typing import NDArray

from smp._computer.interrupt import AGAIN, Alarm, HeldBack
from smp.errors import Aborted, MachineClosed

from ..program.failures import TimedOut
from ..program.who_waits import rows_of, table_of
from ..source.lines import in_a_program
from .emulator import Emulator


class Ending:
    """Checks whether the run inside its ``with`` block has to end.

    Parameters
    ----------
    emulator : Emulator
    abort : int64 array
        Array whose first word is the abort word.
    ctrl_c : HeldBack
    timeout : float or None
        Seconds that the run may take.
    stopped : callable
        Returns True if another thread wants to close the machine.
    """

    def __init__(
        self,
        emulator: Emulator,
        abort: NDArray[np.int64],
        ctrl_c: HeldBack,
        timeout: float | None,
        stopped: Callable[[], bool],
    ) -> None:
        self._emulator, self._abort, self._ctrl_c = emulator, abort, ctrl_c
        self._timeout, self._stopped = timeout, stopped
        self._alarms: list[Alarm] = []
        self._presses, self._timed_out = 0, False

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._emulator.look, self._ctrl_c.came = self._look, self._came
        if self._timeout is not None:
            self._alarms.append(Alarm(self._timeout, self._ring))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for alarm in self._alarms:
            alarm.stop()
        self._emulator.look, self._ctrl_c.came = lambda: None, None

    def _look(self, frame: FrameType | None = None) -> BaseException | None:
        """Return the error with which the run has to end, or None.

        Each press of Ctrl-C is reported once, and so is the time limit.  ``frame`` belongs to the running stream.
        """
        self._ctrl_c.poll(select.poll(), 0)
        if self._stopped():
            return MachineClosed("this machine was closed: close() was called while its program ran")
        if self._ctrl_c.presses > self._presses:
            self._presses = self._ctrl_c.presses
            return self._ctrl_c.interruption()
        if self._overdue() and not self._timed_out:
            self._timed_out = True
            table = table_of(rows_of(self._emulator.streams, frame or sys._getframe(), self._emulator.in_a_loop))
            return TimedOut(self._timeout or 0.0, table).error({}, 0)
        return None

    def _overdue(self) -> bool:
        return self._timeout is not None and time.monotonic() >= self._began + self._timeout

    def _came(self, frame: FrameType | None) -> None:
        """Handle a signal that has interrupted a frame."""
        self._emulator.look_soon()
        if not self._alarms:  # it rings again later, in case this signal has interrupted smp's own code
            self._alarms.append(Alarm(AGAIN, self._ring))
        if not in_a_program(frame):
            return
        error = self._look(frame)
        if error is not None:
            self._emulator.leave(error)
        if self._abort[0]:
            raise Aborted

    def _ring(self) -> None:
        """If the run may have to end, have the emulator and a signal's handler check. An alarm's thread calls this."""
        if self._ctrl_c.held or self._abort[0] or self._overdue():
            self._emulator.look_soon()
            self._ctrl_c.ring()
