"""The runtime's own entry points, as machine code that can be called without Numba.

They are compiled once, kept in a file with the code of loops, and loaded by every process (see ``object_files``).
Only programs that have loops of their own pay for Numba.

Every argument and result is an int64.  The first argument, if there is one, is an address:

    barrier, flags, ``probe``                       of the processor's own words (see ``wait``)
    messages                                        of the processor's words for messages (see ``message_waits``)
    ``abort``, ``join``, ``part``, ``rouse``, ``watch``   of the shared words (see ``wait``)
    ``load_word``, ``store_word``                   of a word
    cells                                           of the cell
    streams                                         of the stream's record (see ``waiters``)
    printed lines                                   of the processor's ring of text (see ``text_ring``)

The value of a cell is passed in and out through BITS of the record.  The calls release the interpreter lock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..loops import atomics
from ..loops.atomics import Words, words_at
from ..loops.compiler import inline
from ..loops.object_files import ObjectFiles
from ..loops.python_calls import builtin, name_of
from . import barriers as _barrier
from . import cell, flags, folds, loop_packets, message_waits, placement, stream_slots, text_ring, wait, waiters
from .python_messages import send_numbers, take_message, take_soon
from .waiters import BITS, record_at

Entry = Callable[..., int]


def arrive(address: int, sign: int, vote: int) -> int:
    return _barrier.arrive(words_at(address, wait.PRIVATE_WORDS), sign, vote)


def passed(address: int, k: int) -> int:
    return int(_barrier.passed(words_at(address, wait.PRIVATE_WORDS), k))


def agreed(address: int, k: int) -> int:
    return int(_barrier.agreed(words_at(address, wait.PRIVATE_WORDS), k))


def leave(address: int, k: int, deadline: int, once: int) -> int:
    """Return the number of votes, or the negative status if there is none."""
    sync = words_at(address, wait.PRIVATE_WORDS)
    status = _barrier.leave(sync, k, deadline, once != 0)
    return _barrier.votes(sync, k) if status == wait.OK else -status


def synchronise(address: int, sign: int, vote: int, once: int) -> int:
    """Return the number of votes, or the negative status if there is none."""
    sync = words_at(address, wait.PRIVATE_WORDS)
    status = _barrier.synchronise(sync, sign, vote, once != 0)
    return _barrier.votes(sync, sync[wait.ROUND] - 1) if status == wait.OK else -status


def raise_flag(address: int, change: int) -> int:
    return flags.raise_flag(words_at(address, wait.PRIVATE_WORDS), change)


def any_flag(address: int) -> int:
    return int(flags.any_flag(words_at(address, wait.PRIVATE_WORDS)))


def post(state: int, network: int, to: int, head: int, count: int) -> int:
    return message_waits.post_given(words_at(state, message_waits.STATE), network, to, head, count)


def await_event(state: int, own: int, networks: int, room: int, to: int, k: int, deadline: int, once: int) -> int:
    words = words_at(state, message_waits.STATE)
    return message_waits.await_in(words, record_at(own), networks, room, to, k, deadline, once != 0)


def await_packet(state: int, own: int, wanted: int, to: int) -> int:
    return loop_packets.await_packet(words_at(state, message_waits.STATE), record_at(own), wanted, to)


def accept_fences() -> int:
    return atomics.accept_fences()


def probe(address: int, rank: int, size: int) -> int:
    return placement.probe(words_at(address, wait.PRIVATE_WORDS), rank, size)


def abort(address: int, kind: int, rank: int) -> int:
    return wait.abort(address, kind, rank)


def load_word(address: int) -> int:
    return int(atomics.load(words_at(address, 1), 0))


def store_word(address: int, value: int) -> int:
    atomics.store_release(words_at(address, 1), 0, value)
    return 0


def join(address: int) -> int:
    return atomics.fetch_add(words_at(address, wait.SHARED_WORDS), wait.RECORDS, 1) + 1


def part(address: int, joined: int, left: int) -> int:
    """Take back the last records, whose streams have ended, unless another stream has joined since."""
    return atomics.compare_exchange(words_at(address, wait.SHARED_WORDS), wait.RECORDS, joined, left)


def rouse(address: int) -> int:
    shared = words_at(address, wait.SHARED_WORDS)
    before = atomics.fetch_add(shared, wait.WATCH, 1)
    atomics.futex_wake(shared, wait.WATCH, 1 << 30)
    return before + 1


def watch(address: int, seen: int) -> int:
    shared = words_at(address, wait.SHARED_WORDS)
    while atomics.load(shared, wait.WATCH) == seen:
        atomics.futex_wait(shared, wait.WATCH, seen, 3_600_000_000_000)
    return int(atomics.load(shared, wait.WATCH))


def operate(address: int, own: int, op: int, limit: int, deadline: int) -> int:
    words, mine = words_at(address, cell.CELL_WORDS), record_at(own)
    return _kept(mine, cell.operate(words, 0, op, mine[BITS], mine, limit, deadline, address))


def insist(address: int, own: int, op: int, limit: int, deadline: int) -> int:
    """Do an operation that a loop could not do at once."""
    words, mine = words_at(address, cell.CELL_WORDS), record_at(own)
    return _kept(mine, cell.insist(words, 0, op, mine[BITS], mine, limit, deadline, address))


def finish(address: int, own: int, deadline: int) -> int:
    mine = record_at(own)
    return _kept(mine, cell.finish(words_at(address, cell.CELL_WORDS), 0, mine, deadline))


@inline
def _kept(mine: Words, done: tuple[int, int]) -> int:
    """Store the result of an operation in BITS, and return the status.

    A stream that still waits is queued, and its BITS belong to the stream that will serve it.
    """
    status, result = done
    if status == wait.OK:
        mine[BITS] = result
    return status


def tried(address: int, own: int, op: int) -> int:
    mine = record_at(own)
    status, mine[BITS] = cell.tried(words_at(address, cell.CELL_WORDS), 0, op, mine[BITS], mine)
    return status


def peeked(address: int, own: int) -> int:
    mine = record_at(own)
    full, mine[BITS] = cell.peeked(words_at(address, cell.CELL_WORDS), 0, mine)
    return int(full)


def state(address: int) -> int:
    return int(atomics.load(words_at(address, cell.CELL_WORDS), 0))


def acquire(own: int) -> int:
    return stream_slots.acquire(record_at(own), 0)


def release(own: int) -> int:
    stream_slots.release(record_at(own), 0)
    return 0


def retire(own: int) -> int:
    stream_slots.retire(record_at(own))
    return 0


def park(own: int, deadline: int) -> int:
    return wait.sleep(record_at(own), deadline, False)


def unpark(own: int) -> int:
    mine = record_at(own)
    mine[waiters.NEXT] = 0
    waiters.tell(waiters.table_of(mine), mine[waiters.INDEX])
    return 0


def fold(plan: int, turn: int) -> int:
    folds.fold(words_at(plan, folds.PLAN), turn)
    return 0


def put_text(ring: int, text: int, words: int, lines: int, kind: int) -> int:
    found = words_at(ring, text_ring.RING_WORDS)
    return text_ring.put(found, text_ring.CAPACITY, words_at(text, words), words, lines, kind)


def take_text(ring: int, found: int) -> int:
    room = text_ring.LONGEST
    words = words_at(ring, text_ring.RING_WORDS)
    return text_ring.take(words, text_ring.CAPACITY, words_at(found, text_ring.TEXT + room), room)


class Core:
    """The entry points, callable from Python.

    Parameters
    ----------
    engine : object
        Engine of LLVM that has them.
    of_python : bool
        Whether those that get objects of Python are there, too.
    """

    arrive: Entry
    passed: Entry
    agreed: Entry
    leave: Entry
    synchronise: Entry
    raise_flag: Entry
    any_flag: Entry
    post: Entry
    await_event: Entry
    await_packet: Entry
    accept_fences: Entry
    probe: Entry
    abort: Entry
    load_word: Entry
    store_word: Entry
    join: Entry
    part: Entry
    rouse: Entry
    watch: Entry
    operate: Entry
    insist: Entry
    finish: Entry
    tried: Entry
    peeked: Entry
    state: Entry
    acquire: Entry
    release: Entry
    retire: Entry
    park: Entry
    unpark: Entry
    fold: Entry
    put_text: Entry
    take_text: Entry
    send_numbers: Entry
    take_message: Callable[..., Any]
    take_soon: Callable[..., Any]

    _entries = (
        (arrive, 3),
        (passed, 2),
        (agreed, 2),
        (leave, 4),
        (synchronise, 4),
        (raise_flag, 2),
        (any_flag, 1),
        (post, 5),
        (await_event, 8),
        (await_packet, 4),
        (accept_fences, 0),
        (probe, 3),
        (abort, 3),
        (load_word, 1),
        (store_word, 2),
        (join, 1),
        (part, 3),
        (rouse, 1),
        (watch, 2),
        (operate, 5),
        (insist, 5),
        (finish, 3),
        (tried, 3),
        (peeked, 2),
        (state, 1),
        (acquire, 1),
        (release, 1),
        (retire, 1),
        (park, 2),
        (unpark, 1),
        (fold, 2),
        (put_text, 5),
        (take_text, 2),
    )
    _of_python = send_numbers, take_message, take_soon  # they get objects of Python (see ``python_messages``)

    def __init__(self, engine: Any, of_python: bool = True) -> None:
        self._engine = engine  # owns the machine code
        self.addresses: dict[str, int] = {}
        self._definitions = []
        names = {function.__name__: name_of(function.__name__) for function, _ in self._entries}
        if of_python:
            names |= {function.__name__: function.__name__ for function in self._of_python}
        for name, called in names.items():
            self.addresses[name] = engine.get_function_address(name)
            function, definition = builtin(name, engine.get_function_address(called))
            self._definitions.append(definition)
            setattr(self, name, function)


_FILES = ObjectFiles("core", Core._entries, Core._of_python)


@functools.cache
def core() -> Core:
    """Return the entry points; compile them if no file of this version of their code was kept."""
    return Core(_FILES.engine())
