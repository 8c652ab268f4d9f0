"""Flags: each processor raises or lowers its own at any time, and any processor asks whether one is up.

    LOWERED   the number of flags that are down       fetch_add, by a processor that changes its flag
                                                      load, by any that asks: one is up if LOWERED < SIZE

All flags are up at the start of a run, when LOWERED is 0.  A change is one addition and a question one load, so both
take effect at a single moment, and no processor waits.
"""

from __future__ import annotations

from ..loops.atomics import Words, fetch_add, load
from ..loops.compiler import inline
from .wait import LOWERED, SIZE, shared_of


@inline
def raise_flag(sync: Words, change: int) -> int:
    """Raise this processor's flag if ``change`` is 1, lower it if -1; the caller knows that it was the other way."""
    return int(fetch_add(shared_of(sync), LOWERED, -change))


@inline
def any_flag(sync: Words) -> bool:
    """Return True if at least one processor's flag is up.

    Parameters
    ----------
    sync : int64 array
        The processor's own words, ``proc.sync``.
    """
    return bool(load(shared_of(sync), LOWERED) < sync[SIZE])
