"""Named places of a program, and what is done there: a table of this process.

    delay("swap")  ─▶  table[slot of "swap"]      0: nothing; in a compiled loop a load, a compare, a branch not taken
                            │ address
                            ▼
    record             ENTRY  KEY  NEXT  KIND  AMOUNT ...     the entry looks for the record of its key, and acts

The slot and the key are made of the name, so that machine code kept on disk holds no address: it knows the table by a
symbol of the linker (see ``instructions``).  Names that share a slot are told apart by their keys, where it is no
longer quick.  Python goes by ``actions`` instead, which names the same treatments, and is empty when there are none.

All of it is one object, `PLACES`: private to the process, and the same for all of its threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from smp.errors import Aborted

from ..source.lines import wraps_users
from .compiler import imported_with_numba
from .interpreter import here
from .place_actions import CALL, SLEEP, act, machine_code

SLOTS = 1 << 16
SYMBOL = "smp_treatments"
ANY = ""
"""The name that stands for all others in ``actions``."""


class Order(NamedTuple):
    """What is to be done at a place."""

    kind: int
    amount: int
    """ns of BUSY and SLEEP, units of WORK, bytes of BUFFER."""
    virtual: int
    """What an emulated machine charges for it, in ns."""
    call: Callable[[], object] | None = None
    """What is done, of CALL."""


Carrier = Callable[[Any, Any], Any]


class _Virtual(Protocol):
    def pass_time(self, nanoseconds: int) -> None: ...
    def time(self) -> int: ...


class Timer(Protocol):
    """Measures the time between entering and leaving, and goes with programs to the processors of a machine."""

    def enter(self, name: str) -> None: ...
    def leave(self, name: str) -> None: ...
    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]: ...


class Enclosing:
    """A program around another, in whose name it goes: errors and reports name the one inside."""

    def __init_subclass__(cls) -> None:
        wraps_users(cls.__call__)

    def __init__(self, program: Callable[..., Any]) -> None:
        self.program = program
        self.__name__ = getattr(program, "__name__", type(program).__name__)

    @property
    def __code__(self) -> Any:
        return getattr(self.program, "__code__", None)

    @property
    def __closure__(self) -> Any:
        return getattr(self.program, "__closure__", None)

    @property
    def __globals__(self) -> Any:
        return getattr(self.program, "__globals__", {})

    def received(self, results: list[Any]) -> list[Any]:
        """Return the program's results, from what the processors sent."""
        return results


def key_of(name: str) -> int:
    """Return the number that stands for a name in all processes; never 0."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1 | 1


def slot_of(name: str) -> int:
    """Return its place in the table."""
    return key_of(name) >> 20 & (SLOTS - 1)


def delay(name: str) -> None:
    """Name a place of a program: it does nothing, until a treatment is set for this name (see `smp.perturb`).

    Parameters
    ----------
    name : str
        In a compiled loop a literal, for its place in the table is found when the loop is compiled.

    Notes
    -----
    Without a treatment it costs a compiled loop less than a nanosecond: a load, and a branch that is not taken.
    Treatments are set before a loop begins; one that runs need not see a change.
    """
    if _actions:
        PLACES.enter(name)


def received(program: Any, results: list[Any]) -> list[Any]:
    """Return the results of a program that was `carried`."""
    return program.received(results) if isinstance(program, Enclosing) else results


@functools.cache
def _native() -> Callable[[int, int, int], int]:
    """`act` for Python, which keeps the interpreter lock meanwhile, as the slower Python code would."""
    return cast(
        "Callable[[int, int, int], int]",
        ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(machine_code(act).address),
    )


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def _record(*words: int) -> NDArray[np.int64]:
    """A record, which stays and never changes: a loop of another thread may be in it after the table has another."""
    return np.array(words, np.int64)


def now() -> int:
    """Return nanoseconds of a clock: virtual ones within programs of an emulated machine."""
    interpreter = here.interpreter
    return time.monotonic_ns() if interpreter is None else cast("_Virtual", interpreter).time()


class Places:
    """What is done at the named places of this process.

    Attributes
    ----------
    table : int64 array
        For each slot the address of a record, or 0; its pages are made when they are written.
    actions : dict of str to callable
        What Python does when it comes to a place; always the same dictionary, so that a look at it costs little.
    timer : Timer or None
        Who measures the time between entering and leaving.
    carrier : callable or None
        What makes, of a program and a machine, a program that takes the treatments to the machine's processors.
    setting : lock
        It is held while any of these is changed.
    """

    def __init__(self) -> None:
        self.table: NDArray[np.int64] = np.zeros(SLOTS, np.int64)
        self.actions: dict[str, Callable[[str], object]] = {}
        self.timer: Timer | None = None
        self.carrier: Carrier | None = None
        self.setting = threading.RLock()
        self._lock_word = np.zeros(16, np.int64)[8:]  # of LOCK, see `place_actions`; in a line that nothing else is in
        self._orders: dict[str, Order] = {}
        self._calls: dict[str, tuple[int, int, int]] = {}  # what `act` is given for a name: its record, its key
        self._names: dict[int, str] = {}
        self._call_back = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(self._act_in_a_loop)

    def __reduce__(self) -> str:  # by name, in programs that look at it
        return "PLACES"

    def after_fork(self) -> None:
        """Take away what the threads of the parent had in hand, which are not here."""
        self.setting = threading.RLock()
        self._lock_word[0] = 0
        if self.timer is not None:
            self.timer = None
            self.actions.clear()
            self.table[:] = 0

    def enter(self, name: str) -> None:
        """Do what is to be done at a place; called where ``actions`` is not empty."""
        action = self.actions.get(name) or self.actions.get(ANY)
        if action is not None:
            action(name)

    def orders(self) -> dict[str, Order]:
        """Return what is set, by name."""
        return dict(self._orders)

    def install(self, wanted: Mapping[str, Order], interpreted: bool = False) -> None:
        """Set the treatments of this process, in place of those that were set; while places are counted, set nothing.

        Parameters
        ----------
        wanted : mapping of str to Order
        interpreted : bool
            Whether programs of an emulated machine run in this process: compiled loops then charge virtual time.
        """
        with self.setting:
            if self.timer is not None:
                return
            for name in self._orders:
                self.table[slot_of(name)] = 0
            self.actions.clear()
            self._orders.clear()
            if not wanted:
                return
            entry = _address(self._call_back) if interpreted else int(machine_code(act).address)
            for name, order in wanted.items():
                self._fill(name, order, entry)
                self.actions[name] = self._act_here
            self._orders.update(wanted)

    def _fill(self, name: str, order: Order, entry: int) -> None:
        key, slot = key_of(name), slot_of(name)
        self._names[key] = name
        libc = ctypes.CDLL(None)
        word = _address(self._call_back) if order.kind == CALL else self._lock_word.ctypes.data
        take, free = _address(libc.malloc), _address(libc.free)
        record = _record(entry, key, int(self.table[slot]), order.kind, order.amount, word, take, free)
        self.table[slot] = record.ctypes.data
        self._calls[name] = record.ctypes.data, key, 0

    def _act_here(self, name: str, in_a_loop: bool = False) -> None:
        """Do what is set for a place, in Python: in real time, or in virtual where an emulated machine runs."""
        order = self._orders.get(name)
        if order is None:
            return
        interpreter = here.interpreter
        if interpreter is not None and (order.call is None or in_a_loop):  # a loop over local data makes no steps
            cast("_Virtual", interpreter).pass_time(order.virtual)
        elif order.call is not None:
            order.call()
        elif order.kind == SLEEP:
            time.sleep(order.amount * 1e-9)
        else:
            _native()(*self._calls[name])

    def _act_in_a_loop(self, address: int, key: int, name: int) -> int:
        """Do what is set for a place where a compiled loop has Python act."""
        known = self._names.get(key)  # else it is another name of this slot
        with contextlib.suppress(Aborted):  # the loop meets it again at its next wait
            if known is not None:
                self._act_here(known, in_a_loop=True)
        return 0

    def carried(self, program: Any, machine: Any) -> Any:
        """Return a program as it is sent to the processors of a machine: treated, or counted, if it is here."""
        if (timer := self.timer) is not None:  # another thread may end the counting, or a block of treatments
            return timer.carried(program, machine)
        return program if (carrier := self.carrier) is None else carrier(program, machine)


PLACES = Places()
carried = PLACES.carried
_actions = PLACES.actions
os.register_at_fork(after_in_child=PLACES.after_fork)
if os.environ.get("SMP_TREATMENTS"):  # of a process that is treated from outside
    imported_with_numba("smp.perturb.places.settings")
