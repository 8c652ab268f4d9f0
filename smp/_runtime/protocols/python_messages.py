"""Messages of a few numbers between Python and the rings, without a step of Python in between.

    send_numbers(state, networks, to, head, args)     POSTED; FULL if there is no room; OTHER if these are not a few
                                                      int and float, or the call is not right: the caller looks closer
    take_message(state, networks)                     (network, sender, head, args) or None
    take_soon(state, networks)                        the same; if there is no packet it looks for some microseconds

A taken message of numbers has their tuple as ``args``, and its head says nothing of their types any more.  Any other
packet, that of a loop included, has its words as bytes.  The interpreter's lock is held: no call waits longer than
`take_soon`, which stops looking when the run has failed.

These are functions of Python's C interface: they get the address of an array with the addresses of their arguments.
``state`` has the words of ``message_waits``, and

    POST_TURN          network that the next packet on either network tries first
    SENT               number of messages posted here
    THREAD             number of the thread that runs the program; no other one may send
    TYPE_AT            where an object has the address of its type
    INT, FLOAT, NONE   addresses of the types int and float, and of None
"""

from __future__ import annotations

from ..loops.atomics import Words, pause, peek, words_at
from ..loops.bits import bits_of_float64, float64_of
from ..loops.compiler import inline
from ..loops.objects import (
    failed,
    float_of,
    forget_error,
    integer_of,
    item_of,
    keep,
    length_of,
    new_bytes,
    new_float,
    new_integer,
    new_tuple,
    set_item,
    thread,
)
from . import rings
from .loop_packets import OF_LOOPS
from .message_waits import (
    FLOAT,
    GIVEN,
    HEADER,
    INT,
    NETS,
    NETWORKS,
    NONE,
    POST_TURN,
    SENT,
    STATE,
    SYNC,
    TAKEN,
    THREAD,
    TYPE_AT,
    net_at,
    poll_into,
    post,
)
from .packet_heads import NUMBERS, PARTIAL, PICKLED, TYPES, TYPES_AT
from .wait import BARE, PRIVATE_WORDS, RETRIES, SIZE, aborted

POSTED, FULL, OTHER = 1, 0, -1
_SOON = 4  # `take_soon` looks a fourth as often as a wait does before it sleeps


@inline
def _numbers_into(words: Words, args: int, state: Words) -> int:
    """Store numbers as the words of a packet; return their types as a part of its head, or OTHER."""
    types = 0
    for k in range(length_of(args)):
        item = item_of(args, k)
        kind = peek(item + state[TYPE_AT])
        if kind == state[INT]:
            words[k] = integer_of(item)
            if words[k] == -1 and failed():  # it has more than 64 bits
                forget_error()
                return OTHER
        elif kind == state[FLOAT]:
            words[k] = bits_of_float64(float_of(item))
            types |= 1 << k + TYPES_AT
        else:
            return OTHER
    return types


@inline
def _send(state: Words, networks: int, to: int, head: int, args: int) -> int:
    sync = words_at(state[SYNC], PRIVATE_WORDS)
    if failed():  # an argument was no integer
        forget_error()
        return OTHER
    if thread() != state[THREAD] or not 0 <= to < sync[SIZE] or length_of(args) > NUMBERS:
        return OTHER
    words = words_at(state[GIVEN], rings.MOST_WORDS)
    types = _numbers_into(words, args, state)
    if types == OTHER:
        return OTHER
    first = state[POST_TURN]
    state[POST_TURN] = 1 - first
    for k in range(NETWORKS):
        network = k ^ first
        if networks >> network & 1:
            net = net_at(sync, state[NETS], network)
            if post(net, to, head | types, words, 0, length_of(args)):
                state[SENT] += 1
                return POSTED
    return FULL


@inline
def send_numbers(self: int, arguments: int, count: int) -> int:
    """Post a message of numbers."""
    given = words_at(arguments, count)
    state = words_at(integer_of(given[0]), STATE)
    numbers = integer_of(given[1]), integer_of(given[2]), integer_of(given[3])
    return new_integer(_send(state, *numbers, given[4]))


@inline
def _taken(state: Words) -> int:
    """Return the packet that `poll_into` has found as a new tuple."""
    packet = words_at(state[TAKEN], HEADER + rings.MOST_WORDS)
    network, sender, head, count = packet[0], packet[1], packet[2], packet[3]
    if head >= OF_LOOPS or head & (PICKLED | PARTIAL):
        args = new_bytes(state[TAKEN] + 8 * HEADER, 8 * count)
    else:
        args, types = new_tuple(count), (head & TYPES) >> TYPES_AT
        for k in range(count):
            word = packet[HEADER + k]
            set_item(args, k, new_float(float64_of(word)) if types >> k & 1 else new_integer(word))
        head &= ~TYPES
    found = new_tuple(4)
    set_item(found, 0, new_integer(network))
    set_item(found, 1, new_integer(sender))
    set_item(found, 2, new_integer(head))
    set_item(found, 3, args)
    return found


@inline
def _none(state: Words) -> int:
    keep(state[NONE])
    return int(state[NONE])


@inline
def take_message(self: int, arguments: int, count: int) -> int:
    """Take a packet."""
    given = words_at(arguments, count)
    state = words_at(integer_of(given[0]), STATE)
    return _taken(state) if poll_into(state, integer_of(given[1])) else _none(state)


@inline
def take_soon(self: int, arguments: int, count: int) -> int:
    """Take a packet, once one has come."""
    given = words_at(arguments, count)
    state, networks = words_at(integer_of(given[0]), STATE), integer_of(given[1])
    sync = words_at(state[SYNC], PRIVATE_WORDS)
    found, look = poll_into(state, networks), 0
    while not found and look < sync[RETRIES] // _SOON and not aborted(sync):
        look += 1
        if look > BARE:
            pause()
        found = poll_into(state, networks)
    return _taken(state) if found else _none(state)
