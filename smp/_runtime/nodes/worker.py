"""A processor of a machine of several nodes, in the process of a rank.

    program's thread    runs the calls that the parent sends, one after another
    service thread      looks for messages of other processors (see ``progress``)
    line's thread       reads what else the parent sends, also while a program runs

The parent sends, apart from calls:

    make, place, keep, read, write    arrays of the parent, and their elements
    fill, cell                        cells of the parent, and operations on them
    abort                             the run ends: waits see it, and STOP ends plain Python code
    probe                             the deadlock check asks for the state of the program and the numbers of messages
    end_waits, clear                  after a run that has failed: its waits at cells end, and new ones may begin
    shown                             the parent has shown lines that this processor has printed
    leave, kill                       this process ends, because another has ended or this one does not stop
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from numpy.typing import NDArray

from smp.errors import Aborted, OutOfSharedMemory

from ..host.pipe import Line, Ready
from ..host.worker import STOP, leave
from ..loops import compiler
from ..memory.cells import make_full
from ..memory.segment import Segment
from ..program.answering import answer
from ..program.answers import Answer, packed
from ..program.pickling import Call, load_call
from ..program.port import Output
from ..protocols import wait
from ..shared_memory.node_memory import memory_of
from ..source.lines import in_a_program, operation, where
from .deadlock import standing
from .layout import Nodes, Piece
from .mail import Mail
from .messages import About, Did, Name, Printed, Probed, Request
from .parts import Dtype
from .port import NodesPort

SWITCH = 5e-4
"""Seconds after which plain Python code lets another thread run: the service thread, for example."""


class SentOutput(Output):
    """Sends lines to the parent, which says when it has shown them."""

    def __init__(self, send: Callable[[Any], object], go_on: Callable[[], object]) -> None:
        self._send, self._go_on, self._sent = send, go_on, 0

    def show(self, text: str, lines: int, error: bool) -> None:
        self._sent += lines
        self._send(Printed(text, lines, error))

    def settled(self) -> bool:
        self._go_on()
        return self._shown == self._sent

    def were_shown(self, lines: int) -> None:
        """Count lines that the parent has shown."""
        self._shown += lines


class NodesWorker:
    """The main loop of one processor; see the module."""

    def __init__(
        self, line: Line, mail: Mail, nodes: Nodes, segment: Segment, key: str, spin: bool, patience: float
    ) -> None:
        self._line, self._sending, self.pid = line, threading.Lock(), os.getpid()
        line.give_up_after(patience)
        self._output = SentOutput(self._send, lambda: self.port.progress.go_on())
        node = nodes.of[mail.rank]
        place, count = mail.rank - nodes.first[node], nodes.count[node]
        memory = memory_of(segment, mail.rank, place, count, spin)
        self.port = NodesPort(mail, nodes, memory, key, self._output, spin, patience)
        self.port.progress.broken = partial(leave, 1)  # without this thread, others would wait for ever
        self._calls: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._main = threading.get_ident()
        sys.setswitchinterval(SWITCH)
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
        self.port.progress.close()

    def _run(self, data: bytes, streams: int, run: int) -> Answer:
        def loaded() -> Call:
            found = load_call(data)
            if "numba" in sys.modules:  # it was imported with a user's loop, which may call our primitives
                compiler.numba()
            return found

        self.port.new_run(run)
        found = answer(self.port, loaded, self._only_here, lambda failure: self._send(packed(failure)), streams)
        self.port.parts.settle()
        self.port.progress.end_run()
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
            "place": self._place,
            "end_waits": self._end_waits,
            "clear": self._clear,
            "fill": self._fill,
            "cell": self._cell,
            "keep": self.port.parts.keep,
            "read": self._read_elements,
            "write": self._write_elements,
            "abort": self._abort,
            "probe": self._probe,
            "shown": self._output.were_shown,
            "leave": lambda: leave(0),
            "kill": lambda: os.kill(self.pid, signal.SIGKILL),
        }
        try:
            while (order := self._line.receive())[0] != "close":
                orders[order[0]](*order[1:])
        except (EOFError, OSError):  # the parent is gone
            leave(1)
        except BaseException:
            traceback.print_exc()
            leave(1)
        self._calls.put(None)

    def _make(self, ticket: int, name: Name, length: int, dtype: Dtype, at: int | None) -> None:
        try:
            self._send(Did(ticket, self.port.parts.make(name, length, dtype, at), ""))
        except OutOfSharedMemory as error:
            self._send(Did(ticket, None, str(error)))

    def _place(self, ticket: int, name: Name, length: int, dtype: Dtype, at: int | None, offset: int) -> None:
        self.port.parts.place(name, length, dtype, at, offset)
        self._send(Did(ticket, None, ""))

    def _fill(self, ticket: int, about: About) -> None:
        make_full(self.port.attached_cells(about))
        self._send(Did(ticket, None, ""))

    def _cell(self, ticket: int, request: Request) -> None:
        self.port.cell_service.carry_out(request, lambda status, bits: self._send(Did(ticket, (status, bits), "")))

    def _end_waits(self, ticket: int) -> None:
        self.port.end_waits()
        self._send(Did(ticket, None, ""))

    def _clear(self, ticket: int) -> None:
        """Let waits of the streams of this node go on again, after a run that has failed."""
        self.port.node_memory.shared[wait.ABORT] = 0
        self._send(Did(ticket, None, ""))

    def _read_elements(self, ticket: int, name: Name, piece: Piece) -> None:
        self._send(Did(ticket, self.port.parts.own(name)[piece.index], ""))

    def _write_elements(self, ticket: int, name: Name, piece: Piece, values: NDArray[Any], field: Any) -> None:
        piece.put(self.port.parts.own(name), values, field)
        self._send(Did(ticket, None, ""))

    def _abort(self, run: int, cause: int) -> None:
        self.port.progress.abort(run, cause)
        signal.pthread_kill(self._main, STOP)

    def _probe(self, wave: int) -> None:
        progress = self.port.progress
        frame = sys._current_frames().get(self._main)
        with progress.lock:
            ours = (threading.get_ident(), progress.thread)
            now = standing(progress, self.port.node_memory.threads.streams, self._main, ours)
            counts = progress.sent, progress.got
        self._send(Probed(wave, *now, *counts, operation(frame), where(frame), self.port.heartbeat.beats))
