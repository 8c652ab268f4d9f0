"""One program on one processor, from its call to the answer that tells how it went; of every kind of machine.

    (program, args, kwargs) ─▶ program(Processor, *args, **kwargs) ─▶ ("done", result, record)
                                                                     ("raised", type, text, exception, trace, place)
                                                                     ("mismatch", collective, place)
                                                                     ("aborted",)

At the end of its program a processor takes part in one more barrier, "return": so one that returns while the others
wait in a collective is found out by the barrier's own check.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import _wait
from ._board import Place
from ._host import HostPort, Mismatch
from ._pickling import dumps, loads
from ._whereabouts import innermost, is_ours
from .errors import Aborted, NotPicklable
from .processor import Processor
from .steps import Recorder

RETURN = "return from the program"

Answer = tuple[Any, ...]
Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def answer(port: HostPort, call: Callable[[], Call], still_here: Callable[[], None], streams: int = 1) -> Answer:
    """Run a program as the processor of a port.

    Parameters
    ----------
    call : callable
        Returns the call; what it raises counts as raised by the program.
    still_here : callable
        Looked at when the program has ended, however it did: raises, or does not come back, where nobody waits for an
        answer any more.
    streams : int
        Of the processor's team.
    """
    recorder = Recorder()
    processor = Processor(port, recorder, streams)
    try:
        program, args, kwargs = call()
        port.board.begin(program)
        result = program(processor, *args, **kwargs)
        still_here()
        processor._finish()
        sent = _sent(result)
        port.board.begin(program)
        port.synchronise(RETURN)
        return "done", sent, recorder.packed()
    except Mismatch as mismatch:
        processor._dismiss()
        return "mismatch", str(mismatch), place(port, mismatch.__traceback__)
    except Aborted as aborted:
        failure = processor._dismiss()
        if failure is not None:  # of a thread: what the others waited for, most likely
            return raised(port, failure)
        if int(port.shared[_wait.ABORT]) % 256 == _wait.MISMATCHED:  # raised by a compiled loop
            return "mismatch", "barrier in a compiled loop", place(port, aborted.__traceback__)
        return ("aborted",)
    except BaseException as error:
        still_here()
        port.core.abort(port.segment.address, _wait.RAISED, port.rank)
        processor._dismiss()
        return raised(port, error)


def raised(port: HostPort, error: BaseException) -> Answer:
    """The answer of a program that raised."""
    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename) and trace.tb_next is not None:
        trace = trace.tb_next  # the runtime's own frames say nothing to the user
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
    return "raised", type(error).__name__, said, sent, text, place(port, trace)


def place(port: HostPort, trace: TracebackType | None) -> Place:
    """Where the innermost frame of the user's stands in the traceback, in which superstep."""
    file, line = innermost([(f.f_code.co_filename, number) for f, number in traceback.walk_tb(trace)])
    seen = port.board.seen()
    return Place(seen.step, seen.label, seen.phase, file or seen.file, line or seen.line)


def _sent(result: Any) -> bytes:
    try:
        return dumps(result)
    except Exception as error:
        raise NotPicklable(f"the program's result cannot be sent back: {error}") from error
