"""Named places of a program, and what is done there: a table of this process.

    delay("swap")  ─▶  TABLE[slot of "swap"]      0: nothing; in a compiled loop a load, a compare, a branch not taken
                            │ address
                            ▼
    record             ENTRY  KEY  NEXT  KIND  AMOUNT ...     the entry looks for the record of its key, and acts

The slot and the key are made of the name, so that machine code kept on disk holds no address: it knows the table by a
symbol of the linker (see ``instructions``).  Names that share a slot are told apart by their keys, where it is no
longer quick.  The table is private to the process and the same for all of its threads.

Python goes by ``actions`` instead, which names the same treatments, and is empty when there are none.
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
TABLE: NDArray[np.int64] = np.zeros(SLOTS, np.int64)
"""For each slot the address of a record, or 0; its pages are made when they are written."""
ANY = ""
"""The name that stands for all others in ``actions``."""

actions: dict[str, Callable[[str], object]] = {}
"""What Python does when it comes to a place."""
timing: list[Timer] = []
"""Who measures the time between entering and leaving, if anybody does."""
carriers: list[Callable[[Any, Any], Any]] = []
"""While treatments are set that go with programs to the processors of a machine: what packs them."""


class Order(NamedTuple):
    """What is to be done at a place."""

    kind: int
    amount: int
    """ns of BUSY and SLEEP, units of WORK, bytes of BUFFER."""
    virtual: int
    """What an emulated machine charges for it, in ns."""
    call: Callable[[], object] | None = None
    """What is done, of CALL."""


class _Virtual(Protocol):
    def pass_time(self, nanoseconds: int) -> None: ...
    def time(self) -> int: ...


class Timer(Protocol):
    """Is told of places that are left as well as entered, and goes with programs to the processors of a machine."""

    def enter(self, name: str) -> None: ...
    def leave(self, name: str) -> None: ...
    def carried(self, program: Callable[..., Any], machine: Any) -> Callable[..., Any]: ...


class Enclosing:
    """A program around another, in whose name it goes: what is told of it is told of the one inside."""

    def __init_subclass__(cls) -> None:
        wraps_users(cls.__call__)

    def __init__(self, program: Callable[..., Any]) -> None:
        self.program = program
        self.__name__ = getattr(program, "__name__", type(program).__name__)

    @property
    def __code__(self) -> Any:
        return getattr(self.program, "__code__", None)

    def received(self, results: list[Any]) -> list[Any]:
        """Return the program's results, from what the processors sent."""
        return results


def key_of(name: str) -> int:
    """Return the number that stands for a name in all processes; never 0."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1 | 1


def slot_of(name: str) -> int:
    """Return its place in the table."""
    return key_of(name) >> 20 & (SLOTS - 1)


def enter(name: str) -> None:
    """Do what is to be done at a place; called where ``actions`` is not empty."""
    action = actions.get(name) or actions.get(ANY)
    if action is not None:
        action(name)


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
    if actions:
        enter(name)


def carried(program: Any, machine: Any) -> Any:
    """Return a program as it is sent to the processors of a machine: treated, or counted, if it is here."""
    if timing:
        return timing[0].carried(program, machine)
    return carriers[0](program, machine) if carriers else program


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


def _act_in_a_loop(address: int, key: int, name: int) -> int:
    """What a compiled loop calls where Python has to act."""
    known = _names.get(key)  # else it is another name of this slot
    with contextlib.suppress(Aborted):  # the loop meets it again at its next wait
        if known is not None:
            _act_here(known, in_a_loop=True)
    return 0


_call_back = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(_act_in_a_loop)


# What is set.

_setting = threading.RLock()
_orders: dict[str, Order] = {}
_calls: dict[str, tuple[int, int, int]] = {}  # what `act` is given for a name: its record, its key
_names: dict[int, str] = {}
_lock_word = np.zeros(16, np.int64)[8:]  # of LOCK, see `place_actions`; in a line that nothing else is in


def _after_fork() -> None:
    global _setting
    _setting = threading.RLock()
    _lock_word[0] = 0  # whoever held it is not here
    if timing:  # whoever counts is not here either
        timing.clear()
        actions.clear()
        TABLE[:] = 0


os.register_at_fork(after_in_child=_after_fork)


def setting() -> threading.RLock:
    """Return the lock under which the table is changed."""
    return _setting


def orders() -> dict[str, Order]:
    """Return what is set, by name."""
    return dict(_orders)


def install(wanted: Mapping[str, Order], interpreted: bool = False) -> None:
    """Set the treatments of this process, in place of those that were set; while places are counted, nothing is set.

    Parameters
    ----------
    wanted : mapping of str to Order
    interpreted : bool
        Whether programs of an emulated machine run in this process: compiled loops then charge virtual time.
    """
    with _setting:
        if timing:
            return
        for name in _orders:
            TABLE[slot_of(name)] = 0
        actions.clear()
        _orders.clear()
        if not wanted:
            return
        entry = _address(_call_back) if interpreted else int(machine_code(act).address)
        for name, order in wanted.items():
            _fill(name, order, entry)
            actions[name] = _act_here
        _orders.update(wanted)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _fill(name: str, order: Order, entry: int) -> None:
    key, slot = key_of(name), slot_of(name)
    _names[key] = name
    libc = ctypes.CDLL(None)
    word = _address(_call_back) if order.kind == CALL else _lock_word.ctypes.data
    take, free = _address(libc.malloc), _address(libc.free)
    record = _record(entry, key, int(TABLE[slot]), order.kind, order.amount, word, take, free)
    TABLE[slot] = record.ctypes.data
    _calls[name] = record.ctypes.data, key, 0


@functools.cache
def _record(*words: int) -> NDArray[np.int64]:
    """A record, which stays and never changes: a loop of another thread may be in it after the table has another."""
    return np.array(words, np.int64)


def _act_here(name: str, in_a_loop: bool = False) -> None:
    """Do what is set for a place, in Python: in real time, or in virtual where an emulated machine runs."""
    order = _orders.get(name)
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
        _native()(*_calls[name])


def now() -> int:
    """Return nanoseconds of a clock: virtual ones within programs of an emulated machine."""
    interpreter = here.interpreter
    return time.monotonic_ns() if interpreter is None else cast("_Virtual", interpreter).time()


if os.environ.get("SMP_TREATMENTS"):  # of a process that is treated from outside
    imported_with_numba("smp.perturb.places.settings")
