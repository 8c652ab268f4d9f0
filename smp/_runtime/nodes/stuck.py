"""Whether the threads of one processor can go on by themselves, for the deadlock check of several nodes.

The program's thread waits for messages (``progress``), or with a record, as the threads of its streams do
(``waiters``).  If all of them wait without a deadline, only another processor can let one go on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..memory.threads import Stream
from ..protocols import waiters
from ..protocols.stream_slots import PARKED
from .progress import Progress


class Standing(NamedTuple):
    """What the threads of a processor do: whether all wait, and the number of waits so far."""

    stuck: bool
    waits: int


def standing(progress: Progress, streams: Sequence[Stream], main: int, ours: Collection[int]) -> Standing:
    """Return what the threads of a processor do.

    Parameters
    ----------
    streams : sequence of Stream
        Its threads that have waited with a record.
    main : int
        Identifier of the program's thread.
    ours : collection of int
        Identifiers of threads that only do what others ask for.
    """
    with progress.lock:
        stuck, waits = progress.stuck(), progress.waits
    active = [stream for stream in list(streams) if stream.words[waiters.ACTIVE] and stream.thread not in ours]
    others = [stream for stream in active if not (stuck and stream.thread == main)]
    known = stuck or any(stream.thread == main for stream in others)
    waits += sum(int(stream.words[waiters.WAITS]) for stream in active)
    return Standing(known and all(_waits(stream) for stream in others), waits)


def _waits(stream: Stream) -> bool:
    words = stream.words
    queued = words[waiters.OP] != 0 and words[waiters.STATUS] & waiters.STATE == waiters.WAITING
    return bool(queued and (words[waiters.UNTIL] == 0 or words[waiters.OP] == PARKED))
