"""Records the operations that a program calls while one schedule runs, each with its words, values and result.

    the program's line      v = cells.readfe(3)
    its steps               load, load, compare_exchange              between which other streams may make steps
    the record              readfe(cells[3]) -> 7

An operation is a call of smp by the program.  Python reports calls and returns to a profiler, for all streams of an
emulated machine, since they run in one thread.  An operation has one line, if no other stream makes a step between its
first step and its last one.  Otherwise one line says where it begins, and another where it ends.
"""

from __future__ import annotations

import bisect
import contextlib
import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from ..emulated.emulator import Emulator, Step
from ..memory import witness
from ..program import superstep
from ..source.lines import is_a_wrapper, is_ours, runs_a_program, where
from .wording import MAKE_VIEWS, Wording, is_an_array

Operation = tuple[int, int, str, str]
"""An operation, or its begin or end: processor, stream, words, the program's line."""
_ACCESSES = {witness.__file__, superstep.__file__}
"""Files whose operations have a line also if they make no steps."""
LAST = "ends the run"
_RETURNS = {"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"}


class _Call:
    """An operation that the program has called.

    Attributes
    ----------
    began, ended : int
        Number of steps that all streams had made before; -1 while it has not ended.
    """

    def __init__(self, frame: FrameType, stream: tuple[int, int], words: str, began: int) -> None:
        self.stream, self.words, self.began, self.ended = stream, words, began, -1
        self.end = ""
        self.where = where(frame)
        self.shown = frame.f_code.co_filename in _ACCESSES

    def returned(self, frame: FrameType, result: Any, wording: Wording, steps: int) -> None:
        """Note the result, or that an exception has left the operation, which has the result None here."""
        self.ended = steps
        if is_an_array(result):
            self.shown &= frame.f_code.co_name not in MAKE_VIEWS
        elif callable(result):
            self.end = ""  # a method of an array, which the program calls next
        elif result is not None:
            self.end = f" -> {wording.of_value(result, frame)}"
        elif dis.opname[frame.f_code.co_code[frame.f_lasti]] not in _RETURNS:
            self.end = "  raises"


def _began_a_thread(frame: FrameType, caller: FrameType) -> bool:
    """Return True if an operation is the function of a thread, as in ``team.start(cells.fill, 0)``."""
    work = getattr(caller.f_locals.get("self"), "_work", None) if runs_a_program(caller) else None
    return getattr(getattr(work, "func", None), "__code__", None) is frame.f_code


class Operations:
    """The operations and the steps of one schedule.

    Attributes
    ----------
    steps : list of (processor, stream, primitive, where)
        Steps in the order in which they are made.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what was recorded."""
        self.steps: list[Step] = []
        self._calls: list[_Call] = []
        self._open: dict[tuple[int, int], tuple[_Call, FrameType]] = {}

    @contextlib.contextmanager
    def recorded(self, emulator: Emulator, program: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[None]:
        """Record the operations of a program with the given arguments that an emulator runs in a block."""
        wording = Wording(program, args)

        def profile(frame: FrameType, event: str, result: Any) -> None:
            stream = emulator.running
            if stream is None or emulator.over:
                return
            key = stream.rank, stream.index
            if event == "call":
                self._called(frame, key, wording)
            elif event == "return" and key in self._open and self._open[key][1] is frame:
                call, _ = self._open.pop(key)
                call.returned(frame, result, wording, len(self.steps))

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(before)
            self._open.clear()

    def _called(self, frame: FrameType, stream: tuple[int, int], wording: Wording) -> None:
        if stream in self._open or not is_ours(frame.f_code.co_filename) or is_a_wrapper(frame.f_code):
            return
        caller = frame.f_back
        while caller is not None and is_a_wrapper(caller.f_code):
            caller = caller.f_back
        if caller is None or (is_ours(caller.f_code.co_filename) and not _began_a_thread(frame, caller)):
            return
        words = wording.of_call(frame, caller)
        if words:
            call = _Call(frame, stream, words, len(self.steps))
            self._calls.append(call)
            self._open[stream] = call, frame

    def lines(self, deadlock: bool) -> list[Operation]:
        """Return the operations in the order of their steps; some never end, because of a deadlock or another error.

        If there is none, because the program itself is a part of smp, its steps count as operations.
        """
        if not self._calls:
            return list(self.steps)
        of_stream: dict[tuple[int, int], list[int]] = {}
        for at, (rank, index, _, _) in enumerate(self.steps):
            of_stream.setdefault((rank, index), []).append(at)
        last = self._last()
        lines: list[tuple[float, int, Operation]] = []
        for number, call in enumerate(self._calls):
            unended = "does not return" if deadlock else LAST if call is last else "begins"
            for place, words in self._said(call, of_stream.get(call.stream, []), unended):
                lines.append((place, number, (*call.stream, words, call.where)))
        return [operation for _, _, operation in sorted(lines, key=lambda line: line[:2])]

    def _last(self) -> _Call | None:
        """Return the operation in which the run has ended; None if it has ended between two operations."""
        if self._calls and self._calls[-1].began == len(self.steps):  # it has made no step
            return self._calls[-1]
        last = self.steps[-1][:2] if self.steps else None
        return next((call for call in reversed(self._calls) if call.stream == last), None)

    def _said(self, call: _Call, steps: list[int], unended: str) -> Iterator[tuple[float, str]]:
        """Yield the lines of an operation, each with its place among the steps."""
        end = len(self.steps) if call.ended < 0 else call.ended
        own = steps[bisect.bisect_left(steps, call.began) : bisect.bisect_left(steps, end)]
        first: float = own[0] if own else call.began - 0.5
        in_between = bool(own) and own[-1] - own[0] >= len(own)
        if in_between and (call.ended >= 0 or unended == LAST):
            yield first, f"{call.words}  begins"
            yield own[-1], call.words + (f"  {unended}" if call.ended < 0 else call.end or "  ends")
        elif call.ended < 0:
            yield first, f"{call.words}  {unended}"
        elif own or call.shown:
            yield first, call.words + call.end
