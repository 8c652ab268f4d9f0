"""Boards that show where each processor was last seen: a few words and a line of text in shared memory.

Each processor has a board of its own.  Only the processor itself writes it; the parent reads it when the processor
has failed.  If a processor is killed while it writes, a reader may find half a line.  The text is for people, and
nothing depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType

from ..memory.segment import Segment
from ..program.place import Place
from ..source.lines import is_ours, runs_a_program

BOARD = 1024  # bytes
_WORDS, _LABEL, _PLACE = 4, 32, 96  # step, phase, line, unused; then label and file name as UTF-8, 0-terminated
_STARTS = -2  # in place of a superstep


class Board:
    """The board of one processor."""

    def __init__(self, segment: Segment, offset: int) -> None:
        self._words = segment.words(offset, _WORDS)
        self._line = self._words[2:3].data
        self._label = segment.bytes_at(offset + _LABEL, _PLACE - _LABEL)
        self._place = segment.bytes_at(offset + _PLACE, BOARD - _PLACE)
        self._last_label = ""
        self._last_code: CodeType | None = None
        self._ours: dict[int, CodeType] = {}  # code of smp's own, by id: hashing a code object is slow

    def starts(self) -> None:
        """Note that the processor has not begun to run; the parent calls it before the process is made."""
        self.clear()
        self._words[0] = _STARTS

    def clear(self) -> None:
        """Forget the previous run."""
        self._words[:] = -1
        self._last_label, self._last_code = "", None
        self._label[0] = self._place[0] = 0

    def begin(self, program: Callable[..., object]) -> None:
        """Note the program's own first line, the only place known before its first superstep or collective."""
        code = getattr(getattr(program, "func", program), "__code__", None)  # for a partial, that of its function
        if code is not None:
            _write(self._place, code.co_filename)
            self._words[2] = code.co_firstlineno
            self._last_code = None

    def mark(self, step: int, phase: int, label: str) -> None:
        """Note the superstep, its phase, and the user's line."""
        if label != self._last_label:  # before the step, so that a new step is never seen with an old label
            _write(self._label, label)
            self._last_label = label
        self._words[0] = step
        self._words[1] = phase
        self.here()

    def here(self) -> None:
        """Note the line of the innermost frame that is not smp's own."""
        frame: FrameType | None = sys._getframe(1)
        last, ours = self._last_code, self._ours
        while frame is not None and (code := frame.f_code) is not last:
            if id(code) not in ours and not self._is_ours(frame):
                if runs_a_program(frame):
                    return
                _write(self._place, code.co_filename)
                self._last_code = code
                break
            frame = frame.f_back
        if frame is not None:
            self._line[0] = frame.f_lineno

    def _is_ours(self, frame: FrameType) -> bool:
        """Return True for a frame of smp's own that does not call a program; remember its code."""
        if runs_a_program(frame) or not is_ours(frame.f_code.co_filename):
            return False
        self._ours[id(frame.f_code)] = frame.f_code
        return True

    def seen(self) -> Place:
        """Return where the processor was last seen."""
        step, phase, line = (int(word) for word in self._words[:3])
        if step == _STARTS:
            return Place(starts=True)
        return Place(None if step < 0 else step, _read(self._label), max(phase, 0) % 4, _read(self._place), line)


def _write(field: memoryview, text: str) -> None:
    data = text.encode(errors="replace")[: len(field) - 1]
    field[: len(data) + 1] = data + b"\0"


def _read(field: memoryview) -> str:
    return bytes(field).split(b"\0", 1)[0].decode(errors="replace")
