"""Carries out the treatments of named places (see `places`), in machine code that compiled loops and Python call.

entry(record, key, name)      called at a place: `act`, or `meet` while places are counted

record    ENTRY     address of the entry                     KIND    which treatment
          KEY       of the name, see `places`                AMOUNT  ns, units, bytes
          NEXT      the next record of the slot, or 0        WORD    address of a lock, a function, the counts
                                                             TAKE, FREE  addresses of malloc and free

Words that threads share, all private to the process:

lock      0 free, 1 held: taken by compare_exchange, released by store; the holder does no work while it holds the
          lock, so a waiter waits only until the holder is scheduled again
counts    rows of MET_WORDS, open addressing by key: a thread claims a row by a compare_exchange of its key from 0, and
          then stores the name; passes are added by fetch_add; no row is freed while passes are counted.
          A late pass, after the counts have been read, is lost or belongs to the next count
records   never change once the table refers to them; the table is written under `Places.setting`
"""

from __future__ import annotations

import functools

from .atomics import call_at, clock, compare_exchange, fetch_add, futex_wait, load, pause, store, words_at
from .compiler import c_function

ENTRY, KEY, NEXT, KIND, AMOUNT, WORD, TAKE, FREE = range(8)
RECORD_WORDS = 8
BUSY, WORK, SLEEP, LOCK, BUFFER, CALL = range(6)
MET, MET_WORDS = 4096, 4  # number of places that can be counted; a row: key, passes, address of the name
_PAGE = 4096
_LOOKS, _NAP = 1_000, 50_000  # looks at a held lock, then ns of each sleep between looks


def act(address: int, key: int, name: int) -> int:
    """Carry out the treatment in the record of this key."""
    record = words_at(address, RECORD_WORDS)
    while record[KEY] != key:
        if record[NEXT] == 0:  # only other names that share this slot are treated
            return 0
        record = words_at(record[NEXT], RECORD_WORDS)
    kind, amount = record[KIND], record[AMOUNT]
    if kind == BUSY:
        end = clock() + amount
        while clock() < end:
            pass
    elif kind == WORK:
        x = 1.0
        for _ in range(amount):
            x = x * 0.999 + 0.5  # each step needs the result of the one before
        return int(x)
    elif kind == SLEEP:
        end = clock() + amount
        left = amount
        while left > 0:
            futex_wait(record, KEY, key, left)
            left = end - clock()
    elif kind == LOCK:
        word = words_at(record[WORD], 1)
        looks = 0
        while compare_exchange(word, 0, 0, 1) != 0:
            looks += 1
            if looks < _LOOKS:
                pause()
            else:
                futex_wait(word, 0, 1, _NAP)
        store(word, 0, 0)
    elif kind == BUFFER:
        taken = call_at(record[TAKE], amount, 0, 0, 0, 0)
        if taken != 0:
            octets = words_at(taken, max(amount // 8, 1))
            for i in range(0, amount // 8, _PAGE // 8):
                octets[i] = key
            call_at(record[FREE], taken, 0, 0, 0, 0)
    elif kind == CALL:
        call_at(record[WORD], address, key, name, 0, 0)
    return 0


def meet(address: int, key: int, name: int) -> int:
    """Add one to the count of passes of the place."""
    record = words_at(address, RECORD_WORDS)
    met = words_at(record[WORD], MET * MET_WORDS)
    i = key % MET
    for _ in range(MET):
        seen = load(met, MET_WORDS * i)
        if seen == 0:
            seen = compare_exchange(met, MET_WORDS * i, 0, key)
            if seen == 0:
                store(met, MET_WORDS * i + 2, name)
                seen = key
        if seen == key:
            fetch_add(met, MET_WORDS * i + 1, 1)
            return 0
        i = (i + 1) % MET
    return 0


machine_code = functools.partial(c_function, arguments=3)
"""Compile an entry as a function of three int64 for calls from C."""
