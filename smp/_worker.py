"""A worker process of the host machine: waits for a call, runs the program as one processor, answers.

    parent ──▶ worker    ("run", call)                worker ──▶ parent    ("ready",)
                         ("block", offset or error)                        ("allocate", nbytes)
                         ("close",)                                        ("done", result, record)
                                                                           ("raised", ...)  ("aborted", ...)  ("mismatch", ...)

A worker that has answered is idle.  At the end of its program it takes part in one more barrier, "return": so a
processor that returns while the others wait in a collective is found out by the barrier's own check.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NoReturn

from . import _core, _wait
from ._board import Place, is_ours
from ._host import HostPort, Mismatch
from ._nursery import die_with
from ._pickling import dumps, loads
from ._segments import Segment
from .errors import Aborted, OutOfSharedMemory
from .processor import Processor
from .steps import Recorder

RETURN = "return from the program"


def prepare() -> None:
    """Load, before forking workers, what each of them needs."""
    _core.core()


def start(spec: dict[str, Any]) -> NoReturn:
    """Be the worker that ``spec`` describes; called in a process of its own."""
    die_with(spec["nursery"])
    for number in (signal.SIGINT, signal.SIGPIPE):  # Ctrl-C is the parent's business
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    status = 1
    try:
        line, segment_fd, box_fd = spec["fds"]
        sys.path[:] = spec["path"]
        with contextlib.suppress(OSError):
            os.chdir(spec["cwd"])
        if spec["cpu"] is not None:
            os.sched_setaffinity(0, {spec["cpu"]})
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(line_buffering=True)  # what is printed before a crash is seen
        box = os.fdopen(box_fd, "w")
        faulthandler.enable(box)  # a crash leaves its traceback in the box, which the parent holds too
        faulthandler.register(signal.SIGTERM, box, all_threads=False, chain=True)
        Worker(Connection(line), Segment(segment_fd), spec["rank"], spec["size"]).serve()
        status = 0
    except (EOFError, ConnectionError):  # the parent is gone
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(status)


class Worker:
    """The loop of one worker; see the module."""

    def __init__(self, line: Connection, segment: Segment, rank: int, size: int) -> None:
        self.line, self.rank = line, rank
        segment.rank = rank
        self.port = HostPort(segment, rank, size, self._ask)

    def serve(self) -> None:
        """Answer calls until told to close."""
        self.line.send(("ready",))
        while True:
            order, what = self.line.recv()
            if order == "close":
                return
            if order != "run":  # a block asked for in a run that has been aborted since
                continue
            self.port.new_run()
            self.line.send(self._run(what))

    def _ask(self, nbytes: int) -> int:
        self.line.send(("allocate", nbytes))
        while not self.line.poll(0.02):
            if self.port.sync[_wait.ABORT]:
                raise Aborted
        kind, what = self.line.recv()
        assert kind == "block", kind
        if isinstance(what, str):
            raise OutOfSharedMemory(what)
        return int(what)

    def _run(self, call: bytes) -> tuple[Any, ...]:
        recorder = Recorder()
        try:
            program, args, kwargs = loads(call)
            result = dumps(program(Processor(self.port, recorder), *args, **kwargs))
            self.port.synchronise(RETURN)
            return "done", result, recorder.packed()
        except Mismatch as mismatch:
            return "mismatch", str(mismatch), self._place(mismatch.__traceback__)
        except Aborted as aborted:
            if int(self.port.sync[_wait.ABORT]) % 256 == _wait.MISMATCHED:  # raised by a compiled loop
                return "mismatch", "barrier in a compiled loop", self._place(aborted.__traceback__)
            return "aborted", recorder.packed()
        except BaseException as error:
            _core.core().abort(self.port.segment.address, _wait.RAISED, self.rank)
            return self._raised(error)

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
        kind = type(error).__name__
        return "raised", kind, str(error), sent, text, self._place(trace)

    def _place(self, trace: TracebackType | None) -> Place:
        """Where the innermost frame of the user's stands in the traceback, in which superstep."""
        file, line = "", 0
        while trace is not None:
            if not is_ours(trace.tb_frame.f_code.co_filename):
                file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
            trace = trace.tb_next
        seen = self.port.board.seen()
        return Place(seen.step, seen.label, seen.phase, file or seen.file, line or seen.line)
