"""One instruction word of a stream: its operation on memory, its arithmetic, and the choice of the next word."""

from __future__ import annotations

from ...loops.compiler import inline, merged
from . import layout
from .background import background_first, catch_up, issue_background
from .lists import append_to_port, end_thread, new_operation, new_thread, put, take
from .places import set_place
from .settings import Settings
from .state import (
    Arrays,
    at,
    code_at,
    counters,
    operation_at,
    pending_at,
    processor_at,
    registers_address,
    registers_at,
    thread_at,
    totals_at,
)
from .traps import can_go_on, need_stream, runtime_word


@merged
def issue(m: Settings, s: Arrays, p: int, now: int) -> None:
    """Issue a word on a processor on which a thread is ready, or one of the background that is ready longer."""
    row = processor_at(s, p)
    if row[layout.BACKGROUND_SEEN] < now:
        catch_up(m, s, p, now)
    row[layout.BACKGROUND_SEEN] = now + 1
    if background_first(m, s, p, at(s.when, row[layout.READY_FIRST])[0]):
        issue_background(m, s, p, now)
        return
    entry = take(s, p, layout.READY_FIRST)
    counters(s)[layout.READY] -= 1
    thread = entry - s.operation_room
    if thread < 0:  # a retry that needs an issue slot
        append_to_port(s, p, entry)
        return
    totals_at(s, p)[layout.WORDS_ISSUED] += 1
    thread_at(s, thread)[layout.ISSUED] = now
    if thread_at(s, thread)[layout.MODE] == layout.RUNNING:
        word_of_program(m, s, p, thread, now)
    else:
        runtime_word(m, s, thread, now)


@merged
def word_of_program(m: Settings, s: Arrays, p: int, thread: int, now: int) -> None:
    """Issue the next word of a thread's program."""
    row, registers = thread_at(s, thread), registers_address(s, thread)
    pc = row[layout.PC]
    word = code_at(s, pc)
    if word[layout.MEMORY] != layout.NOTHING:
        address = at(registers, word[layout.BASE])[0] + at(registers, word[layout.INDEX])[0] + word[layout.OFFSET]
        if address < 0 or address >= s.memory_room:
            counters(s)[layout.STATUS], counters(s)[layout.CULPRIT] = layout.BAD_ADDRESS, thread
            return
        begin_operation(m, s, p, thread, word[layout.MEMORY], address, word[layout.REGISTER], word[layout.LOOKAHEAD])
    kind, result = word[layout.ARITHMETIC], 0
    if kind != layout.NOTHING:
        left, right = at(registers, word[layout.LEFT])[0], at(registers, word[layout.RIGHT])[0]
        if kind == layout.ADD:
            result = left + right + word[layout.PLUS]
        elif kind == layout.SUBTRACT:
            result = left - right + word[layout.PLUS]
        else:
            result = left * right + word[layout.PLUS]
    row[layout.SEQUENCE] += 1
    row[layout.PC] = pc + 1
    again = now + m.spacing
    if word[layout.CONTROL] != layout.NOTHING:
        again = control(m, s, p, thread, now)
        if again == layout.NONE:
            return
    if kind != layout.NOTHING and word[layout.RESULT] != 0:
        at(registers, word[layout.RESULT])[0] = result
    if can_go_on(m, s, thread):
        put(s, s.operation_room + thread, again)
    else:
        row[layout.BLOCKED] = 1


@merged
def begin_operation(
    m: Settings, s: Arrays, p: int, thread: int, kind: int, address: int, register: int, lookahead: int
) -> None:
    """Begin the memory operation of a word."""
    row = thread_at(s, thread)
    operation = new_operation(s)
    slot = (row[layout.SEQUENCE] + 1 + lookahead) & (layout.WINDOW - 1)
    pending_at(s, thread, slot)[0] += 1
    row[layout.OUTSTANDING] += 1
    own = operation_at(s, operation)
    own[layout.KIND], own[layout.OWNER], own[layout.INTO_REGISTER] = kind, thread, register
    own[layout.ADDRESS], own[layout.VALUE], own[layout.SLOT] = (
        address,
        at(registers_address(s, thread), register)[0],
        slot,
    )
    own[layout.TRIES], own[layout.PLAIN], own[layout.RUNTIME] = 1, 0, 0
    set_place(m, s, operation)
    append_to_port(s, p, operation)


@merged
def control(m: Settings, s: Arrays, p: int, thread: int, now: int) -> int:
    """Do the control part of a word; return the cycle from which on the next word may be issued, or NONE."""
    row, registers = thread_at(s, thread), registers_address(s, thread)
    word = code_at(s, row[layout.PC] - 1)
    kind, one, other = word[layout.CONTROL], word[layout.ONE], word[layout.OTHER]
    if kind == layout.COUNT_DOWN:
        at(registers, one)[0] -= 1
        if at(registers, one)[0] != 0:
            row[layout.PC] = word[layout.TARGET]
    elif kind == layout.JUMP:
        row[layout.PC] = word[layout.TARGET]
    elif kind == layout.IF_EQUAL:
        if at(registers, one)[0] == at(registers, other)[0]:
            row[layout.PC] = word[layout.TARGET]
    elif kind == layout.IF_UNEQUAL:
        if at(registers, one)[0] != at(registers, other)[0]:
            row[layout.PC] = word[layout.TARGET]
    elif kind == layout.IF_LESS:
        if at(registers, one)[0] < at(registers, other)[0]:
            row[layout.PC] = word[layout.TARGET]
    elif kind == layout.ADD_TOO:
        at(registers, word[layout.INTO])[0] = at(registers, one)[0] + at(registers, other)[0] + word[layout.TARGET]
    elif kind == layout.CLOCK:
        at(registers, word[layout.INTO])[0] = now
    elif kind == layout.RETRIES:
        at(registers, word[layout.INTO])[0] = totals_at(s, p)[layout.RETRIED]
    elif kind == layout.QUIT:
        end(m, s, p, thread, now)
        return layout.NONE
    else:
        return start(m, s, p, thread, kind, now)
    return now + m.spacing


@inline
def start(m: Settings, s: Arrays, p: int, thread: int, kind: int, now: int) -> int:
    """Start a stream, or create a thread through the runtime, which takes the creator's time."""
    target = code_at(s, thread_at(s, thread)[layout.PC] - 1)[layout.TARGET]
    if kind == layout.SPAWN:
        if processor_at(s, p)[layout.MAPPED] >= processor_at(s, p)[layout.STREAMS]:
            counters(s)[layout.STATUS], counters(s)[layout.CULPRIT] = layout.NO_STREAM, thread
            return layout.NONE
        processor_at(s, p)[layout.MAPPED] += 1
    made = new_thread(s)
    if made == layout.NONE:
        counters(s)[layout.STATUS], counters(s)[layout.CULPRIT] = layout.NO_ROOM, thread
        return layout.NONE
    row = thread_at(s, made)
    row[layout.PROCESSOR], row[layout.PC], row[layout.ISSUED] = p, target, now
    theirs, own = registers_at(s, made), registers_at(s, thread)
    for k in range(len(own)):  # to assign a slice makes Numba compile text for an error, which takes seconds
        theirs[k] = own[k]
    again = now + (m.spacing if kind == layout.SPAWN else m.create)
    row[layout.MODE] = layout.RUNNING if kind == layout.SPAWN else layout.CREATED
    put(s, s.operation_room + made, again)
    return again


@inline
def begin_created(m: Settings, s: Arrays, thread: int, now: int) -> bool:
    """Give a thread that was created a stream; return False if it has to wait for one."""
    p = thread_at(s, thread)[layout.PROCESSOR]
    if processor_at(s, p)[layout.MAPPED] >= processor_at(s, p)[layout.STREAMS]:
        need_stream(m, s, thread, now)
        return False
    processor_at(s, p)[layout.MAPPED] += 1
    thread_at(s, thread)[layout.MODE] = layout.RUNNING
    return True


@inline
def end(m: Settings, s: Arrays, p: int, thread: int, now: int) -> None:
    """End a stream; a thread that waits for one gets it."""
    end_thread(s, thread)
    processor_at(s, p)[layout.MAPPED] -= 1
    if processor_at(s, p)[layout.WAITING_FIRST] != layout.NONE:
        need_stream(m, s, take(s, p, layout.WAITING_FIRST) - s.operation_room, now)
