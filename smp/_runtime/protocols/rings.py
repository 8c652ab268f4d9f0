"""Rings: on each network, every processor has a ring of packets to every processor, itself included.

    ring      │ slot │ slot │ ... │ slot │ credit │     lines of 64 bytes, 8 words each; SLOTS slots, then the credit
    slot      │ stamp 16, count 9, head 38 │ a │ b │ c │ d │ e │ f │ g │
    credit    │ number of slots that the receiver has given back │ unused │

    stamp     the lap in which the slot was last filled, modulo 2^16; the first lap is 1, and 0 is a slot never filled
    count     number of the message's words, over all its slots
    head      for the layers above: which handler or kind, and flags

    post      room, or return False:       SLOTS - (posted - credit last seen); if that is too little, load the credit
              payload of all slots         store_release
              stamps of all slots but the first, then of the first                                       store_release
    poll      for each sender, in turn     load the first word of the next slot; there is a message if its stamp is
                                           that of the lap
    take      read the payload; then give the slots back: add their number to those taken, and publish that number as
              the credit, by store_release, once half of the ring has not been published

A message of more than seven words takes consecutive slots, whose first words carry none of its data.  Its first stamp
is stored last, so the receiver sees a message with all its slots or not at all, and looks at one stamp only.  The other
slots get their stamps too, although no processor looks at them in this lap.  So each slot is stamped in every lap, and
the receiver that waits for a stamp finds there the stamp of the lap before, or 0.  A slot without a stamp of its own
could keep one for 2^16 laps, which a short ring makes in milliseconds, and it would then be taken for a new message.

Two pairs of a store and a load order everything, on any CPU:

    store_release of the stamp   ->  load of the stamp     the receiver reads the payload that was stored before
    store_release of the credit  ->  load of the credit    the sender writes to a slot after it was read

A load acquires and a store_release releases.  On an x86 both are plain instructions, because an x86 delays only stores,
in their order.  On ARM they are ``ldar`` and ``stlr``.  Nothing here needs a fence, since no step depends on the order
of a store and a later load.  (A processor that wants to sleep does, but that is not part of a ring.)  The payload is
stored by store_release too, only because each of its words is then a step of an exploration.

There is no lock and no word that two processors write.  A sender that is preempted or killed in the middle of a post
has not stored the first stamp, so the receiver finds nothing in this ring and goes on with the other rings.  A sender
that posts without end fills its own ring, and no other one.  A receiver that is preempted keeps its senders without
room, and no other processor.

The receiver holds back the credit of less than half of the slots.  So once it has taken every message of a ring, the
sender has room for a message of SLOTS // 2 + 1 slots, and no message is longer.  Therefore no sender waits for a credit
that the receiver publishes only later.  In a ring of one or two slots every credit is published at once.  A receiver
that is about to sleep publishes the rest by `publish`, so that its senders have whole rings.

Each processor has private words of its own for each network, the array ``net`` (int64), which `prepare` fills:

    RINGS, LENGTH    address and number of the network's words, all rings together
    SIZE, SLOTS      processors; slots of a ring
    NEXT             the sender whose ring the next poll looks at first: the one after the sender last served
    IN               index in ``net`` of a word for each sender: the next slot of its ring.
                     A poll loads such a word and a slot for each sender
    OTHERS           words of the layers above (see ``message_waits``)
    a line for       OUT, POSTED, LIMIT, OUT_END    as its sender: the next slot, slots posted, the number up to which
    each processor                                  the credit last seen lets it post, and the end of the ring
                     TAKEN, PUBLISHED, IN_END       as its receiver: slots taken, the credit last published, and the
                                                    end of the ring

A next slot is the index of its first word, times 2^32, plus its lap.  The credit lies at the end of the ring.
The shared words are zeroed and the private ones prepared before each run.  ``docs/models/ring.pml`` is the model.
"""

from __future__ import annotations

from ..loops.atomics import Words, load, store_release, words_at
from ..loops.compiler import inline, merged

LINE, PAYLOAD = 8, 7  # words of a slot, and those of its payload
LOW = 0xFFFF  # mask of a stamp, and of the lap of a next slot
COUNT_AT, HEAD_AT, AT = 16, 25, 32  # bits to the right of count, head, and an index
MOST_WORDS = (1 << HEAD_AT - COUNT_AT) - 1
HEADS = 1 << 63 - HEAD_AT
"""Number of values of a head."""
RINGS, LENGTH, SIZE, SLOTS, NEXT, IN = 0, 1, 2, 3, 4, 5
OTHERS = 6  # from here to PEERS
PEERS, PEER = 16, 8  # the line of processor k begins at PEERS + PEER * k
OUT, POSTED, LIMIT, OUT_END, TAKEN, PUBLISHED, IN_END = range(7)
NO_SENDER = -1


def slots_for(processors: int) -> int:
    """Return the number of slots of each ring: 4096 slots divided among the senders, but at least 8 and at most 64."""
    return min(max(4096 // processors, 8), 64)


def longest(slots: int) -> int:
    """Return the number of words of the longest message that rings of ``slots`` slots pass on."""
    return min(PAYLOAD * (slots // 2 + 1), MOST_WORDS)


def ring_words(processors: int, slots: int) -> int:
    """Return the number of shared words of one network."""
    return processors**2 * (slots + 1) * LINE


@inline
def private_words(processors: int) -> int:
    """Return the number of private words of one processor and one network."""
    return PEERS + (PEER + 1) * processors


def ring_at(receiver: int, sender: int, processors: int, slots: int) -> int:
    """Return the index of the first word of a ring; those of one receiver lie together."""
    return (receiver * processors + sender) * (slots + 1) * LINE


def prepare(net: Words, address: int, rank: int, processors: int, slots: int) -> None:
    """Fill a processor's private words of one network, whose shared words are all 0.

    Parameters
    ----------
    net : int64 array, shape (private_words(processors),)
    address : int
        Address of the shared words, a multiple of 64; all processors have the same words.
    rank, processors, slots : int
    """
    net[:] = 0
    net[[RINGS, LENGTH, SIZE, SLOTS]] = address, ring_words(processors, slots), processors, slots
    net[IN] = PEERS + PEER * processors
    for k in range(processors):
        peer = PEERS + PEER * k
        out, into = (ring_at(*pair, processors, slots) for pair in ((k, rank), (rank, k)))
        net[peer + OUT], net[net[IN] + k] = out << AT | 1, into << AT | 1
        net[peer + OUT_END], net[peer + IN_END] = out + slots * LINE, into + slots * LINE
        net[peer + LIMIT] = slots


@inline
def rings_of(net: Words) -> Words:
    """Return the shared words of a network."""
    return words_at(net[RINGS], net[LENGTH])


@inline
def slots_of(count: int) -> int:
    """Return the number of slots of a message of ``count`` words."""
    return 1 if count <= PAYLOAD else (count + PAYLOAD - 1) // PAYLOAD


@inline
def room(net: Words, to: int, slots: int) -> int:
    """Return the number of free slots in the ring to a processor.

    The result comes from the credit last seen if that shows at least ``slots`` free slots, and from the present credit
    otherwise.  Only a post by this processor takes free slots away.
    """
    peer = PEERS + PEER * to
    free = net[peer + LIMIT] - net[peer + POSTED]
    if free < slots:
        limit = load(rings_of(net), net[peer + OUT_END]) + net[SLOTS]
        net[peer + LIMIT] = limit
        free = limit - net[peer + POSTED]
    return int(free)


@inline
def _after(place: int, slots: int, end: int, ring: int) -> int:
    """Return the next slot after some more slots, in this lap or the next."""
    place += slots * LINE << AT
    if place >> AT >= end:
        place = (place >> AT) - ring * LINE << AT | place + 1 & LOW
    return place


@merged
def try_post(
    net: Words, to: int, head: int, count: int, a: int, b: int, c: int, d: int, e: int, f: int, g: int
) -> bool:
    """Post a message of at most seven words if there is room; return whether it was posted.

    Parameters
    ----------
    net : int64 array
        Private words of this processor and the network.
    to : int
        Receiver.
    head : int
        Number from 0 to HEADS - 1.
    count : int
        Number of words, 0 to 7; the others are not sent.
    a, b, c, d, e, f, g : int
    """
    if room(net, to, 1) < 1:
        return False
    peer = PEERS + PEER * to
    rings, place = rings_of(net), net[peer + OUT]
    at = place >> AT
    if count > 0:
        store_release(rings, at + 1, a)
    if count > 1:
        store_release(rings, at + 2, b)
    if count > 2:
        store_release(rings, at + 3, c)
    if count > 3:
        store_release(rings, at + 4, d)
    if count > 4:
        store_release(rings, at + 5, e)
    if count > 5:
        store_release(rings, at + 6, f)
    if count > 6:
        store_release(rings, at + 7, g)
    store_release(rings, at, place & LOW | count << COUNT_AT | head << HEAD_AT)
    net[peer + POSTED] += 1
    net[peer + OUT] = _after(place, 1, net[peer + OUT_END], net[SLOTS])
    return True


@inline
def try_post_from(net: Words, to: int, head: int, source: Words, first: int, count: int) -> bool:
    """Post the message ``source[first : first + count]`` if there is room for all of it; return whether it was posted.

    Parameters
    ----------
    net, to, head
        As for `try_post`.
    source : int64 array
        It may be changed once this returns.
    first, count : int
        Index of the first word; number of words, 0 to ``longest(slots)``.
    """
    slots = slots_of(count)
    if room(net, to, slots) < slots:
        return False
    peer = PEERS + PEER * to
    rings, place, end, ring = rings_of(net), net[peer + OUT], net[peer + OUT_END], net[SLOTS]
    at, done, slot = place >> AT, 0, place
    for k in range(slots):
        left = count - done
        for i in range(left if left < PAYLOAD else PAYLOAD):
            store_release(rings, (slot >> AT) + 1 + i, source[first + done + i])
        if k > 0:
            store_release(rings, slot >> AT, slot & LOW)
        done += PAYLOAD
        slot = _after(slot, 1, end, ring)
    store_release(rings, at, place & LOW | count << COUNT_AT | head << HEAD_AT)
    net[peer + POSTED] += slots
    net[peer + OUT] = slot
    return True


@merged
def _look(net: Words, rings: Words, begin: int, end: int) -> tuple[int, int]:
    """Return the index in ``net`` of the first sender that has a message here, and the message's first word.

    The index is at least ``end`` if there is none.
    """
    i = begin & LOW  # shows the compiler that no index is negative, which makes the loop twice as fast
    while i < end:
        place = net[i]
        word = load(rings, place >> AT)
        if (word ^ place) & LOW == 0:
            return i, word
        i += 1
    return i, 0


@merged
def try_poll(net: Words) -> tuple[int, int, int, int]:
    """Look for a message, at each sender's next slot; return ``(sender, head, count, at)``.

    ``sender`` is NO_SENDER if there is none.  ``count`` is the number of words of the message.  The first seven of them
    are ``rings_of(net)[at]`` and those after it; `read` copies all.  They stay there until `take`.
    """
    rings, begin = rings_of(net), net[IN]
    middle, end = begin + net[NEXT], begin + net[SIZE]
    i, word = _look(net, rings, middle, end)
    if i >= end:
        i, word = _look(net, rings, begin, middle)
        if i >= middle:
            return NO_SENDER, 0, 0, 0
    return i - begin, word >> HEAD_AT, word >> COUNT_AT & MOST_WORDS, (net[i] >> AT) + 1


@inline
def read(net: Words, sender: int, count: int, out: Words, first: int) -> None:
    """Copy the message that a poll has found into ``out[first : first + count]``."""
    peer = PEERS + PEER * sender
    rings, slot, end, ring = rings_of(net), net[net[IN] + sender], net[peer + IN_END], net[SLOTS]
    done = 0
    while done < count:
        left = count - done
        for i in range(left if left < PAYLOAD else PAYLOAD):
            out[first + done + i] = load(rings, (slot >> AT) + 1 + i)
        done += PAYLOAD
        slot = _after(slot, 1, end, ring)


@merged
def take(net: Words, sender: int, count: int) -> bool:
    """Take the message of ``count`` words that a poll has found, once it is read; return whether credit was published.

    If it was, the sender may find room that it did not find before.
    """
    peer, mine, slots = PEERS + PEER * sender, net[IN] + sender, slots_of(count)
    net[mine] = _after(net[mine], slots, net[peer + IN_END], net[SLOTS])
    taken = net[peer + TAKEN] + slots
    net[peer + TAKEN] = taken
    net[NEXT] = sender + 1 if sender + 1 < net[SIZE] else 0
    if 2 * (taken - net[peer + PUBLISHED]) < net[SLOTS]:
        return False
    return publish(net, sender)


@inline
def publish(net: Words, sender: int) -> bool:
    """Publish all that was taken from a sender as its credit; return whether there was anything to publish."""
    peer = PEERS + PEER * sender
    if net[peer + PUBLISHED] == net[peer + TAKEN]:
        return False
    net[peer + PUBLISHED] = net[peer + TAKEN]
    store_release(rings_of(net), net[peer + IN_END], net[peer + TAKEN])
    return True
