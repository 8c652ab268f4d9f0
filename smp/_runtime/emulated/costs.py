"""The charges of an emulated machine for which no other machine is named. The numbers are orders of magnitude.

    charge                             ns   measured on a host of 2.5 GHz
    load, store_release                 2   a load from L1 is 1.3 to 2.3
    store, exchange, fetch_add,
    compare_exchange, ..._pair          8   a locked instruction, alone on its line: 7 to 9
    pause                              40   some 100 to 140 cycles on cores of that kind
    futex_wake                        200   no thread sleeps
    futex_wait                      1,000   \\ hand-off and back between threads that sleep: 4,000 to 12,000,
    woken                           2,000   / for at least two waits, each ended by a wake-up
    clock                              20
    copied_byte, looped_byte          0.1   copying with one CPU: some 10 GB/s

A cache line that comes from another processor costs no more than the processor's own, and Python code between two
primitives costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..loops import atomics
from .local_work import Bytes
from .networks import congested, delays, queues
from .networks.kinds import Kind
from .parts import Parts
from .prices import Prices
from .primitives import PRIMITIVES, meaning_of
from .virtual_time import NANOSECOND


@dataclass(frozen=True)
class Charges:
    """The charges of an emulated machine, for `smp.emulated`.

    Attributes
    ----------
    load, store_release, store, exchange, compare_exchange, compare_exchange_pair, fetch_add : int
        Charge for one such primitive, in ns.
    pause, futex_wait, futex_wake : int
        Charges for waiting, in ns: for a pause between two looks, for going to sleep, and for waking others.
    woken : int
        Charge for being woken, in ns.
    clock : int
        Charge for reading the clock, in ns.
    copied_byte : float
        Charge for one byte of a superstep's copy-in or copy-out, in ns.
    looped_byte : float
        Charge for one byte of the arrays that are passed to a loop over local data, in ns.

    Raises
    ------
    TypeError, ValueError
        If a charge is not a number of nanoseconds, 0 or more. All charges except those per byte must be whole.
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
                raise TypeError(
                    f"the charge {name} must be a {'whole ' * whole}number of ns, 0 or more, not {charge!r}"
                )
            if not 0 <= charge < math.inf:
                raise ValueError(
                    f"the charge {name} must be a {'whole ' * whole}number of ns, 0 or more, not {charge!r}"
                )

    def prices(self) -> Prices:
        """Return the prices of steps."""
        charges: dict[Callable[..., Any], int]
        charges = {meaning_of(getattr(atomics, name)): getattr(self, name) for name in PRIMITIVES}
        looks = (queues.poll, queues.poll_for_loop, queues.room_for, queues.look, delays.deliver)
        changes = (queues.post, congested.transmit)
        charges.update(dict.fromkeys(changes, self.exchange))
        charges.update(dict.fromkeys(looks, self.load))
        steps = {meaning: charge * NANOSECOND for meaning, charge in charges.items()}
        return Prices(steps, self.woken * NANOSECOND, self.clock * NANOSECOND)

    def copied(self, nbytes: int) -> int:
        """Return the price of a copy, in ps; it is a whole number of ns."""
        return int(nbytes * self.copied_byte) * NANOSECOND

    def parts(self, network: Kind) -> Parts:
        """Return the parts of a machine with these charges, and a network."""
        return Parts(self.prices(), Bytes(self.looped_byte), network, self.copied)
