"""The emulator of a machine that is made from a profile; its stopwatch measures the code of programs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ...loops.interpreter import INTERPRETED
from ...protocols.entry_points import Core
from ..clocked.emulator import ClockedEmulator
from ..local_work import LoopWork
from ..prices import Prices
from ..schedules import Schedule
from ..virtual_time import NANOSECOND
from .barriers import Barriers
from .calls import Calls
from .in_place import InPlace
from .recorded import Recorded
from .stopwatch import STANDING, Standing, Stopwatch


class ComputerEmulator(ClockedEmulator):
    """An emulator under the clock, whose barriers take the measured time.

    Parameters
    ----------
    recorded : Recorded
        Keeps the measured times.
    barriers : Barriers
    slowdown : float or None
        The code of programs takes this many times as long as on this computer; None if it takes no time.
    """

    watch: Stopwatch | Standing

    def __init__(
        self,
        schedule: Schedule,
        limit: int,
        prices: Prices,
        work: LoopWork,
        recorded: Recorded,
        barriers: Barriers,
        slowdown: float | None,
    ) -> None:
        self._recorded, self._barriers = recorded, barriers
        self._factor = NANOSECOND * (slowdown or 0.0)
        self.watch = STANDING if slowdown is None else Stopwatch(recorded, self._pass_measured)
        self._calls = Calls()
        self._in_loops: set[int] = set()  # numbers of the streams that are in a compiled loop
        if isinstance(work, InPlace):
            work.by_a_loop = lambda: self.running is not None and self.running.number in self._in_loops
        super().__init__(schedule, limit, prices, work)

    def _prepare(self) -> None:
        super()._prepare()
        self._recorded.begin(lambda: self.rank)
        self._barriers.begin()
        self._in_loops.clear()

    def _pass_measured(self, nanoseconds: int) -> None:
        self.pass_picoseconds(round(nanoseconds * self._factor))

    def _live(self, stream: Any, function: Callable[[], object]) -> None:
        def watched() -> None:
            self.watch.go()
            try:
                function()
            finally:
                self.watch.stop()

        super()._live(stream, watched)

    def entries_for(self, entries: Any) -> Any:
        return unwatched(entries, self.watch)

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        ran = self.watch.stop()
        try:
            return super().step(meaning, args)
        finally:
            self.watch.go(ran)

    def run_local(self, loop: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        ran = self.watch.stop()
        try:
            return super().run_local(loop, args, options)
        finally:
            self.watch.go(ran)

    def machine_code(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that runs a loop of a stream, as machine code or interpreted, unwatched."""
        code = super().machine_code(function)

        def run(*args: Any, **options: Any) -> Any:
            ran = self.watch.stop()
            if ran:
                self._pass_measured(self._recorded.next(self._calls.of(args)))
            try:
                with self._in_a_loop():
                    result = INTERPRETED if code is None else code(*args, **options)
                    return function(*args, **options) if result is INTERPRETED else result
            finally:
                self.watch.go(ran)

        return run

    @contextmanager
    def _in_a_loop(self) -> Iterator[None]:
        """Note that the running stream is in a compiled loop."""
        number = -1 if self.running is None else self.running.number
        outer = number not in self._in_loops
        self._in_loops.add(number)
        try:
            yield
        finally:
            if outer:
                self._in_loops.discard(number)

    def time(self) -> int:
        ran = self.watch.stop()
        now = super().time()
        self.watch.go(ran)
        return now


def unwatched(entries: Any, watch: Stopwatch | Standing) -> Any:
    """Return the runtime's entry points, during whose calls the stopwatch stands still."""
    made = copy.copy(entries) if isinstance(entries, Core) else SimpleNamespace(**vars(entries))
    for function, _ in Core._entries:
        setattr(made, function.__name__, _unwatched(getattr(entries, function.__name__), watch))
    return made


def _unwatched(entry: Callable[..., Any], watch: Stopwatch | Standing) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        ran = watch.stop()
        try:
            return entry(*args)
        finally:
            watch.go(ran)

    return call
