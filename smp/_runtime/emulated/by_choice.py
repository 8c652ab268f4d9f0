"""An emulator whose schedule chooses among all streams that can run: at random, or by a list of choices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit

from smp.errors import ScheduleError

from ..loops import atomics
from ..memory.witness import Witnessed, plain
from ..source.lines import where
from .emulator import LOW, Emulator
from .local_work import LoopWork
from .prices import Prices
from .primitives import ACCESSES, changed, meaning_of
from .schedules import ListedStream, Schedule
from .sleepers import address_of
from .turns import Turns


class ChoosingEmulator(Emulator):
    """An emulator that looks at all streams before each step; see `Emulator`."""

    running: ListedStream | None

    def __init__(self, schedule: Schedule, limit: int, prices: Prices, work: LoopWork) -> None:
        self._costs: dict[Callable[..., Any], int] = {**prices.steps, **dict.fromkeys(ACCESSES, 0)}
        self._special: dict[Any, Callable[..., Any]] = {
            meaning_of(atomics.pause): self._pause,
            meaning_of(atomics.futex_wait): self._futex_wait,
            meaning_of(atomics.futex_wake): self._futex_wake,
        }
        super().__init__(schedule, limit, prices, work)

    def _prepare(self) -> None:
        self._turns = Turns(self.schedule, self._prices.woken)
        self._ready, self._timed = self._turns.ready, self._turns.timed
        self._beginner: ListedStream | None = None

    def forget(self) -> None:
        super().forget()
        self._special.clear()

    def _new(self, rank: int, index: int, number: int, now: int) -> ListedStream:
        return ListedStream(rank, index, number, now)

    def _begin(self, stream: ListedStream, steps: int) -> None:
        stream.last = steps
        self._turns.begin(stream)

    def _ended(self, stream: ListedStream) -> None:
        self._turns.end(stream)

    def _begin_one(self) -> bool:
        beginner, self._beginner = self._beginner, None
        if beginner is not None:
            beginner.greenlet.switch()
        return beginner is not None

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        stream = self.running
        assert stream is not None
        shared = None
        if self.witnessed and args and type(args[0]) is Witnessed:
            shared, args = args[0], plain(args)
        cost = self._costs.get(meaning)
        if cost is None:
            return self._aside(meaning, args)
        if self.over:
            raise GreenletExit
        if stream.fresh:
            stream.fresh = False
        else:
            if len(self._ready) > 1 or self._timed:
                self._pass_on(stream)
            if self.effects is not None:
                self.effects.begins(stream)
        self.steps += 1
        if self.steps >= self._alarm:
            self._look_up()
        stream.last = self.steps
        stream.now += cost
        if self.trace is not None:
            self.trace.append((stream.rank, stream.index, meaning.__name__, where(sys._getframe(1))))
        special = self._special.get(meaning)
        if special is not None:
            return special(stream, *args)
        result = meaning(*args)
        if self.ordering is not None:
            self.ordering.stepped(stream, meaning, args, result, shared)
        if self.effects is not None:
            self.effects.stepped(meaning, args, result)
        if self._timed and changed(meaning, args, result):
            self._turns.vain = 0
        return result

    def _pass_on(self, stream: ListedStream | None) -> bool:
        try:
            chosen = self._turns.next(stream, self.steps)
        except ScheduleError as error:
            self.leave(error)
            return True
        if chosen is None:
            return False
        if chosen is stream:
            self._turns.resume(chosen)
            return True
        self._turns.change(chosen)
        self._switch(chosen)
        return True

    def _switch(self, chosen: ListedStream) -> None:
        """Let another stream run.  Return when the calling stream is chosen again."""
        at_once = self.running is None or chosen.greenlet
        self.running = chosen
        if at_once:
            chosen.greenlet.switch()
        else:
            self._beginner = chosen
            self._hub.switch()

    # Primitives that schedule.

    def _pause(self, stream: ListedStream) -> None:
        turns = self._turns
        turns.vain += 1
        if self.effects is not None:
            self.effects.paused()
        if len(self._ready) == 1 and not self._timed:
            return
        turns.pause(stream, self.steps)
        self._pass_on(stream)
        turns.resume(stream)
        stream.fresh = True
        if self.effects is not None:
            self.effects.begins(stream)

    def _futex_wait(self, stream: ListedStream, words: Any, i: Any, expected: Any, nanoseconds: Any) -> None:
        sleeps = not (int(words[i]) ^ int(expected)) & LOW
        if self.effects is not None:
            self.effects.compared(words, i, sleeps)
        if not sleeps:
            return
        self._turns.sleep(stream, address_of(words, i), int(nanoseconds))
        if not self._pass_on(None):
            self._hub.switch()
        stream.fresh = True
        if self.effects is not None:
            self.effects.wakes(stream, words, i)

    def _futex_wake(self, stream: ListedStream, words: Any, i: Any, count: Any) -> int:
        sleepers = self._turns.sleepers.on(address_of(words, i), int(count))
        if self.effects is not None:
            self.effects.woke(words, i, sleepers)
        for sleeper in sleepers:
            self._turns.wake(sleeper, stream.now)
        return len(sleepers)

    def _wake_all(self) -> None:
        for stream in self._turns.sleepers.everybody():
            self._turns.wake(stream, 0)
