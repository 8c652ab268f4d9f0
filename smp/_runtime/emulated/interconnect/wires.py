"""Packets on the wires: a packet goes on as soon as the next wire is free and the queue behind it has room.

    queue ──▶ switch ──▶ output: one of its links that is free ──▶ queue of that link ──▶ ...
                          none is: the queue waits at the output, first come first served

Only the first packet of a queue goes on, so those behind it wait with it. A packet takes its room in the next queue,
and leaves that in its own, when its head goes on; the wire is busy until its tail has passed. Room that a packet leaves
is taken at once by the packet that waits for it, and so on backwards to the output queue of a sender.
"""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .draws import draw
from .layout import (
    AHEAD,
    BY_BYTES,
    BYTES,
    CHANNELS,
    COUNT,
    DESTINATION,
    DRAWN_FIRST,
    DROPPED,
    DROPS,
    END,
    FIRST,
    FREE_AT,
    LAG,
    LANDINGS,
    LINK,
    MOST,
    MOVES,
    NEVER,
    NONE,
    OUTPUT,
    OUTPUT_ACTORS,
    OUTPUT_ROW,
    PACKET,
    PER_BYTE,
    PROCESSORS,
    READY,
    RESEND_AFTER,
    ROOM,
    SOURCE,
    TAIL,
    USED,
    WAITS_FIRST,
    WAITS_LAST,
    WAITS_NEXT,
    WANTS,
    WAYS,
    WHOLE,
    WIRE,
    WIRE_BYTES,
    links_of,
    outputs_of,
    packets_of,
)
from .queues import append, insert_by_time, pop
from .sleeping import arrives, leaves_room
from .timing import set_timer
from .topologies.routes import way


@inline
def units(header: Words, link: int, packet: int) -> int:
    """Return the room that a packet takes in a queue: its bytes in a queue of a node that counts them, else 1."""
    if header[BY_BYTES] != 0:
        queues = header[PROCESSORS] * header[CHANNELS]
        if link < queues or 0 <= link - header[LANDINGS] < queues:
            return int(packets_of(header)[packet * PACKET + BYTES])
    return 1


@inline
def has_room(header: Words, link: int, size: int) -> bool:
    links = links_of(header)
    return bool(links[link * LINK + USED] + size <= links[link * LINK + ROOM])


@inline
def _free(header: Words, link: int, packet: int, now: int) -> bool:
    links = links_of(header)
    free_at = links[links[link * LINK + WIRE] * LINK + FREE_AT]
    return bool(free_at <= now and has_room(header, link, units(header, link, packet)))


@inline
def _free_link(header: Words, ways: int, packet: int, now: int) -> int:
    """Return one of the links that can take a packet now, at random if there are several, or NONE."""
    first, count = ways // WAYS, ways % WAYS
    if count == 1:
        return first if _free(header, first, packet, now) else NONE
    free = 0
    for link in range(first, first + count):
        if _free(header, link, packet, now):
            free += 1
    if free == 0:
        return NONE
    skipped = draw(header, free) if free > 1 else 0
    for link in range(first, first + count):
        if _free(header, link, packet, now):
            if skipped == 0:
                return link
            skipped -= 1
    return NONE


@inline
def ways_of_first(header: Words, link: int) -> int:
    """Return the ways of the first packet of a queue."""
    links = links_of(header)
    row = link * LINK
    if links[row + AHEAD] != 0:
        return int(links[row + AHEAD])
    return int(way(header, link, links[row + END], packets_of(header)[links[row + FIRST] * PACKET + DESTINATION]))


@inline
def _start(header: Words, link: int, onto: int, now: int) -> None:
    """Let the first packet of a queue go on."""
    links, packets = links_of(header), packets_of(header)
    before, after = link * LINK, onto * LINK
    number = links[before + FIRST]
    packet = number * PACKET
    passed = packets[packet + TAIL] + links[before + LAG]
    end = max(now + packets[packet + WIRE_BYTES] * links[after + PER_BYTE], passed)
    following = pop(header, link)
    links[before + USED] -= units(header, link, number)
    set_timer(header, link, NEVER if following == NONE else max(now, packets[following * PACKET + READY]))
    links[links[after + WIRE] * LINK + FREE_AT] = end
    packets[packet + TAIL] = end
    used = links[after + USED] + units(header, onto, number)
    links[after + USED] = used
    links[after + MOST] = max(links[after + MOST], used)
    links[after + COUNT] += 1
    header[MOVES] += 1
    first = append(header, onto, number)
    ready = (end if links[after + WHOLE] != 0 else now) + links[after + LAG]
    packets[packet + READY] = ready
    if links[after + END] < 0:
        arrives(header, -1 - links[after + END], ready)
    elif first:
        set_timer(header, onto, ready)


@inline
def _set_grant(header: Words, output: int) -> None:
    """Set the time at which a link that is waited for becomes free; if it needs room, that comes with an event."""
    links, found, known = links_of(header), NEVER, 0
    queue = outputs_of(header)[output * OUTPUT_ROW + WAITS_FIRST]
    while queue != NONE:
        ways, number = links[queue * LINK + WANTS], links[queue * LINK + FIRST]
        if ways != known:
            for link in range(ways // WAYS, ways // WAYS + ways % WAYS):
                free_at = links[links[link * LINK + WIRE] * LINK + FREE_AT]
                if free_at < found and has_room(header, link, units(header, link, number)):
                    found = free_at
        known = ways
        queue = links[queue * LINK + WAITS_NEXT]
    set_timer(header, header[OUTPUT_ACTORS] + output, found)


@inline
def _wait(header: Words, queue: int, output: int, ways: int) -> None:
    links, outputs = links_of(header), outputs_of(header)
    row = output * OUTPUT_ROW
    links[queue * LINK + WANTS], links[queue * LINK + WAITS_NEXT] = ways, NONE
    last = outputs[row + WAITS_LAST]
    outputs[row + WAITS_LAST] = queue
    if last == NONE:
        outputs[row + WAITS_FIRST] = queue
    else:
        links[last * LINK + WAITS_NEXT] = queue


@inline
def _wait_no_longer(header: Words, queue: int, before: int, output: int) -> None:
    """Take a queue that waits behind the queue ``before`` out of the list of an output."""
    links, outputs = links_of(header), outputs_of(header)
    row, after = output * OUTPUT_ROW, links[queue * LINK + WAITS_NEXT]
    if before == NONE:
        outputs[row + WAITS_FIRST] = after
    else:
        links[before * LINK + WAITS_NEXT] = after
    if after == NONE:
        outputs[row + WAITS_LAST] = before


@inline
def vacated(header: Words, link: int, now: int) -> None:
    """Let the packet go on that waits for the room in a queue, then that which waits for its room, and so on."""
    links, outputs = links_of(header), outputs_of(header)
    while True:
        if link < header[PROCESSORS] * header[CHANNELS]:
            leaves_room(header, link // header[CHANNELS], now)
            return
        output = links[link * LINK + OUTPUT]
        before, queue = NONE, outputs[output * OUTPUT_ROW + WAITS_FIRST]
        while queue != NONE:
            ways = links[queue * LINK + WANTS]
            if ways // WAYS <= link < ways // WAYS + ways % WAYS:
                break
            before, queue = queue, links[queue * LINK + WAITS_NEXT]
        if queue == NONE:
            return
        if not _free(header, link, links[queue * LINK + FIRST], now):
            _set_grant(header, output)
            return
        _wait_no_longer(header, queue, before, output)
        _start(header, queue, link, now)
        _set_grant(header, output)
        link = queue


@inline
def _pass(header: Words, link: int, onto: int, now: int) -> None:
    """Let the first packet of a queue go on, and then those that its room lets go on."""
    _start(header, link, onto, now)
    output = links_of(header)[onto * LINK + OUTPUT]
    if outputs_of(header)[output * OUTPUT_ROW + WAITS_FIRST] != NONE:
        _set_grant(header, output)
    vacated(header, link, now)


@inline
def _drop(header: Words, link: int, onto: int, now: int) -> None:
    """Drop the first packet of a queue, for which an input queue has no room; its sender sends it again later."""
    links, packets = links_of(header), packets_of(header)
    number = links[link * LINK + FIRST]
    packet = number * PACKET
    following = pop(header, link)
    links[link * LINK + USED] -= 1
    set_timer(header, link, NEVER if following == NONE else max(now, packets[following * PACKET + READY]))
    header[DROPPED] += 1
    packets[packet + READY] = packets[packet + TAIL] = now + header[RESEND_AFTER]
    channel = (onto - header[LANDINGS]) // header[PROCESSORS]
    queue = packets[packet + SOURCE] * header[CHANNELS] + channel
    links[queue * LINK + USED] += units(header, queue, number)
    if insert_by_time(header, queue, number):
        set_timer(header, queue, packets[packet + READY])
    vacated(header, link, now)


@inline
def offer(header: Words, link: int, now: int) -> None:
    """Let the first packet of a queue go on if it can; otherwise let the queue wait."""
    links, outputs = links_of(header), outputs_of(header)
    ways = ways_of_first(header, link)
    if header[DRAWN_FIRST] != 0 and ways % WAYS > 1:
        ways = (ways // WAYS + draw(header, ways % WAYS)) * WAYS + 1
    output = links[ways // WAYS * LINK + OUTPUT]
    queue = outputs[output * OUTPUT_ROW + WAITS_FIRST]
    while queue != NONE and links[queue * LINK + WANTS] != ways:
        queue = links[queue * LINK + WAITS_NEXT]
    if queue == NONE:  # no other packet waits for the same
        onto = _free_link(header, ways, links[link * LINK + FIRST], now)
        if onto != NONE:
            _pass(header, link, onto, now)
            return
        if outputs[output * OUTPUT_ROW + DROPS] != 0:
            _drop(header, link, ways // WAYS, now)
            return
    set_timer(header, link, NEVER)
    _wait(header, link, output, ways)
    if queue == NONE:
        _set_grant(header, output)


@inline
def grant(header: Words, output: int, now: int) -> None:
    """Let packets go on that have waited for the links of an output."""
    links, outputs = links_of(header), outputs_of(header)
    before, queue = NONE, outputs[output * OUTPUT_ROW + WAITS_FIRST]
    while queue != NONE:
        onto = _free_link(header, links[queue * LINK + WANTS], links[queue * LINK + FIRST], now)
        if onto == NONE:
            before, queue = queue, links[queue * LINK + WAITS_NEXT]
            continue
        _wait_no_longer(header, queue, before, output)
        _start(header, queue, onto, now)
        vacated(header, queue, now)
        before, queue = NONE, outputs[output * OUTPUT_ROW + WAITS_FIRST]  # others may have gone on or come
    _set_grant(header, output)
