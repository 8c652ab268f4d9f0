"""What can fail in a run, and how it is told.

A failure names the processor, the exception or signal, the superstep and the line, and becomes the error that
``machine.run`` raises.  It is survivable when every worker is still there and has answered.
"""

from __future__ import annotations

import signal
from typing import Any

from ._board import Board, Place
from ._pickling import loads
from .errors import CollectiveMismatch, ProcessorDied, ProcessorRaised, ProgramError


class Failure(Exception):
    """Something ended a run; ``told`` completes it with what the other processors said."""

    survivable = True
    rank: int | None = None
    error: ProgramError

    def told(self, answers: dict[int, tuple[Any, ...]], size: int) -> Failure:
        """Return itself, its ``error`` made."""
        raise AssertionError


class Interrupted(Failure):
    """Ctrl-C, and all processors have stopped in time."""


class Raised(Failure):
    """A processor's program raised an exception."""

    def __init__(
        self, rank: int, size: int, kind: str, text: str, sent: bytes, trace: str, place: Place
    ) -> None:
        super().__init__(kind)
        self.rank = rank
        at = f" at {place}" if str(place) else ""
        message = f"processor {rank} of {size} raised {kind}{': ' + text if text else ''}{at}"
        self.error = ProcessorRaised(message, rank, trace)
        self.error.add_note(f"On processor {rank}:\n{trace}")
        if sent:
            cause = loads(sent)
            if isinstance(cause, BaseException):
                self.error.__cause__ = cause

    def told(self, answers: dict[int, tuple[Any, ...]], size: int) -> Failure:
        return self


class Death(Failure):
    """A processor's process ended; ``code`` is its exit status, negative for a signal, None for one that hung."""

    survivable = False

    def __init__(self, rank: int, code: int | None, board: Board, box: str) -> None:
        super().__init__(str(code))
        self.rank, self._code, self._box = rank, code, box
        self._place = board.seen()

    def told(self, answers: dict[int, tuple[Any, ...]], size: int) -> Failure:
        who = f"processor {self.rank} of {size}"
        seen = f"; last seen at {self._place}" if str(self._place) else "; it was idle"
        if self._code is None:
            message = f"{who} did not answer and was killed{seen}"
        elif self._code < 0:
            number = -self._code
            name = signal.Signals(number).name if number in signal.valid_signals() else "an unknown signal"
            hint = (
                " (the kernel sends it when memory runs out: see its log)" if number == signal.SIGKILL else ""
            )
            message = f"{who} was killed by {name} ({number}){hint}{seen}"
        else:
            message = f"{who} ended with status {self._code}, by os._exit or inside a library{seen}"
        self.error = ProcessorDied(message + "; the machine is closed: open a new one", self.rank, self._box)
        if self._box:
            self.error.add_note(f"On processor {self.rank}:\n{self._box}")
        return self


class Unmatched(Failure):
    """The processors were in different collectives."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank

    def told(self, answers: dict[int, tuple[Any, ...]], size: int) -> Failure:
        lines = [
            f"processor {rank}: {answer[1]} at {answer[2]}"
            for rank, answer in sorted(answers.items())
            if answer[0] == "mismatch"
        ]
        self.error = CollectiveMismatch(
            "the processors do not take part in the same collective:\n  "
            + "\n  ".join(lines)
            + "\nevery processor must call the same collectives, in the same order, with the same operator, dtype and shape"
        )
        return self
