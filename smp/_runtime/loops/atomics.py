"""The primitives of compiled loops, each defined by a Python function; ``instructions`` has their machine code.

    load store exchange compare_exchange fetch_add     on one element of a one-dimensional array
    compare_exchange_pair                              on two neighbouring elements at once
    store_release                                      a store that orders what is before it, not what is after
    pause prefetch prefetch_write flush                hints
    clock thread_clock stamp                           nanoseconds
    peek words_at call_at                              raw memory, for probes and for the runtime's own words
    futex_wait futex_wake                              block on a word, and wake the threads that block on it
    accept_fences fence_all                            a fence on the CPUs of all processes that accept it

All atomics except ``store_release`` are sequentially consistent.  Inside a compiled loop a primitive compiles to its
instruction.  Called from Python it executes the same instruction, through a call that takes about half a microsecond.
``primitive.meaning`` is the Python body: one step of an interpreter that runs the processors one at a time.

A spin loop must read through `load`.  The compiler moves a plain ``a[i]`` out of the loop, and the loop never ends.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .compiler import imported_with_numba, machine_code_of
from .interpreter import here
from .system_calls import SINCE_START

Words = NDArray[Any]
Index = int | np.integer[Any]
F = TypeVar("F", bound=Callable[..., Any])


class Primitive(Protocol):
    """A primitive, as `primitive` returns it."""

    meaning: Callable[..., Any]

    def __call__(self, *args: Any) -> Any: ...


def primitive(meaning: F) -> F:
    """Make a primitive, which Python can call, from the function whose body defines it."""
    compiled: Callable[..., Any] | None = None

    @functools.wraps(meaning)
    def call(*args: Any) -> Any:
        nonlocal compiled
        interpreter = here.interpreter
        if interpreter is not None:
            return interpreter.step(meaning, args)
        if compiled is None:
            compiled = machine_code_of(from_python)
        return compiled(*args)

    def from_python(*args: Any) -> Any:
        return call(*args)

    from_python.__qualname__ = f"{meaning.__qualname__}.{from_python.__name__}"
    cast("Primitive", call).meaning = meaning
    return cast("F", call)


@primitive
def load(words: Words, i: Index) -> Any:
    """Return ``words[i]``; nothing after the load is seen to happen before it."""
    return words[i]


@primitive
def store(words: Words, i: Index, value: Any) -> None:
    """Set ``words[i]``; nothing before the store is seen to happen after it."""
    words[i] = value


@primitive
def store_release(words: Words, i: Index, value: Any) -> None:
    """Set ``words[i]``; nothing before the store is seen to happen after it, but a later load may happen before it.

    On x86 this is a plain store, whereas `store` is a locked instruction. It is meant for the end of a critical
    section.
    """
    words[i] = value


@primitive
def exchange(words: Words, i: Index, value: int) -> int:
    """Set ``words[i]`` and return its previous value."""
    old = words[i]
    words[i] = value
    return cast("int", old)


@primitive
def compare_exchange(words: Words, i: Index, expected: int, value: int) -> int:
    """Set ``words[i]`` to ``value`` if it equals ``expected``; return its previous value."""
    old = words[i]
    if old == expected:
        words[i] = value
    return cast("int", old)


@primitive
def compare_exchange_pair(words: Words, i: Index, a: int, b: int, new_a: int, new_b: int) -> bool:
    """Set two neighbouring int64 elements at once if they have the expected values; return True if they had.

    ``words[i]`` and ``words[i + 1]`` are compared with ``a`` and ``b``, and replaced by ``new_a`` and ``new_b``. The
    pair must begin at a multiple of 16 bytes.
    """
    if words[i] != a or words[i + 1] != b:
        return False
    words[i], words[i + 1] = new_a, new_b
    return True


@primitive
def fetch_add(words: Words, i: Index, value: int) -> int:
    """Add ``value`` to ``words[i]``, wrapping around, and return its previous value."""
    old = words[i]
    total = int(old) + int(value)
    try:
        words[i] = total
    except OverflowError:
        bits = 8 * words.dtype.itemsize
        total &= (1 << bits) - 1
        words[i] = total - (1 << bits) if words.dtype.kind == "i" and total >> (bits - 1) else total
    return cast("int", old)


@primitive
def pause() -> None:
    """Hint to the CPU that this is a spin loop."""


@primitive
def prefetch(words: Words, i: Index) -> None:
    """Request the cache line of ``words[i]`` for reading; a hint, which may name any address."""


@primitive
def prefetch_write(words: Words, i: Index) -> None:
    """Request the cache line of ``words[i]`` for writing; a hint."""


@primitive
def flush(words: Words, i: Index) -> None:
    """Write the line of ``words[i]`` back and evict it from all caches, if the CPU has an instruction for it."""


@primitive
def clock() -> int:
    """Return the nanoseconds of the monotonic clock, which all processors share; `Processor.clock` returns seconds."""
    return time.monotonic_ns()


@primitive
def stamp() -> int:
    """Return the nanoseconds since the computer was started; on an emulated machine virtual time, without a charge."""
    return time.clock_gettime_ns(SINCE_START)


@primitive
def thread_clock() -> int:
    """Return the nanoseconds that this thread has spent on a CPU."""
    return time.thread_time_ns()


@primitive
def peek(address: int) -> int:
    """Return the int64 at a raw address."""
    import ctypes

    return ctypes.c_int64.from_address(int(address)).value


@functools.lru_cache(maxsize=4096)
def _view(address: int, count: int) -> Words:
    import ctypes

    return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(address))


@primitive
def words_at(address: int, count: int) -> Words:
    """View ``count`` int64 words at a raw address as an array; the caller keeps the memory alive."""
    return _view(int(address), int(count))


@primitive
def call_at(address: int, a: int, b: int, c: int, d: int, e: int) -> int:
    """Call the machine code at an address with five int64; a function of fewer arguments ignores the last ones."""
    import ctypes

    return int(ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(address)(a, b, c, d, e))


@primitive
def futex_wait(words: Words, i: Index, expected: int, nanoseconds: int) -> None:
    """Sleep if the low 32 bits of ``words[i]`` equal those of ``expected``, until woken, for at most ``nanoseconds``.

    It may return early for no reason, so the caller must look at the word again.
    """


@primitive
def futex_wake(words: Words, i: Index, count: int) -> int:
    """Wake at most ``count`` of the threads that sleep on ``words[i]``; return how many were woken."""
    return 0


@primitive
def accept_fences() -> int:
    """Let `fence_all` of any process reach the threads of this process; return 1 if that works, else 0.

    The first call in a process that has several threads can take some milliseconds, and every other call takes one
    system call.
    """
    return 1  # an interpreter makes one step after another, so there is nothing for a fence to order


@primitive
def fence_all() -> None:
    """Complete the stores of all threads of all processes that accept fences, before any later load of this thread.

    At some moment during this call, each of these threads passes a full fence.  The call takes one to some
    microseconds.  It makes a full fence in every store that precedes a load unnecessary.

    Linux leaves a CPU out if the thread that ran there before has ended, and belonged to the process that runs there
    now.  So a sleep that depends on this call also ends after a slice (decision 0049).
    """


imported_with_numba(f"{__package__}.instructions")
imported_with_numba(f"{__package__}.fences")
