"""A third kind of machine, in one folder. Its processors share nothing and send each other messages.

    program thread of each processor ── requests ──▶ owner thread of each processor, which has its parts of all arrays
                    ▲    │                                      │
                    └────┴──── arrivals, failures, replies ◀────┘

It stands for a machine of several computers: each message is pickled, and each processor owns ``share(size, rank, p)``
of the elements of an array.  Threads and queues of this process carry the messages.
"""

import os

import smp
from smp._runtime.source.lines import count_as_ours

from .processors import MessageProcessors

count_as_ours(os.path.dirname(__file__))


def message_machine(processors: int) -> smp.Machine:
    """Open a machine whose processors share nothing."""
    return smp.Machine(MessageProcessors(processors))
