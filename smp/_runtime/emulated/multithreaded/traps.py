"""A waiting thread leaves its stream to another one, and gets a stream again when it can go on.

    RUNNING ── the retries are over ──▶ TRAPPING ──▶ SAVING ──▶ PARKING ──▶ UNMAPPED ── stream free ─▶ RESTORING ─┐
       ▲                                    │  only if a thread waits for a stream                               │
       │                                    └────────────▶ PARKING ──▶ PARKED ── the word changes ─┐             │
       └───────────────────────────────────────────────────────────────────────────────────────────┴─────────────┘
    RUNNING ── a full/empty operation on a trapped word ──▶ SERVING ── it can be done ──▶ RELEASING ──▶ RUNNING
                                                               └─ it cannot ──▶ TRAPPING

    TRAPPING     instruction words of the runtime
    SAVING       a store for each word of the thread's state, one after the other
    PARKING      the access that puts the thread into the queue of the word, or finds that it can go on
    PARKED       the thread keeps its stream, which does nothing until another thread needs it
    RESTORING    a load for each word of the state
    SERVING      the access that does the operation, and those of the queue that it makes possible
    RELEASING    an instruction word for each thread that can go on

A thread that needs a stream takes that of the thread that was parked first, and saves its state.  So states are saved
only where a stream is short, which explains why the study saw trapped threads go on within few cycles (section 3.2.1).

Source: the study of the Tera MTA, sections 3.2 and 3.3.2, tables 2 and 3.
"""

from __future__ import annotations

from ...loops.compiler import inline, merged
from . import layout
from .lists import append, append_ready, append_to_port, free_operation, new_operation, put, take
from .places import set_place
from .settings import Settings
from .state import (
    Arrays,
    code_at,
    counters,
    log_at,
    operation_at,
    pending_at,
    processor_at,
    registers_at,
    thread_at,
    totals_at,
)


@inline
def enter(s: Arrays, thread: int, mode: int, now: int) -> None:
    """Change the mode of a thread, and note it."""
    thread_at(s, thread)[layout.MODE] = mode
    if counters(s)[layout.LOGGED] < s.log_room:
        entry = log_at(s, counters(s)[layout.LOGGED])
        entry[0], entry[1], entry[2] = now, thread, mode
        counters(s)[layout.LOGGED] += 1


@merged
def make_ready(m: Settings, s: Arrays, thread: int, now: int) -> None:
    """Let a thread issue its next word as soon as its last one is long enough ago."""
    row = thread_at(s, thread)
    earliest = row[layout.ISSUED] + m.spacing
    if earliest <= now:
        append_ready(s, row[layout.PROCESSOR], s.operation_room + thread, now)
    else:
        put(s, s.operation_room + thread, earliest)


@merged
def can_go_on(m: Settings, s: Arrays, thread: int) -> bool:
    """Return True if nothing that is under way holds up the next word of a thread."""
    row = thread_at(s, thread)
    if pending_at(s, thread, row[layout.SEQUENCE] & (layout.WINDOW - 1))[0] != 0:
        return False
    word = code_at(s, row[layout.PC])
    if word[layout.MEMORY] != layout.NOTHING and row[layout.OUTSTANDING] >= m.outstanding:
        return False
    return bool(word[layout.CONTROL] != layout.QUIT or row[layout.OUTSTANDING] == 0)


@inline
def go_on(m: Settings, s: Arrays, thread: int, now: int) -> None:
    """Let a thread issue the next word of its program, or wait for what holds it up."""
    enter(s, thread, layout.RUNNING, now)
    if can_go_on(m, s, thread):
        make_ready(m, s, thread, now)
    else:
        thread_at(s, thread)[layout.BLOCKED] = 1


@inline
def trap(m: Settings, s: Arrays, thread: int, operation: int, now: int) -> None:
    """Begin the trap of a thread whose operation has to wait."""
    row = thread_at(s, thread)
    row[layout.OPERATION], row[layout.LEFT_OVER], row[layout.BLOCKED] = operation, m.trap_words, 0
    totals_at(s, row[layout.PROCESSOR])[layout.TRAPS] += 1
    enter(s, thread, layout.TRAPPING, now)
    make_ready(m, s, thread, now)


@inline
def access_by_runtime(s: Arrays, thread: int, how: int, now: int) -> None:
    """Send the operation for which a thread has trapped to the word once more."""
    row = thread_at(s, thread)
    operation = row[layout.OPERATION]
    operation_at(s, operation)[layout.RUNTIME] = how
    enter(s, thread, layout.SERVING if how == layout.SERVE else layout.PARKING, now)
    append_to_port(s, row[layout.PROCESSOR], operation)


@inline
def need_stream(m: Settings, s: Arrays, thread: int, now: int) -> None:
    """Give a thread a stream that is free, or that of a parked thread; or let it wait for one."""
    p = thread_at(s, thread)[layout.PROCESSOR]
    processor = processor_at(s, p)
    enter(s, thread, layout.UNMAPPED, now)
    if processor[layout.MAPPED] < processor[layout.STREAMS]:
        processor[layout.MAPPED] += 1
        begin_copy(m, s, thread, layout.RESTORING, now)
        return
    parked = layout.NONE
    for other in range(counters(s)[layout.THREADS]):
        row = thread_at(s, other)
        rests = row[layout.MODE] == layout.PARKED and row[layout.PROCESSOR] == p and row[layout.WAITS] == layout.QUEUED
        if rests and (parked == layout.NONE or row[layout.ORDER] < thread_at(s, parked)[layout.ORDER]):
            parked = other
    if parked == layout.NONE:
        append(s, p, layout.WAITING_FIRST, s.operation_room + thread)
        return
    enter(s, parked, layout.UNMAPPED, now)
    thread_at(s, parked)[layout.SAVED] = 1
    begin_copy(m, s, thread, layout.SAVING, now)  # of the other's state; then it restores its own


@inline
def begin_copy(m: Settings, s: Arrays, thread: int, mode: int, now: int) -> None:
    """Begin to save or restore a state."""
    thread_at(s, thread)[layout.LEFT_OVER] = m.save_words
    if mode == layout.RESTORING:
        totals_at(s, thread_at(s, thread)[layout.PROCESSOR])[layout.REMAPS] += 1
    enter(s, thread, mode, now)
    make_ready(m, s, thread, now)


@inline
def leave_stream(m: Settings, s: Arrays, p: int, now: int) -> None:
    """Give the stream of a thread that has left it to the next thread that waits for one."""
    processor_at(s, p)[layout.MAPPED] -= 1
    if processor_at(s, p)[layout.WAITING_FIRST] != layout.NONE:
        processor_at(s, p)[layout.MAPPED] += 1
        begin_copy(m, s, take(s, p, layout.WAITING_FIRST) - s.operation_room, layout.RESTORING, now)


@inline
def release_next(m: Settings, s: Arrays, releaser: int, now: int) -> bool:
    """Let the next thread go on whose operation a thread has done; return False if there is none left."""
    found = layout.NONE
    for thread in range(counters(s)[layout.THREADS]):
        row = thread_at(s, thread)
        served = row[layout.WAITS] == layout.SERVED and row[layout.RELEASER] == releaser
        if served and (found == layout.NONE or row[layout.ORDER] < thread_at(s, found)[layout.ORDER]):
            found = thread
    if found == layout.NONE:
        return False
    row = thread_at(s, found)
    row[layout.WAITS] = 0
    if row[layout.MODE] == layout.PARKED:
        go_on(m, s, found, now)
    else:
        need_stream(m, s, found, now)
    return True


@inline
def is_released(s: Arrays, releaser: int) -> bool:
    """Return True if a thread still has to be let go on by another one."""
    for thread in range(counters(s)[layout.THREADS]):
        if thread_at(s, thread)[layout.WAITS] == layout.SERVED and thread_at(s, thread)[layout.RELEASER] == releaser:
            return True
    return False


@inline
def runtime_word(m: Settings, s: Arrays, thread: int, now: int) -> None:
    """Issue a word of the runtime on the stream of a thread."""
    row = thread_at(s, thread)
    mode, p = row[layout.MODE], row[layout.PROCESSOR]
    if mode == layout.RELEASING:
        release_next(m, s, thread, now)
        if not is_released(s, thread):
            go_on(m, s, thread, now)
        else:
            put(s, s.operation_room + thread, now + m.spacing)
        return
    if mode == layout.PARKING:
        access_by_runtime(s, thread, layout.PARK, now)
        return
    row[layout.LEFT_OVER] -= 1
    if mode == layout.TRAPPING:
        if row[layout.LEFT_OVER] <= 0:
            short = processor_at(s, p)[layout.WAITING_FIRST] != layout.NONE and m.save_words > 0
            row[layout.SAVED], row[layout.LEFT_OVER] = int(short), m.save_words
            enter(s, thread, layout.SAVING if short else layout.PARKING, now + m.trap_spacing)
        put(s, s.operation_room + thread, now + m.trap_spacing)
        return
    operation = new_operation(s)
    kept = operation_at(s, operation)
    kept[:] = 0
    kept[layout.KIND], kept[layout.OWNER] = layout.KEEP, thread
    kept[layout.ADDRESS] = s.memory_room + thread * m.save_words + row[layout.LEFT_OVER]
    set_place(m, s, operation)
    append_to_port(s, p, operation)


@inline
def copied(m: Settings, s: Arrays, thread: int, now: int) -> None:
    """Go on after a word of a state was saved or restored."""
    row = thread_at(s, thread)
    if row[layout.LEFT_OVER] > 0:
        make_ready(m, s, thread, now)
    elif row[layout.MODE] == layout.RESTORING:
        row[layout.SAVED] = 0
        go_on(m, s, thread, now)
    elif row[layout.OPERATION] != layout.NONE:
        enter(s, thread, layout.PARKING, now)
        make_ready(m, s, thread, now)
    else:
        begin_copy(m, s, thread, layout.RESTORING, now)


@inline
def runtime_answer(m: Settings, s: Arrays, operation: int, now: int) -> None:
    """Go on after the runtime's access to a word."""
    row = operation_at(s, operation)
    thread, outcome = row[layout.OWNER], row[layout.OUTCOME]
    own = thread_at(s, thread)
    if outcome == layout.AGAIN:  # it was only to be served, and could not be
        trap(m, s, thread, operation, now)
        return
    own[layout.PENDING + row[layout.SLOT]] -= 1
    own[layout.OUTSTANDING] -= 1
    own[layout.OPERATION] = layout.NONE
    if outcome == layout.DONE and row[layout.INTO_REGISTER] != 0 and row[layout.KIND] <= layout.READFE:
        registers_at(s, thread)[row[layout.INTO_REGISTER]] = row[layout.VALUE]
    free_operation(s, operation)
    if outcome == layout.LEFT_IN_QUEUE:
        if own[layout.SAVED] != 0:
            enter(s, thread, layout.UNMAPPED, now)
            leave_stream(m, s, own[layout.PROCESSOR], now)
        else:
            enter(s, thread, layout.PARKED, now)
            if processor_at(s, own[layout.PROCESSOR])[layout.WAITING_FIRST] != layout.NONE:
                other = take(s, own[layout.PROCESSOR], layout.WAITING_FIRST) - s.operation_room
                need_stream(m, s, other, now)
    elif is_released(s, thread):
        enter(s, thread, layout.RELEASING, now)
        make_ready(m, s, thread, now)
    else:
        own[layout.SAVED] = 0
        go_on(m, s, thread, now)
