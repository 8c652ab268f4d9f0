"""Posting and taking packets of the rings, and sleeping until something comes.

A processor sleeps in its inbox (``inboxes``) for packets, for room, and for the end of a round of the barrier, all at
once.  Each of these is a change that some other processor makes and then notifies the sleeper of:

    packet in a ring     `post`, by its sender
    room in a ring       `poll_into`, by its receiver, when it publishes credit
    end of a round       ``barriers.arrive``, by the last to arrive
    failure of the run   ``wait.abort``

For its calls from Python, a processor has a few private words (``state``): its rank, and the addresses of its others.

No wake-up may be lost, so the change must be seen before its maker looks at the inbox.  Rings store by release, which
an x86 may delay beyond a later load.  A full fence in every post would double what a post costs.  So the sleeper pays:
once ASLEEP is stored it calls `fence_all`, which completes the stores of all processors, and only then takes its last
look (see ``inboxes``).  The compiler keeps the store and the look of a post in order, because both are atomic.

A post makes a full fence itself if `fence_all` does not reach its process, and on a machine whose waits do not spin.
There, processors share CPUs and sleep often, and `fence_all` takes as long as a thousand posts.

The words of ``net`` from OTHERS on belong to this layer:

    FENCE            0 if posts need no fence; otherwise the number of fences so far, plus 1
    INBOXES_AT       address of the first inbox
    SLOTS_POSTED     slots of the packets that Python has posted by `post`; all others were posted by loops
    HANDLED          packets that loops of this processor have taken
    KEPT, KEPT_AT    number and address of the packets that wait for loops outside the ring
    RIGHT_AT, WAIT, STATE_AT, OWN    in the words of LEFT only: what compiled loops need (see ``loop_packets``)
"""

from __future__ import annotations

from ..loops.atomics import Words, clock, fence_all, fetch_add, futex_wait, load, pause, store, words_at
from ..loops.compiler import inline
from . import rings
from .barriers import passed
from .event_rings import GOES_ON, WAITS, note
from .inboxes import ASLEEP, EVENTS, inbox_at, notify
from .wait import (
    ABORTED,
    BARE,
    CHANGING,
    EXPIRED,
    INBOX,
    INBOXES,
    OK,
    PRIVATE_WORDS,
    RETRIES,
    SHARED,
    SIZE,
    SLEEPERS,
    SLICE,
    aborted,
    shared_of,
)
from .waiters import OP, begin_wait, end_wait

FENCE, INBOXES_AT, SLOTS_POSTED, HANDLED, KEPT, KEPT_AT = range(rings.OTHERS, rings.OTHERS + 6)
RIGHT_AT, WAIT, STATE_AT, OWN = range(rings.OTHERS + 6, rings.PEERS)
MESSAGES = 34  # OP of a record that waits in an inbox
NETWORKS = 2
SYNC, NETS, GIVEN, TAKEN, RANK, TURN = range(6)
"""Words of ``state``: addresses of ``sync``, of ``net`` of LEFT, of the words of a packet to post, of those of a packet
that was taken; the rank; and the network to look at first."""
POST_TURN, SENT, THREAD, TYPE_AT, INT, FLOAT, NONE, STATE = range(6, 14)
"""Further words of ``state``, for ``python_messages``, and the number of all."""
HEADER = 4  # words in front of a packet that was taken: its network, its sender, its head, its number of words


@inline
def net_at(sync: Words, nets: int, network: int) -> Words:
    """Return this processor's private words of one network; those of LEFT begin at the address ``nets``."""
    length = rings.private_words(sync[SIZE])
    return words_at(nets + 8 * length * network, length)


@inline
def inbox_of(sync: Words, rank: int) -> Words:
    """Return the inbox of a processor."""
    return inbox_at(sync[SHARED] + shared_of(sync)[INBOX], rank)


@inline
def post(net: Words, to: int, head: int, source: Words, first: int, count: int) -> bool:
    """Post a packet if there is room, and wake its receiver if it sleeps; return whether it was posted."""
    if not rings.try_post_from(net, to, head, source, first, count):
        return False
    net[SLOTS_POSTED] += rings.slots_of(count)
    announce(net, to)
    return True


@inline
def announce(net: Words, to: int) -> None:
    """Wake a processor, if it sleeps, after a change in the rings that it may wait for."""
    if net[FENCE] != 0:
        fetch_add(net, FENCE, 1)
    notify(inbox_at(net[INBOXES_AT], to))


@inline
def post_given(state: Words, network: int, to: int, head: int, count: int) -> int:
    """Post the first words of the packet to post, as `post` does; return 1 or 0."""
    sync = words_at(state[SYNC], PRIVATE_WORDS)
    source = words_at(state[GIVEN], rings.MOST_WORDS)
    return 1 if post(net_at(sync, state[NETS], network), to, head, source, 0, count) else 0


@inline
def poll_into(state: Words, networks: int) -> int:
    """Take a packet from one of the networks, in turn, into the words for it; return 1, or 0 if there is none."""
    sync = words_at(state[SYNC], PRIVATE_WORDS)
    for k in range(NETWORKS):
        network = k ^ state[TURN]
        if networks >> network & 1:
            net = net_at(sync, state[NETS], network)
            sender, head, count, _ = rings.try_poll(net)
            if sender != rings.NO_SENDER:
                into = words_at(state[TAKEN], rings.MOST_WORDS + HEADER)
                into[0], into[1], into[2], into[3] = network, sender, head, count
                state[TURN] = 1 - network
                rings.read(net, sender, count, into, HEADER)
                if rings.take(net, sender, count):
                    announce(net, sender)
                return 1
    return 0


@inline
def _give_back(net: Words) -> None:
    """Publish all credit before a sleep."""
    for sender in range(net[rings.SIZE]):
        if rings.publish(net, sender):
            announce(net, sender)


@inline
def _ready(sync: Words, left: Words, right: Words, networks: int, room: int, to: int, k: int) -> bool:
    """Return True if a packet has come on one of the networks, there is room, or round ``k`` has passed."""
    if k >= 0 and passed(sync, k):
        return True
    if networks & 1 and rings.try_poll(left)[0] != rings.NO_SENDER:
        return True
    if networks & 2 and rings.try_poll(right)[0] != rings.NO_SENDER:
        return True
    if room & 1 and rings.room(left, to, 1) > 0:
        return True
    return bool(room & 2 and rings.room(right, to, 1) > 0)


@inline
def await_event(
    sync: Words,
    left: Words,
    right: Words,
    own: Words,
    rank: int,
    networks: int,
    room: int,
    to: int,
    k: int,
    deadline: int,
    once: bool,
) -> int:
    """Wait until something comes: a packet on one of the networks, room to a processor, or the end of round ``k``.

    ``networks`` and ``room`` are 0 for none, 1 for LEFT, 2 for RIGHT, 3 for both; ``k`` is -1 for none; ``own`` is the
    record in which the sleep is noted.  Return OK, ABORTED or EXPIRED.

    If ``once``, return CHANGING after a slice of sleep.  The wait stays noted then, and the caller must call this
    again: with a deadline that is over, if it gives up.
    """
    goes_on = once and own[OP] == MESSAGES
    for look in range(0 if goes_on else sync[RETRIES]):
        if _ready(sync, left, right, networks, room, to, k):
            return OK
        if aborted(sync):
            return ABORTED
        if look > BARE:
            pause()
    _give_back(left)
    _give_back(right)
    if not goes_on:
        note(own, WAITS, 0, MESSAGES)
        begin_wait(own, MESSAGES, 0, clock(), deadline)
    inbox = inbox_of(sync, rank)
    begin_sleep(sync, inbox, k)
    slept = False
    status = CHANGING
    while status == CHANGING:
        seen = load(inbox, EVENTS)
        if _ready(sync, left, right, networks, room, to, k):
            status = OK
        elif once and slept:
            break
        else:
            status = sleep(sync, inbox, seen, deadline)
            slept = True
    end_sleep(sync, inbox, k)
    if status != CHANGING:
        end_wait(own)
        note(own, GOES_ON, 0, 0)
    return status


@inline
def await_in(state: Words, own: Words, networks: int, room: int, to: int, k: int, deadline: int, once: bool) -> int:
    """Wait as `await_event` does, given the words for calls from Python."""
    sync = words_at(state[SYNC], PRIVATE_WORDS)
    left, right = net_at(sync, state[NETS], 0), net_at(sync, state[NETS], 1)
    return await_event(sync, left, right, own, state[RANK], networks, room, to, k, deadline, once)


@inline
def begin_sleep(sync: Words, inbox: Words, k: int) -> None:
    """Show that this processor sleeps from now on, before its last look."""
    if k >= 0:
        shared = shared_of(sync)
        fetch_add(shared, INBOXES, 1)
        fetch_add(shared, SLEEPERS, 1)
    store(inbox, ASLEEP, 1)
    if sync[RETRIES] > 0:
        fence_all()


@inline
def end_sleep(sync: Words, inbox: Words, k: int) -> None:
    """Show that this processor does not sleep any more."""
    store(inbox, ASLEEP, 0)
    if k >= 0:
        shared = shared_of(sync)
        fetch_add(shared, SLEEPERS, -1)
        fetch_add(shared, INBOXES, -1)


@inline
def sleep(sync: Words, inbox: Words, seen: int, deadline: int) -> int:
    """Sleep for a slice while EVENTS is ``seen``; return CHANGING, ABORTED or EXPIRED."""
    if aborted(sync):
        return ABORTED
    slice_ns = sync[SLICE]
    if deadline != 0:
        left = deadline - clock()
        if left <= 0:
            return EXPIRED
        if left < slice_ns:
            slice_ns = left
    futex_wait(inbox, EVENTS, seen, slice_ns)
    return CHANGING
