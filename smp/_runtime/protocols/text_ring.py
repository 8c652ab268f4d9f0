"""A ring of text: one writer adds records and never waits, and one reader takes those that are still there.

    HEAD     the end of the newest record           the writer stores it after all words of the record
    OLDEST   the start of the oldest whole record   the writer stores it before it overwrites any word of that record
    LINES    number of lines ever written           the writer's own
    TAKEN    the end of the last record taken       the reader's own
    NEXT     number of lines before that end        the reader's own

    record   number of lines before it │ its words, lines and kind │ its text

Places count words from the first one ever written, so they only grow.  A place lies at ``FIRST + place % capacity``.

The reader loads HEAD, then the words of records before HEAD, and then OLDEST.  The store of HEAD that it has seen was
made after all these words were written.  If the record that it has copied does not begin before OLDEST, then no word of
it was overwritten: the writer would have stored a later OLDEST first, and the reader would have seen that.  Otherwise
the copy may be torn.  The reader drops it and goes on at OLDEST.  The numbers of lines in the records show how many
lines were lost in between.  A record is at most a quarter of the ring, so a new one never drops all others, and each
loss shows in the record after it.

If the writer dies inside `put`, HEAD is still before the record, so the record does not exist.
"""

from __future__ import annotations

from ..loops.atomics import Words, load, store
from ..loops.compiler import inline

HEAD, OLDEST, LINES, TAKEN, NEXT = 0, 1, 2, 8, 9
SHOWN, LOST = 10, 11  # lines that the reader has shown, and counted as lost; it stores them for the writer
FIRST = 16
CAPACITY = 1 << 17  # words of text and of records' heads; they take memory when they are first used
LONGEST = CAPACITY // 4 - 2  # words of the text of one record
RING_WORDS = FIRST + CAPACITY
GAP, COUNT, KIND, TEXT = 0, 1, 2, 3  # places in the reader's own words: lines lost before, lines, kind, first word
_RECORD = 2  # words before the text of a record
_SHORT = 0xFFFF_FFFF


@inline
def put(ring: Words, capacity: int, text: Words, words: int, lines: int, kind: int) -> int:
    """Add a record; drop the oldest ones if the ring is full.

    Parameters
    ----------
    ring : int64 array
        FIRST words, and ``capacity`` more.
    text : int64 array
        The text, in ``words`` words: at most a quarter of the capacity, less 2.
    lines : int
        Number of lines of the text.
    kind : {0, 1}
        Kind of the text, which the reader gets with it.
    """
    head, oldest, number = load(ring, HEAD), load(ring, OLDEST), load(ring, LINES)
    end = head + _RECORD + words
    if end - oldest > capacity:
        while end - oldest > capacity:
            oldest += _RECORD + (load(ring, FIRST + (oldest + 1) % capacity) >> 33)
        store(ring, OLDEST, oldest)
    store(ring, FIRST + head % capacity, number)
    store(ring, FIRST + (head + 1) % capacity, (words << 33) | (lines << 1) | kind)
    for k in range(words):
        store(ring, FIRST + (head + _RECORD + k) % capacity, text[k])
    store(ring, LINES, number + lines)
    store(ring, HEAD, end)
    return 0


@inline
def take(ring: Words, capacity: int, found: Words, room: int) -> int:
    """Take the records of one kind that come next; return the number of words of their text, 0 if there are none.

    Parameters
    ----------
    ring, capacity
        As for `put`.
    found : int64 array
        Receives GAP, the number of lines that were lost before these records, their COUNT of lines, their KIND, and
        from TEXT on their texts, one after another.
    room : int
        Words for texts in ``found``, at least those of the longest record.
    """
    head, place, following = load(ring, HEAD), load(ring, TAKEN), load(ring, NEXT)
    copied = 0
    found[GAP] = found[COUNT] = 0
    while place < head:
        number = load(ring, FIRST + place % capacity)
        size = load(ring, FIRST + (place + 1) % capacity)
        oldest = load(ring, OLDEST)
        if oldest > place:
            place = oldest
            continue
        words, lines, kind = size >> 33, (size & _SHORT) >> 1, size & 1
        if copied > 0 and (number != following or kind != found[KIND] or copied + words > room):
            break
        for k in range(words):
            found[TEXT + copied + k] = load(ring, FIRST + (place + _RECORD + k) % capacity)
        oldest = load(ring, OLDEST)
        if oldest > place:
            place = oldest
            continue
        if copied == 0:
            found[GAP], found[KIND] = number - following, kind
        copied += words
        found[COUNT] += lines
        following = number + lines
        place += _RECORD + words
    store(ring, TAKEN, place)
    store(ring, NEXT, following)
    return copied
