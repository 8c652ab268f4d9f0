"""Inboxes: the words on which processors sleep until a message, room for one, or the end of a barrier comes.

    inbox of a processor, a line    │ EVENTS │ ASLEEP │

    to sleep                                      to change something that it may wait for
    ASLEEP = 1              (store)               post a packet or give room back    (store_release)
    fence_all                                     ASLEEP = 1?                        (load)
    seen   = EVENTS         (load)                     EVENTS += 1, wake
    is there a packet, room, the end?
    no: sleep while EVENTS is ``seen``; again
    ASLEEP = 0

`fence_all` is a fence on the CPU of the other processor, too.  If the change comes before this fence there, the sleeper
sees the change.  If the fence comes first, so does the store of ASLEEP, and the other processor sees the sleeper.  Then
it changes EVENTS, which ends a sleep or keeps it from beginning.  A processor that `fence_all` does not reach makes a
full fence between the change and its look at ASLEEP, and so does a processor that arrives at a barrier, by its atomic
addition.  The model ``docs/models/inbox.pml`` checks this.

The last processor to arrive at a barrier looks at the inboxes only if INBOXES (see ``wait``) is above 0:
a processor that sleeps for the end of a barrier raises that count first.
"""

from __future__ import annotations

from ..loops.atomics import Words, fetch_add, futex_wake, load, words_at
from ..loops.compiler import inline

EVENTS, ASLEEP = 0, 1
LINE = 8  # words
_BYTES = 64


@inline
def inbox_at(address: int, rank: int) -> Words:
    """Return the inbox of a processor; ``address`` is that of the first inbox."""
    return words_at(address + _BYTES * rank, LINE)


@inline
def notify(inbox: Words) -> None:
    """Wake the processor of an inbox if it sleeps."""
    if load(inbox, ASLEEP) != 0:
        fetch_add(inbox, EVENTS, 1)
        futex_wake(inbox, EVENTS, 1)


@inline
def notify_all(address: int, processors: int) -> None:
    """Wake all processors that sleep in their inboxes."""
    for rank in range(processors):
        notify(inbox_at(address, rank))
