"""Copies between shared and local memory, line by line, of all processors in the order of virtual time.

    elements of a copy     BASE + POSITIONS[k] * ITEM, ITEM bytes each; without positions, one element
    an access              the bytes of successive elements that lie in one line

A copy waits for each of its lines, and takes a time for each byte.  Those that go on at the same time take turns, so
that they meet on the bus and take each other's lines away.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from .layout import (
    BASE,
    BYTE,
    COPIES,
    COPY,
    COPYING,
    COUNT,
    ITEM,
    LINE,
    MANY,
    NEXT,
    NOBODY,
    NOW,
    ORDER,
    PART,
    PARTS,
    POSITIONS,
    WRITES,
)
from .lines import accessed


@inline
def _place(copy: Words, k: int) -> int:
    """Return the place of an element in the segment, in bytes."""
    if copy[POSITIONS] == 0:
        return int(copy[BASE])
    return int(copy[BASE] + words_at(copy[POSITIONS], MANY)[k] * copy[ITEM])


@inline
def _one_line(memory: Words, rank: int, copy: Words) -> None:
    """Copy the next bytes that lie in one line."""
    length, item = memory[LINE], copy[ITEM]
    start = _place(copy, copy[NEXT]) + copy[PART]
    line = start // length
    nbytes = min(item - copy[PART], (line + 1) * length - start)
    copy[PART] += nbytes
    if copy[PART] == item:
        copy[PART] = 0
        copy[NEXT] += 1
        while copy[NEXT] < copy[COUNT]:
            following = _place(copy, copy[NEXT])
            if following // length != line or (following + item - 1) // length != line:
                break
            nbytes += item
            copy[NEXT] += 1
    done = accessed(memory, rank, line, copy[WRITES] != 0, copy[NOW])
    copy[NOW] = done + nbytes * copy[BYTE] // PARTS


@inline
def earliest_copy(memory: Words) -> int:
    """Return the processor whose copy goes on next, or `NOBODY`."""
    order, copies, first = words_at(memory[ORDER], MANY), words_at(memory[COPIES], MANY), NOBODY
    for k in range(memory[COPYING]):
        rank = order[k]
        if first == NOBODY or _before(copies, rank, first):
            first = rank
    return int(first)


@inline
def _before(copies: Words, a: int, b: int) -> bool:
    first, second = copies[a * COPY + NOW], copies[b * COPY + NOW]
    return bool(first < second or (first == second and a < b))


@inline
def _drop(memory: Words, rank: int) -> None:
    order, k = words_at(memory[ORDER], MANY), 0
    while order[k] != rank:
        k += 1
    memory[COPYING] -= 1
    order[k] = order[memory[COPYING]]


@inline
def carry_on(memory: Words, until: int) -> int:
    """Carry on the copies until one has ended, or the earliest is later than a time; at least one line is copied.

    Return the processor whose copy has ended, or `NOBODY`.  There is a copy.
    """
    copies, order, begun = words_at(memory[COPIES], MANY), words_at(memory[ORDER], MANY), False
    while True:
        first = earliest_copy(memory)
        limit = until
        for k in range(memory[COPYING]):
            if order[k] != first:
                limit = min(limit, copies[order[k] * COPY + NOW])
        copy = copies[first * COPY :]
        if begun and copy[NOW] > until:
            return NOBODY
        while copy[NEXT] < copy[COUNT] and (copy[NOW] <= limit or not begun):
            _one_line(memory, first, copy)
            begun = True
        if copy[NEXT] == copy[COUNT]:
            _drop(memory, first)
            return first
