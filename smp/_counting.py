"""Counts of the passes of all places of this process, whatever their names, and the time inside."""

from __future__ import annotations

import ctypes
import threading
from typing import NamedTuple

import numpy as np

from ._interpreter import here
from ._treating import ENTRY, MET, MET_WORDS, RECORD_WORDS, WORD, machine_code, meet
from ._treatments import ANY, TABLE, actions, install, now, orders, setting, timing


class Met(NamedTuple):
    """What was met at one place."""

    passes: int
    inside: float
    """Seconds between entering and leaving, of places that are left."""


class Counter:
    """Counts how often each place is passed, of whatever name; while it does, nothing is treated."""

    def __init__(self) -> None:
        self._met = np.zeros(MET * MET_WORDS, np.int64)
        self._record = np.zeros(RECORD_WORDS, np.int64)
        self._passes: dict[str, int] = {}
        self._inside: dict[str, int] = {}
        self._mine = threading.local()
        self._adding = threading.Lock()

    def start(self) -> None:
        """Count from here on."""
        with setting():
            self._before = orders()
            install({})
            self._record[ENTRY] = machine_code(meet).address
            self._record[WORD] = self._met.ctypes.data
            TABLE[:] = self._record.ctypes.data
            actions[ANY] = self._pass
            timing.append(self)

    def stop(self) -> dict[str, Met]:
        """Return what was met, and set what was set before."""
        with setting():
            TABLE[:] = 0
            timing.remove(self)
            install(self._before)
        for _key, passes, name, _ in self._met.reshape(-1, MET_WORDS).tolist():
            if name:  # a loop of another thread may have claimed the row only just now
                text = ctypes.string_at(name).decode()
                self._passes[text] = self._passes.get(text, 0) + passes
        return {name: Met(passes, self._inside.get(name, 0) * 1e-9) for name, passes in self._passes.items()}

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
