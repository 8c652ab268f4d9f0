"""Counts of the passes of all places, whatever their names, and the time inside: of this process and its machines.

this process      counts ──run(program)──▶ Counting(program)          a processor of its own process
                  adds   ◀──results─────── (result, what was met)     counts for itself
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._interpreter import here
from ._treating import ENTRY, MET, MET_WORDS, RECORD_WORDS, WORD, machine_code, meet
from ._treatments import ANY, TABLE, Enclosing, actions, install, now, orders, setting, timing


class Met(NamedTuple):
    """What was met at one place."""

    passes: int
    inside: float
    """Seconds between entering and leaving, of places that are left."""


class Places(dict[str, Met]):
    """What was met, by name.

    Attributes
    ----------
    processors : int
        Of the largest machine whose programs were run meanwhile; 1 if there was none. All pass the places together.
    """

    processors = 1


_met = np.zeros(MET * MET_WORDS, np.int64)
_record = np.zeros(RECORD_WORDS, np.int64)
"""What compiled loops count in: never given back, for a loop of another thread may be in it after the counting."""


class Counter:
    """Counts how often each place is passed, of whatever name; while it does, nothing is treated."""

    def __init__(self) -> None:
        self._processors = 1
        self._passes: dict[str, int] = {}
        self._inside: dict[str, int] = {}
        self._mine = threading.local()
        self._adding = threading.Lock()

    def start(self) -> None:
        """Count from here on."""
        with setting():
            self._before = orders()
            install({})
            _met[:] = 0
            _record[[ENTRY, WORD]] = machine_code(meet).address, _met.ctypes.data
            TABLE[:] = _record.ctypes.data
            actions[ANY] = self._pass
            timing.append(self)

    def stop(self) -> Places:
        """Return what was met, and set what was set before."""
        with setting():
            TABLE[:] = 0
            if self in timing:  # else this is a fork of the process that counts
                timing.remove(self)
            install(self._before)
        for _key, passes, name, _ in _met.reshape(-1, MET_WORDS).tolist():
            if name:  # a loop of another thread may have claimed the row only just now
                text = ctypes.string_at(name).decode()
                self._passes[text] = self._passes.get(text, 0) + passes
        met = Places((name, Met(n, self._inside.get(name, 0) * 1e-9)) for name, n in self._passes.items())
        met.processors = self._processors
        return met

    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]:
        """Return a program that is counted where it runs."""
        return Counting(program, self, machine.size)

    def add(self, met: Places, processors: int) -> None:
        """Add what was met in another process, by one of so many processors."""
        with self._adding:
            self._processors = max(self._processors, processors, met.processors)
            for name, (passes, inside) in met.items():
                self._passes[name] = self._passes.get(name, 0) + passes
                self._inside[name] = self._inside.get(name, 0) + round(inside * 1e9)

    def _pass(self, name: str) -> None:
        with self._adding:
            self._passes[name] = self._passes.get(name, 0) + 1

    def enter(self) -> None:
        """Note that a place is entered which will be left."""
        self._stack().append(now())

    def leave(self, name: str) -> None:
        """Note that a place is left."""
        stack = self._stack()
        if stack:  # else it was entered before the counting began
            spent = now() - stack.pop()
            with self._adding:
                self._inside[name] = self._inside.get(name, 0) + spent

    def _stack(self) -> list[int]:
        """When the places were entered in which this thread is; on an emulated machine, this stream."""
        running = getattr(here.interpreter, "running", None)
        stacks: dict[int, list[int]] = vars(self._mine).setdefault("stacks", {})
        return stacks.setdefault(0 if running is None else running.number, [])


class Counting(Enclosing):
    """A program that brings back with its result what was met.

    Parameters
    ----------
    program : callable
    counter : Counter, optional
        Where to it is brought; it does not go with the program.
    size : int
        Processors.
    """

    def __init__(self, program: Callable[..., Any], counter: Counter | None = None, size: int = 1) -> None:
        super().__init__(program)
        self._counter, self._size = counter, size

    def __reduce__(self) -> tuple[type[Counting], tuple[Any, ...]]:
        return Counting, (self.program,)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Places]:
        if timing:  # by an emulated machine, whose programs run where the counter is
            return self.program(*args, **kwargs), Places()
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
        for _, met in results:
            self._counter.add(met, self._size)
        return [result for result, _ in results]
