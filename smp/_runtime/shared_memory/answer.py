"""One program on one processor, from its call to the answer; of every kind of machine.

    (program, args, kwargs) ─▶ program(Processor, *args, **kwargs) ─▶ ("done", result, record)
                                                                     ("aborted",)
                 reported on the way, as soon as it is known:        ("raised", type, text, exception, trace, place)
                                                                     ("mismatch", collective, place)

A failure is reported at once, since a thread of the program may run on for a while, or without end.  The answer
follows when all threads of the program have ended: then the processor can run the next program.

At the end of its program a processor takes part in one more barrier, "return": so one that returns while the others
wait in a collective is found out by the barrier's own check.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

from smp.errors import Aborted, NotPicklable

from ..program.pickling import Call, dumps, loads
from ..program.processor import Processor
from ..program.steps import Recorder
from ..protocols import wait
from ..source.lines import calls_programs, innermost, is_ours
from ..source.titles import titled
from .last_seen import Place
from .port import HostPort, Mismatch

RETURN = "return from the program"

Answer = tuple[Any, ...]


@calls_programs
def answer(
    port: HostPort,
    call: Callable[[], Call],
    still_here: Callable[[], None],
    report: Callable[[Answer], object],
    streams: int = 1,
) -> Answer:
    """Run a program as the processor of a port.

    Parameters
    ----------
    call : callable
        Returns the call; what it raises counts as raised by the program.
    still_here : callable
        Looked at when the program has ended, however it did: raises, or does not come back, where nobody waits for an
        answer any more.
    report : callable
        Given a failure of the program.
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
    except BaseException as error:
        still_here()
        abort = int(port.shared[wait.ABORT])
        if isinstance(error, Mismatch):
            report(("mismatch", str(error), place(port, error.__traceback__)))
            processor._dismiss()
        elif not isinstance(error, Aborted) or abort == 0:  # a program may raise Aborted by itself
            port.core.abort(port.segment.address, wait.RAISED, port.rank)
            report(raised(port, error))
            processor._dismiss()
        else:
            failure = processor._dismiss()
            if failure is not None:  # of a thread: what the others waited for, most likely
                report(raised(port, failure))
            elif abort % 256 == wait.MISMATCHED:  # raised by a compiled loop
                report(("mismatch", "barrier in a compiled loop", place(port, error.__traceback__)))
        return ("aborted",)


def raised(port: HostPort, error: BaseException) -> Answer:
    """What is reported of a program that raised."""
    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename) and trace.tb_next is not None:
        trace = trace.tb_next  # the runtime's own frames say nothing to the user
    text = titled("".join(traceback.format_exception(type(error), error, trace)))
    try:
        sent = dumps(error)
        loads(sent)
    except BaseException:  # an exception that cannot travel, whatever its own methods raise: its text does
        sent = b""
    try:
        said = str(error)
    except BaseException as broken:
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
