"""The streams (permits to run) of one processor: at most STREAMS threads run at a time, and the others queue in order.

    LOCK       the lock of the words, and the queue of threads that wait for a stream (like a word of a cell: ``cell``)
    FREE       number of streams that no thread runs on; above 0 only while no thread waits
    STREAMS    number of all streams, from FLOOR to CEILING
    READY      number of threads in the queue
    TRAPPED    number of threads that gave up their stream until they are served

    acquire    take a free stream, or add one up to CEILING, or queue and sleep
    release    hand the stream to the first in the queue, or leave it free
    retire     take a free stream away, down to FLOOR

The words are private to the processor, except for the queue's records; only the holder of LOCK changes them.
"""

from __future__ import annotations

from ..loops.atomics import Words, clock, compare_exchange, futex_wait, load, pause, store_release, words_at
from ..loops.compiler import inline
from .wait import ABORTED, DEATHS, OK, SHARED_WORDS, sleep
from .waiters import (
    INDEX,
    NEXT,
    OP,
    POLLS,
    RECORD,
    SHARED,
    TEAM,
    begin_wait,
    behead,
    end_wait,
    enqueue,
    served,
    table_of,
    tell,
    unlink,
)

LOCK, FREE, STREAMS, FLOOR, CEILING, READY, TRAPPED = 0, 8, 9, 10, 11, 12, 13
TEAM_WORDS = 16

LOCKED = 2  # bit of a word that is locked
FIRST = 2  # shift to the number of the first in its queue
NUMBER = 0xFFFF  # mask of a number
FAILED = -1  # differs from every word that is not locked

STREAM_WAIT, PARKED = 32, 33  # OP of a record that waits for a stream, or that has nothing to do
TURN = 64  # unsuccessful polls after which a thread lets another have its stream
_LOOKS = 64  # looks at a lock before each short sleep: a holder that takes this long is not on a CPU
_NAP = 50_000  # ns of this sleep
_NAPS = 2_000  # sleeps after which, in a run in which a processor was killed, the holder is presumed dead


@inline
def lock(words: Words, k: int, own: Words, mortal: bool) -> int:
    """Lock ``words[k]``; return the word as it was, or FAILED if the lock's holder seems to have been killed.

    The result is FAILED only if ``mortal``, and after a processor has been killed: a holder that is only off the CPU
    comes back and unlocks. The streams of a team cannot outlive each other, so the lock of a team does not fail.
    """
    shared = words_at(own[SHARED], SHARED_WORDS)
    looks = 0
    while True:
        word = load(words, k)
        if word & LOCKED == 0 and compare_exchange(words, k, word, word | LOCKED) == word:
            return int(word)
        looks += 1
        if looks % _LOOKS == 0:
            if mortal and looks > _NAPS * _LOOKS and load(shared, DEATHS) != 0:
                return FAILED
            futex_wait(words, k, word | LOCKED, _NAP)
        pause()


@inline
def acquire(own: Words, after_trap: int) -> int:
    """Get a stream of this thread's team, if it has a team; return OK, or ABORTED if it got none.

    ``after_trap`` is 1 for a thread that gave its stream up when it trapped, else 0.
    """
    if own[TEAM] == 0:
        return OK
    team, table = words_at(own[TEAM], TEAM_WORDS), table_of(own)
    word = lock(team, LOCK, own, False)
    team[TRAPPED] -= after_trap
    if team[FREE] > 0:
        team[FREE] -= 1
        store_release(team, LOCK, word)
        return OK
    if team[STREAMS] < team[CEILING]:
        team[STREAMS] += 1
        store_release(team, LOCK, word)
        return OK
    if own[OP] != 0:  # its record was left in another queue, in a run that has failed
        store_release(team, LOCK, word)
        return ABORTED
    begin_wait(own, STREAM_WAIT, 0, clock(), 0)
    team[READY] += 1
    store_release(team, LOCK, enqueue(table, word >> FIRST, own[INDEX]) << FIRST)
    status = sleep(own, 0, False)
    if status != OK:
        word = lock(team, LOCK, own, False)
        rest = unlink(table, word >> FIRST, own[INDEX])
        if rest >= 0:
            team[READY] -= 1
            word = rest << FIRST
        else:
            status = OK  # served meanwhile: it has the stream, and the notification is on its way
        store_release(team, LOCK, word)
        while status == OK and not served(own):
            pause()
    end_wait(own)
    return status


@inline
def release(own: Words, trap: int) -> None:
    """Give up the stream of this thread's team, if it has a team; ``trap`` is 1 for a thread that traps, else 0."""
    if own[TEAM] == 0:
        return
    team, table = words_at(own[TEAM], TEAM_WORDS), table_of(own)
    word = lock(team, LOCK, own, False)
    team[TRAPPED] += trap
    first = word >> FIRST
    if first == 0:
        team[FREE] += 1
        store_release(team, LOCK, word)
    else:
        rest = behead(table, first)
        table[first * RECORD + NEXT] = 0
        team[READY] -= 1
        store_release(team, LOCK, rest << FIRST)
        tell(table, first)


@inline
def retire(own: Words) -> None:
    """Take a free stream away from this thread's team, if the team has more than FLOOR."""
    team = words_at(own[TEAM], TEAM_WORDS)
    word = lock(team, LOCK, own, False)
    if team[FREE] > 0 and team[STREAMS] > team[FLOOR]:
        team[FREE] -= 1
        team[STREAMS] -= 1
    store_release(team, LOCK, word)


@inline
def polled(own: Words) -> None:
    """Count a look that changed nothing; every TURN looks, let another thread that is ready have the stream.

    With one stream, a polling thread thus cannot starve the thread that will fill the cell.
    """
    own[POLLS] += 1
    if own[POLLS] % TURN == 0:
        give_way(own)


@inline
def give_way(own: Words) -> None:
    """Let another thread of the team have the stream, if one is ready."""
    if own[TEAM] != 0 and words_at(own[TEAM], TEAM_WORDS)[READY] > 0:
        release(own, 0)
        acquire(own, 0)
