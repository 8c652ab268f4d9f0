"""Heaps of streams, by a key and then by the number of the stream.

Each stream is in at most one heap, and its row says where, so that it can be taken out from any place.
"""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import HEAP, KEY, LENGTHS, NOWHERE, NUMBER, PLACE, ROW, heap_of, rows_of


@inline
def before(rows: Words, a: int, b: int) -> bool:
    """Return True if stream ``a`` comes before stream ``b``."""
    first, second = rows[a * ROW + KEY], rows[b * ROW + KEY]
    return bool(first < second or (first == second and rows[a * ROW + NUMBER] < rows[b * ROW + NUMBER]))


@inline
def _rise(header: Words, heap: int, place: int, stream: int) -> int:
    """Move a stream towards the top, from a place that is free; return its place."""
    rows, entries = rows_of(header), heap_of(header, heap)
    while place > 0:
        above = (place - 1) // 2
        other = entries[above]
        if before(rows, other, stream):
            break
        entries[place] = other
        rows[other * ROW + PLACE] = place
        place = above
    entries[place] = stream
    rows[stream * ROW + PLACE] = place
    return place


@inline
def _sink(header: Words, heap: int, place: int, stream: int) -> None:
    """Move a stream away from the top, from a place that is free."""
    rows, entries, length = rows_of(header), heap_of(header, heap), header[LENGTHS + heap]
    while True:
        below = 2 * place + 1
        if below >= length:
            break
        if below + 1 < length and before(rows, entries[below + 1], entries[below]):
            below += 1
        other = entries[below]
        if before(rows, stream, other):
            break
        entries[place] = other
        rows[other * ROW + PLACE] = place
        place = below
    entries[place] = stream
    rows[stream * ROW + PLACE] = place


@inline
def push(header: Words, heap: int, stream: int, key: int) -> None:
    """Add a stream that is in no heap."""
    row = rows_of(header)[stream * ROW :]
    row[HEAP], row[KEY] = heap, key
    place = header[LENGTHS + heap]
    header[LENGTHS + heap] = place + 1
    _rise(header, heap, place, stream)


@inline
def take(header: Words, stream: int) -> None:
    """Take a stream out of the heap in which it is, if it is in one."""
    rows = rows_of(header)
    heap = rows[stream * ROW + HEAP]
    if heap == NOWHERE:
        return
    rows[stream * ROW + HEAP] = NOWHERE
    place, length = rows[stream * ROW + PLACE], header[LENGTHS + heap] - 1
    header[LENGTHS + heap] = length
    if place < length:
        last = heap_of(header, heap)[length]
        if _rise(header, heap, place, last) == place:
            _sink(header, heap, place, last)
