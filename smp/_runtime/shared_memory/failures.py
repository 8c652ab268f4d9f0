"""What can fail in a run, and how it is told.

A failure names the processor, the exception or signal, the superstep and the line, and becomes the error that
``machine.run`` raises.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from smp.errors import (
    CollectiveMismatch,
    DeadlockError,
    ProcessorDied,
    ProcessorRaised,
    ProgramError,
    SmpError,
    WaitTimeout,
)

from ..program.pickling import loads
from ..protocols import wait
from ..source.lines import innermost
from ..source.titles import titled
from .last_seen import Place

_FRAME = re.compile(r'File "(.+)", line (\d+)')


class Failure(Exception):
    """Something ended a run.

    Attributes
    ----------
    kind : int
        What it writes into the abort word.
    rank : int
    """

    kind: int
    rank: int

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> SmpError:
        """Return the error for the user, with what the other processors said."""
        raise NotImplementedError


class Raised(Failure):
    """A processor's program raised an exception."""

    kind = wait.RAISED

    def __init__(self, rank: int, kind: str, text: str, sent: bytes, trace: str, place: Place) -> None:
        super().__init__(kind)
        self.rank, self._kind, self._text, self._sent, self._trace, self._place = rank, kind, text, sent, trace, place

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> ProgramError:
        text = f": {self._text}" if self._text else ""
        at = f" at {self._place}" if str(self._place) else ""
        error = ProcessorRaised(
            f"processor {self.rank} of {size} raised {self._kind}{text}{at}", self.rank, self._trace
        )
        error.add_note(f"On processor {self.rank}:\n{self._trace}")
        error.__cause__ = _cause(self._sent)
        return error


class Death(Failure):
    """A processor's process ended; ``code`` is its exit status, negative for a signal, None for one that hung."""

    kind = wait.DIED

    def __init__(self, rank: int, code: int | None, place: Place, box: str = "") -> None:
        super().__init__(str(code))
        self.rank, self._code, self._box = rank, code, box
        self._place = _innermost(box, place)

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> ProgramError:
        who = f"processor {self.rank} of {size}"
        seen = f"; last seen at {self._place}" if str(self._place) else "; it was idle"
        if self._code is None:
            message = f"{who} did not answer and was killed{seen}"
        elif self._code < 0:
            number = -self._code
            name = signal.Signals(number).name if number in set(signal.Signals) else "a real-time signal"
            hint = " (the kernel sends it when memory runs out: see its log)" if number == signal.SIGKILL else ""
            message = f"{who} was killed by {name} ({number}){hint}{seen}"
        else:
            message = f"{who} ended with status {self._code}, by os._exit or inside a library{seen}"
        error = ProcessorDied(message + "; the machine is closed: open a new one", self.rank, self._box)
        if self._box:
            error.add_note(f"On processor {self.rank}:\n{titled(self._box)}")
        return error


class Unmatched(Failure):
    """The processors were in different collectives."""

    kind = wait.MISMATCHED

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> ProgramError:
        lines = [
            f"processor {rank}: {answers[rank][1]} at {answers[rank][2]}"
            if rank in answers
            else f"processor {rank}: ended without an answer"
            for rank in range(size)
            if rank not in answers or answers[rank][0] == "mismatch"
        ]
        return CollectiveMismatch(
            "the processors do not take part in the same collective:\n  "
            + "\n  ".join(lines)
            + "\nall must call the same collectives, in the same order, with the same operator, dtype and shape"
        )


class TimedOut(Failure):
    """The run has not ended within its time; ``table`` says what each stream does."""

    kind, rank = wait.TIMED_OUT, -1

    def __init__(self, seconds: float, table: str) -> None:
        super().__init__(table)
        self.seconds, self.table = seconds, table

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> WaitTimeout:
        return WaitTimeout(
            f"the run has not ended within {self.seconds:g} s; give it longer, or see what its streams do:\n"
            f"{self.table}"
        )


class Deadlock(Failure):
    """No stream could go on."""

    kind, rank = wait.DEADLOCKED, -1

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def told(self, answers: Mapping[int, tuple[Any, ...]], size: int) -> ProgramError:
        return DeadlockError(self.table)


def first(failures: Iterable[Failure], abort_word: int) -> Failure:
    """The failure that the abort word names; the first that was told where it names none of them.

    Of a deadlock, the exception of a thread is the better account, where there was one: the others waited for it.
    """
    kind, rank = abort_word % 256, abort_word // 256 - 1
    told = list(failures)
    if kind == wait.DEADLOCKED:
        told.sort(key=lambda failure: failure.kind == kind)
        return told[0]
    return next((f for f in told if f.kind == kind and rank in (-1, f.rank)), told[0])


def _cause(sent: bytes) -> BaseException | None:
    """The exception itself, where it comes out of its pickle."""
    try:
        cause = loads(sent) if sent else None
    except BaseException:  # of a class that only the processors have, or whose own methods raise
        return None
    return cause if isinstance(cause, BaseException) else None


def _innermost(box: str, place: Place) -> Place:
    """The place, with the line at which the crash handler found the program."""
    file, line = innermost([(file, int(line)) for file, line in reversed(_FRAME.findall(box))])
    return replace(place, file=file, line=line) if file else place
