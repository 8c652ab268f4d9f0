"""Which stream goes next under the clock: the earliest in virtual time.

    WAITING    a heap of the streams that can run and those that sleep until a deadline, by their time or deadline
    HELD       a heap of pausing streams whose turn came too early, by their previous pause: others make a step first

The running stream is in no heap.  ``emulated.turns`` says when a pausing stream may go on, and when a deadline comes;
it finds the same streams by a look at all of them.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from .by_step import least_step, made_a_step
from .heap import push, take
from .layout import (
    ALARM,
    BEFORE,
    ENTRIES,
    FRESH,
    HELD,
    KEY,
    LAST,
    LENGTHS,
    NEVER,
    NONE,
    NOW,
    NUMBER,
    PATIENCE,
    PAUSED,
    PAUSES,
    PAUSING,
    READY,
    RECORD,
    ROOM,
    ROW,
    RUNNING,
    RUNS,
    STEPS,
    TIMED,
    UNTIL,
    USED,
    VAIN,
    WAITING,
    heap_of,
    rows_of,
)
from .sleepers import wake

GO_ON, NO_STREAM = -1, -2  # instead of a stream: the running one goes on; none can


@inline
def _earlier(rows: Words, a: int, time: int, b: int) -> bool:
    """Return True if stream ``a``, at its own time, comes before stream ``b`` at a time."""
    now = rows[a * ROW + NOW]
    return bool(now < time or (now == time and rows[a * ROW + NUMBER] < rows[b * ROW + NUMBER]))


@inline
def _may(header: Words, stream: int) -> bool:
    """Return False if a stream pauses, and not all others have had their turns."""
    row = rows_of(header)[stream * ROW :]
    return bool(row[PAUSES] == 0 or (row[PAUSED] != header[STEPS] and least_step(header) > row[BEFORE]))


@inline
def _release(header: Words) -> None:
    """Move the held streams back for which all others have made their steps."""
    rows, held, least = rows_of(header), heap_of(header, HELD), least_step(header)
    while header[LENGTHS + HELD] > 0 and rows[held[0] * ROW + KEY] < least:
        stream = held[0]
        take(header, stream)
        push(header, WAITING, stream, rows[stream * ROW + NOW])


@inline
def _first_of_all(header: Words, running: int) -> int:
    """Return the earliest stream if all that can run are pausing, and none has waited long enough."""
    rows, held, first = rows_of(header), heap_of(header, HELD), running
    for place in range(header[LENGTHS + HELD]):
        stream = held[place]
        if first == NONE or _earlier(rows, stream, rows[first * ROW + NOW], first):
            first = stream
    return first


@inline
def _first(header: Words, running: int) -> int:
    """Return the earliest stream that may go on; NONE if none can run."""
    rows, waiting = rows_of(header), heap_of(header, WAITING)
    if header[LENGTHS + HELD] > 0:
        _release(header)
    may = running != NONE and _may(header, running)
    while header[LENGTHS + WAITING] > 0:
        stream = waiting[0]
        if may and _earlier(rows, running, rows[stream * ROW + KEY], stream):
            return running
        if rows[stream * ROW + PAUSES] == 0 or _may(header, stream):
            return int(stream)
        take(header, stream)
        push(header, HELD, stream, rows[stream * ROW + BEFORE])
    return running if may else _first_of_all(header, running)


@inline
def _by_looking(header: Words) -> int:
    """Return the stream that goes next if deadlines may have to come before pauses end, by a look at all of them."""
    rows, able = rows_of(header), 0
    for stream in range(header[USED]):
        if rows[stream * ROW + RUNS] != 0 and _may(header, stream):
            able += 1
    all_may = able == 0 or header[READY] == 1
    if all_may:
        able = header[READY]
    late = able == 0 or header[VAIN] > header[PATIENCE] * able
    found, earliest = NONE, NEVER
    for stream in range(header[USED]):
        row = rows[stream * ROW :]
        awake = row[RUNS] != 0 and not late and (all_may or _may(header, stream))
        time = row[NOW] if awake else row[UNTIL]
        if time < earliest or (time == earliest != NEVER and row[NUMBER] < rows[found * ROW + NUMBER]):
            found, earliest = stream, time
    return found


@inline
def resume(header: Words, stream: int) -> None:
    """End a stream's pause, if it pauses."""
    rows = rows_of(header)
    if rows[stream * ROW + PAUSES] != 0:
        rows[stream * ROW + PAUSES] = 0
        header[PAUSING] -= 1


@inline
def pass_on(header: Words, stream: int) -> int:
    """Choose the next stream, and let it run; return GO_ON if it is ``stream``, and NO_STREAM if none can run.

    ``stream`` is the calling stream, if it may go on, or else NONE.
    """
    if header[TIMED] > 0 and (header[VAIN] > header[PATIENCE] or header[PAUSING] == header[READY]):
        chosen = _by_looking(header)
    else:
        chosen = _first(header, stream)
    if chosen == NONE:
        return NO_STREAM
    if chosen == stream:
        resume(header, stream)
        return GO_ON
    rows, running = rows_of(header), header[RUNNING]
    if rows[chosen * ROW + UNTIL] != NEVER:
        wake(header, chosen, rows[chosen * ROW + UNTIL])
    resume(header, chosen)
    take(header, chosen)
    if running != NONE and running != chosen and rows[running * ROW + RUNS] != 0:
        push(header, WAITING, running, rows[running * ROW + NOW])
    header[RUNNING] = chosen
    return int(chosen)


@inline
def swap(header: Words, running: int) -> int:
    """Do `pass_on` if no stream pauses or has a deadline, which is quicker."""
    if header[LENGTHS + WAITING] == 0:
        return GO_ON
    rows, chosen = rows_of(header), heap_of(header, WAITING)[0]
    if _earlier(rows, running, rows[chosen * ROW + KEY], chosen):
        return GO_ON
    take(header, chosen)
    push(header, WAITING, running, rows[running * ROW + NOW])
    header[RUNNING] = chosen
    return int(chosen)


@inline
def turn(header: Words) -> int:
    """Choose the stream that makes the next step, before a step of the running one; return GO_ON if it is the same."""
    running = header[RUNNING]
    row = rows_of(header)[running * ROW :]
    if row[FRESH] != 0:
        row[FRESH] = 0
        return GO_ON
    if header[TIMED] > 0 or header[PAUSING] > 0:
        return pass_on(header, running)
    return swap(header, running)


@inline
def made(header: Words, charge: int) -> bool:
    """Note a step of the running stream; return True if it is time for a look at whether the run should end."""
    running = header[RUNNING]
    row = rows_of(header)[running * ROW :]
    made_a_step(header, running)
    header[STEPS] += 1
    row[LAST] = header[STEPS]
    row[NOW] += charge
    if header[STEPS] <= header[ROOM]:
        record = words_at(header[RECORD], ENTRIES)[2 * header[STEPS] - 2 :]
        record[0], record[1] = row[NUMBER], row[NOW]
    return bool(header[STEPS] >= header[ALARM])


@inline
def pause(header: Words) -> int:
    """Let the running stream pause after its step; return the stream that goes on, or GO_ON."""
    running = header[RUNNING]
    row = rows_of(header)[running * ROW :]
    header[VAIN] += 1
    if header[READY] == 1 and header[TIMED] == 0:
        return GO_ON
    row[BEFORE], row[PAUSED] = row[PAUSED], header[STEPS]
    row[PAUSES] = row[FRESH] = 1
    header[PAUSING] += 1
    return pass_on(header, running)
