"""The interface of a node: packets go into an output queue of a channel, and come out of an input queue of it."""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import (
    AHEAD,
    BOUND,
    BOUND_LEFT,
    BOUND_RIGHT,
    BY_BYTES,
    BYTES,
    CELL,
    CELL_SIZE,
    CHANNELS,
    CONTENTION,
    DESTINATION,
    END,
    FIRST,
    INJECTED,
    LAG,
    LANDINGS,
    LINK,
    MOST_BOUND,
    NEVER,
    NEXT,
    NONE,
    PACKET,
    PER_BYTE,
    PROCESSORS,
    READY,
    REFUSED,
    SOURCE,
    TAG,
    TAIL,
    TAKEN,
    USED,
    WAYS,
    WIRE_BYTES,
    links_of,
    node_of,
    packets_of,
)
from .queues import append, free_packet, insert_by_time, new_packet, pop
from .sleeping import arrives
from .topologies.routes import way
from .wires import has_room, offer, units, vacated

REFUSED_NOW, ACCEPTED, NO_ROW = 0, 1, -1  # of `put`


@inline
def on_the_wire(header: Words, size: int) -> int:
    """Return the bytes that a packet is on a wire; 1 if all packets take the same time."""
    if header[CELL_SIZE] == 0:
        return size
    if header[CELL] == 0:
        return 1
    return int(max(1, (size + header[CELL] - 1) // header[CELL]) * header[CELL_SIZE])


@inline
def crossing(header: Words, channel: int, source: int, destination: int, wire_bytes: int) -> int:
    """Return the time from a node's output queue to another's input queue, if nothing else is in the network."""
    links = links_of(header)
    onto = links[(source * header[CHANNELS] + channel) * LINK + AHEAD] // WAYS
    slowest, lags = links[onto * LINK + PER_BYTE], links[onto * LINK + LAG]
    while links[onto * LINK + END] >= 0:
        onto = way(header, onto, links[onto * LINK + END], destination) // WAYS
        slowest = max(slowest, links[onto * LINK + PER_BYTE])
        lags += links[onto * LINK + LAG]
    return int(lags + slowest * wire_bytes)


@inline
def room(header: Words, node: int, channel: int, size: int) -> bool:
    """Return True if an output queue has room for a packet."""
    link = node * header[CHANNELS] + channel
    return has_room(header, link, size if header[BY_BYTES] != 0 else 1)


@inline
def put(header: Words, node: int, channel: int, destination: int, size: int, tag: int, now: int) -> int:
    """Put a packet of ``size`` bytes of data into an output queue, if it has room."""
    if not room(header, node, channel, size):
        header[REFUSED] += 1
        return REFUSED_NOW
    packet = new_packet(header)
    if packet == NONE:
        return NO_ROW
    links, packets = links_of(header), packets_of(header)
    row = packet * PACKET
    packets[row + DESTINATION], packets[row + BYTES], packets[row + TAG] = destination, size, tag
    packets[row + SOURCE] = node
    packets[row + WIRE_BYTES] = on_the_wire(header, size)
    header[INJECTED] += 1
    receiver = node_of(header, destination)
    receiver[BOUND] += 1
    receiver[MOST_BOUND] = max(receiver[MOST_BOUND], receiver[BOUND])
    middle = header[PROCESSORS] // 2
    if node < middle <= destination:
        header[BOUND_RIGHT] += size
    elif destination < middle <= node:
        header[BOUND_LEFT] += size
    if header[CONTENTION] == 0:
        time = now + crossing(header, channel, node, destination, packets[row + WIRE_BYTES])
        packets[row + READY] = time
        insert_by_time(header, header[LANDINGS] + channel * header[PROCESSORS] + destination, packet)
        arrives(header, destination, time)
        return ACCEPTED
    link = node * header[CHANNELS] + channel
    packets[row + READY] = packets[row + TAIL] = now
    links[link * LINK + USED] += units(header, link, packet)
    if append(header, link, packet):
        offer(header, link, now)
    return ACCEPTED


@inline
def landing(header: Words, node: int, channel: int) -> int:
    """Return the number of an input queue."""
    return int(header[LANDINGS] + channel * header[PROCESSORS] + node)


@inline
def arrival(header: Words, node: int, channel: int) -> int:
    """Return the time from which the first packet of an input queue can be taken, or NEVER if none is near."""
    packet = links_of(header)[landing(header, node, channel) * LINK + FIRST]
    return NEVER if packet == NONE else int(packets_of(header)[packet * PACKET + READY])


@inline
def arrived(header: Words, node: int, channel: int, now: int) -> int:
    """Return the number of packets in an input queue that can be taken."""
    packets, count = packets_of(header), 0
    packet = links_of(header)[landing(header, node, channel) * LINK + FIRST]
    while packet != NONE and packets[packet * PACKET + READY] <= now:
        count += 1
        packet = packets[packet * PACKET + NEXT]
    return count


@inline
def get(header: Words, node: int, channel: int, now: int) -> int:
    """Take the first packet out of an input queue in which one has arrived; return its row, which the caller frees."""
    links = links_of(header)
    link = landing(header, node, channel)
    packet = links[link * LINK + FIRST]
    header[TAKEN] += 1
    node_of(header, node)[BOUND] -= 1
    pop(header, link)
    if header[CONTENTION] != 0:
        links[link * LINK + USED] -= units(header, link, packet)
        vacated(header, link, now)
    return int(packet)


@inline
def discard(header: Words, node: int, channel: int, now: int) -> None:
    """Take the first packet out of an input queue in which one has arrived, and forget it."""
    free_packet(header, get(header, node, channel, now))
