"""Lines in caches: an access to a line changes its states, and returns when it is done.

                   read by this processor          written by this processor
    not there      fetched: shared                 fetched: modified, all other copies are invalid
    shared         -                               upgraded: modified, all other copies are invalid
    modified       -                               -

If another cache has the line modified, it is fetched from there, and if it is only read, that copy is shared from then
on.  The new line takes an empty place of its set, or else that of the line which its processor has not used for the
longest time.
"""

from __future__ import annotations

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline
from .layout import (
    END,
    ENTRIES,
    FETCHES,
    FIRST,
    HIT,
    HITS,
    INVALIDATIONS,
    LINE,
    MANY,
    MISSES,
    MODIFIED,
    NOBODY,
    SEGMENT,
    SETS,
    SHARED,
    SIZE,
    UPGRADES,
    WAYS,
)
from .prices import fetched, upgraded, written_back


@inline
def _to_front(entries: Words, first: int, place: int, entry: int) -> None:
    """Put an entry in the first place, and move those before ``place`` one further."""
    while place > 0:
        entries[first + place] = entries[first + place - 1]
        place -= 1
    entries[first] = entry


@inline
def _others(memory: Words, rank: int, line: int, write: bool) -> tuple[int, int]:
    """Let the other caches notice an access; return the one that had the line modified, and how many had it."""
    ways, size = memory[WAYS], memory[SIZE]
    entries = words_at(memory[ENTRIES], MANY)[line % memory[SETS] * size * ways :]
    owner, others = NOBODY, 0
    for place in range(size * ways):
        entry = entries[place]
        if entry >> 2 == line + 1 and place // ways != rank:
            others += 1
            if entry & 3 == MODIFIED:
                owner = place // ways
            if write:
                entries[place] = 0
                memory[INVALIDATIONS] += 1
            else:
                entries[place] = (line + 1) << 2 | SHARED
    return owner, others


@inline
def accessed(memory: Words, rank: int, line: int, write: bool, now: int) -> int:
    """Return when a processor's access to a line is done, which it begins at time ``now``."""
    ways = memory[WAYS]
    entries = words_at(memory[ENTRIES], MANY)
    first = (line % memory[SETS] * memory[SIZE] + rank) * ways
    place, empty = 0, ways - 1
    while place < ways and entries[first + place] >> 2 != line + 1:
        if entries[first + place] == 0:
            empty = place
        place += 1
    new = (line + 1) << 2 | (MODIFIED if write else SHARED)
    if place < ways:
        old = entries[first + place]
        if not write or old & 3 == MODIFIED:
            memory[HITS] += 1
            _to_front(entries, first, place, old)
            return now
        memory[UPGRADES] += 1
        _to_front(entries, first, place, new)
        _, others = _others(memory, rank, line, True)
        return upgraded(memory, rank, line, others, now)
    owner, others = _others(memory, rank, line, write)
    memory[MISSES] += 1
    if owner != NOBODY:
        memory[FETCHES] += 1
    done = fetched(memory, rank, line, owner, others, now)
    if entries[first + empty] & 3 == MODIFIED:
        written_back(memory)
    _to_front(entries, first, empty, new)
    return done


@inline
def touched(memory: Words, rank: int, address: int, write: bool, now: int) -> int:
    """Return when an access to the word at an address is done; it takes no time if the word is not charged."""
    offset = address - memory[SEGMENT]
    if offset < memory[FIRST] or offset >= memory[END]:
        return now
    return int(accessed(memory, rank, offset // memory[LINE], write, now) + memory[HIT])
