"""What an emulated machine charges, in nanoseconds of virtual time: one table.

    primitive                          ns   measured on a host of 2.5 GHz
    load, store_release                 2   a load from L1 is 1.3 to 2.3
    store, exchange, fetch_add,
    compare_exchange, ..._pair          8   a locked instruction, alone on its line: 7 to 9
    pause                              40   some 100 to 140 cycles on cores of that kind
    futex_wake                        200   of nobody
    futex_wait                      1,000   \\ hand-off and back, really sleeping: 4,000 to 12,000,
    being woken                     2,000   / that is, twice one wait and one being woken, at least
    clock                              20
    a byte of local data              0.1   copying with one CPU: some 10 GB/s

They are orders of magnitude.  A line that comes from another processor costs no more than one's own, and Python between
two primitives costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ..loops import atomics
from ..loops.atomics import Primitive

WOKEN = 2_000
CLOCK = 20
_BYTES = 10  # a nanosecond


def meaning_of(primitive: Callable[..., Any]) -> Callable[..., Any]:
    """The Python body of a primitive."""
    return cast("Primitive", primitive).meaning


COSTS = {
    meaning_of(primitive): cost
    for primitive, cost in (
        (atomics.load, 2),
        (atomics.store_release, 2),
        (atomics.store, 8),
        (atomics.exchange, 8),
        (atomics.compare_exchange, 8),
        (atomics.compare_exchange_pair, 8),
        (atomics.fetch_add, 8),
        (atomics.pause, 40),
        (atomics.futex_wait, 1_000),
        (atomics.futex_wake, 200),
    )
}
"""The primitives that touch shared words, by their meaning: before each is a scheduling point."""


def copying(nbytes: int) -> int:
    """Of moving so many bytes."""
    return nbytes // _BYTES


def looping(args: tuple[Any, ...]) -> int:
    """Of a loop over local data: every byte of its array arguments is touched once."""
    return copying(sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)))
