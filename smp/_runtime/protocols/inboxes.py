"""Inboxes: the words on which processors sleep until a message, room for one, or the end of a barrier comes.

    inbox of a processor, a line    │ EVENTS │ ASLEEP │

    to sleep                                      to change something that it may wait for
    ASLEEP = 1              (store)               post a packet, give room back, or arrive as the last at a barrier
    seen   = EVENTS         (load)                      (a sequentially consistent store or addition)
    is there a packet, room, the end?             ASLEEP = 1?   (load)
    no: sleep while EVENTS is ``seen``                 EVENTS += 1, wake
    again; at last ASLEEP = 0

The store of ASLEEP and the change are sequentially consistent, and each comes before a load of the other word.  So the
sleeper sees the change, or the other processor sees the sleeper and changes EVENTS, which ends a sleep or keeps it from
beginning.  The last processor to arrive at a barrier looks at the inboxes only if INBOXES (see ``wait``) is above 0:
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
