"""An emulator under the clock: its streams take turns by machine code, in which loops can run as well.

    Python            step(primitive) ─▶ turns.step ──── another stream is earlier ─▶ greenlet.switch()
    machine code      smp_step(kind, word)  ─▶ the same turns ── the same ──────────▶ the same, from C

The words of ``layout`` are the only record of whose turn it is, so a stream may give its turn away in machine code and
get it back in Python, and the other way round.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from greenlet import GreenletExit
from numpy.typing import NDArray

from ...loops import atomics
from ...loops.places import PLACES
from ...loops.stepped import text as stepped
from ...loops.stepped.loops import stepped_loop
from ...source.lines import where
from ..emulator import LOW, Emulator
from ..local_work import LoopWork
from ..prices import Prices
from ..primitives import changed, meaning_of
from ..schedules import Schedule
from ..sleepers import address_of
from . import layout
from .hooks import LOOK_UP
from .layout import GROUPS, HEADER, NONE, ROW
from .machine_code import turns
from .sleepers import in_picoseconds
from .stream import ClockedStream
from .turns import NO_STREAM

_FIRST_ROWS = 64
EVERYBODY = 1 << 30
_ORDER = (*stepped.KINDS, "pause", "futex_wait", "futex_wake")
"""The kinds of steps, in the order of their numbers."""


class ClockedEmulator(Emulator):
    """An emulator of which the earliest stream in virtual time goes next; see `Emulator`."""

    def __init__(self, schedule: Schedule, limit: int, prices: Prices, work: LoopWork) -> None:
        self._core = turns()
        self._costs = prices.steps
        self._special: dict[Any, Callable[..., Any]] = {
            meaning_of(atomics.pause): self._pause,
            meaning_of(atomics.futex_wait): self._futex_wait,
            meaning_of(atomics.futex_wake): self._futex_wake,
        }
        self._header = np.zeros(HEADER, np.int64)
        self._words, self._address = self._header.data, self._header.ctypes.data
        self._groups = np.zeros(2 * GROUPS, np.int64)
        self._rows, self._heaps = np.zeros(0, np.int64), np.zeros((2, 0), np.int64)
        self._of_row: list[ClockedStream | None] = []
        self._called = _look_of(self)
        self._words[layout.BUCKETS] = self._groups.ctypes.data
        self._words[layout.WOKEN], self._words[layout.CLOCK] = prices.woken, prices.clock
        self._words[layout.PATIENCE] = schedule.patience
        for kind, name in enumerate(_ORDER):
            self._words[layout.COSTS + kind] = self._costs[meaning_of(getattr(atomics, name))]
        self._kinds = {meaning_of(getattr(atomics, name)): kind for kind, name in enumerate(stepped.KINDS)}
        self._words[layout.SWITCH] = _switch_of_greenlets()
        self._words[layout.LOOK] = id(self._called)
        for word, name in ((layout.CALL, "PyObject_CallNoArgs"), (layout.DECREF, "Py_DecRef")):
            self._words[word] = _address_of(getattr(ctypes.pythonapi, name))
        self._words[layout.JUMP] = _address_of(ctypes.CDLL(None).longjmp)
        super().__init__(schedule, limit, prices, work)

    # State in words.

    @property
    def steps(self) -> int:
        return int(self._words[layout.STEPS])

    @steps.setter
    def steps(self, number: int) -> None:
        self._words[layout.STEPS] = number

    @property
    def over(self) -> bool:
        return bool(self._words[layout.OVER])

    @over.setter
    def over(self, over: bool) -> None:
        self._words[layout.OVER] = over

    @property
    def _alarm(self) -> int:
        return int(self._words[layout.ALARM])

    @_alarm.setter
    def _alarm(self, steps: int) -> None:
        self._words[layout.ALARM] = steps

    @property
    def running(self) -> ClockedStream | None:
        row = self._words[layout.RUNNING]
        return None if row == NONE else self._of_row[row]

    @running.setter
    def running(self, stream: ClockedStream | None) -> None:
        self._words[layout.RUNNING] = NONE if stream is None else stream.row

    def _prepare(self) -> None:
        words = self._words
        for word in (layout.READY, layout.PAUSING, layout.TIMED, layout.VAIN, layout.USED):
            words[word] = 0
        words[layout.FIRST] = words[layout.FINAL] = words[layout.BEGINNER] = NONE
        words[layout.LENGTHS] = words[layout.LENGTHS + 1] = 0
        self._groups[:] = NONE
        self._of_row.clear()
        self._free: list[int] = []

    def forget(self) -> None:
        super().forget()
        self._special.clear()
        self._of_row.clear()

    def _new(self, rank: int, index: int, number: int, now: int) -> ClockedStream:
        if self._free:
            row = self._free.pop()
        else:
            row = len(self._of_row)
            self._of_row.append(None)
            if row * ROW == len(self._rows):
                self._grow()
            self._words[layout.USED] = row + 1
        stream = self._of_row[row] = ClockedStream(self._rows.data, row, rank, index, number, now)
        return stream

    def _grow(self) -> None:
        """Move the rows and heaps to twice as much memory."""
        count = max(_FIRST_ROWS, 2 * (len(self._rows) // ROW))
        rows, heaps = np.zeros(count * ROW, np.int64), np.zeros((2, count), np.int64)
        rows[: len(self._rows)] = self._rows
        heaps[:, : self._heaps.shape[1]] = self._heaps
        self._rows, self._heaps = rows, heaps
        self._words[layout.ROWS] = rows.ctypes.data
        for k in range(2):
            self._words[layout.HEAPS + k] = heaps[k].ctypes.data
        for stream in self._of_row:
            if stream is not None:
                stream.move(rows.data)

    def record(self, room: int) -> NDArray[np.int64]:
        """Record the first steps of the runs from now on: return an array of (number of the stream, ps after it)."""
        self._record = np.zeros((room, 2), np.int64)
        self._words[layout.RECORD], self._words[layout.ROOM] = self._record.ctypes.data, room
        return self._record

    def _begin(self, stream: ClockedStream, steps: int) -> None:
        stream.set(layout.LAST, steps)
        stream.set(layout.GREENLET, id(stream.greenlet))
        self._core.begin(self._address, stream.row)

    def _ended(self, stream: ClockedStream) -> None:
        self._core.end(self._address, stream.row)
        self._of_row[stream.row] = None
        self._free.append(stream.row)

    def _live(self, stream: ClockedStream, function: Callable[[], object]) -> None:
        stream.set(layout.BEGUN, 1)
        super()._live(stream, function)

    def run(self) -> None:
        before = stepped.running_address()
        stepped.set_running_machine(self._address)
        try:
            super().run()
        finally:
            stepped.set_running_machine(before)

    def _begin_one(self) -> bool:
        self._words[layout.HUB] = id(self._hub)
        row = self._words[layout.BEGINNER]
        if row == NONE:
            return False
        self._words[layout.BEGINNER] = NONE
        stream = self._of_row[row]
        assert stream is not None
        stream.greenlet.switch()
        return True

    # Scheduling points.

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        cost = self._costs.get(meaning)
        if cost is None:
            return self._aside(meaning, args)
        words = self._words
        if words[layout.OVER]:
            raise GreenletExit
        if self.words is not None:
            cost = 0  # its price depends on the accesses of others, so it is known when its turn has come
        chosen = self._core.step(self._address, cost)
        if chosen >= 0:
            self._switch(chosen)
            if self._core.made(self._address, cost):
                self._look_up()
        elif chosen == LOOK_UP:
            self._look_up()
        if self.words is not None:
            self.pass_picoseconds(self.words.price(meaning, args))
        if self.trace is not None:
            stream = self.running
            assert stream is not None
            self.trace.append((stream.rank, stream.index, meaning.__name__, where(sys._getframe(1))))
        if words[layout.CACHES]:
            kind = self._kinds.get(meaning)
            if kind is not None:
                self._core.touch(self._address, address_of(args[0], args[1]), kind)
        special = self._special.get(meaning)
        if special is not None:
            return special(*args)
        if not words[layout.TIMED]:
            return meaning(*args)
        result = meaning(*args)
        if changed(meaning, args, result):
            words[layout.VAIN] = 0
        return result

    def pass_picoseconds(self, picoseconds: int) -> None:
        """Advance the virtual time of the running stream.

        If its steps use what others use as well, it is chosen again before the next one: others may be earlier now.
        """
        super().pass_picoseconds(picoseconds)
        stream = self.running
        if stream is not None and picoseconds and (self.words is not None or self._words[layout.CACHES]):
            stream.set(layout.FRESH, 0)

    def machine_code(self, function: Callable[..., Any]) -> Callable[..., Any] | None:
        if self.trace is not None or self.words is not None or PLACES.actions:
            return None
        return stepped_loop(function)

    def _pass_on(self, stream: ClockedStream | None) -> bool:
        assert stream is None, "only the hub passes the turn on"
        chosen = self._core.first(self._address)
        if chosen == NO_STREAM:
            return False
        self._switch(chosen)
        return True

    def _switch(self, chosen: int) -> None:
        """Let a stream run that was chosen.  Return when the calling stream is chosen again."""
        stream = self._of_row[chosen]
        assert stream is not None
        if stream.greenlet:
            stream.greenlet.switch()
        else:
            self._words[layout.BEGINNER] = chosen
            self._hub.switch()

    # Primitives that schedule.

    def _pause(self) -> None:
        chosen = self._core.pause(self._address)
        if chosen >= 0:
            self._switch(chosen)

    def _futex_wait(self, words: Any, i: Any, expected: Any, nanoseconds: Any) -> None:
        if (int(words[i]) ^ int(expected)) & LOW:
            return
        self.sleep(address_of(words, i), in_picoseconds(int(nanoseconds)))

    def sleep(self, word: int, picoseconds: int) -> None:
        """Let the running stream sleep on the word at an address, for at most a time."""
        running = self._words[layout.RUNNING]
        chosen = self._core.wait(self._address, word, picoseconds)
        if chosen == NO_STREAM:
            self._hub.switch()
        elif chosen != running:
            self._switch(chosen)

    def wake(self, word: int) -> None:
        """Wake all streams that sleep on the word at an address."""
        self._core.wake(self._address, word, EVERYBODY)

    # Caches.

    def use_caches(self, address: int) -> None:
        """Let steps on shared words take their time in the caches whose words are at an address; 0 for none."""
        self._words[layout.CACHES] = address

    def copy_on(self) -> int:
        """Carry on the copies through the caches, as a part of the last step; see `hooks.copy_on`."""
        return self._core.copy_on(self._address)

    def _futex_wake(self, words: Any, i: Any, count: Any) -> int:
        return self._core.wake(self._address, address_of(words, i), int(count))

    def _wake_all(self) -> None:
        self._core.wake_all(self._address)


def _look_of(emulator: ClockedEmulator) -> Callable[[], None]:
    """Return what machine code calls when it is time for a look."""

    def look() -> None:
        if emulator.over:
            raise GreenletExit
        emulator._look_up()

    return look


def _address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _switch_of_greenlets() -> int:
    """Return the address of the C function that switches to a greenlet."""
    from greenlet import _greenlet

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_void_p * 8).from_address(pointer(_greenlet._C_API, b"greenlet._C_API"))
    return int(table[_SWITCH] or 0)


_SWITCH = 6  # place of PyGreenlet_Switch in greenlet's table, which is part of its binary interface
