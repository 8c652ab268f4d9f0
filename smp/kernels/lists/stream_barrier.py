"""Barrier for streams, made of a counter and two gates that open alternately.

    arrivals     fetch_add of a word, never reset           the last stream of round r gets (r + 1) parties - 1
    gates        two cells; all but the last stream read the gate of their round once it is full

                 gate 0    gate 1
    round 0      fill      purge         the last stream to arrive empties the other gate and then fills its own
    round 1      purge     fill          no stream reads the other gate any more: all have left the round before

A waiting stream gives up its CPU after the cells' retry limit.  Source: the study of the Tera MTA, section 4.4.2, which
has a counter-based barrier from fetch-and-add and a toggling block-and-release.
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
    """State of a barrier, to be passed to a compiled loop.

    Attributes
    ----------
    arrivals : int64 array, shape (1,)
        Number of arrivals so far, in all rounds.
    gates : Cells
        Two cells, empty at first.
    parties : int
        Number of streams that meet.
    """

    arrivals: NDArray[np.int64]
    gates: Cells
    parties: int


def meeting(proc: Processor, streams: int) -> Meeting:
    """Return a barrier for the given number of streams of every processor; all processors call it alike."""
    return Meeting(proc.zeros(1, np.int64).view, proc.cells(2, padded=True), streams * proc.size)


@inline
def meet(at: Meeting, turn: int) -> None:
    """Wait until all streams have arrived in round ``turn``; rounds are counted from 0.

    Raises
    ------
    Aborted
        Another processor or stream has failed.
    """
    if fetch_add(at.arrivals, 0, 1) == (turn + 1) * at.parties - 1:
        purge(at.gates, (turn + 1) % 2)
        fill(at.gates, turn % 2)
    else:
        readff(at.gates, turn % 2)
