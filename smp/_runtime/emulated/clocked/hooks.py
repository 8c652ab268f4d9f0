"""Functions that machine code of loops calls at each of its steps, and that Python calls at its own.

    loop ── step(kind, word) ── the instruction on a shared word ── step(kind, word) ── ...
               │ another stream is earlier: switch to its greenlet; go on when this one is chosen again

The words of the machine that runs in this thread are found through a key of the thread.  Switching and looking call
Python, whose lock the loops hold.  Either may fail, when the run ends by force: the loop is then left by a jump to the
place where it was entered (``landing``), and the exception goes on from there.
"""

from __future__ import annotations

from ...loops.atomics import Words, call_at, words_at
from ...loops.compiler import inline
from ...loops.stepped.text import running_machine
from ..caches.copies import carry_on
from ..caches.layout import MEMORY
from ..caches.lines import touched
from ..virtual_time import NANOSECOND
from . import sleepers, turns
from .heap import take
from .layout import (
    ASLEEP_ON,
    BEGINNER,
    BEGUN,
    CACHES,
    CALL,
    CLOCK,
    COSTS,
    DECREF,
    FETCH_ADD,
    FRESH,
    FUTEX_WAIT,
    FUTEX_WAKE,
    GREENLET,
    HEADER,
    HUB,
    JUMP,
    KEY,
    LANDING,
    LENGTHS,
    LOAD,
    LOOK,
    NEVER,
    NONE,
    NOW,
    OVER,
    PAUSE,
    RANK,
    ROW,
    RUNNING,
    RUNS,
    STORE,
    STORE_RELEASE,
    SWITCH,
    USED,
    VAIN,
    WAITING,
    heap_of,
    rows_of,
)
from .turns import GO_ON, NO_STREAM

MADE, LOOK_UP = -1, -3  # of `step`: the step was made; it was made, and it is time for a look
_LOW = 0xFFFFFFFF


@inline
def _words(address: int) -> Words:
    return words_at(address, HEADER)


# Calls by Python, given the address of the header. Python switches to the stream that they return.


def step(address: int, charge: int) -> int:
    """Choose the stream that goes next, and make the step if it is the running one."""
    header = _words(address)
    chosen = turns.turn(header)
    if chosen != GO_ON:
        return chosen
    return LOOK_UP if turns.made(header, charge) else MADE


def made(address: int, charge: int) -> int:
    """Make the step of a stream that was chosen."""
    return int(turns.made(_words(address), charge))


def touch(address: int, word: int, kind: int) -> int:
    """Let the running stream's access to a word, which is its last step, take its time in the caches."""
    _touch(_words(address), word, kind)
    return 0


def copy_on(address: int) -> int:
    """Carry on the copies through the caches until one has ended, or another stream goes next; see `carry_on`."""
    header = _words(address)
    until = NEVER
    if header[LENGTHS + WAITING] > 0:
        until = rows_of(header)[heap_of(header, WAITING)[0] * ROW + KEY]
    return carry_on(words_at(header[CACHES], MEMORY), until)


def pause(address: int) -> int:
    return turns.pause(_words(address))


def wait(address: int, word: int, picoseconds: int) -> int:
    """Let the running stream sleep; return the stream that goes next."""
    header = _words(address)
    running = header[RUNNING]
    sleepers.sleep(header, running, word, picoseconds)
    rows_of(header)[running * ROW + FRESH] = 1
    return turns.pass_on(header, NONE)


def wake(address: int, word: int, count: int) -> int:
    header = _words(address)
    return sleepers.wake_on(header, word, count, rows_of(header)[header[RUNNING] * ROW + NOW])


def wake_all(address: int) -> int:
    header = _words(address)
    for stream in range(header[USED]):
        if rows_of(header)[stream * ROW + ASLEEP_ON] != 0:
            sleepers.wake(header, stream, 0)
    return 0


def begin(address: int, stream: int) -> int:
    sleepers.begin(_words(address), stream)
    return 0


def end(address: int, stream: int) -> int:
    """Drop a stream that has ended."""
    header = _words(address)
    take(header, stream)
    turns.resume(header, stream)
    if rows_of(header)[stream * ROW + RUNS] != 0:
        sleepers.rest(header, stream)
    return 0


def first(address: int) -> int:
    """Choose the stream that goes next, when none runs."""
    return turns.pass_on(_words(address), NONE)


# Calls by machine code of loops.


@inline
def _land(header: Words, stream: int, result: int) -> None:
    """Go on after a call of Python, unless it has raised an exception."""
    if result == 0:
        call_at(header[JUMP], rows_of(header)[stream * ROW + LANDING], 1, 0, 0, 0)
    call_at(header[DECREF], result, 0, 0, 0, 0)


@inline
def _switch(header: Words, running: int, chosen: int) -> None:
    """Let another stream run; return when the calling one is chosen again."""
    rows = rows_of(header)
    to = header[HUB]
    if chosen != NO_STREAM:
        if rows[chosen * ROW + BEGUN] != 0:
            to = rows[chosen * ROW + GREENLET]
        else:
            header[BEGINNER] = chosen
    _land(header, running, call_at(header[SWITCH], to, 0, 0, 0, 0))


@inline
def _step(header: Words, kind: int) -> None:
    running = header[RUNNING]
    if header[OVER] != 0:
        _land(header, running, call_at(header[CALL], header[LOOK], 0, 0, 0, 0))
    chosen = turns.turn(header)
    if chosen != GO_ON:
        _switch(header, running, chosen)
    if turns.made(header, header[COSTS + kind]):
        _land(header, running, call_at(header[CALL], header[LOOK], 0, 0, 0, 0))


@inline
def _touch(header: Words, word: int, kind: int) -> None:
    """Let the running stream wait for the line of a word, if the machine has caches."""
    if header[CACHES] != 0:
        row = rows_of(header)[header[RUNNING] * ROW :]
        row[NOW] = touched(words_at(header[CACHES], MEMORY), row[RANK], word, kind != LOAD, row[NOW])


def smp_step(kind: int, word: int) -> int:
    header = _words(running_machine())
    _step(header, kind)
    _touch(header, word, kind)
    if kind in (STORE, STORE_RELEASE, FETCH_ADD):
        header[VAIN] = 0
    return 0


def smp_changed(changed: int) -> int:
    """Note whether an exchange has changed its word."""
    if changed != 0:
        _words(running_machine())[VAIN] = 0
    return 0


def smp_pause() -> int:
    header = _words(running_machine())
    _step(header, PAUSE)
    running = header[RUNNING]
    chosen = turns.pause(header)
    if chosen != GO_ON:
        _switch(header, running, chosen)
    return 0


def smp_clock() -> int:
    header = _words(running_machine())
    row = rows_of(header)[header[RUNNING] * ROW :]
    row[NOW] += header[CLOCK]
    return int(row[NOW] // NANOSECOND)


def smp_stamp() -> int:
    header = _words(running_machine())
    return int(rows_of(header)[header[RUNNING] * ROW + NOW] // NANOSECOND)


def smp_wait(word: int, expected: int, nanoseconds: int) -> int:
    header = _words(running_machine())
    _step(header, FUTEX_WAIT)
    if (words_at(word, 1)[0] ^ expected) & _LOW != 0:
        return 0
    running = header[RUNNING]
    sleepers.sleep(header, running, word, sleepers.in_picoseconds(nanoseconds))
    rows_of(header)[running * ROW + FRESH] = 1
    chosen = turns.pass_on(header, NONE)
    if chosen != running:
        _switch(header, running, chosen)
    return 0


def smp_wake(word: int, count: int) -> int:
    header = _words(running_machine())
    _step(header, FUTEX_WAKE)
    return sleepers.wake_on(header, word, count, rows_of(header)[header[RUNNING] * ROW + NOW])


def smp_enter(landing: int) -> int:
    """Note where a loop is entered; return where the loop around it was."""
    header = _words(running_machine())
    row = rows_of(header)[header[RUNNING] * ROW :]
    before = row[LANDING]
    row[LANDING] = landing
    return int(before)


def smp_leave(before: int) -> int:
    header = _words(running_machine())
    rows_of(header)[header[RUNNING] * ROW + LANDING] = before
    return 0
