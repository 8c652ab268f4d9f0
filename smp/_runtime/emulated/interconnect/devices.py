"""Devices that move blocks next to a processor: one sends packets of the transfers, another takes those that come."""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .interface import ACCEPTED, arrival, discard, put
from .layout import (
    ASLEEP,
    CHANNELS,
    CURSOR,
    GOT,
    HANDED,
    IN_TURN,
    LEFT,
    NEVER,
    OUT_TURN,
    PACE,
    PAYLOAD,
    SENDER,
    SENDER_ACTORS,
    SENT,
    TAKER,
    TAKER_ACTORS,
    TO,
    TRANSFER,
    WINDOW_LEFT,
    node_of,
)
from .sleeping import FOR_DEVICES, RESTING, WAITING, wake
from .timing import set_timer
from .transfers import transfers_of


@inline
def _wake_processor(header: Words, node: int, now: int) -> None:
    if node_of(header, node)[ASLEEP] & FOR_DEVICES != 0:
        wake(header, node, now)


@inline
def send(header: Words, node: int, now: int) -> None:
    """Send a packet of the first transfer that is not done; the next one follows at the pace of the device."""
    row, transfers, channels = node_of(header, node), transfers_of(header, node), header[CHANNELS]
    actor = header[SENDER_ACTORS] + node
    while row[CURSOR] < row[HANDED] and transfers[row[CURSOR] * TRANSFER + LEFT] == 0:
        row[CURSOR] += 1
    if row[CURSOR] == row[HANDED]:
        row[SENDER] = RESTING
        set_timer(header, actor, NEVER)
        return
    at = row[CURSOR] * TRANSFER
    for _ in range(channels):
        channel = row[OUT_TURN]
        row[OUT_TURN] = (channel + 1) % channels
        if put(header, node, channel, transfers[at + TO], header[PAYLOAD], 0, now) == ACCEPTED:
            transfers[at + LEFT] -= 1
            row[SENT] += 1
            row[WINDOW_LEFT] -= 1
            set_timer(header, actor, now + header[PACE])
            if row[WINDOW_LEFT] == 0:
                _wake_processor(header, node, now)
            return
    row[SENDER] = WAITING
    set_timer(header, actor, NEVER)


@inline
def receive(header: Words, node: int, now: int) -> None:
    """Take a packet if one has arrived; the next one follows at the pace of the device."""
    row, channels, time = node_of(header, node), header[CHANNELS], NEVER
    actor = header[TAKER_ACTORS] + node
    for k in range(channels):
        channel = (row[IN_TURN] + k) % channels
        came = arrival(header, node, channel)
        if came <= now:
            row[IN_TURN] = (channel + 1) % channels
            discard(header, node, channel, now)
            row[GOT] += 1
            set_timer(header, actor, now + header[PACE])
            _wake_processor(header, node, now)
            return
        time = min(time, came)
    set_timer(header, actor, time)
    if time == NEVER:
        row[TAKER] = WAITING
