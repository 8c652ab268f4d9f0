"""The memory: a link into each module, banks behind it, and a cache for words that are used again and again.

    processor ── link: a word a cycle ──▶ crossing ── link of the module ──┬──▶ cache of hot spots: 2 cycles
                                                                           └──▶ bank: 57 cycles for each access

A word leaves the link of its processor only if the link of its module has room.  Those behind it wait, wherever they
go.  The crossing takes a fixed time.  Words arrive at the modules in the order in which they left, so an operation is
carried out when it leaves; only the times are those of its arrival.

The cache of a module keeps the words that were used last.  It serves operations that change nothing.  All others use
the bank of the word, and the cache has the old full/empty bit until they end.  A load of the word then waits, and a
full/empty operation that the old bit forbids fails at once.  An operation that looks at a word before it changes it
(fetch_add, readfe, writeef) takes the bank for two accesses, a read and a write; its answer leaves after the read.
The study does not say what changes cost; this is an assumption.

Source: the study of the Tera MTA, sections 3.1.1, 3.2 and 5.
"""

from __future__ import annotations

from ...loops.compiler import inline, merged
from . import layout
from .lists import put, take
from .settings import Settings
from .state import Arrays, at, counters, ends_at, memory_at, operation_at, processor_at, slot_at, totals_at
from .trapped import serve


@merged
def carry_out(s: Arrays, operation: int, seen: int) -> int:
    """Carry out an operation; return the number of accesses that its bank needs because it changes the word, or 0.

    The cache of hot spots has the tag ``seen``, which is the old one while the word is changed.
    """
    row = operation_at(s, operation)
    kind, address = row[layout.KIND], row[layout.ADDRESS]
    row[layout.OUTCOME] = layout.DONE
    if kind == layout.KEEP:
        return 1
    tag = memory_at(s, address)[layout.TAG]
    if kind <= layout.FETCH_ADD:  # these look at no full/empty bit
        if tag & layout.TRAPPED and row[layout.PLAIN] == 0:
            row[layout.OUTCOME] = layout.FORWARDED
            return 0
        if kind == layout.LOAD:
            row[layout.VALUE] = memory_at(s, address)[layout.CONTENT]
            return 0
        if kind == layout.STORE:
            memory_at(s, address)[layout.CONTENT] = row[layout.VALUE]
            return 1
        before = memory_at(s, address)[layout.CONTENT]
        memory_at(s, address)[layout.CONTENT] += row[layout.VALUE]
        row[layout.VALUE] = before
        return 2
    if tag & layout.TRAPPED or row[layout.RUNTIME] != 0:
        return at_trapped_word(s, operation)
    if kind == layout.READFF or kind == layout.READFE:
        if (tag | seen) & layout.EMPTY:
            row[layout.OUTCOME] = layout.AGAIN
            return 0
        row[layout.VALUE] = memory_at(s, address)[layout.CONTENT]
        if kind == layout.READFF:
            return 0
        memory_at(s, address)[layout.TAG] |= layout.EMPTY
        return 2
    if kind == layout.WRITEEF and not tag & seen & layout.EMPTY:
        row[layout.OUTCOME] = layout.AGAIN
        return 0
    memory_at(s, address)[layout.CONTENT] = row[layout.VALUE]
    if kind == layout.PURGE:
        memory_at(s, address)[layout.TAG] |= layout.EMPTY
    else:
        memory_at(s, address)[layout.TAG] &= ~layout.EMPTY
    return 2 if kind == layout.WRITEEF else 1


@inline
def at_trapped_word(s: Arrays, operation: int) -> int:
    """Do the runtime's access to a word, or let the operation trap."""
    row = operation_at(s, operation)
    if row[layout.RUNTIME] != 0:
        serve(s, operation)
        return 2
    row[layout.OUTCOME] = layout.TRAPPED_WORD
    return 0


@merged
def use_slot(m: Settings, s: Arrays, module: int, address: int) -> int:
    """Make a word the newest one of its module's cache; return its slot, whose SETTLED is NONE if it was not there."""
    ends = ends_at(s, module)
    slot = int(memory_at(s, address)[layout.CACHED])
    if slot == layout.NONE:
        if ends[layout.USED] < m.hot_words:
            slot = module * m.hot_words + ends[layout.USED]
            ends[layout.USED] += 1
        else:
            slot = ends[layout.OLDEST]
            memory_at(s, slot_at(s, slot)[layout.HOLDS])[layout.CACHED] = layout.NONE
            ends[layout.OLDEST] = slot_at(s, slot)[layout.NEWER]
            if ends[layout.OLDEST] != layout.NONE:
                slot_at(s, ends[layout.OLDEST])[layout.OLDER] = layout.NONE
        memory_at(s, address)[layout.CACHED] = slot
        slot_at(s, slot)[layout.HOLDS] = address
        slot_at(s, slot)[layout.SETTLED] = layout.NONE
    elif slot == ends[layout.NEWEST]:
        return slot
    else:
        older, newer = slot_at(s, slot)[layout.OLDER], slot_at(s, slot)[layout.NEWER]
        slot_at(s, newer)[layout.OLDER] = older
        if older == layout.NONE:
            ends[layout.OLDEST] = newer
        else:
            slot_at(s, older)[layout.NEWER] = newer
    newest = ends[layout.NEWEST]
    slot_at(s, slot)[layout.OLDER], slot_at(s, slot)[layout.NEWER] = newest, layout.NONE
    if newest == layout.NONE or m.hot_words == 1:
        ends[layout.OLDEST] = slot
        slot_at(s, slot)[layout.OLDER] = layout.NONE
    else:
        slot_at(s, newest)[layout.NEWER] = slot
    ends[layout.NEWEST] = slot
    return slot


@merged
def served_at(m: Settings, s: Arrays, operation: int, slot: int, arrival: int, changes: int, before: int) -> int:
    """Return the tick at which the answer leaves the module; take its cache or bank for as long as needed.

    ``before`` is the tag that the word had before the operation.
    """
    row = operation_at(s, operation)
    settled = layout.NONE if slot == layout.NONE else slot_at(s, slot)[layout.SETTLED]
    if changes == 0 and settled != layout.NONE:
        start = max(arrival, at(s.caches, row[layout.MODULE])[0])
        at(s.caches, row[layout.MODULE])[0] = start + m.hot_access
        if row[layout.OUTCOME] != layout.AGAIN:
            start = max(start, settled)
        return int(start + m.hot_access)
    start = max(arrival, at(s.banks, row[layout.BANK])[0])
    answered = start + m.access
    at(s.banks, row[layout.BANK])[0] = answered + (m.access if changes == 2 else 0)
    if slot != layout.NONE:
        slot_at(s, slot)[layout.SETTLED] = at(s.banks, row[layout.BANK])[0]
        slot_at(s, slot)[layout.BEFORE] = before
    return int(answered)


@merged
def send(m: Settings, s: Arrays, p: int, now: int) -> None:
    """Let the first operation at the port of a processor leave, if the links have room."""
    tick = now * layout.TICKS
    row = processor_at(s, p)
    operation = row[layout.PORT_FIRST]
    module = operation_at(s, operation)[layout.MODULE]
    if row[layout.PORT_FREE] > tick or at(s.links, module)[0] > tick + (m.buffers - 1) * m.link:
        totals_at(s, p)[layout.HELD_UP] += 1
        return
    take(s, p, layout.PORT_FIRST)
    counters(s)[layout.IN_PORTS] -= 1
    totals_at(s, p)[layout.WORDS_SENT] += 1
    row[layout.PORT_FREE] = tick + m.link
    left = max(tick, at(s.links, module)[0])
    at(s.links, module)[0] = left + m.link
    arrival, address = left + m.crossing, operation_at(s, operation)[layout.ADDRESS]
    slot, before, seen = layout.NONE, 0, 0
    if address < s.memory_room:
        before = seen = memory_at(s, address)[layout.TAG]
        if m.hot_words > 0:
            slot = use_slot(m, s, module, address)
            if arrival < slot_at(s, slot)[layout.SETTLED]:
                seen = slot_at(s, slot)[layout.BEFORE]
    answered = served_at(m, s, operation, slot, arrival, carry_out(s, operation, seen), before)
    put(s, operation, max(-(-(answered + m.crossing) // layout.TICKS), now + 1))
