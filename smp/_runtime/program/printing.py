"""Printing: a processor's lines are shown by the parent, whole and in order.

    print(..., end="") ─▶ held here until the line is complete ─▶ `Output.show` ─▶ the parent's outputs

Threads of a processor may print at the same time.
"""

from __future__ import annotations

import io
import sys
import threading
import time
from typing import Any

from smp.errors import HandlerError

from ..protocols.wait import deadline_after
from .connected import Connected
from .port import Output

_MOMENT = 0.001  # seconds between two looks of a processor that waits for the parent


class Lines:
    """The lines that one processor prints in one run.

    Attributes
    ----------
    shown_before : int
        Number of lines that the output had shown before this run.
    """

    def __init__(self, output: Output) -> None:
        self._output, self.shown_before = output, output.shown
        self._held: tuple[list[str], list[str]] = ([], [])  # parts of the last line of each output
        self._lock = threading.RLock()  # an object that is dropped may print while its thread prints

    def add(self, text: str, error: bool) -> None:
        """Show the lines that a text completes, and hold the rest of it."""
        with self._lock:
            held = self._held[error]
            held.append(text)
            if "\n" in text:
                whole, _, rest = "".join(held).rpartition("\n")
                held[:] = [rest] if rest else []
                self._output.show(f"{whole}\n", whole.count("\n") + 1, error)

    def end(self) -> None:
        """Show the parts of lines that are left at the end of the program."""
        for error, held in enumerate(self._held):
            if any(held):
                self.add("\n", bool(error))


class PrintingCalls(Connected):
    """The calls of a processor that print and log."""

    _lines: Lines | None = None  # until the first call: most programs print nothing

    def print(self, *args: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None) -> None:
        """Print as Python's ``print`` does, through the parent, without waiting for it.

        The parent shows the lines whole, and those of a processor in order, within 100 ms.  It also shows what was
        printed before the processor hung, failed or was killed.  A part of a line, printed with ``end=""``, is kept
        until the line is complete or the program ends.  A line of more than 256 KiB is cut.

        On the host a processor has room for 1 MiB of text.  If it prints faster than the parent can show, the oldest
        lines are lost, and the parent prints their number on its error output.

        Parameters
        ----------
        *args, sep, end
            As for Python's ``print``.
        file : {None, sys.stdout, sys.stderr}, optional
            Output of the parent: its standard output by default.

        Raises
        ------
        TypeError
            If ``file`` is another file, or if Python's ``print`` does not accept the other arguments.
        """
        if file is not None and file is not sys.stdout and file is not sys.stderr:
            raise TypeError(
                f"proc.print shows lines on the outputs of the parent: file must be None, sys.stdout or sys.stderr, "
                f"not {file!r:.80}; for other files use Python's print"
            )
        written = io.StringIO()
        print(*args, sep=sep, end=end, file=written)
        text = written.getvalue()
        if self._port.log is not None:
            self._port.log.event("print", text.removesuffix("\n"))
        lines = self._lines or vars(self).setdefault("_lines", Lines(self._port.output))  # the same for all threads
        lines.add(text, file is not None and file is sys.stderr)

    def _end_lines(self) -> None:
        """Show the parts of lines that are left at the end of the program."""
        if self._lines is not None:
            self._lines.end()

    def flush(self, timeout: float = 1.0) -> int:
        """Wait until the parent has shown the lines that this processor has printed.

        The parent looks for lines every 50 ms.  Meanwhile the handlers of messages run.

        Parameters
        ----------
        timeout : float
            Longest time to wait, in seconds; the parent may itself be waiting for the reader of its output.

        Returns
        -------
        int
            Number of lines of this processor that were shown in this run: all that it has printed, less those that
            were lost and those that have not been shown in time.

        Raises
        ------
        TypeError, ValueError
            If the timeout is not a number of seconds.
        HandlerError
            If a handler of a message calls it.
        """
        deadline = deadline_after(timeout, time.monotonic_ns())
        port = self._port
        if port.inside is not None:
            raise HandlerError(f"{port.inside()} called proc.flush, which no handler may do")
        if self._lines is None:
            return 0
        while not port.output.settled() and (not deadline or time.monotonic_ns() < deadline):
            if port.serve is not None:
                port.serve()
            time.sleep(_MOMENT)
        return port.output.shown - self._lines.shown_before

    def log(self, text: str) -> None:
        """Write an entry to the log of the run: this processor, the time and the text.

        The entry is in the file when this returns, even if the processor is killed right after.  The call is expensive:
        it makes a system call, which takes some microseconds.  Without ``machine.run(..., log=path)`` it does nothing.

        Parameters
        ----------
        text : str
            Text of the entry; other objects are converted with ``str``.
        """
        if self._port.log is not None:
            self._port.log.write(str(text))
