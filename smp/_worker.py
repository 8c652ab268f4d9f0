"""A worker process of the host machine: waits for a call, runs the program as one processor, answers.

    parent ──▶ worker    spec, once                   worker ──▶ parent  ("ready",)
                         ("run", call or its place)                      ("done", result, record)
                         ("block", offset or error)                      ("allocate", nbytes)
                         ("close", None)                                 ("raised", ...) ("aborted",) ("mismatch", ...)

A worker that has answered is idle.  At the end of its program it takes part in one more barrier, "return": so a
processor that returns while the others wait in a collective is found out by the barrier's own check.
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
from types import TracebackType
from typing import Any, NoReturn

from . import _compile, _core, _wait
from ._board import Place, innermost, is_ours
from ._host import HostPort, Mismatch
from ._line import Line
from ._nursery import die_with
from ._pickling import dumps, loads
from ._segments import Segment, attached
from .errors import Aborted, NotPicklable, OutOfSharedMemory
from .processor import Processor
from .steps import Recorder

RETURN = "return from the program"


def prepare() -> None:
    """Load, before forking workers, what each of them needs."""
    _core.core()


def start(nursery: int, fds: Sequence[int]) -> NoReturn:
    """Be a worker, in a process of its own that ``nursery`` has made, on its line, segment, box and outputs."""
    die_with(nursery)
    for number in (signal.SIGINT, signal.SIGPIPE):  # Ctrl-C is the parent's business
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    status = 1
    try:
        line_fd, segment_fd, box_fd, *outputs = fds
        for fd, output in enumerate(outputs, start=1):  # the nursery's may be older than the parent's of now
            os.dup2(output, fd)
            os.close(output)
        line = Line(socket.socket(fileno=line_fd))
        spec = line.receive()
        _settle(spec)
        box = os.fdopen(box_fd, "w")
        faulthandler.enable(box)  # a crash leaves its traceback in the box, which the parent holds too
        faulthandler.register(signal.SIGTERM, box, all_threads=False, chain=True)
        attached.clear()  # a copy of the parent maps its other machines: not this one's arrays
        Worker(line, Segment(segment_fd), spec["rank"], spec["size"], spec["retries"]).serve()
        status = 0
    except (EOFError, ConnectionError):  # the parent is gone
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(status)


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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)  # whole lines, and before a crash
    if "numpy.random" in sys.modules:  # or all copies of one process would draw the same numbers
        sys.modules["numpy.random"].seed()


def _leave(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


class Worker:
    """The loop of one worker; see the module."""

    def __init__(self, line: Line, segment: Segment, rank: int, size: int, retries: int) -> None:
        self.line, self.rank, self.pid = line, rank, os.getpid()
        segment.rank = rank
        self.port = HostPort(segment, rank, size, retries, self._ask)

    def serve(self) -> None:
        """Answer calls until told to close."""
        self.line.send(("ready",))
        while True:
            order, what = self.line.receive()
            if order == "close":
                return
            if order != "run":  # a block asked for in a run that has been aborted since
                continue
            self.port.new_run()
            answer = self._run(what)
            self.port.board.clear()
            self.line.send(answer)

    def _ask(self, nbytes: int) -> int:
        self.line.send(("allocate", nbytes))
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        while not poll.poll(20):
            if self.port.shared[_wait.ABORT]:
                raise Aborted
        kind, what = self.line.receive()
        assert kind == "block", kind
        if isinstance(what, str):
            raise OutOfSharedMemory(what)
        return int(what)

    def _run(self, call: bytes | tuple[int, int]) -> tuple[Any, ...]:
        recorder = Recorder()
        try:
            message = call if isinstance(call, bytes) else self.port.segment.bytes_at(*call)
            program, args, kwargs = loads(message)
            if "numba" in sys.modules:  # it came with a loop of the user's, which may call our primitives
                _compile.numba()
            self.port.board.begin(program)
            result = program(Processor(self.port, recorder), *args, **kwargs)
            self._only_here()
            sent = _sent(result)
            self.port.board.begin(program)
            self.port.synchronise(RETURN)
            return "done", sent, recorder.packed()
        except Mismatch as mismatch:
            return "mismatch", str(mismatch), self._place(mismatch.__traceback__)
        except Aborted as aborted:
            if int(self.port.shared[_wait.ABORT]) % 256 == _wait.MISMATCHED:  # raised by a compiled loop
                return "mismatch", "barrier in a compiled loop", self._place(aborted.__traceback__)
            return ("aborted",)
        except BaseException as error:
            self._only_here()
            _core.core().abort(self.port.segment.address, _wait.RAISED, self.rank)
            return self._raised(error)

    def _only_here(self) -> None:
        """End a child that the program forked and that came out of it: the parent's answer is the processor's."""
        if os.getpid() != self.pid:
            if sys.exc_info()[0] not in (None, SystemExit):
                traceback.print_exc()
            _leave(1 if sys.exc_info()[0] else 0)

    def _raised(self, error: BaseException) -> tuple[Any, ...]:
        trace = error.__traceback__
        while trace is not None and is_ours(trace.tb_frame.f_code.co_filename) and trace.tb_next is not None:
            trace = trace.tb_next  # the frames of this module say nothing to the user
        text = "".join(traceback.format_exception(type(error), error, trace))
        try:
            sent = dumps(error)
            loads(sent)
        except Exception:  # an exception that cannot travel: its text does
            sent = b""
        try:
            said = str(error)
        except Exception as broken:
            said = f"(its own text raises {type(broken).__name__})"
        return "raised", type(error).__name__, said, sent, text, self._place(trace)

    def _place(self, trace: TracebackType | None) -> Place:
        """Where the innermost frame of the user's stands in the traceback, in which superstep."""
        file, line = innermost([(f.f_code.co_filename, number) for f, number in traceback.walk_tb(trace)])
        seen = self.port.board.seen()
        return Place(seen.step, seen.label, seen.phase, file or seen.file, line or seen.line)


def _sent(result: Any) -> bytes:
    try:
        return dumps(result)
    except Exception as error:
        raise NotPicklable(f"the program's result cannot be sent back: {error}") from error
