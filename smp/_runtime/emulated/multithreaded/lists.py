"""Lists of memory operations and threads, each of which is in at most one list.

An operation has its number, and a thread has its number plus the number of operations.

    bucket       operations whose answer comes at a cycle, and threads that are ready again then
    ready        of a processor: threads, and retries that need an issue slot
    port         of a processor: operations that wait for its link into the network
    waiting      of a processor: threads that could run if they had a stream
    free         operations that are not in use
"""

from __future__ import annotations

import numpy as np

from ...loops.atomics import Words
from ...loops.compiler import inline, merged
from . import layout
from .state import BUCKETS, array, processor_at

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _place in range(64):
    _PLACES[((1 << _place) * int(_DE_BRUIJN) % (1 << 64)) >> 58] = _place
_SHIFT = np.uint64(58)


@merged
def put(s: Words, entry: int, cycle: int) -> None:
    """Append an entry to the bucket of a cycle, which must be later than the current one."""
    bucket = cycle & (BUCKETS - 1)
    array(s, layout.WHEN_AT)[entry] = cycle
    array(s, layout.LINK_AT)[entry] = layout.NONE
    if array(s, layout.FIRST_AT)[bucket] == layout.NONE:
        array(s, layout.FIRST_AT)[bucket] = entry
        array(s, layout.MARKS_AT)[bucket >> 6] |= 1 << (bucket & 63)
    else:
        array(s, layout.LINK_AT)[array(s, layout.LAST_AT)[bucket]] = entry
    array(s, layout.LAST_AT)[bucket] = entry


@merged
def empty_bucket(s: Words, cycle: int) -> int:
    """Take all entries out of the bucket of a cycle; return the first one, or NONE."""
    bucket = cycle & (BUCKETS - 1)
    first = array(s, layout.FIRST_AT)[bucket]
    if first != layout.NONE:
        array(s, layout.FIRST_AT)[bucket] = layout.NONE
        array(s, layout.MARKS_AT)[bucket >> 6] &= ~(1 << (bucket & 63))
    return int(first)


@inline
def next_bucket(s: Words, cycle: int) -> int:
    """Return the next cycle after ``cycle`` whose bucket has entries, or NONE; they may belong to a later round."""
    place = (cycle + 1) & (BUCKETS - 1)
    word = place >> 6
    marks = array(s, layout.MARKS_AT)
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
def append(s: Words, processor: int, which: int, entry: int) -> None:
    """Append an entry to a list of a processor, whose columns are ``which`` and the next one."""
    row = processor_at(s, processor)
    array(s, layout.LINK_AT)[entry] = layout.NONE
    if row[which] == layout.NONE:
        row[which] = entry
    else:
        array(s, layout.LINK_AT)[row[which + 1]] = entry
    row[which + 1] = entry


@merged
def take(s: Words, processor: int, which: int) -> int:
    """Take the first entry of a list of a processor that is not empty."""
    entry = processor_at(s, processor)[which]
    processor_at(s, processor)[which] = array(s, layout.LINK_AT)[entry]
    return int(entry)


@merged
def append_ready(s: Words, processor: int, entry: int, now: int) -> None:
    """Let an entry wait for an issue slot."""
    array(s, layout.WHEN_AT)[entry] = now
    append(s, processor, layout.READY_FIRST, entry)
    s[layout.READY] += 1


@merged
def append_to_port(s: Words, processor: int, operation: int) -> None:
    """Let an operation wait for the link of its processor."""
    append(s, processor, layout.PORT_FIRST, operation)
    s[layout.IN_PORTS] += 1


@merged
def new_operation(s: Words) -> int:
    """Return an operation that is not in use."""
    operation = s[layout.FREE]
    s[layout.FREE] = array(s, layout.LINK_AT)[operation]
    return int(operation)


@merged
def free_operation(s: Words, operation: int) -> None:
    """Give an operation back."""
    array(s, layout.LINK_AT)[operation] = s[layout.FREE]
    s[layout.FREE] = operation
