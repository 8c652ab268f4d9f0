"""The time in which Python calls a compiled loop: that of a loop that does nothing, with the same arguments.

program in Python ──▶ loop             the call counts: Python finds the machine code and converts the arguments
compiled loop     ──▶ loop             it does not count: on this computer one calls the other's machine code
"""

from __future__ import annotations

import time
from typing import Any

from ...loops.compiler import compiled, local
from ...loops.stepped.loops import BY_PYTHON
from ..measured_work import kinds_of

TRIALS = 20


@local
def nothing(*args: Any) -> None:
    """Do nothing."""


class Calls:
    """The times of calls, by the types of their arguments."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, args: tuple[Any, ...]) -> int:
        """Return the ns of a call with some arguments; 0 for those that machine code cannot have."""
        kinds = kinds_of(args, {})
        if kinds not in self._known:
            self._known[kinds] = 0 if any(hasattr(type(value), BY_PYTHON) for value in args) else _measured(args)
        return self._known[kinds]


def _measured(args: tuple[Any, ...]) -> int:
    code, clock, times = compiled(nothing), time.thread_time_ns, []
    for again in range(-1, TRIALS):  # the first call compiles it
        start = clock()
        code(*args)
        if again >= 0:
            times.append(clock() - start)
    return sorted(times)[TRIALS // 2]
