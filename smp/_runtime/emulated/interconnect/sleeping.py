"""Nodes that wait for a packet, for room in their output queues, or for a barrier, and what ends the wait.

A processor that polls looks at fixed intervals. It is not simulated look by look: it sleeps, and wakes at its first
look after the end of the wait. An idle node, whose program runs elsewhere, can be watched; its event then ends
`smp_advance`.
"""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import (
    ASLEEP,
    MODE,
    PROCESSOR_ACTORS,
    QUANTUM,
    SENDER,
    SENDER_ACTORS,
    SINCE,
    TAKER,
    TAKER_ACTORS,
    WATCHED,
    node_of,
)
from .timing import set_timer, timer

FOR_ARRIVALS, FOR_ROOM, FOR_RELEASE, FOR_DEVICES = 1, 2, 4, 8  # sums of them: what ends a wait
IDLE = 0  # of MODE: the node transfers no blocks
AT_WORK, WAITING, RESTING = 0, 1, 2  # of SENDER and TAKER, the devices


@inline
def sleep(header: Words, node: int, since: int, quantum: int, until: int) -> None:
    """Let a processor sleep that looks every ``quantum`` after ``since``, until one of the things in ``until``."""
    row = node_of(header, node)
    row[ASLEEP], row[SINCE], row[QUANTUM] = until, since, quantum


@inline
def wake(header: Words, node: int, time: int) -> None:
    """Let a processor that sleeps look at its first look from ``time`` on, if none is due before."""
    row = node_of(header, node)
    since, quantum = row[SINCE], row[QUANTUM]
    looks = 1
    if quantum > 0:
        looks = max(1, (time - since + quantum - 1) // quantum)
        time = since + looks * quantum
    elif time < since:
        time = since
    actor = header[PROCESSOR_ACTORS] + node
    if time < timer(header, actor):
        set_timer(header, actor, time)


@inline
def _watched(header: Words, node: int, time: int) -> None:
    actor = header[PROCESSOR_ACTORS] + node
    if time < timer(header, actor):
        set_timer(header, actor, time)


@inline
def arrives(header: Words, node: int, time: int) -> None:
    """Note that a packet can be taken from ``time`` on."""
    row = node_of(header, node)
    if row[TAKER] == WAITING:
        row[TAKER] = AT_WORK
        set_timer(header, header[TAKER_ACTORS] + node, time)
    elif row[MODE] == IDLE:
        if row[WATCHED] & FOR_ARRIVALS != 0:
            _watched(header, node, time)
    elif row[ASLEEP] & FOR_ARRIVALS != 0:
        wake(header, node, time)


@inline
def leaves_room(header: Words, node: int, now: int) -> None:
    """Note that an output queue of a node has room for one more packet."""
    row = node_of(header, node)
    if row[SENDER] == WAITING:
        row[SENDER] = AT_WORK
        set_timer(header, header[SENDER_ACTORS] + node, now)
    elif row[MODE] == IDLE:
        if row[WATCHED] & FOR_ROOM != 0:
            _watched(header, node, now)
    elif row[ASLEEP] & FOR_ROOM != 0:
        wake(header, node, now)
