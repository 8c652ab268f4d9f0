"""Counts of the passes of all places, whatever their names, and the time inside: of this process and its machines.

this process      counts ──run(program)──▶ Counting(program)          a processor of its own process
                  adds   ◀──results─────── (result, what was met)     counts for itself
"""

from __future__ import annotations

import collections
import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.place_actions import ENTRY, MET, MET_WORDS, RECORD_WORDS, WORD, machine_code, meet
from smp._runtime.loops.places import ANY, PLACES, Enclosing, now


class Met(NamedTuple):
    """What was met at one place."""

    passes: int
    """By all processors together."""
    inside: float
    """Seconds between entering and leaving, of places that are left, by all processors together."""
    by: int = 1
    """How many processors these were, of one machine."""


_met = np.zeros(MET * MET_WORDS, np.int64)
_record = np.zeros(RECORD_WORDS, np.int64)
"""What compiled loops count in: never given back, for a loop of another thread may be in it after the counting."""


class Counter:
    """Counts how often each place is passed, of whatever name; while it does, nothing is treated."""

    def __init__(self) -> None:
        self._passes: dict[str, int] = {}
        self._inside: dict[str, int] = {}
        self._ranks: dict[str, set[int]] = {}  # of the processors that passed in Python, in this process
        self._by: dict[str, int] = {}  # of those in processes of their own
        self._emulated = 1  # processors of a machine whose loops this process counts
        self._mine = threading.local()
        self._adding = threading.Lock()

    def start(self) -> None:
        """Count from here on."""
        with PLACES.setting:
            self._before = PLACES.orders()
            PLACES.install({})
            _met[:] = 0
            _record[[ENTRY, WORD]] = machine_code(meet).address, _met.ctypes.data
            PLACES.table[:] = _record.ctypes.data
            PLACES.actions[ANY] = self._pass
            PLACES.timer = self

    def stop(self) -> dict[str, Met]:
        """Return what was met, and set what was set before."""
        with PLACES.setting:
            PLACES.table[:] = 0
            if PLACES.timer is self:  # else this is a fork of the process that counts
                PLACES.timer = None
            PLACES.install(self._before)
        for _key, passes, name, _ in _met.reshape(-1, MET_WORDS).tolist():
            if name:  # a loop of another thread may have claimed the row only just now
                text = ctypes.string_at(name).decode()
                self._passes[text] = self._passes.get(text, 0) + passes
                self._by[text] = max(self._by.get(text, 1), self._emulated)
        return {
            name: Met(
                passes, self._inside.get(name, 0) * 1e-9, max(self._by.get(name, 1), len(self._ranks.get(name, ())))
            )
            for name, passes in self._passes.items()
        }

    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]:
        """Return a program that is counted where it runs."""
        return Counting(program, self)

    def add(self, processors: list[dict[str, Met] | None]) -> None:
        """Add what the processors of a machine have met; None where it was counted here, for it is emulated."""
        seen: collections.Counter[str] = collections.Counter()
        with self._adding:
            for met in processors:
                if met is None:
                    self._emulated = max(self._emulated, len(processors))
                    continue
                for name, (passes, inside, by) in met.items():
                    self._passes[name] = self._passes.get(name, 0) + passes
                    self._inside[name] = self._inside.get(name, 0) + round(inside * 1e9)
                    seen[name] += by
            for name, by in seen.items():
                self._by[name] = max(self._by.get(name, 1), by)

    def _pass(self, name: str) -> None:
        running = getattr(here.interpreter, "running", None)
        with self._adding:
            self._passes[name] = self._passes.get(name, 0) + 1
            self._ranks.setdefault(name, set()).add(0 if running is None else running.rank)

    def enter(self, name: str) -> None:
        """Note that a place is entered which will be left."""
        self._stack().append((name, now()))

    def leave(self, name: str) -> None:
        """Note that a place is left: the last of this name that was entered, for tasks and generators take turns."""
        stack, left = self._stack(), now()
        for i in reversed(range(len(stack))):
            if stack[i][0] == name:
                _, entered = stack.pop(i)
                break
        else:  # it was entered before the counting began
            return
        if all(other != name for other, _ in stack):  # else it is inside itself, and counted with the outer one
            with self._adding:
                self._inside[name] = self._inside.get(name, 0) + left - entered

    def _stack(self) -> list[tuple[str, int]]:
        """When the places were entered in which this thread is; on an emulated machine, this stream."""
        running = getattr(here.interpreter, "running", None)
        stacks: dict[int, list[tuple[str, int]]] = vars(self._mine).setdefault("stacks", {})
        return stacks.setdefault(0 if running is None else running.number, [])


class Counting(Enclosing):
    """A program that brings back with its result what was met.

    Parameters
    ----------
    program : callable
    counter : Counter, optional
        Where to it is brought; it does not go with the program.
    """

    def __init__(self, program: Callable[..., Any], counter: Counter | None = None) -> None:
        super().__init__(program)
        self._counter = counter

    def __reduce__(self) -> tuple[type[Counting], tuple[Any, ...]]:
        return Counting, (self.program,)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Met] | None]:
        if PLACES.timer is not None:  # on an emulated machine, whose programs run where the counter is
            return self.program(*args, **kwargs), None
        counter = Counter()
        counter.start()
        try:
            result = self.program(*args, **kwargs)
        finally:
            met = counter.stop()
        return result, met

    def received(self, results: list[Any]) -> list[Any]:
        """Take what was met out of the results."""
        assert self._counter is not None
        self._counter.add([met for _, met in results])
        return [result for result, _ in results]
