"""Named places of a program and the treatments set for them, in a table of this process.

    delay("swap")  ─▶  table[slot of "swap"]      0: nothing; in a compiled loop a load, a compare, a branch not taken
                            │ address
                            ▼
    record             ENTRY  KEY  NEXT  KIND  AMOUNT ...     the entry finds the record of its key, and acts on it

The slot and the key are computed from the name, so machine code that is kept on disk contains no address: it refers
to the table by a symbol of the linker (see ``instructions``).  Names that share a slot have different keys, which are
compared only after the quick test of the slot has found a record.  Python uses ``actions`` instead, which holds the
same treatments by name, and is empty if there are none.

The object `PLACES` holds all of this.  It is private to the process, and shared by all threads of the process.
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

from ..source.lines import calls_programs, wraps_users
from .compiler import imported_with_numba
from .interpreter import here
from .place_actions import CALL, SLEEP, act, machine_code

SLOTS = 1 << 16
SYMBOL = "smp_treatments"
ANY = ""
"""The key in ``actions`` that stands for every name without an entry of its own."""


class Ends(Protocol):
    """Follows the passes of places from entering to leaving."""

    def enter(self, name: str) -> None: ...
    def leave(self, name: str) -> None: ...


class Order(NamedTuple):
    """A treatment as it is to be carried out at a place."""

    kind: int
    amount: int
    """Nanoseconds for BUSY and SLEEP, units for WORK, bytes for BUFFER."""
    virtual: int
    """Nanoseconds that an emulated machine charges for it."""
    call: Callable[[], object] | None = None
    """Function to call, for CALL."""
    end: Ends | None = None
    """Follows the passes of the place, in Python."""


Carrier = Callable[[Any, Any], Any]


class _Virtual(Protocol):
    def pass_time(self, nanoseconds: int) -> None: ...
    def time(self) -> int: ...


class Timer(Ends, Protocol):
    """Measures the time between entering and leaving a place, also on the processors of a machine."""

    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]: ...


@calls_programs
def called(program: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a program, and return its result; None if it leaves by ``proc.exit(0)``, which raises SystemExit."""
    try:
        return program(*args, **kwargs)
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise
        return None


class Enclosing:
    """A program that wraps another and takes its name, so that errors and reports name the inner program."""

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
        """Return the program's results, given what the processors sent."""
        return results


def key_of(name: str) -> int:
    """Return the number that stands for a name in all processes; never 0."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1 | 1


def slot_of(name: str) -> int:
    """Return the slot of a name in the table."""
    return key_of(name) >> 20 & (SLOTS - 1)


def delay(name: str) -> None:
    """Name a place of a program. It has no effect until a treatment is set for this name (see `smp.perturb`).

    Parameters
    ----------
    name : str
        Name of the place. In a compiled loop it must be a literal, because its slot in the table is computed when
        the loop is compiled.

    Notes
    -----
    Without a treatment it costs a compiled loop less than a nanosecond: a load, and a branch that is not taken.
    Treatments are set before a loop begins; a loop that is running may miss a change.
    """
    if _actions:
        PLACES.enter(name)


def received(program: Any, results: list[Any]) -> list[Any]:
    """Return the results of a program that may have been wrapped by `carried`."""
    return program.received(results) if isinstance(program, Enclosing) else results


@functools.cache
def _native() -> Callable[[int, int, int], int]:
    """Return `act` for calls from Python; it holds the interpreter lock, as the slower Python code would."""
    return cast(
        "Callable[[int, int, int], int]",
        ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(machine_code(act).address),
    )


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@functools.cache
def _record(*words: int) -> NDArray[np.int64]:
    """Return a record, which is kept for ever and never changes.

    A loop in another thread may still be using it after the table refers to another record.
    """
    return np.array(words, np.int64)


def now() -> int:
    """Return the nanoseconds of a clock, which is virtual within programs of an emulated machine."""
    interpreter = here.interpreter
    return time.monotonic_ns() if interpreter is None else cast("_Virtual", interpreter).time()


class Places:
    """The treatments set for the named places of this process.

    Attributes
    ----------
    table : int64 array
        For each slot, the address of a record, or 0. The system provides its pages when they are written.
    actions : dict of str to callable
        Functions that Python calls at places, by name. It is always the same dictionary, so that testing it is cheap.
    ends : dict of str to Ends
        By name, what follows the passes of places in Python.  It is always the same dictionary, too.
    timer : Timer or None
        Measures the time between entering and leaving while places are counted; otherwise None.
    carrier : callable or None
        Makes, from a program and a machine, a program that takes the treatments to the machine's processors.
    setting : lock
        Held while any of these is changed.
    """

    def __init__(self) -> None:
        self.table: NDArray[np.int64] = np.zeros(SLOTS, np.int64)
        self.actions: dict[str, Callable[[str], object]] = {}
        self.ends: dict[str, Ends] = {}
        self.timer: Timer | None = None
        self.carrier: Carrier | None = None
        self.setting = threading.RLock()
        self._lock_word = np.zeros(16, np.int64)[8:]  # of LOCK, see `place_actions`; on a cache line of its own
        self._orders: dict[str, Order] = {}
        self._calls: dict[str, tuple[int, int, int]] = {}  # by name, the arguments of `act`: record, key, 0
        self._names: dict[int, str] = {}
        self._call_back = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(self._act_in_a_loop)

    def __reduce__(self) -> str:  # by name, in programs that refer to it
        return "PLACES"

    def after_fork(self) -> None:
        """Reset the locks in a forked child: threads of the parent that may have held them do not exist here.

        If the parent was counting places, its timer, its actions and its table are cleared.
        """
        self.setting = threading.RLock()
        self._lock_word[0] = 0
        if self.timer is not None:
            self.timer = None
            self.actions.clear()
            self.table[:] = 0

    def enter(self, name: str) -> None:
        """Carry out the action of a place; called only if ``actions`` is not empty."""
        action = self.actions.get(name) or self.actions.get(ANY)
        if action is not None:
            action(name)

    def orders(self) -> dict[str, Order]:
        """Return the treatments that are set, by name."""
        return dict(self._orders)

    def install(self, wanted: Mapping[str, Order], interpreted: bool = False) -> None:
        """Replace the treatments of this process; while places are counted, do nothing.

        Parameters
        ----------
        wanted : mapping of str to Order
            Treatments by the names of their places.
        interpreted : bool
            True if programs of an emulated machine run in this process; compiled loops then charge virtual time.
        """
        with self.setting:
            if self.timer is not None:
                return
            for name in self._orders:
                self.table[slot_of(name)] = 0
            self.actions.clear()
            self.ends.clear()
            self._orders.clear()
            if not wanted:
                return
            entry = _address(self._call_back) if interpreted else int(machine_code(act).address)
            for name, order in wanted.items():
                self._fill(name, order, entry)
                self.actions[name] = self._act_here
                if order.end is not None:
                    self.ends[name] = order.end
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
        """Carry out from Python the treatment that is set for a place.

        It takes real time, or virtual time if an emulated machine runs.
        """
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
        """Carry out, from Python, the treatment of a place that a compiled loop has reached."""
        known = self._names.get(key)  # None if another name of this slot is meant
        with contextlib.suppress(Aborted):  # the loop meets the abort again at its next wait
            if known is not None:
                self._act_here(known, in_a_loop=True)
        return 0

    def carried(self, program: Any, machine: Any) -> Any:
        """Return a program in the form in which it is sent to a machine's processors.

        If places are counted here, or ``carrier`` is set, the program is wrapped to do the same on the processors.
        """
        if (timer := self.timer) is not None:  # read once: another thread may reset it
            return timer.carried(program, machine)
        return program if (carrier := self.carrier) is None else carrier(program, machine)


PLACES = Places()
carried = PLACES.carried
_actions = PLACES.actions
os.register_at_fork(after_in_child=PLACES.after_fork)
if os.environ.get("SMP_TREATMENTS"):  # treatments are set from outside this process
    imported_with_numba("smp.perturb.places.settings")
