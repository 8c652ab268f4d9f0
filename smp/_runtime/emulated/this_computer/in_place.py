"""Local work that is timed where it is done: each call of a loop, on its own arguments, as long as it takes."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...loops.compiler import compiled
from ..local_work import Loop, LoopWork
from ..measured_work import kinds_of
from .calls import Calls
from .recorded import Recorded


class InPlace(LoopWork):
    """The time of each call of a loop.

    Parameters
    ----------
    hz : float
        Cycles in a second.
    recorded : Recorded
        Keeps the measured times.

    Attributes
    ----------
    by_a_loop : callable
        Returns True if the call is made by a compiled loop.
    calls : Calls
        What Python takes to call a loop.
    """

    def __init__(self, hz: float, recorded: Recorded) -> None:
        super().__init__()
        self._hz, self._recorded = hz, recorded
        self._compiled: set[tuple[Loop, str]] = set()
        self.calls = Calls()
        self.by_a_loop: Callable[[], bool] = lambda: False

    def _run(self, loop: Loop, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, float, str]:
        key, code, clock = (loop, kinds_of(args, options)), compiled(loop), time.thread_time_ns
        if key not in self._compiled:
            code(*copy.deepcopy(args), **copy.deepcopy(dict(options)))  # the first call compiles it, and is not timed
            self._compiled.add(key)
        without = self.calls.of(args) if self.by_a_loop() else 0
        start = clock()
        result = code(*args, **options)
        ns = self._recorded.next(clock() - start - without)
        return result, ns * 1e-9 * self._hz, "measured"
