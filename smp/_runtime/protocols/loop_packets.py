"""Packets that compiled loops post and take: a kind, and four words.

    head      │ kind 37 │ of loops 1 │      38 bits, from the lowest on; the packets of handlers have 0 in the last bit
    words     │ a │ b │ c │ d │

They share the rings with the packets of handlers (``program.messages``).  A loop that finds a packet of a handler
leaves it in its ring, for Python to take.  Python that finds a packet of a loop takes it out of its ring, because
packets of handlers may come behind it, and keeps it for the next loop that polls.  A loop takes the kept packets first,
so all packets of one sender and network come in order.

    kept packets    │ source │ kind │ a │ b │ c │ d │     rows that begin at KEPT_AT; there are KEPT of them

A compiled loop gets one number, the address of the words of LEFT, because a loop that calls another one copies all that
it gives to it.  These words also say what else loops need:

    RIGHT_AT         address of the words of the other network
    WAIT             address of the runtime's machine code of `await_packet`
    STATE_AT, OWN    addresses of the processor's words for calls from Python (see ``message_waits``), and of the
                     program's record (see ``waiters``)

`posted` and HANDLED are what `Processor.quiet` needs.  A post counts nothing itself: on CPUs whose lines travel for 200
ns, one more store in each post, of seven, makes it a third slower.
"""

from __future__ import annotations

from ..loops.atomics import Words, load, words_at
from ..loops.compiler import inline, merged
from . import message_waits, rings
from .message_waits import HANDLED, KEPT, KEPT_AT, NETS, RIGHT_AT, SLOTS_POSTED, announce
from .wait import OK

WORDS = 4
KINDS = 1 << 37
"""Number of kinds."""
OF_LOOPS = KINDS  # the bit of a head
ROW = 2 + WORDS  # words of a kept packet
OF_HANDLERS = -1
"""Kind with which a poll reports a packet that is for a Python handler."""

Polled = tuple[bool, int, int, int, int, int, int]


@merged
def words_of(address: int) -> Words:
    """Return the private words of a network."""
    return words_at(address, rings.private_words(words_at(address, rings.PEERS)[rings.SIZE]))


@merged
def post(net: Words, to: int, kind: int, a: int, b: int, c: int, d: int) -> bool:
    """Post a packet if there is room, and wake its receiver if it sleeps; return whether it was posted."""
    if not rings.try_post(net, to, kind & KINDS - 1 | OF_LOOPS, WORDS, a, b, c, d, 0, 0, 0):
        return False
    announce(net, to)
    return True


def posted(net: Words) -> int:
    """Return the number of packets that loops have posted."""
    slots = net[rings.PEERS + rings.POSTED : net[rings.IN] : rings.PEER].sum()
    return int(slots - net[SLOTS_POSTED])


@merged
def poll(net: Words) -> Polled:
    """Take a packet; return whether there is one, its kind, its sender, and its words."""
    if net[KEPT] > 0:
        return _kept(net)
    sender, head, _, at = rings.try_poll(net)
    if sender == rings.NO_SENDER:
        return False, 0, sender, 0, 0, 0, 0
    if head < OF_LOOPS:
        return True, OF_HANDLERS, sender, 0, 0, 0, 0
    slots = rings.rings_of(net)
    a, b, c, d = load(slots, at), load(slots, at + 1), load(slots, at + 2), load(slots, at + 3)
    net[HANDLED] += 1
    if rings.take(net, sender, WORDS):
        announce(net, sender)
    return True, head - OF_LOOPS, sender, a, b, c, d


@inline
def _kept(net: Words) -> Polled:
    """Take the first of the packets that are kept."""
    row = words_at(net[KEPT_AT], ROW)
    net[KEPT_AT] += 8 * ROW
    net[KEPT] -= 1
    net[HANDLED] += 1
    return True, row[1], row[0], row[2], row[3], row[4], row[5]


@inline
def await_packet(state: Words, own: Words, wanted: int, to: int) -> int:
    """Wait until a packet has come or there is room; return OK or ABORTED.

    ``wanted`` is 1 for a packet on LEFT, 2 for one on RIGHT, 4 for room on LEFT to processor ``to``, 8 for room on
    RIGHT, or a sum of these.
    """
    left = words_of(state[NETS])
    if (wanted & 1 and left[KEPT] > 0) or (wanted & 2 and words_of(left[RIGHT_AT])[KEPT] > 0):
        return OK
    return message_waits.await_in(state, own, wanted & 3, wanted >> 2, to, -1, 0, False)
