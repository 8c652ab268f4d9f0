"""Lists of memory operations and threads, each of which is in at most one list.

An operation has its number, and a thread has its number plus the number of operations.

    bucket       operations whose answer comes at a cycle, and threads that are ready again then
    ready        of a processor: threads, and retries that need an issue slot
    port         of a processor: operations that wait for its link into the network
    waiting      of a processor: threads that could run if they had a stream
    free         operations that are not in use
    ended        rows of threads that have ended
"""

from __future__ import annotations

import numpy as np

from ...loops.compiler import inline, merged
from . import layout
from .state import BUCKETS, Arrays, array_at, at, counters, processor_at, thread_at

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.argsort([((1 << place) * int(_DE_BRUIJN) % (1 << 64)) >> 58 for place in range(64)])
_SHIFT = np.uint64(58)


@merged
def put(s: Arrays, entry: int, cycle: int) -> None:
    """Append an entry to the bucket of a cycle, which must be later than the current one."""
    bucket = cycle & (BUCKETS - 1)
    at(s.when, entry)[0] = cycle
    at(s.link, entry)[0] = layout.NONE
    if at(s.first, bucket)[0] == layout.NONE:
        at(s.first, bucket)[0] = entry
        at(s.marks, bucket >> 6)[0] |= 1 << (bucket & 63)
    else:
        at(s.link, at(s.last, bucket)[0])[0] = entry
    at(s.last, bucket)[0] = entry


@merged
def empty_bucket(s: Arrays, cycle: int) -> int:
    """Take all entries out of the bucket of a cycle; return the first one, or NONE."""
    bucket = cycle & (BUCKETS - 1)
    first = at(s.first, bucket)[0]
    if first != layout.NONE:
        at(s.first, bucket)[0] = layout.NONE
        at(s.marks, bucket >> 6)[0] &= ~(1 << (bucket & 63))
    return int(first)


@inline
def next_bucket(s: Arrays, cycle: int) -> int:
    """Return the next cycle after ``cycle`` whose bucket has entries, or NONE; they may belong to a later round."""
    place = (cycle + 1) & (BUCKETS - 1)
    word = place >> 6
    marks = array_at(s.marks)
    bits = marks[word] & (-1 << (place & 63))
    for _ in range(BUCKETS // 64 + 1):
        if bits != 0:
            lowest = np.uint64(bits & -bits)
            found = (word << 6) + _PLACES[np.int64((lowest * _DE_BRUIJN) >> _SHIFT)]
            return int(cycle + 1 + ((found - place) & (BUCKETS - 1)))
        word = (word + 1) & (BUCKETS // 64 - 1)
        bits = marks[word]
    return layout.NONE


@merged
def append(s: Arrays, processor: int, which: int, entry: int) -> None:
    """Append an entry to a list of a processor, whose columns are ``which`` and the next one."""
    row = processor_at(s, processor)
    at(s.link, entry)[0] = layout.NONE
    if row[which] == layout.NONE:
        row[which] = entry
    else:
        at(s.link, row[which + 1])[0] = entry
    row[which + 1] = entry


@merged
def take(s: Arrays, processor: int, which: int) -> int:
    """Take the first entry of a list of a processor that is not empty."""
    entry = processor_at(s, processor)[which]
    processor_at(s, processor)[which] = at(s.link, entry)[0]
    return int(entry)


@merged
def append_ready(s: Arrays, processor: int, entry: int, now: int) -> None:
    """Let an entry wait for an issue slot."""
    at(s.when, entry)[0] = now
    append(s, processor, layout.READY_FIRST, entry)
    counters(s)[layout.READY] += 1


@merged
def append_to_port(s: Arrays, processor: int, operation: int) -> None:
    """Let an operation wait for the link of its processor."""
    append(s, processor, layout.PORT_FIRST, operation)
    counters(s)[layout.IN_PORTS] += 1


@merged
def new_operation(s: Arrays) -> int:
    """Return an operation that is not in use."""
    operation = counters(s)[layout.FREE]
    counters(s)[layout.FREE] = at(s.link, operation)[0]
    return int(operation)


@merged
def free_operation(s: Arrays, operation: int) -> None:
    """Give an operation back."""
    at(s.link, operation)[0] = counters(s)[layout.FREE]
    counters(s)[layout.FREE] = operation


@inline
def new_thread(s: Arrays) -> int:
    """Return the number of a thread that does not exist yet, with a row of zeros; NONE if there is no room."""
    thread = counters(s)[layout.ENDED_THREADS]
    if thread != layout.NONE:
        counters(s)[layout.ENDED_THREADS] = at(s.link, s.operation_room + thread)[0]
    elif counters(s)[layout.THREADS] < s.thread_room:
        thread = counters(s)[layout.THREADS]
        counters(s)[layout.THREADS] += 1
    else:
        return layout.NONE
    counters(s)[layout.LIVE] += 1
    row = thread_at(s, thread)
    for column in range(layout.THREAD):
        row[column] = 0
    row[layout.OPERATION] = layout.NONE
    return int(thread)


@inline
def end_thread(s: Arrays, thread: int) -> None:
    """Let another thread use the row of a thread that has ended."""
    thread_at(s, thread)[layout.MODE] = layout.UNUSED
    at(s.link, s.operation_room + thread)[0] = counters(s)[layout.ENDED_THREADS]
    counters(s)[layout.ENDED_THREADS] = thread
    counters(s)[layout.LIVE] -= 1
