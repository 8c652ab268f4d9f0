"""A barrier of streams: a counter, and two gates that let through by turns.

    arrivals     fetch_add of a word, never reset           the last of round r is number (r + 1) parties - 1
    gates        two cells; all but the last read the gate of their round once it is full

                 gate 0    gate 1
    round 0      fill      purge         the last to arrive makes the other gate ready and then opens its own
    round 1      purge     fill          nobody reads the other gate any more: all have left the round before

A stream that waits gives its CPU up after the cells' retry limit.  Source: the study of the Tera MTA, section 4.4.2: a
counter-based barrier from fetch-and-add, and a toggling block-and-release.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import Processor, inline
from smp._runtime.loops.atomics import fetch_add
from smp._runtime.memory.cells import Cells
from smp.compiled import fill, purge, readff


class Meeting(NamedTuple):
    """What the streams meet at, to be handed to a compiled loop.

    Attributes
    ----------
    arrivals : int64 array, shape (1,)
    gates : Cells
        Two, empty.
    parties : int
        Streams that meet.
    """

    arrivals: NDArray[np.int64]
    gates: Cells
    parties: int


def meeting(proc: Processor, streams: int) -> Meeting:
    """Return a barrier of so many streams of every processor; all processors call it alike."""
    return Meeting(proc.zeros(1, np.int64).view, proc.cells(2, padded=True), streams * proc.size)


@inline
def meet(at: Meeting, turn: int) -> None:
    """Wait until all streams have come for this turn; turns are counted from 0.

    Raises
    ------
    Aborted
        When another processor or stream fails.
    """
    if fetch_add(at.arrivals, 0, 1) == (turn + 1) * at.parties - 1:
        purge(at.gates, (turn + 1) % 2)
        fill(at.gates, turn % 2)
    else:
        readff(at.gates, turn % 2)
