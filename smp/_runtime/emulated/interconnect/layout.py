"""Words of a network's state, which machine code and Python share.

    header     one: addresses of the other parts, prices, counters
    links      a row for each queue of packets, with the wire that fills it:
               output queues of the nodes, then input queues of the nodes, then links between switches
    outputs    a row for each set of links that wait for each other, with the queues whose first packets want one
    switches   a row for each switch; the topology says what is in it
    nodes      a row for each node: its interface, and its processor while it transfers blocks
    packets    a row for each packet in the network; free rows are a list
    timers     the time of the next event of each link, output, processor, device (see `timing`)

Times are picoseconds since the network was built. Rows are numbered from 0, and NONE stands for no row.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline

NONE = -1
NEVER = 1 << 62
ENTRIES = 1 << 40  # more than any array has: its length is not checked

HEADER = 64  # words
LINKS, OUTPUTS, SWITCHES, NODES, PACKETS, TIMERS, PICTURE = range(7)  # addresses
LEAVES, OUTPUT_ACTORS, PROCESSOR_ACTORS, SENDER_ACTORS, TAKER_ACTORS, SAMPLER = range(7, 13)
KIND, CHANNELS, PROCESSORS, SIZES = 13, 14, 15, 16  # SIZES: nodes in each of three dimensions
NOW, FREE_PACKET, DRAWN, WOKEN, CONTENTION = range(19, 24)
CELL, CELL_SIZE, BY_BYTES, RESEND_AFTER = 24, 25, 28, 29
SEND, POLL, HANDLE, START, TURN, BARRIER, PACE, PAYLOAD = range(30, 38)  # prices of block transfers
PARTIES, ENTERED, RELEASED = 38, 39, 40  # of the barrier
EVERY, SAMPLES, SAMPLED = 41, 42, 43  # picture: time between samples, room for them, their number
INJECTED, TAKEN, MOVES, REFUSED, DROPPED, BOUND_RIGHT, BOUND_LEFT, EVENTS = range(44, 52)  # counters
DRAWN_FIRST = 52  # 1: a link is drawn, and the packet waits for it; 0: one is drawn of those that are free
LANDINGS = 53  # the first input queue; that of channel c at node n is c * PROCESSORS + n rows behind it
STOLEN_EVERY, STOLEN = 54, 55  # timer interrupts: time between two, and time that one takes

LINK = 16  # words of a row
FIRST, LAST, USED, ROOM, FREE_AT, WIRE, END, OUTPUT = range(8)
PER_BYTE, LAG, WHOLE, AHEAD, WANTS, WAITS_NEXT, COUNT, MOST = range(8, 16)
"""FREE_AT is the time from which the wire of the row takes a packet; WIRE is the row whose wire fills this queue. END
is the switch at the end of the link, and -1 - n at node n. A packet takes LAG to pass what is at its end; if WHOLE, its
tail must be there before. AHEAD are the ways of all packets, if they have the same, else 0; WANTS those of the first
packet, while the queue waits. Ways are equal links with consecutive numbers: first * WAYS + count."""
WAYS = 256

OUTPUT_ROW = 4
WAITS_FIRST, WAITS_LAST, DROPS = range(3)

SWITCH = 8

PACKET = 8
DESTINATION, BYTES, WIRE_BYTES, TAG, SOURCE, READY, TAIL, NEXT = range(8)

NODE = 40
WATCHED, BOUND, MOST_BOUND, MODE, ASLEEP, SINCE, QUANTUM = range(7)
RULE, MATCH, INTERLEAVE, BATCH, POLLS_IN_BARRIER, OUT_TURN, IN_TURN = range(7, 14)
PHASES_AT, TRANSFERS_AT, PHASE, LAST_PHASE, WINDOW, WINDOW_END, WINDOW_LEFT, CURSOR = range(14, 22)
TURN_LEFT, GOT, SENT, MET, WENT, FREED, DONE_AT, HANDED, SENDER, TAKER, STOLEN_AT = range(22, 33)

PHASE_ROW = 4
BEGIN, FINISH, EXPECTED, MEETS = range(4)
TRANSFER = 4
TO, LEFT, BEGUN = range(3)


@inline
def links_of(header: Words) -> Words:
    return words_at(header[LINKS], ENTRIES)


@inline
def outputs_of(header: Words) -> Words:
    return words_at(header[OUTPUTS], ENTRIES)


@inline
def switches_of(header: Words) -> Words:
    return words_at(header[SWITCHES], ENTRIES)


@inline
def packets_of(header: Words) -> Words:
    return words_at(header[PACKETS], ENTRIES)


@inline
def node_of(header: Words, node: int) -> Words:
    """Return the row of a node and all that follow."""
    return words_at(header[NODES] + node * (8 * NODE), ENTRIES)
