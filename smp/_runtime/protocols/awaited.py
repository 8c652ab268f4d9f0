"""Numbers that one thread changes, and another one awaits: it spins for a moment, then sleeps.

    NUMBER   exchange, by the thread that changes it                load, by the one that awaits a change
    ASLEEP   exchange to 1 before it sleeps, and store of 0         load, by the one that changes NUMBER, after that:
             afterwards, by the thread that awaits a change         if it is 1, it wakes the other one

All three orders are full fences.  So the thread that changes NUMBER sees ASLEEP, or the one that has stored ASLEEP sees
the new NUMBER before it sleeps, because the system compares NUMBER once more.  A number is changed by one thread at a
time, and awaited by one.  Its low 32 bits never return to a value that is still awaited.

These words are those of threads of one process, which Python has started.  The entry points release the interpreter's
lock.  They are kept in a file of their own, so that a program without a machine does not compile those of machines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..loops.atomics import Words, clock, exchange, futex_wait, futex_wake, load, pause, store, words_at
from ..loops.compiler import inline
from ..loops.object_files import ObjectFiles
from ..loops.python_calls import builtin, name_of
from .wait import EVER

NUMBER, ASLEEP, WORDS = 0, 1, 2


@inline
def change(words: Words, number: int) -> bool:
    """Change the number; return True if the thread that awaits this sleeps, and so has been woken."""
    exchange(words, NUMBER, number)
    if load(words, ASLEEP) == 0:
        return False
    futex_wake(words, NUMBER, 1)
    return True


@inline
def await_change(words: Words, seen: int, spin: int, limit: int) -> int:
    """Wait until the number is not ``seen``, for ``limit`` ns at most, without sleeping for the first ``spin`` ns.

    Return the number, which is ``seen`` if the time is over.
    """
    began = clock()
    while load(words, NUMBER) == seen and clock() - began < spin:
        pause()
    if load(words, NUMBER) == seen:
        exchange(words, ASLEEP, 1)
        while load(words, NUMBER) == seen:
            left = limit - (clock() - began)
            if left <= 0:
                break
            futex_wait(words, NUMBER, seen, left)
        store(words, ASLEEP, 0)
    return int(load(words, NUMBER))


def begin(start: int, number: int, linger: int) -> int:
    """Change a number.  If the other thread is awake, linger for some ns, in which that takes the interpreter's lock.

    Otherwise it would find the lock taken, and would fall asleep.
    """
    if change(words_at(start, WORDS), number):
        return 1
    until = clock() + linger
    while clock() < until:
        pause()
    return 0


def end(done: int, number: int, spin: int, limit: int) -> int:
    """Wait until a number has a value; return 0 if it has not changed for ``limit`` ns, else 1."""
    words = words_at(done, WORDS)
    seen = int(load(words, NUMBER))
    while seen != number:
        last, seen = seen, await_change(words, seen, spin, limit)
        if seen == last:
            return 0
    return 1


def serve(done: int, start: int, seen: int, spin: int) -> int:
    """Change one number to ``seen``, and then wait until the other one is another, and return that."""
    change(words_at(done, WORDS), seen)
    return await_change(words_at(start, WORDS), seen, spin, EVER)


class Entries:
    """The entry points, callable from Python; the addresses are those of numbers."""

    begin: Callable[[int, int, int], int]
    end: Callable[[int, int, int, int], int]
    serve: Callable[[int, int, int, int], int]

    _entries = ((begin, 3), (end, 4), (serve, 4))

    def __init__(self, engine: Any) -> None:
        self._engine, self._definitions = engine, []
        for function, _ in self._entries:
            name = function.__name__
            made, definition = builtin(name, engine.get_function_address(name_of(name)))
            self._definitions.append(definition)
            setattr(self, name, made)


@functools.cache
def entries() -> Entries:
    """Return the entry points; compile them if no file of this version of their code was kept."""
    return Entries(ObjectFiles("awaited", Entries._entries, takes="about a second").engine())
