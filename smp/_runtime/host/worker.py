"""Worker process of a machine: it waits for a call, runs the program as one processor, and answers.

    parent ──▶ worker    spec, once                            worker ──▶ parent  Ready
                         ("run", call or its place,                               Allocate
                          streams, watched)                                       Raised, Mismatched
                         ("block", offset or error)                               Done, Stopped
                         ("close", None)

A worker that has answered `Done` or `Stopped` is idle; it may have reported a failure before that.

When the abort word is set, the signal STOP ends a program that is in plain Python code (see ``lines``).  Waits see the
word by themselves.  The module ``answering`` runs the program and returns its answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from smp._computer.processes import die_with
from smp.errors import Aborted, OutOfSharedMemory

from ..loops import compiler
from ..loops.interpreter import here
from ..memory.local_copies import LocalCopies
from ..memory.segment import Segment, attached
from ..memory.threads import FEW
from ..memory.waiting_threads import WaitingThreads
from ..program.answering import answer
from ..program.answers import Answer, packed
from ..program.pickling import Call, load_call
from ..protocols import entry_points, wait
from ..shared_memory.memory import ProcessorMemory
from ..shared_memory.port import SharedMemoryPort
from ..source.lines import in_a_program
from .pipe import Allocate, Line, Ready
from .printed import RingOutput

STOP = signal.SIGURG  # a process without a handler ignores it


def prepare() -> None:
    """Load what each worker needs, before workers are forked."""
    entry_points.core()


def start(server: int, fds: Sequence[int]) -> NoReturn:
    """Run as a worker, in a process of its own.

    ``server`` is the process id of the fork server.  ``fds`` are the descriptors of the worker's line, and those for
    `opened`.
    """
    die_with(server)
    prepare_signals()
    status = 1
    try:
        line_fd, *passed = fds
        line = Line(socket.socket(fileno=line_fd))  # open until this process ends: the parent kills one whose line ends
        opened(line, passed).serve()
        status = 0
    except (EOFError, ConnectionError):  # the parent is gone
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        leave(status)


def prepare_signals() -> None:
    """Leave Ctrl-C to the parent, and handle other signals as a fresh process does."""
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)


def opened(line: Line, fds: Sequence[int]) -> Worker:
    """Return the worker that this process now is.

    ``fds`` are the descriptors of the segment, of the box (a file for the traceback of a crash), and of standard output
    and error output.
    """
    segment_fd, box_fd, *outputs = fds
    for fd, output in enumerate(outputs, start=1):  # those of this process may be older than the parent's present ones
        os.dup2(output, fd)
        os.close(output)
    spec = line.receive()
    _settle(spec)
    box = os.fdopen(box_fd, "w")
    # A crash leaves the traceback of its thread in the box, which the parent reads.  To read the stacks of other
    # threads, which go on running, could end the handler before it comes to this one.
    faulthandler.enable(box, all_threads=False)
    faulthandler.register(signal.SIGTERM, box, all_threads=False, chain=True)
    attached.clear()  # a copy of the parent maps segments of its other machines, which are not ours
    return Worker(line, Segment(segment_fd), spec["rank"], spec["size"], spec["retries"])


def _settle(spec: dict[str, Any]) -> None:
    """Make this process like the parent: modules, folder, environment, CPUs."""
    sys.path[:] = spec["path"]
    if spec["cwd"] is not None:
        with contextlib.suppress(OSError):
            os.chdir(spec["cwd"])
    for name in os.environ.keys() - spec["environment"].keys():
        del os.environ[name]
    for name, value in spec["environment"].items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setaffinity(0, spec["cpus"])
    settle_outputs()
    if "numpy.random" in sys.modules:  # otherwise all copies of one process would draw the same numbers
        sys.modules["numpy.random"].seed()


def settle_outputs() -> None:
    """Have lines come out whole, and before a crash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def leave(status: int) -> NoReturn:
    """End this process at once, with its outputs flushed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


class Worker:
    """The main loop of one worker; see the module."""

    def __init__(self, line: Line, segment: Segment, rank: int, size: int, retries: int) -> None:
        self.line, self.rank, self.pid = line, rank, os.getpid()
        segment.rank = rank
        segment.threads = WaitingThreads(segment, rank, retries or FEW)
        self.memory = ProcessorMemory(segment, rank, size, retries, self._ask)
        self.port = SharedMemoryPort(self.memory, rank, size, RingOutput(segment, rank, size))
        self._copies = self.port.copies = LocalCopies()
        signal.signal(STOP, self._stop)

    def serve(self) -> None:
        """Answer calls until the parent sends "close"."""
        self.port.diagnosis.clear()
        self.line.send(Ready(self.pid))
        while True:
            order, what, *more = self.line.receive()
            if order == "close":
                return
            if order != "run":  # a block that was requested in a run that has been aborted since
                continue
            self.port.new_run()
            answer = self._run(what, *more)
            self._copies.clear()  # an idle machine holds no local memory
            self.port.diagnosis.clear()
            self._send(answer)

    def _ask(self, nbytes: int) -> int:
        self.line.send(Allocate(nbytes))
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        while not poll.poll(20):
            if self.memory.shared[wait.ABORT]:
                raise Aborted
        kind, what = self.line.receive()
        assert kind == "block", kind
        if isinstance(what, str):
            raise OutOfSharedMemory(what)
        return int(what)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.memory.shared[wait.ABORT] and here.interpreter is None and in_a_program(frame):
            raise Aborted

    def _run(self, call: bytes | tuple[int, int], streams: int, watched: bool) -> Answer:
        def loaded() -> Call:
            found = load_call(call if isinstance(call, bytes) else self.memory.segment.bytes_at(*call))
            if "numba" in sys.modules:  # it was imported with a user's loop, which may call our primitives
                compiler.numba()
            return found

        if watched:
            self.memory.threads.watched()
        return answer(self.port, loaded, self._only_here, self._send, streams)

    def _send(self, answer: Answer) -> None:
        self.line.send(packed(answer))

    def _only_here(self) -> None:
        """End this process if it is a child that the program forked: only the worker itself answers."""
        if os.getpid() != self.pid:
            if sys.exc_info()[0] not in (None, SystemExit):
                traceback.print_exc()
            leave(1 if sys.exc_info()[0] else 0)
