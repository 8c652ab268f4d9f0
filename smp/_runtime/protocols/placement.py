"""The distance between two processors' CPUs, measured as the time in which a cache line passes from one to the other.

A virtual machine's host may move its CPUs between cores, which changes the cost of what two of them share.  The
hand-off of a line is the quickest way to see it: a few microseconds show how two CPUs are placed at that moment.

    TURN of a pair      processor on side 0            processor on side 1
                        store 1                        look until it is 1
                        look until it is 2             store 2
                        store 3 ...                    look until it is 3 ...  the turns go on from probe to probe

Each probe has its own turns, numbered from the number of probes that both processors have begun in this run.  So a
turn that one side gave up is never mistaken for a turn of the next probe.  Neither side waits longer than PATIENCE:
if a partner does not come, or leaves the CPU, only this reading is lost.
"""

from __future__ import annotations

from ..loops.atomics import Words, clock, load, store, words_at
from ..loops.compiler import inline
from .wait import ABORT, PROBES, SHARED, SHARED_WORDS

TURNS_AT = SHARED_WORDS  # words, after those of `wait` on the same page
APART = 16  # words from one pair's turn to the next: two lines, since CPUs fetch lines in pairs
PAIRS = 24  # number of pairs; processors beyond are not probed
PLACEMENT_WORDS = TURNS_AT + APART * PAIRS
BLOCKS, TRIPS = 4, 6  # a probe is the fastest of BLOCKS blocks of TRIPS round trips each
PATIENCE = 100_000  # ns
LOOKS = 64  # at the turn, between two looks at the clock
UNKNOWN = -1


@inline
def _awaited(words: Words, turn: int, value: int, deadline: int) -> bool:
    while True:
        for _ in range(LOOKS):
            if load(words, turn) == value:
                return True
        if clock() > deadline or load(words, ABORT) != 0:
            return False


@inline
def hand_over(sync: Words, pair: int, side: int, number: int) -> int:
    """Probe one pair of processors; return the picoseconds of a hand-off, one way, or UNKNOWN.

    Parameters
    ----------
    sync : int64 array
        The processor's own words, ``proc.sync``.
    pair : int
        Number of the pair, which determines the turn that the two use.
    side : {0, 1}
        Side of this processor.
    number : int
        Number of the probe, the same on both sides and never used before in this run.
    """
    if pair >= PAIRS:
        return UNKNOWN
    words = words_at(sync[SHARED], PLACEMENT_WORDS)
    turn = TURNS_AT + APART * pair
    first = number * 2 * (BLOCKS * TRIPS + 1)
    deadline = clock() + PATIENCE
    if side == 0:
        store(words, turn, first + 1)
        if not _awaited(words, turn, first + 2, deadline):
            return UNKNOWN
    else:
        if not _awaited(words, turn, first + 1, deadline):
            return UNKNOWN
        store(words, turn, first + 2)
    value, least = first + 3 + side, 1 << 62
    for _ in range(BLOCKS):
        start = clock()
        for _ in range(TRIPS):
            if side == 0:
                store(words, turn, value)
                if not _awaited(words, turn, value + 1, deadline):
                    return UNKNOWN
            else:
                if not _awaited(words, turn, value - 1, deadline):
                    return UNKNOWN
                store(words, turn, value)
            value += 2
        least = min(least, clock() - start)
    return int(least * 1000 // (2 * TRIPS))


@inline
def probe(sync: Words, rank: int, size: int) -> int:
    """Probe the neighbours of a processor, all processors at the same time; return the slower hand-off in picoseconds.

    First each even processor is paired with the next, then each odd one. So each processor takes part in two probes
    at most, whatever the number of processors. Return UNKNOWN if there is no neighbour, or none that came.
    """
    farthest = UNKNOWN
    for odd in range(min(2, size - 1)):
        number = sync[PROBES]
        sync[PROBES] = number + 1
        side = (rank + odd) % 2
        other = rank + 1 - 2 * side
        if 0 <= other < size:
            found = hand_over(sync, (rank + odd) // 2, side, number)
            farthest = max(farthest, found)
    return farthest
