"""Counts of the passes of all places, and of the time inside them, in this process and on its machines.

this process      counts ──run(program)──▶ Counting(program)          a processor in its own process
                  adds   ◀──results─────── (result, counts)           counts for itself
"""

from __future__ import annotations

import collections
import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.place_actions import ENTRY, MET, MET_WORDS, RECORD_WORDS, WORD, machine_code, meet
from smp._runtime.loops.places import ANY, PLACES, Enclosing, Order, called, now

from .functions import Spot, placed_here, spots


class Met(NamedTuple):
    """Passes of one place, and the time inside it."""

    passes: int
    """Passes by all processors together."""
    inside: float
    """Seconds between entering and leaving, by all processors together; 0 for points of `delay`."""
    by: int = 1
    """Number of processors of one machine that passed the place."""
    own: float = 0.0
    """The part of `inside` that was spent in the place itself, and not in other places inside it, in seconds."""

    def share(self, run: float) -> float:
        """Return the share of a run that a processor spends in the place, given the seconds of the run.

        It is the mean over the processors that pass the place.  The threads of one processor add up.
        """
        return self.inside / self.by / run if run > 0 else 0.0

    def own_share(self, run: float) -> float:
        """Return the share of a run that a processor spends in the place itself; see `share`.

        The shares of all places add up to at most one for each thread, as in a profile.
        """
        return self.own / self.by / run if run > 0 else 0.0


class _Stack(list[list[Any]]):
    """The places that a thread is in: the name, the time of entry, and the nanoseconds in the place itself."""

    last = 0
    """Time of the last entry or exit."""

    def credit(self, at: int) -> None:
        """Add the time since the last entry or exit to the innermost place."""
        if self:
            self[-1][2] += at - self.last
        self.last = at


_met = np.zeros(MET * MET_WORDS, np.int64)
_record = np.zeros(RECORD_WORDS, np.int64)
"""Record that leads compiled loops to `_met`, the table in which they count passes.

Neither is ever freed: another thread's loop may use them after the counting ends.
"""


class Counter:
    """Counts how often each place is passed, whatever its name. While it counts, nothing is treated.

    Counters may count at the same time, as when a script that counts places is itself counted.  ``Places.timer`` is the
    one that started last; it hands on all that it counts to the one that started before it, its ``outer``.
    """

    def __init__(self) -> None:
        self.outer: Counter | None = None
        self._stopped = False
        self._before: dict[str, Order] = {}  # the treatments that are set again after the last counter has stopped
        self._passes: dict[str, int] = {}
        self._inside: dict[str, int] = {}
        self._own: dict[str, int] = {}
        self._ranks: dict[str, set[int]] = {}  # ranks of the processors that passed in Python, in this process
        self._by: dict[str, int] = {}  # number of processors that passed in processes of their own
        self._emulated = 1  # processors of a machine whose loops this process counts
        self._mine = threading.local()
        self._adding = threading.Lock()

    def start(self) -> None:
        """Start counting."""
        with PLACES.setting:
            if isinstance(PLACES.timer, Counter):
                self.outer = PLACES.timer
                self.outer._take_loops()
            else:
                self._before = PLACES.orders()
            self._count()

    def _count(self) -> None:
        """Have all places lead to this counter, whatever they led to before."""
        if PLACES.timer is None:
            PLACES.install({})
            _met[:] = 0
            _record[[ENTRY, WORD]] = machine_code(meet).address, _met.ctypes.data
            PLACES.table[:] = _record.ctypes.data
        PLACES.actions[ANY] = self._pass
        PLACES.timer = self

    def pause(self) -> None:
        """Count nothing until `resume`, so that places can be treated; called for ``Places.timer``, by its thread."""
        self._take_loops()
        PLACES.table[:] = 0
        PLACES.timer = None
        PLACES.actions.clear()

    def resume(self) -> None:
        """Go on counting, unless another thread has stopped this counter, or has begun to count."""
        going_on = next((counter for counter in self._all() if not counter._stopped), None)
        if going_on is not None and PLACES.timer is None:
            going_on._count()

    def stop(self) -> dict[str, Met]:
        """Return the counts; the counter that stops last restores the treatments that were set before."""
        with PLACES.setting:
            self._stopped = True
            timer = PLACES.timer
            if isinstance(timer, Counter):  # otherwise this is a fork of the counting process
                timer._take_loops()
                PLACES.timer = timer = self._taken_from(timer)
            else:
                self._take_loops()
            if isinstance(timer, Counter):
                PLACES.actions[ANY] = timer._pass
            else:
                PLACES.table[:] = 0
                PLACES.install(self._before)
        return {
            name: Met(
                passes,
                self._inside.get(name, 0) * 1e-9,
                max(self._by.get(name, 1), len(self._ranks.get(name, ()))),
                self._own.get(name, 0) * 1e-9,
            )
            for name, passes in self._passes.items()
        }

    def _taken_from(self, last: Counter) -> Counter | None:
        """Return what remains of the chain of counters without this one, which may have been started before others."""
        if last is self:
            return self.outer
        inner = last
        while inner.outer is not None and inner.outer is not self:
            inner = inner.outer
        if inner.outer is self:
            inner.outer = self.outer
            if self.outer is None:
                inner._before = self._before
        return last

    def _take_loops(self) -> None:
        """Take over the passes that compiled loops have counted so far."""
        rows = _met.reshape(-1, MET_WORDS)
        for _key, passes, name, _ in rows.tolist():
            if name and passes:  # a loop of another thread may have claimed the row only just now
                text = ctypes.string_at(name).decode()
                for counter in self._all():
                    counter._passes[text] = counter._passes.get(text, 0) + passes
                    counter._by[text] = max(counter._by.get(text, 1), counter._emulated)
        rows[:, 1] = 0

    def _all(self) -> Iterator[Counter]:
        """Yield this counter and those to which it hands on what it counts."""
        counter: Counter | None = self
        while counter is not None:
            yield counter
            counter = counter.outer

    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]:
        """Return a program that is counted on the processors that run it."""
        return Counting(program, self)

    def add(self, processors: list[dict[str, Met] | None]) -> None:
        """Add the counts of a machine's processors; None for a processor of an emulated machine, counted here."""
        if self.outer is not None:
            self.outer.add(processors)
        seen: collections.Counter[str] = collections.Counter()
        with self._adding:
            for met in processors:
                if met is None:
                    self._emulated = max(self._emulated, len(processors))
                    continue
                for name, (passes, inside, by, own) in met.items():
                    self._passes[name] = self._passes.get(name, 0) + passes
                    self._inside[name] = self._inside.get(name, 0) + round(inside * 1e9)
                    self._own[name] = self._own.get(name, 0) + round(own * 1e9)
                    seen[name] += by
            for name, by in seen.items():
                self._by[name] = max(self._by.get(name, 1), by)

    def _pass(self, name: str) -> None:
        running = getattr(here.interpreter, "running", None)
        for counter in self._all():
            with counter._adding:
                counter._passes[name] = counter._passes.get(name, 0) + 1
                counter._ranks.setdefault(name, set()).add(0 if running is None else running.rank)

    def enter(self, name: str) -> None:
        """Note that a thread enters a place that it will leave."""
        at = now()
        for counter in self._all():
            stack = counter._stack()
            stack.credit(at)
            stack.append([name, at, 0])

    def leave(self, name: str) -> None:
        """Note that a place is left: this ends the latest entry of its name.

        That need not be the latest entry of all, since tasks and generators alternate.
        """
        at = now()
        for counter in self._all():
            counter._left(name, at)

    def _left(self, name: str, at: int) -> None:
        stack = self._stack()
        stack.credit(at)
        for i in reversed(range(len(stack))):
            if stack[i][0] == name:
                _, entered, own = stack.pop(i)
                break
        else:  # it was entered before the counting began
            return
        with self._adding:
            self._own[name] = self._own.get(name, 0) + own
            if all(other[0] != name for other in stack):  # otherwise it is inside itself: the outer one counts the time
                self._inside[name] = self._inside.get(name, 0) + at - entered

    def _stack(self) -> _Stack:
        """Return the places that this thread (on an emulated machine: this stream) is in."""
        running = getattr(here.interpreter, "running", None)
        stacks: dict[int, _Stack] = vars(self._mine).setdefault("stacks", {})
        return stacks.setdefault(0 if running is None else running.number, _Stack())


class Counting(Enclosing):
    """A program that returns the counts of its places together with its result.

    Parameters
    ----------
    program : callable
    counter : Counter, optional
        The counter that the counts are added to. It is not sent with the program.
    functions : sequence of Spot, optional
        Functions whose calls are places; by default those of this process.
    """

    def __init__(
        self, program: Callable[..., Any], counter: Counter | None = None, functions: Sequence[Spot] | None = None
    ) -> None:
        super().__init__(program)
        self._counter = counter
        self._functions = spots() if functions is None else functions

    def __reduce__(self) -> tuple[type[Counting], tuple[Any, ...]]:
        return Counting, (self.program, None, self._functions)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Met] | None]:
        if PLACES.timer is not None:  # on an emulated machine, whose programs run in the process of the counter
            return called(self.program, *args, **kwargs), None
        counter = Counter()
        counter.start()
        try:
            with placed_here(self._functions):
                result = called(self.program, *args, **kwargs)
        finally:
            met = counter.stop()
        return result, met

    def received(self, results: list[Any]) -> list[Any]:
        """Take the counts out of the results, and add them to the counter."""
        assert self._counter is not None
        self._counter.add([met for _, met in results])
        return [result for result, _ in results]
