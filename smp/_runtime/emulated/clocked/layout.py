"""Words of the streams of a run under the clock, which machine code and Python share.

    header     one for each machine: counters, the heaps, and what hooks of machine code call
    rows       one for each stream
    heaps      numbers of rows: WAITING by virtual time, HELD by a pause (see ``turns``)
    by_step    a list of the streams that can run, from FIRST to FINAL by their last steps (see ``by_step``)
    buckets    first and last sleeper of each group of addresses

One thread runs a machine, and it holds Python's lock when it uses these words, so none of them is atomic.  Python
moves rows and heaps to a longer array when they are full, and then changes their addresses in the header.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline

STEPS, ALARM, OVER, RUNNING, BEGINNER = 0, 1, 2, 3, 4
READY, PAUSING, TIMED, VAIN, PATIENCE, WOKEN, FIRST, FINAL = 5, 6, 7, 8, 9, 10, 11, 12
ROWS, USED, HEAPS, LENGTHS, BUCKETS = 13, 14, 15, 17, 19  # two words each of HEAPS and LENGTHS
HUB, SWITCH, CALL, LOOK, DECREF, JUMP = 20, 21, 22, 23, 24, 25  # addresses: see ``hooks``
CLOCK, COSTS = 26, 27  # charges: of reading the clock, and of each of the KINDS of steps
RECORD, ROOM = 37, 38  # address of the record of steps, two words each, and the number of steps that it holds
CACHES = 39  # address of the words of the caches (see ``caches.layout``); 0 if steps cost the same on all words
HEADER = 48  # words

NOW, NUMBER, LAST, PAUSED, BEFORE, PAUSES, FRESH = 0, 1, 2, 3, 4, 5, 6
ASLEEP_ON, UNTIL, SINCE, NEXT, PREVIOUS = 7, 8, 9, 10, 11
HEAP, PLACE, KEY, RUNS, GREENLET, BEGUN, LANDING, OLDER, NEWER, RANK = 12, 13, 14, 15, 16, 17, 18, 19, 20, 21
ROW = 24

WAITING, HELD, NOWHERE = 0, 1, 2  # heaps
NONE = -1  # no stream
NEVER = 1 << 62  # as a deadline: none
GROUPS = 1024  # groups of addresses, a power of two
ENTRIES = 1 << 40  # more than any array has: its length is not checked

LOAD, STORE_RELEASE, STORE, EXCHANGE, COMPARE_EXCHANGE, COMPARE_EXCHANGE_PAIR, FETCH_ADD = range(7)
PAUSE, FUTEX_WAIT, FUTEX_WAKE = range(7, 10)  # kinds of steps


@inline
def rows_of(header: Words) -> Words:
    """Return the rows of all streams."""
    return words_at(header[ROWS], ENTRIES)


@inline
def heap_of(header: Words, heap: int) -> Words:
    """Return the numbers of the rows in a heap."""
    return words_at(header[HEAPS + heap], ENTRIES)
