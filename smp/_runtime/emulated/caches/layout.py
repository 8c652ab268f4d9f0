"""Words of the caches of a machine, which machine code and Python share.

    memory     one for each machine: its times, in ps, its sizes, what it has counted
    entries    for each set of places, one after another: the places of processor 0, of processor 1, ...
    copies     one row for each processor: the copy that it makes
    order      ranks of the processors that make a copy

An entry is 0 if its place is empty, or else ``(line + 1) << 2 | state``.  The first place of a processor in a set has
the line that the processor has used last.  A line is numbered by its distance from the start of the segment.
"""

from __future__ import annotations

KIND, SIZE, WAYS, SETS, LINE = 0, 1, 2, 3, 4
SEGMENT, FIRST, END = 5, 6, 7  # address of the segment; the bytes of it that are charged
ENTRIES, COPIES, ORDER, COPYING = 8, 9, 10, 11  # three addresses; number of copies that go on
MISS, UPGRADE, TRANSFER, FREE = 12, 13, 14, 15  # FREE: when the bus is free
REMOTE_CLEAN, REMOTE_DIRTY2, REMOTE_DIRTY3, POINTERS, TRAP = 16, 17, 18, 19, 20
HIT = 21  # time of a step on a word, with its line in the cache
HITS, MISSES, FETCHES, UPGRADES, INVALIDATIONS, WRITE_BACKS = 24, 25, 26, 27, 28, 29
COUNTS = {
    "hits": HITS,
    "misses": MISSES,
    "fetches": FETCHES,
    "upgrades": UPGRADES,
    "invalidations": INVALIDATIONS,
    "write_backs": WRITE_BACKS,
}
"""Words of the counters, by their names."""
MEMORY = 32  # words

BUS, DIRECTORY = 0, 1  # kinds
SHARED, MODIFIED = 1, 2  # states of a line that is in a cache
PARTS = 1024
"""Parts of a ps in which the time of a byte is given (BYTE)."""

NOW, WRITES, BASE, ITEM, POSITIONS, NEXT, COUNT, PART, BYTE = 0, 1, 2, 3, 4, 5, 6, 7, 8  # of a copy
COPY = 9  # words of a copy
NOBODY = -1
MANY = 1 << 40  # more than any of these arrays has: its length is not checked
