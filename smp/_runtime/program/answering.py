"""The run of one program on one processor, from its call to its answer; the same for every kind of machine.

    (program, args, kwargs) ─▶ program(Processor, *args, **kwargs) ─▶ Done or Stopped
                 reported on the way, as soon as it is known:         Raised or Mismatched

A failure is reported at once, since a thread of the program may run on for a while, or without end.  The answer
follows when all threads of the program have ended; the processor can then run the next program.

At the end of its program, a processor takes part in one more barrier, "return".  The barrier's own check thus detects
a processor that returns while the others wait in a collective.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any

from smp.errors import Aborted, NotPicklable

from ..loops.places import called
from ..protocols import wait
from ..source.lines import calls_programs, innermost, is_ours
from ..source.titles import titled
from .answers import Answer, Done, Mismatched, Raised, Stopped
from .captured import hint
from .pickling import Call, dumps, loads
from .place import Place
from .port import Mismatch, Port
from .processor import Processor
from .steps import Recorder

RETURN = "return from the program"
_STOPPED = Stopped()


@calls_programs
def answer(
    port: Port,
    call: Callable[[], Call],
    still_here: Callable[[], None],
    report: Callable[[Answer], object],
    streams: int = 1,
) -> Answer:
    """Run a program as the processor of a port.

    Parameters
    ----------
    call : callable
        Returns the call.  An exception that it raises counts as raised by the program.
    still_here : callable
        Called when the program has ended, in whatever way.  It raises, or does not return, if no answer of this
        process is expected any more.
    report : callable
        Called with a failure of the program.
    streams : int
        Number of streams of the processor's team.
    """
    recorder = Recorder()
    processor = Processor(port, recorder, streams)
    try:
        program, args, kwargs, processor._seed = call()
        before = _placement(port)
        port.diagnosis.begin(program)
        if port.clocks is not None:
            port.clocks.begin()
        began = port.clock()
        result = called(program, processor, *args, **kwargs)
        still_here()
        processor._finish()
        recorder.seconds = port.clock() - began
        if port.node_memory is not None:
            recorder.cells = port.node_memory.operations()
        if recorder.events is not None:
            recorder.events.end()
        sent = _sent(result)
        port.diagnosis.begin(program)
        port.synchronise(RETURN)
        processor._check_messages()
        recorder.placement = before, _placement(port)
        if port.clocks is not None:
            recorder.correct(port.clocks.end())
        return _done(sent, recorder)
    except BaseException as error:
        still_here()
        cause = port.diagnosis.cause()
        if isinstance(error, Mismatch):
            report(_mismatched(port, processor._tickets.unmatched() or str(error), error))
            processor._dismiss()
        elif not isinstance(error, Aborted) or cause == 0:  # a program may raise Aborted by itself
            port.diagnosis.fail()
            report(raised(port, error))
            processor._dismiss()
        else:
            failure = processor._dismiss()
            if failure is not None:  # raised by a thread, for which the others most likely waited
                report(raised(port, failure))
            elif cause == wait.MISMATCHED:  # raised by a compiled loop, or between the calls of collectives
                report(_mismatched(port, processor._tickets.unmatched() or "barrier in a compiled loop", error))
        if port.node_memory is not None:
            port.node_memory.operations()  # discarded, so that they do not count for the next run
        return _STOPPED
    finally:
        port.log = None
        if recorder.events is not None:
            recorder.events.stop()


# A signal may raise an exception in a function that `answer` calls and that lies outside of smp's files.  The
# constructors of answers are generated and lie in no file, so `answer` calls them through other functions of smp.


def _done(result: bytes, recorder: Recorder) -> Done:
    return Done(result, recorder.packed())


def _placement(port: Port) -> float:
    return math.nan if port.memory is None else port.memory.placement()


def _mismatched(port: Port, collective: str, error: BaseException) -> Mismatched:
    return Mismatched(collective, place(port, error.__traceback__))


def raised(port: Port, error: BaseException) -> Raised:
    """Return the report on a program that has raised an exception."""
    trace = error.__traceback__
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename) and trace.tb_next is not None:
        trace = trace.tb_next  # the runtime's own frames say nothing to the user
    text = titled("".join(traceback.format_exception(type(error), error, trace)))
    try:
        sent = dumps(error)
        loads(sent)
    except BaseException:  # it cannot be sent, whatever its methods raise; its text can
        sent = b""
    try:
        said = str(error)
        said += hint(said)
    except BaseException as broken:
        said = f"(making its text raises {type(broken).__name__})"
    return Raised(type(error).__name__, said, sent, text, place(port, trace))


def place(port: Port, trace: TracebackType | None) -> Place:
    """Return the line of the innermost frame of the user's code in a traceback, and the superstep."""
    file, line = innermost([(f.f_code.co_filename, number) for f, number in traceback.walk_tb(trace)])
    seen = port.diagnosis.place()
    return replace(seen, file=file or seen.file, line=line or seen.line)


def _sent(result: Any) -> bytes:
    try:
        return dumps(result)
    except Exception as error:
        raise NotPicklable(f"the program's result cannot be sent back: {error}") from error
