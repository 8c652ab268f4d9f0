"""Words that waiting threads have left to the runtime.

A word is trapped as long as threads are in its queue.  Every full/empty operation on it is then carried out by the
runtime.  If the operation can be done, the runtime also does those in the queue that can be done after it:

    after a fill     all that leave the word full, then the first that empties it
    after that       the first that fills it, and so on

Source: the study of the Tera MTA, sections 3.2 and 3.2.1.
"""

from __future__ import annotations

from ...loops.compiler import inline
from . import layout
from .state import Arrays, counters, memory_at, operation_at, registers_at, thread_at


@inline
def first_waiting(s: Arrays, address: int, kind: int) -> int:
    """Return the thread that has waited longest with an operation of a kind at a word, or NONE."""
    found, earliest = layout.NONE, 0
    for thread in range(counters(s)[layout.THREADS]):
        row = thread_at(s, thread)
        waits = row[layout.WAITS] == layout.QUEUED and row[layout.AT] == address and row[layout.KIND_WAITED] == kind
        if waits and (found == layout.NONE or row[layout.ORDER] < earliest):
            found, earliest = thread, row[layout.ORDER]
    return found


@inline
def finish(s: Arrays, thread: int, releaser: int) -> None:
    """Carry out the operation of a thread in the queue of a word; the releaser will let it go on."""
    row = thread_at(s, thread)
    address, kind = row[layout.AT], row[layout.KIND_WAITED]
    if kind == layout.WRITEEF:
        memory_at(s, address)[layout.CONTENT] = row[layout.VALUE_WAITED]
        memory_at(s, address)[layout.TAG] &= ~layout.EMPTY
    else:
        if row[layout.INTO_WAITED] != 0:
            registers_at(s, thread)[row[layout.INTO_WAITED]] = memory_at(s, address)[layout.CONTENT]
        if kind == layout.READFE:
            memory_at(s, address)[layout.TAG] |= layout.EMPTY
    row[layout.WAITS], row[layout.RELEASER] = layout.SERVED, releaser
    row[layout.ORDER] = counters(s)[layout.ORDERS]
    counters(s)[layout.ORDERS] += 1


@inline
def serve_queue(s: Arrays, address: int, releaser: int) -> None:
    """Carry out all operations in the queue of a word that can be."""
    while True:
        if memory_at(s, address)[layout.TAG] & layout.EMPTY:
            thread = first_waiting(s, address, layout.WRITEEF)
        else:
            thread = first_waiting(s, address, layout.READFF)
            if thread == layout.NONE:
                thread = first_waiting(s, address, layout.READFE)
        if thread == layout.NONE:
            break
        finish(s, thread, releaser)
    for kind in (layout.READFF, layout.READFE, layout.WRITEEF):
        if first_waiting(s, address, kind) != layout.NONE:
            return
    memory_at(s, address)[layout.TAG] &= ~layout.TRAPPED


@inline
def serve(s: Arrays, operation: int) -> None:
    """Carry out a full/empty operation for the runtime; if it cannot be done and has to park, it joins the queue."""
    row = operation_at(s, operation)
    kind, address, thread = row[layout.KIND], row[layout.ADDRESS], row[layout.OWNER]
    empty = memory_at(s, address)[layout.TAG] & layout.EMPTY != 0
    possible = kind >= layout.WRITEXF or empty == (kind == layout.WRITEEF)
    if not possible:
        row[layout.OUTCOME] = layout.AGAIN
        if row[layout.RUNTIME] == layout.PARK:
            row[layout.OUTCOME] = layout.LEFT_IN_QUEUE
            waiter = thread_at(s, thread)
            waiter[layout.WAITS], waiter[layout.AT], waiter[layout.KIND_WAITED] = layout.QUEUED, address, kind
            waiter[layout.VALUE_WAITED], waiter[layout.INTO_WAITED] = row[layout.VALUE], row[layout.INTO_REGISTER]
            waiter[layout.ORDER] = counters(s)[layout.ORDERS]
            counters(s)[layout.ORDERS] += 1
            memory_at(s, address)[layout.TAG] |= layout.TRAPPED
        return
    if kind == layout.READFF or kind == layout.READFE:
        row[layout.VALUE] = memory_at(s, address)[layout.CONTENT]
        if kind == layout.READFE:
            memory_at(s, address)[layout.TAG] |= layout.EMPTY
    else:
        memory_at(s, address)[layout.CONTENT] = row[layout.VALUE]
        if kind == layout.PURGE:
            memory_at(s, address)[layout.TAG] |= layout.EMPTY
        else:
            memory_at(s, address)[layout.TAG] &= ~layout.EMPTY
    serve_queue(s, address, thread)
