"""The time of a transaction between caches, in ps.

    on a bus                        latency          the bus is taken for
      line from memory              miss             a transfer
      line from another cache       2 misses         2 transfers    its owner writes it back first
      invalidation alone            miss - transfer  0              addresses have wires of their own
      line that must make room      0                a transfer     the processor does not wait

    with a directory                latency, by the home of the line, which is node ``line % nodes``
      line from memory              local_miss at home, remote_clean elsewhere
      line from another cache       remote_dirty2 if that cache or this one is the home's, else remote_dirty3
      invalidation alone            as a line from memory
      more copies than pointers     software_trap instead

Transfers on the bus queue in the order of virtual time.  A network with a directory is free of contention here.
"""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import (
    BUS,
    FREE,
    KIND,
    MISS,
    NOBODY,
    POINTERS,
    REMOTE_CLEAN,
    REMOTE_DIRTY2,
    REMOTE_DIRTY3,
    SIZE,
    TRANSFER,
    TRAP,
    UPGRADE,
    WRITE_BACKS,
)


@inline
def _from_bus(memory: Words, now: int, lines: int) -> int:
    """Return when some lines have crossed the bus one after the other, each with the latency of a miss."""
    start = max(now, memory[FREE])
    memory[FREE] = start + lines * memory[TRANSFER]
    return int(start + lines * memory[MISS])


@inline
def _by_directory(memory: Words, rank: int, line: int, owner: int, others: int) -> int:
    """Return the latency of a transaction with the home of a line."""
    if others > memory[POINTERS]:
        return int(memory[TRAP])
    home = line % memory[SIZE]
    if owner == NOBODY:
        return int(memory[MISS] if home == rank else memory[REMOTE_CLEAN])
    return int(memory[REMOTE_DIRTY2] if home in (rank, owner) else memory[REMOTE_DIRTY3])


@inline
def fetched(memory: Words, rank: int, line: int, owner: int, others: int, now: int) -> int:
    """Return when a line has come that a processor misses at time ``now``.

    ``owner`` is the processor whose cache has it modified, or `NOBODY`; ``others`` is the number of other caches that
    have it.
    """
    if memory[KIND] == BUS:
        return _from_bus(memory, now, 1 if owner == NOBODY else 2)
    return now + _by_directory(memory, rank, line, owner, others)


@inline
def upgraded(memory: Words, rank: int, line: int, others: int, now: int) -> int:
    """Return when the copies of a line in other caches are invalid, so that a processor that has it may write it."""
    if memory[KIND] == BUS:
        return int(now + memory[UPGRADE])
    return now + _by_directory(memory, rank, line, NOBODY, others)


@inline
def written_back(memory: Words) -> None:
    """Let a modified line go to memory that has to make room for the one that has just been fetched."""
    memory[WRITE_BACKS] += 1
    if memory[KIND] == BUS:
        memory[FREE] += memory[TRANSFER]
