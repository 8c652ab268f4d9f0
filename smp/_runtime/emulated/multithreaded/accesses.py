"""Single accesses to the memory by programs that are not made of instruction words: each takes an issue slot first.

Programs of `smp.emulated` make their accesses in the order of virtual time, so their slots, links, banks and caches are
taken at once, by the same rules as those of instruction words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...loops.atomics import Words, words_at
from ...loops.compiler import inline, local
from . import layout
from .background import background_first, catch_up, issue_background
from .memory import served_at, use_slot
from .places import set_place
from .settings import Settings
from .state import Arrays, array_at, operation_at, processor_at, slot_at, totals_at

_NUMBERS = len(Settings._fields) + len(Arrays._fields)


def numbers_of(m: Settings, s: Arrays) -> NDArray[np.int64]:
    """Return the settings and addresses as words; a call with their address is quicker than one with 45 numbers."""
    return np.array([*m, *s], np.int64)


@inline
def _settings(w: Words) -> Settings:
    # fmt: off
    return Settings(
        w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13],
        w[14], w[15], w[16], w[17], w[18], w[19],
    )
    # fmt: on


@inline
def _arrays(w: Words) -> Arrays:
    # fmt: off
    return Arrays(
        w[20], w[21], w[22], w[23], w[24], w[25], w[26], w[27], w[28], w[29], w[30], w[31], w[32],
        w[33], w[34], w[35], w[36], w[37], w[38], w[39], w[40], w[41], w[42], w[43], w[44],
    )
    # fmt: on


@inline
def take_slot(m: Settings, s: Arrays, p: int, cycle: int) -> int:
    """Take an issue slot of a processor from a cycle on, and return its cycle."""
    row = processor_at(s, p)
    now = max(cycle, row[layout.BACKGROUND_SEEN])
    if row[layout.BACKGROUND_SEEN] < now:
        catch_up(m, s, p, now)
    while background_first(m, s, p, cycle):
        issue_background(m, s, p, now)
        now += 1
    row[layout.BACKGROUND_SEEN] = now + 1
    totals_at(s, p)[layout.WORDS_ISSUED] += 1
    return int(now)


@local
def issue_word(numbers: int, p: int, cycle: int) -> int:
    """Issue an instruction word without an access; return the cycle from which on the stream may issue the next."""
    m, s = _settings(words_at(numbers, _NUMBERS)), _arrays(words_at(numbers, _NUMBERS))
    return take_slot(m, s, p, cycle) + m.spacing


@local
def access(numbers: int, p: int, cycle: int, word: int, row: int, changes: int) -> int:
    """Issue an instruction word with an access; return the cycle at which its answer is there.

    Parameters
    ----------
    numbers : int
        Address of the words that `numbers_of` returns.
    p, cycle : int
        The processor, and the cycle from which on the stream may issue.
    word, row : int
        The number of the word, by which it has its place, and its row in the memory of the core, or NONE.
    changes : int
        Accesses that its bank needs because the word is changed, or 0.
    """
    m, s = _settings(words_at(numbers, _NUMBERS)), _arrays(words_at(numbers, _NUMBERS))
    tick = take_slot(m, s, p, cycle) * layout.TICKS
    operation, processor = operation_at(s, 0), processor_at(s, p)
    operation[layout.ADDRESS], operation[layout.OUTCOME] = word, layout.DONE
    set_place(m, s, 0)
    module = operation[layout.MODULE]
    links = array_at(s.links)
    tick = max(tick, processor[layout.PORT_FREE], links[module] - (m.buffers - 1) * m.link)
    processor[layout.PORT_FREE] = tick + m.link
    left = max(tick, links[module])
    links[module] = left + m.link
    totals_at(s, p)[layout.WORDS_SENT] += 1
    slot = layout.NONE
    if m.hot_words > 0 and row != layout.NONE:
        slot = use_slot(m, s, module, row)
        if slot_at(s, slot)[layout.SETTLED] == layout.NONE:
            slot_at(s, slot)[layout.BEFORE] = 0
    answered = served_at(m, s, 0, slot, left + m.crossing, changes, 0)
    return int(-(-(answered + m.crossing) // layout.TICKS))
