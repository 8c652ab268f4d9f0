"""A processor of a machine of several nodes, in the process of a rank.

    program's thread    runs the calls that the parent sends, one after another
    line's thread       reads what else the parent sends, also while a program runs:

        make, keep, read, write     arrays of the parent, and their elements
        abort                       the run ends; waits see it, and STOP ends plain Python code
        probe                       whether the program waits, and the numbers of messages, for the deadlock check
        shown                       lines that this processor has printed were shown
        leave, kill                 end this process, because another has ended or this one does not stop

    service thread      see ``progress``
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from numpy.typing import NDArray

from smp.errors import Aborted

from ..host.pipe import Line, Ready
from ..host.worker import STOP, leave
from ..loops import compiler
from ..program.answering import answer
from ..program.answers import Answer, packed
from ..program.pickling import Call, load_call
from ..program.port import Output
from ..source.lines import in_a_program, operation, where
from .mail import Mail
from .messages import Did, Printed, Probed
from .parts import Cut, Dtype, Name, put
from .port import NodesPort


class SentOutput(Output):
    """Sends lines to the parent, which says when it has shown them."""

    def __init__(self, send: Callable[[Any], object], go_on: Callable[[], object]) -> None:
        self._send, self.go_on, self._sent = send, go_on, 0

    def show(self, text: str, lines: int, error: bool) -> None:
        self._sent += lines
        self._send(Printed(text, lines, error))

    def settled(self) -> bool:
        self.go_on()
        return self._shown == self._sent

    def were_shown(self, lines: int) -> None:
        """Count lines that the parent has shown."""
        self._shown += lines


class NodesWorker:
    """The main loop of one processor; see the module."""

    def __init__(self, line: Line, mail: Mail, key: str, spin: bool) -> None:
        self._line, self._sending, self.pid = line, threading.Lock(), os.getpid()
        output = SentOutput(self._send, lambda: None)
        self.port = NodesPort(mail, key, output, spin)
        output.go_on = self.port.progress.go_on
        self._calls: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._main = threading.get_ident()
        signal.signal(STOP, self._stop)

    def serve(self) -> None:
        """Run calls until the parent sends "close"."""
        self.port.progress.begin()
        self._send(Ready(self.pid))
        reader = threading.Thread(target=self._read, name="smp parent's orders", daemon=True)
        reader.start()
        while (call := self._calls.get()) is not None:
            self._send(packed(self._run(*call)))
        reader.join()
        self.port.progress.end()

    def _run(self, data: bytes, streams: int, run: int) -> Answer:
        def loaded() -> Call:
            found = load_call(data)
            if "numba" in sys.modules:  # it was imported with a user's loop, which may call our primitives
                compiler.numba()
            return found

        self.port.new_run(run)
        found = answer(self.port, loaded, self._only_here, lambda failure: self._send(packed(failure)), streams)
        self.port.parts.settle()
        return found

    def _only_here(self) -> None:
        """End this process if it is a child that the program forked: only the rank itself answers."""
        if os.getpid() != self.pid:
            leave(1 if sys.exc_info()[0] else 0)

    def _send(self, message: Any) -> None:
        with self._sending:
            self._line.send(message)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.port.progress.cause and in_a_program(frame):
            raise Aborted

    def _read(self) -> None:
        """Read the line until the machine is closed; see the module."""
        orders: dict[str, Callable[..., object]] = {
            "run": lambda *call: self._calls.put(call),
            "make": self._make,
            "keep": self.port.parts.keep,
            "read": self._read_elements,
            "write": self._write_elements,
            "abort": self._abort,
            "probe": self._probe,
            "shown": self.port.output.were_shown,  # type: ignore[attr-defined]
            "leave": lambda: leave(0),
            "kill": lambda: os.kill(self.pid, signal.SIGKILL),
        }
        try:
            while (order := self._line.receive())[0] != "close":
                orders[order[0]](*order[1:])
        except (EOFError, OSError):  # the parent is gone
            leave(1)
        self._calls.put(None)

    def _make(self, ticket: int, name: Name, length: int, dtype: Dtype) -> None:
        self._reply(ticket, partial(self.port.parts.make, name, length, dtype))

    def _read_elements(self, ticket: int, name: Name, piece: Cut) -> None:
        self._reply(ticket, lambda: piece.of(self.port.parts.own(name)))

    def _write_elements(self, ticket: int, name: Name, piece: Cut, values: NDArray[Any], field: Any) -> None:
        self._reply(ticket, lambda: put(self.port.parts.own(name), piece, values, field))

    def _reply(self, ticket: int, do: Callable[[], Any]) -> None:
        try:
            found = do()
        except MemoryError as error:
            self._send(Did(ticket, None, str(error) or "no memory is left"))
        else:
            self._send(Did(ticket, found, ""))

    def _abort(self, run: int, cause: int) -> None:
        self.port.progress.abort(run, cause)
        signal.pthread_kill(self._main, STOP)

    def _probe(self, wave: int) -> None:
        progress = self.port.progress
        frame = sys._current_frames().get(self._main)
        with progress.lock:
            counts = progress.stuck(), progress.waits, progress.sent, progress.got
        self._send(Probed(wave, *counts, operation(frame), where(frame)))

