"""Functions that Python and other machine code call, given the address of the header.

Times do not decrease from call to call. Before a call at a time, `smp_advance` has to reach that time.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from . import devices
from .interface import arrival, arrived, crossing, get, landing, on_the_wire, put
from .layout import (
    BOUND,
    CHANNELS,
    DONE_AT,
    EVENTS,
    EVERY,
    FIRST,
    FREE_PACKET,
    HEADER,
    LINK,
    MODE,
    NEVER,
    NONE,
    NOW,
    OUTPUT_ACTORS,
    PACKET,
    PICTURE,
    PROCESSOR_ACTORS,
    PROCESSORS,
    SAMPLED,
    SAMPLER,
    SAMPLES,
    SENDER_ACTORS,
    TAG,
    TAKER_ACTORS,
    WATCHED,
    WOKEN,
    links_of,
    node_of,
    packets_of,
)
from .queues import free_packet
from .sleeping import FOR_ARRIVALS, IDLE
from .timing import earliest, first_actor, set_timer
from .transfers import begin, step
from .wires import grant, offer

NOTHING, ANY = -1, -1  # of `smp_take`
SHORT = -2  # of `smp_woken`


@inline
def _sample(header: Words, now: int) -> None:
    """Record how many packets are in the network for each node."""
    nodes, number = header[PROCESSORS], header[SAMPLED]
    picture = words_at(header[PICTURE], header[SAMPLES] * nodes)
    for node in range(nodes):
        picture[number * nodes + node] = node_of(header, node)[BOUND]
    header[SAMPLED] = number + 1
    set_timer(header, header[SAMPLER], now + header[EVERY] if number + 1 < header[SAMPLES] else NEVER)


@inline
def _event(header: Words, actor: int, now: int) -> None:
    if actor < header[OUTPUT_ACTORS]:
        offer(header, actor, now)
    elif actor < header[PROCESSOR_ACTORS]:
        grant(header, actor - header[OUTPUT_ACTORS], now)
    elif actor < header[SENDER_ACTORS]:
        node = actor - header[PROCESSOR_ACTORS]
        set_timer(header, actor, NEVER)
        if node_of(header, node)[MODE] == IDLE:
            header[WOKEN] = node
        else:
            step(header, node, now)
    elif actor < header[TAKER_ACTORS]:
        devices.send(header, actor - header[SENDER_ACTORS], now)
    elif actor < header[SAMPLER]:
        devices.receive(header, actor - header[TAKER_ACTORS], now)
    else:
        _sample(header, now)


def smp_advance(address: int, until: int) -> int:
    """Process all events up to a time, or up to one at which a watched node wakes or a transferring one is done.

    Return the time that was reached; `smp_woken` says which node. It also ends, with SHORT instead of a node, when
    there are no more rows for packets.
    """
    header = words_at(address, HEADER)
    header[WOKEN] = NONE
    while True:
        now = earliest(header)
        if now > until or now == NEVER:
            break
        if header[FREE_PACKET] == NONE:
            header[WOKEN] = SHORT
            return int(header[NOW])
        header[NOW] = now
        header[EVENTS] += 1
        _event(header, first_actor(header), now)
        if header[WOKEN] != NONE:
            return now
    if until != NEVER:
        header[NOW] = until
    return until


def smp_woken(address: int) -> int:
    """Return the node at which the last `smp_advance` ended, or NONE if it reached its time."""
    return int(words_at(address, HEADER)[WOKEN])


def smp_next_event(address: int) -> int:
    """Return the time of the next event, or NEVER."""
    return earliest(words_at(address, HEADER))


def smp_inject(address: int, time: int, node: int, channel: int, destination: int, size: int, tag: int) -> int:
    """Put a packet into an output queue; return 1, or 0 if the queue is full, or -1 if no row for a packet is left."""
    return put(words_at(address, HEADER), node, channel, destination, size, tag, time)


def smp_take(address: int, time: int, node: int, channel: int) -> int:
    """Take a packet that has arrived on a channel; return its tag, or NOTHING if there is none.

    If the channel is ANY, it is that on which the first packet came.
    """
    header = words_at(address, HEADER)
    if channel == ANY:
        channel = 0
        for other in range(1, header[CHANNELS]):
            if arrival(header, node, other) < arrival(header, node, channel):
                channel = other
    if arrival(header, node, channel) > time:
        return NOTHING
    packet = get(header, node, channel, time)
    tag = packets_of(header)[packet * PACKET + TAG]
    free_packet(header, packet)
    return int(tag)


def smp_first(address: int, node: int, channel: int) -> int:
    """Return the tag of the first packet of an input queue in which one has arrived."""
    header = words_at(address, HEADER)
    packet = links_of(header)[landing(header, node, channel) * LINK + FIRST]
    return int(packets_of(header)[packet * PACKET + TAG])


def smp_waiting(address: int, time: int, node: int, channel: int) -> int:
    """Return how many packets can be taken on a channel."""
    return arrived(words_at(address, HEADER), node, channel, time)


def smp_arrival(address: int, node: int, channel: int) -> int:
    """Return the time from which the next packet can be taken, or NEVER if none is on its last link yet."""
    return arrival(words_at(address, HEADER), node, channel)


def smp_crossing(address: int, channel: int, source: int, destination: int, size: int) -> int:
    """Return the time of a packet from one node to another if nothing else is in the network."""
    header = words_at(address, HEADER)
    return crossing(header, channel, source, destination, on_the_wire(header, size))


def smp_watch(address: int, time: int, node: int, what: int) -> int:
    """Let `smp_advance` end when something happens at an idle node: 1 an arrival, 2 room in a queue, 3 either.

    An arrival that is due already counts, room that is there does not. 0 ends the watch.
    """
    header = words_at(address, HEADER)
    node_of(header, node)[WATCHED] = what
    due = NEVER
    if what & FOR_ARRIVALS != 0:
        for channel in range(header[CHANNELS]):
            due = min(due, arrival(header, node, channel))
    set_timer(header, header[PROCESSOR_ACTORS] + node, due if due == NEVER else max(due, time))
    return 0


def smp_begin(address: int, time: int, node: int) -> int:
    """Let an idle node begin with the phases that its row names."""
    begin(words_at(address, HEADER), node, time)
    return 0


def smp_done(address: int, node: int) -> int:
    """Return when a node has ended its transfers, or NEVER."""
    header = words_at(address, HEADER)
    row = node_of(header, node)
    return int(row[DONE_AT]) if row[MODE] == IDLE else NEVER
