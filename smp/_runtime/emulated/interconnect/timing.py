"""Timers: the time of the next event of each actor, and the earliest of all.

    [ 3 ]                     a tree in an array: the node at place i is the earlier of those at 2 i and 2 i + 1
    [ 3 ][ 5 ]                leaves are the actors; if times are equal, the actor with the lower number comes first
    [ 9 ][ 3 ][ 5 ][never]

A change goes up the tree only as far as it matters.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from .layout import ENTRIES, LEAVES, TIMERS


@inline
def set_timer(header: Words, actor: int, time: int) -> None:
    """Set the time of an actor's next event."""
    tree = words_at(header[TIMERS], ENTRIES)
    place = header[LEAVES] + actor
    tree[place] = time
    while place > 1:
        other = tree[place ^ 1]
        if other < time:
            time = other
        place >>= 1
        if tree[place] == time:
            break
        tree[place] = time


@inline
def timer(header: Words, actor: int) -> int:
    """Return the time of an actor's next event."""
    return int(words_at(header[TIMERS], ENTRIES)[header[LEAVES] + actor])


@inline
def earliest(header: Words) -> int:
    """Return the time of the earliest event."""
    return int(words_at(header[TIMERS], ENTRIES)[1])


@inline
def first_actor(header: Words) -> int:
    """Return the actor of the earliest event."""
    tree, leaves = words_at(header[TIMERS], ENTRIES), header[LEAVES]
    time, place = tree[1], 1
    while place < leaves:
        place *= 2
        if tree[place] != time:
            place += 1
    return int(place - leaves)
