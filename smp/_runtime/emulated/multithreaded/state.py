"""The arrays of a running machine, which compiled functions change.

    counters     numbers of the whole machine
    threads      a row for each thread, and its registers
    operations   a row for each memory operation that is under way
    link, when   for each operation, and after them for each thread: the next one in its list, and its cycle
    first, last  lists of operations and threads by the cycle at which something happens to them (see ``lists``)
    processors   heads of lists of each processor, and its counts
    memory       a row for each word

Compiled functions are given the addresses of the arrays, and view rows there: arrays among the arguments would be
counted as referenced at each call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...loops.atomics import Words, words_at
from ...loops.compiler import merged
from . import layout
from .settings import Settings

BUCKETS = 4096  # cycles that the lists by cycle reach ahead, a power of two
MANY = 1 << 40  # more than any array has: its length is not checked
_BYTES = 8
Numbers = NDArray[np.int64]


class Arrays(NamedTuple):
    """Addresses of the arrays, and the numbers of their rows."""

    counters: int
    code: int
    threads: int
    registers: int
    operations: int
    processors: int
    totals: int
    memory: int
    slots: int
    ends: int
    link: int
    when: int
    first: int
    last: int
    marks: int
    background: int
    banks: int  # ticks from which on they are free; so are the next two
    links: int
    caches: int
    log: int
    thread_room: int
    operation_room: int
    memory_room: int
    log_room: int
    background_room: int


class State:
    """The arrays of a machine on which no thread runs yet; columns are in ``layout``.

    Parameters
    ----------
    settings : Settings
    code : ndarray of int64 (words of the program, WORD)
    words, threads, log : int
        Words of memory, the largest number of threads, and the largest number of changes of mode that are noted.

    Attributes
    ----------
    arrays : Arrays
        The addresses, which are valid as long as this object lives.
    """

    def __init__(self, settings: Settings, code: Numbers, words: int, threads: int, log: int) -> None:
        operations = threads * (settings.outstanding + 1)
        processors, modules = settings.processors, settings.modules
        ready = np.arange(max(settings.background, 1), dtype=np.int64)  # cycles at which the background is ready

        def empty(*shape: int) -> Numbers:
            return np.full(shape, layout.NONE, np.int64)

        def zeros(*shape: int) -> Numbers:
            return np.zeros(shape, np.int64)

        made = self._made = {
            "counters": zeros(layout.COUNTERS),
            "code": np.ascontiguousarray(code),
            "threads": zeros(threads, layout.THREAD),
            "registers": zeros(threads, layout.REGISTERS),
            "operations": zeros(operations, layout.OPERATION_COLUMNS),
            "processors": zeros(processors, layout.PROCESSOR_COLUMNS),
            "totals": zeros(processors, layout.TOTALS),
            "memory": zeros(words, layout.MEMORY_COLUMNS),
            "slots": empty(max(modules * settings.hot_words, 1), layout.SLOT_COLUMNS),
            "ends": empty(modules, layout.ENDS),
            "link": empty(operations + threads),
            "when": zeros(operations + threads),
            "first": empty(BUCKETS),
            "last": empty(BUCKETS),
            "marks": zeros(BUCKETS // 64),
            "background": np.tile(ready, (processors, 1)),
            "banks": zeros(modules * settings.banks),
            "links": zeros(modules),
            "caches": zeros(modules),
            "log": zeros(max(log, 1), layout.LOG),
        }
        self.counters, self.threads, self.registers = made["counters"], made["threads"], made["registers"]
        self.processors, self.totals, self.memory, self.log = (
            made[name] for name in ("processors", "totals", "memory", "log")
        )
        made["link"][: operations - 1] = np.arange(1, operations)  # the list of free operations
        made["ends"][:, layout.USED] = 0
        self.counters[layout.ENDED_THREADS] = layout.NONE
        self.processors[:, layout.READY_FIRST : layout.WAITING_LAST + 1] = layout.NONE
        self.processors[:, layout.STREAMS] = settings.streams
        self.memory[:, layout.CACHED] = layout.NONE
        self.arrays = Arrays(
            **{name: array.ctypes.data for name, array in made.items()},
            thread_room=threads,
            operation_room=operations,
            memory_room=words,
            log_room=log,
            background_room=len(ready),
        )


@merged
def at(address: int, k: int) -> Words:
    """Return word ``k`` of the array at an address, as an array of one word.

    An index of an array could be negative, which costs some instructions.
    """
    return words_at(address + k * _BYTES, 1)


@merged
def array_at(address: int) -> Words:
    """Return the array at an address."""
    return words_at(address, MANY)


@merged
def counters(s: Arrays) -> Words:
    """Return the counters."""
    return words_at(s.counters, layout.COUNTERS)


@merged
def code_at(s: Arrays, word: int) -> Words:
    """Return an instruction word."""
    return words_at(s.code + word * (layout.WORD * _BYTES), layout.WORD)


@merged
def thread_at(s: Arrays, thread: int) -> Words:
    """Return the row of a thread."""
    return words_at(s.threads + thread * (layout.THREAD * _BYTES), layout.THREAD)


@merged
def registers_at(s: Arrays, thread: int) -> Words:
    """Return the registers of a thread."""
    return words_at(s.registers + thread * (layout.REGISTERS * _BYTES), layout.REGISTERS)


@merged
def registers_address(s: Arrays, thread: int) -> int:
    """Return the address of the registers of a thread."""
    return s.registers + thread * (layout.REGISTERS * _BYTES)


@merged
def pending_at(s: Arrays, thread: int, slot: int) -> Words:
    """Return the number of operations that must end before one of a thread's next words, as an array of one word."""
    return at(s.threads + thread * (layout.THREAD * _BYTES), layout.PENDING + slot)


@merged
def operation_at(s: Arrays, operation: int) -> Words:
    """Return the row of a memory operation."""
    at = s.operations + operation * (layout.OPERATION_COLUMNS * _BYTES)
    return words_at(at, layout.OPERATION_COLUMNS)


@merged
def processor_at(s: Arrays, p: int) -> Words:
    """Return the row of a processor."""
    return words_at(s.processors + p * (layout.PROCESSOR_COLUMNS * _BYTES), layout.PROCESSOR_COLUMNS)


@merged
def totals_at(s: Arrays, p: int) -> Words:
    """Return the counts of a processor."""
    return words_at(s.totals + p * (layout.TOTALS * _BYTES), layout.TOTALS)


@merged
def memory_at(s: Arrays, address: int) -> Words:
    """Return the row of a word of memory."""
    return words_at(s.memory + address * (layout.MEMORY_COLUMNS * _BYTES), layout.MEMORY_COLUMNS)


@merged
def slot_at(s: Arrays, slot: int) -> Words:
    """Return a slot of a cache of hot spots."""
    return words_at(s.slots + slot * (layout.SLOT_COLUMNS * _BYTES), layout.SLOT_COLUMNS)


@merged
def ends_at(s: Arrays, module: int) -> Words:
    """Return the newest and the oldest slot of a module's cache, and the number of its slots in use."""
    return words_at(s.ends + module * (layout.ENDS * _BYTES), layout.ENDS)


@merged
def background_at(s: Arrays, p: int) -> Words:
    """Return the cycles at which the background streams of a processor are ready."""
    return words_at(s.background + p * (s.background_room * _BYTES), MANY)


@merged
def log_at(s: Arrays, entry: int) -> Words:
    """Return an entry of the log."""
    return words_at(s.log + entry * (layout.LOG * _BYTES), layout.LOG)
