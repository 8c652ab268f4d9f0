"""What an emulated machine charges, in nanoseconds of virtual time; the numbers are orders of magnitude.

    charge                             ns   measured on a host of 2.5 GHz
    load, store_release                 2   a load from L1 is 1.3 to 2.3
    store, exchange, fetch_add,
    compare_exchange, ..._pair          8   a locked instruction, alone on its line: 7 to 9
    pause                              40   some 100 to 140 cycles on cores of that kind
    futex_wake                        200   of nobody
    futex_wait                      1,000   \\ hand-off and back, really sleeping: 4,000 to 12,000,
    woken                           2,000   / that is, twice one wait and one being woken, at least
    clock                              20
    copied_byte, looped_byte          0.1   copying with one CPU: some 10 GB/s

A line that comes from another processor costs no more than one's own, and Python between two primitives costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..loops import atomics
from .primitives import PRIMITIVES, meaning_of


@dataclass(frozen=True)
class Charges:
    """What an emulated machine charges, for `smp.emulated`.

    Attributes
    ----------
    load, store_release, store, exchange, compare_exchange, compare_exchange_pair, fetch_add : int
        A primitive, in ns.
    pause, futex_wait, futex_wake : int
        Of waits, in ns: a pause between two looks, going to sleep, waking others.
    woken : int
        Being woken, in ns.
    clock : int
        Reading the clock, in ns.
    copied_byte : float
        A byte of a superstep's copy-in or copy-out, in ns.
    looped_byte : float
        A byte of the arrays that a loop over local data is given, in ns.

    Raises
    ------
    TypeError, ValueError
        When a charge is no number of nanoseconds from 0; those of primitives are whole.
    """

    load: int = 2
    store_release: int = 2
    store: int = 8
    exchange: int = 8
    compare_exchange: int = 8
    compare_exchange_pair: int = 8
    fetch_add: int = 8
    pause: int = 40
    futex_wait: int = 1_000
    futex_wake: int = 200
    woken: int = 2_000
    clock: int = 20
    copied_byte: float = 0.1
    looped_byte: float = 0.1

    def __post_init__(self) -> None:
        for name, charge in asdict(self).items():
            whole = not name.endswith("_byte")
            if isinstance(charge, bool) or not isinstance(charge, int if whole else int | float):
                raise TypeError(f"the charge {name} is a {'whole ' * whole}number of ns from 0, not {charge!r}")
            if not 0 <= charge < math.inf:
                raise ValueError(f"the charge {name} is a {'whole ' * whole}number of ns from 0, not {charge!r}")

    def of_primitives(self) -> dict[Callable[..., Any], int]:
        """Return the charges of the primitives that touch shared words, by their meaning."""
        return {meaning_of(getattr(atomics, name)): getattr(self, name) for name in PRIMITIVES}

    def copying(self, nbytes: int) -> int:
        """Return the charge for so many bytes of a copy."""
        return int(nbytes * self.copied_byte)

    def looping(self, args: tuple[Any, ...]) -> int:
        """Return the charge of a loop over local data: every byte of its array arguments is touched once."""
        return int(sum(arg.nbytes for arg in args if isinstance(arg, np.ndarray)) * self.looped_byte)
