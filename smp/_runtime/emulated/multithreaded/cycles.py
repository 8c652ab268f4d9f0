"""The clock of the core: what happens in each cycle, and which cycle comes next.

    1  answers of the memory arrive, and threads whose last word is long enough ago become ready
    2  each processor issues one word
    3  each processor gives one word to the network

A cycle in which nothing happens is skipped, so the cost goes with the number of words.
"""

from __future__ import annotations

from ...loops.compiler import inline, local, merged
from . import layout
from .issuing import begin_created, issue
from .lists import append_ready, append_to_port, empty_bucket, free_operation, new_thread, next_bucket, put
from .memory import send
from .settings import Settings
from .state import (
    Arrays,
    at,
    counters,
    operation_at,
    pending_at,
    processor_at,
    registers_address,
    registers_at,
    thread_at,
    totals_at,
)
from .traps import access_by_runtime, can_go_on, copied, enter, make_ready, runtime_answer, trap


@merged
def complete(m: Settings, s: Arrays, operation: int, now: int) -> None:
    """End a memory operation: its register gets the value, and its thread goes on if it waited only for this one."""
    own = operation_at(s, operation)
    thread = own[layout.OWNER]
    row = thread_at(s, thread)
    if own[layout.INTO_REGISTER] != 0 and layout.LOAD <= own[layout.KIND] <= layout.READFE:
        at(registers_address(s, thread), own[layout.INTO_REGISTER])[0] = own[layout.VALUE]
    pending_at(s, thread, own[layout.SLOT])[0] -= 1
    row[layout.OUTSTANDING] -= 1
    totals_at(s, row[layout.PROCESSOR])[layout.OPERATIONS_DONE] += 1
    free_operation(s, operation)
    if row[layout.BLOCKED] != 0 and can_go_on(m, s, thread):
        row[layout.BLOCKED] = 0
        make_ready(m, s, thread, now)


@inline
def answer(m: Settings, s: Arrays, operation: int, now: int) -> None:
    """Handle an answer other than that an operation of a program was done."""
    own = operation_at(s, operation)
    thread, outcome = own[layout.OWNER], own[layout.OUTCOME]
    p = thread_at(s, thread)[layout.PROCESSOR]
    if own[layout.KIND] == layout.KEEP:
        free_operation(s, operation)
        copied(m, s, thread, now)
    elif own[layout.RUNTIME] != 0:
        runtime_answer(m, s, operation, now)
    elif outcome == layout.FORWARDED:
        own[layout.PLAIN] = 1
        append_to_port(s, p, operation)
    elif outcome == layout.TRAPPED_WORD:
        row = thread_at(s, thread)
        row[layout.OPERATION], row[layout.BLOCKED] = operation, 0
        totals_at(s, p)[layout.HANDLED] += 1
        access_by_runtime(s, thread, layout.SERVE, now)
    elif own[layout.TRIES] < m.retries:
        own[layout.TRIES] += 1
        totals_at(s, p)[layout.RETRIED] += 1
        if m.retries_issue != 0:
            append_ready(s, p, operation, now)
        else:
            append_to_port(s, p, operation)
    else:
        trap(m, s, thread, operation, now)


@merged
def happen(m: Settings, s: Arrays, now: int) -> None:
    """Do all that the bucket of a cycle holds."""
    entry = empty_bucket(s, now)
    operations = s.operation_room
    while entry != layout.NONE:
        following = at(s.link, entry)[0]
        if at(s.when, entry)[0] != now:
            put(s, entry, at(s.when, entry)[0])  # it belongs to a later round of the buckets
        elif entry < operations:
            own = operation_at(s, entry)
            if own[layout.OUTCOME] == layout.DONE and own[layout.RUNTIME] == 0 and own[layout.KIND] != layout.KEEP:
                complete(m, s, entry, now)
            else:
                answer(m, s, entry, now)
        else:
            thread = entry - operations
            if thread_at(s, thread)[layout.MODE] != layout.CREATED or begin_created(m, s, thread, now):
                append_ready(s, thread_at(s, thread)[layout.PROCESSOR], entry, now)
        entry = following


@local
def begin_at(m: Settings, s: Arrays, p: int, word: int, cycle: int) -> int:
    """Let a new thread issue its first word at a cycle; return its number, or NONE if there is no room."""
    thread = new_thread(s)
    if thread != layout.NONE:
        row = thread_at(s, thread)
        row[layout.PROCESSOR], row[layout.PC], row[layout.ISSUED] = p, word, cycle - m.spacing
        registers = registers_at(s, thread)
        for register in range(layout.REGISTERS):
            registers[register] = 0
        enter(s, thread, layout.RUNNING, cycle)
        put(s, s.operation_room + thread, cycle)
        processor_at(s, p)[layout.MAPPED] += 1
    return int(thread)


@local
def run_until(m: Settings, s: Arrays, until: int) -> int:
    """Run until all threads have ended, a cycle has come, or nothing can happen any more; return the status."""
    now = counters(s)[layout.NOW]
    while counters(s)[layout.LIVE] > 0 and counters(s)[layout.STATUS] == layout.GOES_ON:
        if counters(s)[layout.READY] > 0 or counters(s)[layout.IN_PORTS] > 0:
            now += 1
        else:
            now = next_bucket(s, now)
            if now == layout.NONE:
                return layout.STUCK
        if now >= until:
            break
        counters(s)[layout.NOW] = now
        happen(m, s, now)
        if counters(s)[layout.READY] > 0:
            for p in range(m.processors):
                if processor_at(s, p)[layout.READY_FIRST] != layout.NONE:
                    issue(m, s, p, now)
        if counters(s)[layout.IN_PORTS] > 0:
            first = now % m.processors if m.processors > 1 else 0
            for k in range(first, first + m.processors):
                p = k if k < m.processors else k - m.processors
                if processor_at(s, p)[layout.PORT_FIRST] != layout.NONE:
                    send(m, s, p, now)
    if counters(s)[layout.LIVE] == 0:
        return layout.ENDED
    return int(counters(s)[layout.STATUS])
