"""Failures that end a run, and the errors that report them.

A failure names the processor, the exception or signal, the superstep and the line, and becomes the error that
``machine.run`` raises.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace

from smp.errors import (
    CollectiveMismatch,
    DeadlockError,
    ProcessorDied,
    ProcessorRaised,
    ProgramError,
    SmpError,
    WaitTimeout,
)

from ..protocols import wait
from ..source.lines import innermost, is_a_librarys
from ..source.titles import titled
from .answers import Answer, Mismatched, Raised
from .messages.handlers import HandlerMismatch
from .pickling import loads
from .place import Place

CLOSED = "; the machine is closed: open a new one, or call machine.restart()"
"""End of the message of a run that has lost a processor."""

QUIET = "quiet"
"""The collective of `Processor.quiet`, in which a program with messages ends."""
_FRAME = re.compile(r'File "(.+)", line (\d+)')


class Failure(Exception):
    """A failure that ended a run.

    Attributes
    ----------
    kind : int
        Kind of abort that stands for the failure in the abort word (see ``wait``).
    rank : int
        Processor that failed; -1 if the failure is not of one processor.
    """

    kind: int
    rank: int

    def error(self, answers: Mapping[int, Answer], size: int) -> SmpError:
        """Return the error for the user; ``answers`` has the answers that have come, by rank."""
        raise NotImplementedError


class RaisedBy(Failure):
    """A processor's program raised an exception, which is a mismatch if its handlers are not those of a sender."""

    kind = wait.RAISED

    def __init__(self, rank: int, raised: Raised) -> None:
        super().__init__(raised.kind)
        self.rank, self._raised = rank, raised

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        raised = self._raised
        text = f": {raised.text}" if raised.text else ""
        at = f" at {raised.place}" if str(raised.place) else ""
        cause = _cause(raised.pickled)
        if isinstance(cause, HandlerMismatch):
            seen = f" (processor {self.rank} of {size} was{at})" if at else ""
            error: ProgramError = CollectiveMismatch(raised.text + seen, self.rank, raised.trace)
        else:
            message = f"processor {self.rank} of {size} raised {raised.kind}{text}{at}"
            error = ProcessorRaised(message, self.rank, raised.trace)
        error.add_note(f"On processor {self.rank}:\n{raised.trace}")
        error.__cause__ = cause
        return error


class Death(Failure):
    """A processor's process ended; ``code`` is its exit status, negative for a signal, None if it hung.

    ``place`` is where it was seen last, None if that is not known.
    """

    kind = wait.DIED

    def __init__(self, rank: int, code: int | None, place: Place | None, box: str = "") -> None:
        super().__init__(str(code))
        self.rank, self._code, self._box = rank, code, box
        self._place = None if place is None else _innermost(box, place)

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        who = f"processor {self.rank} of {size}"
        seen = "" if self._place is None else f"; last seen at {self._place}" if str(self._place) else "; it was idle"
        message = f"{who} {self._how()}{seen}"
        error = ProcessorDied(message + CLOSED, self.rank, self._box)
        if self._box:
            error.add_note(f"On processor {self.rank}:\n{titled(self._box)}")
        return error

    def _how(self) -> str:
        if self._code is None:
            return "did not answer and was killed"
        if self._code >= 0:
            return f"ended with status {self._code}, by os._exit or inside a library"
        number = -self._code
        name = signal.Signals(number).name if number in set(signal.Signals) else "a real-time signal"
        hint = " (the kernel sends it when memory runs out: see its log)" if number == signal.SIGKILL else ""
        return f"was killed by {name} ({number}){hint}"


class Untold(Death):
    """A processor's process ended, and its launcher does not say how."""

    def __init__(self, rank: int, place: Place | None = None, box: str = "") -> None:
        super().__init__(rank, None, place, box)

    def _how(self) -> str:
        return "ended, by a signal, os._exit or inside a library: the launcher of the ranks does not say how"


class Lost(Death):
    """The connection to a processor on another computer was lost; its process may be there still."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank, None, None)

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        message = f"the connection to processor {self.rank} of {size}, on another computer, was lost"
        return ProcessorDied(message + CLOSED, self.rank, "")


class CutOff(Death):
    """The network between two processors was lost, although each of them still answers the parent."""

    def __init__(self, rank: int, other: int, seconds: float) -> None:
        super().__init__(rank, None, None)
        self._other, self._seconds = other, seconds

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        message = f"no message has passed between processors {self._other} and {self.rank} of {size} for "
        message += f"{self._seconds:g} s (patience): the network between their computers was lost"
        return ProcessorDied(message + CLOSED, self.rank, "")


class Unmatched(Failure):
    """The processors were in different collectives."""

    kind = wait.MISMATCHED

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        quiet = any(isinstance(answer, Mismatched) and answer.collective == QUIET for answer in answers.values())
        lines = [
            f"processor {rank}: {answer.collective} at {answer.place}"
            if isinstance(answer, Mismatched)
            else f"processor {rank}: ended without an answer"
            for rank in range(size)
            if (answer := answers.get(rank)) is None or isinstance(answer, Mismatched)
        ]
        return CollectiveMismatch(
            "the processors do not take part in the same collective:\n  "
            + "\n  ".join(lines)
            + "\nall must call the same collectives, in the same order, with the same operator, dtype and shape"
            + f"\n{QUIET} also ends a program that has registered handlers or made ports: all must do so" * quiet
        )


class TimedOut(Failure):
    """The run did not end within its time; ``table`` shows what each stream does."""

    kind, rank = wait.TIMED_OUT, -1

    def __init__(self, seconds: float, table: str) -> None:
        super().__init__(table)
        self.seconds, self.table = seconds, table

    def error(self, answers: Mapping[int, Answer], size: int) -> WaitTimeout:
        return WaitTimeout(
            f"the run has not ended within {self.seconds:g} s\n"
            f"give it longer, or see what its streams are doing:\n{self.table}"
        )


class Deadlock(Failure):
    """No stream could go on."""

    kind, rank = wait.DEADLOCKED, -1

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def error(self, answers: Mapping[int, Answer], size: int) -> ProgramError:
        return DeadlockError(self.table)


def first(failures: Iterable[Failure], abort_word: int) -> Failure:
    """Return the failure that the abort word names, or the first that was reported if it names none of them.

    Instead of a deadlock, the exception of a thread is returned if there is one, since the others waited for that
    thread.
    """
    kind, rank = abort_word % 256, abort_word // 256 - 1
    reported = list(failures)
    if kind == wait.DEADLOCKED:
        reported.sort(key=lambda failure: failure.kind == kind)
        return reported[0]
    return next((f for f in reported if f.kind == kind and rank in (-1, f.rank)), reported[0])


def _cause(sent: bytes) -> BaseException | None:
    """Return the exception itself if it can be unpickled, else None."""
    try:
        cause = loads(sent) if sent else None
    except BaseException:  # only the processors have its class, or its methods raise
        return None
    return cause if isinstance(cause, BaseException) else None


def _innermost(box: str, place: Place) -> Place:
    """Return the place, with the line at which the crash handler found the program.

    The thread of a stream may have no line of the program, if a library's function is all that it runs.  The place is
    then that at which the processor was last seen.
    """
    file, line = innermost([(file, int(line)) for file, line in reversed(_FRAME.findall(box))])
    found = bool(file) and not (place.file and is_a_librarys(file))
    return replace(place, file=file, line=line) if found else place
