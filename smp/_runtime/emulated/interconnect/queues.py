"""Queues of packets, first in first out, as lists through the rows of the packets."""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import FIRST, FREE_PACKET, LAST, LINK, NEXT, NONE, PACKET, READY, links_of, packets_of


@inline
def new_packet(header: Words) -> int:
    """Take a free row; return NONE if there is none."""
    packet = header[FREE_PACKET]
    if packet != NONE:
        header[FREE_PACKET] = packets_of(header)[packet * PACKET + NEXT]
    return int(packet)


@inline
def free_packet(header: Words, packet: int) -> None:
    packets_of(header)[packet * PACKET + NEXT] = header[FREE_PACKET]
    header[FREE_PACKET] = packet


@inline
def append(header: Words, link: int, packet: int) -> bool:
    """Put a packet at the end of a queue; return True if it is the only one."""
    links, packets = links_of(header), packets_of(header)
    row = link * LINK
    last = links[row + LAST]
    packets[packet * PACKET + NEXT] = NONE
    links[row + LAST] = packet
    if last == NONE:
        links[row + FIRST] = packet
        return True
    packets[last * PACKET + NEXT] = packet
    return False


@inline
def pop(header: Words, link: int) -> int:
    """Take the first packet out of a queue that has one; return the next one, or NONE."""
    links = links_of(header)
    row = link * LINK
    after = packets_of(header)[links[row + FIRST] * PACKET + NEXT]
    links[row + FIRST] = after
    if after == NONE:
        links[row + LAST] = NONE
    return int(after)


@inline
def insert_by_time(header: Words, link: int, packet: int) -> bool:
    """Put a packet into a queue in the order of READY, after those of the same time; return True if it is the first."""
    links, packets = links_of(header), packets_of(header)
    row = link * LINK
    time, last = packets[packet * PACKET + READY], links[row + LAST]
    if last == NONE or packets[last * PACKET + READY] <= time:
        return append(header, link, packet)
    before, after = NONE, links[row + FIRST]
    while packets[after * PACKET + READY] <= time:
        before, after = after, packets[after * PACKET + NEXT]
    packets[packet * PACKET + NEXT] = after
    if before == NONE:
        links[row + FIRST] = packet
        return True
    packets[before * PACKET + NEXT] = packet
    return False
