"""The arrays of a running machine, which compiled functions change.

    header       counters, and the addresses of all other arrays
    threads      a row for each thread, and its registers
    operations   a row for each memory operation that is under way
    link, when   for each operation, and after them for each thread: the next one in its list, and its cycle
    first, last  lists of operations and threads by the cycle at which something happens to them (see ``lists``)
    processors   heads of lists of each processor, and its counts
    memory       a row for each word

Compiled functions are given the header, and view rows at their addresses: arrays among the arguments would be counted
as referenced at each call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...loops.atomics import Words, words_at
from ...loops.compiler import merged
from . import layout
from .settings import Settings

BUCKETS = 4096  # cycles that the lists by cycle reach ahead, a power of two
_BYTES = 8
_MANY = 1 << 40  # more than any array has: its length is not checked
Numbers = NDArray[np.int64]


class State:
    """The arrays of a machine on which no thread runs yet; columns are in ``layout``.

    Parameters
    ----------
    settings : Settings
    code : ndarray of int64 (words of the program, WORD)
    words, threads, log : int
        Words of memory, the largest number of threads, and the largest number of changes of mode that are noted.
    """

    def __init__(self, settings: Settings, code: Numbers, words: int, threads: int, log: int) -> None:
        operations = threads * (settings.outstanding + 1)
        processors, modules = settings.processors, settings.modules
        self.header = np.zeros(layout.HEADER, np.int64)
        self._arrays: list[Numbers] = []  # they live as long as the header
        self._add(layout.CODE_AT, code)
        self.threads = self._add(layout.THREADS_AT, np.zeros((threads, layout.THREAD), np.int64))
        self.registers = self._add(layout.REGISTERS_AT, np.zeros((threads, layout.REGISTERS), np.int64))
        self._add(layout.OPERATIONS_AT, np.zeros((operations, layout.OPERATION_COLUMNS), np.int64))
        self.processors = self._add(layout.PROCESSORS_AT, np.zeros((processors, layout.PROCESSOR_COLUMNS), np.int64))
        self.totals = self._add(layout.TOTALS_AT, np.zeros((processors, layout.TOTALS), np.int64))
        self.memory = self._add(layout.MEMORY_AT, np.zeros((words, layout.MEMORY_COLUMNS), np.int64))
        slots = max(modules * settings.hot_words, 1)
        self._add(layout.SLOTS_AT, np.full((slots, layout.SLOT_COLUMNS), layout.NONE, np.int64))
        ends = self._add(layout.ENDS_AT, np.full((modules, layout.ENDS), layout.NONE, np.int64))
        link = self._add(layout.LINK_AT, np.full(operations + threads, layout.NONE, np.int64))
        self._add(layout.WHEN_AT, np.zeros(operations + threads, np.int64))
        for column in (layout.FIRST_AT, layout.LAST_AT):
            self._add(column, np.full(BUCKETS, layout.NONE, np.int64))
        self._add(layout.MARKS_AT, np.zeros(BUCKETS // 64, np.int64))
        ready = np.arange(max(settings.background, 1), dtype=np.int64)  # cycles at which the background is ready
        self._add(layout.BACKGROUND_AT, np.tile(ready, (processors, 1)))
        self._add(layout.BANKS_AT, np.zeros(modules * settings.banks, np.int64))  # ticks at which they are free
        for column in (layout.LINKS_AT, layout.CACHES_AT):
            self._add(column, np.zeros(modules, np.int64))
        self.log = self._add(layout.LOG_AT, np.zeros((max(log, 1), layout.LOG), np.int64))

        lengths = (threads, operations, words, log, len(ready))
        self.header[layout.THREAD_ROOM : layout.THREAD_ROOM + len(lengths)] = lengths
        link[: operations - 1] = np.arange(1, operations)  # the list of free operations
        self.processors[:, layout.READY_FIRST : layout.WAITING_LAST + 1] = layout.NONE
        self.processors[:, layout.STREAMS] = settings.streams
        self.memory[:, layout.CACHED] = layout.NONE
        ends[:, layout.USED] = 0

    def _add(self, column: int, array: Numbers) -> Numbers:
        self._arrays.append(np.ascontiguousarray(array))
        self.header[column] = self._arrays[-1].ctypes.data
        return self._arrays[-1]


@merged
def array(s: Words, column: int) -> Words:
    """Return the array whose address is in a column of the header."""
    return words_at(s[column], _MANY)


@merged
def code_at(s: Words, word: int) -> Words:
    """Return an instruction word."""
    return words_at(s[layout.CODE_AT] + word * (layout.WORD * _BYTES), layout.WORD)


@merged
def thread_at(s: Words, thread: int) -> Words:
    """Return the row of a thread."""
    return words_at(s[layout.THREADS_AT] + thread * (layout.THREAD * _BYTES), layout.THREAD)


@merged
def registers_at(s: Words, thread: int) -> Words:
    """Return the registers of a thread."""
    return words_at(s[layout.REGISTERS_AT] + thread * (layout.REGISTERS * _BYTES), layout.REGISTERS)


@merged
def operation_at(s: Words, operation: int) -> Words:
    """Return the row of a memory operation."""
    at = s[layout.OPERATIONS_AT] + operation * (layout.OPERATION_COLUMNS * _BYTES)
    return words_at(at, layout.OPERATION_COLUMNS)


@merged
def processor_at(s: Words, p: int) -> Words:
    """Return the row of a processor."""
    return words_at(s[layout.PROCESSORS_AT] + p * (layout.PROCESSOR_COLUMNS * _BYTES), layout.PROCESSOR_COLUMNS)


@merged
def totals_at(s: Words, p: int) -> Words:
    """Return the counts of a processor."""
    return words_at(s[layout.TOTALS_AT] + p * (layout.TOTALS * _BYTES), layout.TOTALS)


@merged
def memory_at(s: Words, address: int) -> Words:
    """Return the row of a word of memory."""
    return words_at(s[layout.MEMORY_AT] + address * (layout.MEMORY_COLUMNS * _BYTES), layout.MEMORY_COLUMNS)


@merged
def slot_at(s: Words, slot: int) -> Words:
    """Return a slot of a cache of hot spots."""
    return words_at(s[layout.SLOTS_AT] + slot * (layout.SLOT_COLUMNS * _BYTES), layout.SLOT_COLUMNS)


@merged
def ends_at(s: Words, module: int) -> Words:
    """Return the newest and the oldest slot of a module's cache, and the number of its slots in use."""
    return words_at(s[layout.ENDS_AT] + module * (layout.ENDS * _BYTES), layout.ENDS)


@merged
def background_at(s: Words, p: int) -> Words:
    """Return the cycles at which the background streams of a processor are ready."""
    return words_at(s[layout.BACKGROUND_AT] + p * (s[layout.BACKGROUND_ROOM] * _BYTES), _MANY)


@merged
def log_at(s: Words, entry: int) -> Words:
    """Return an entry of the log."""
    return words_at(s[layout.LOG_AT] + entry * (layout.LOG * _BYTES), layout.LOG)
