"""Orders the accesses of an emulated machine's streams by the primitives between them; see ``memory.races``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..loops import atomics
from ..memory.races import ATOMIC_READ, ATOMIC_WRITE
from ..memory.witness import Witness, Witnessed
from .primitives import changed, meaning_of
from .schedules import Stream
from .sleepers import address_of

_NETWORK = 0
"""Stands for the words of the networks. Their operations have no words, so each comes after all before it."""


class _Order(NamedTuple):
    """A primitive as it orders accesses: does it load its word, store in it, and replace what was there?"""

    acquires: bool
    releases: bool
    replaces: bool


_ORDERS = {
    meaning_of(primitive): order
    for primitive, order in (
        (atomics.load, _Order(acquires=True, releases=False, replaces=False)),
        (atomics.store, _Order(acquires=False, releases=True, replaces=True)),
        (atomics.store_release, _Order(acquires=False, releases=True, replaces=True)),
        (atomics.exchange, _Order(acquires=True, releases=True, replaces=False)),
        (atomics.fetch_add, _Order(acquires=True, releases=True, replaces=False)),
        (atomics.pause, None),
        (atomics.futex_wait, None),
        (atomics.futex_wake, None),
    )
}
"""None for a primitive that orders nothing."""
_COMPARED = _Order(acquires=True, releases=True, replaces=False)
_FAILED = _Order(acquires=True, releases=False, replaces=False)
_COMPARE, _COMPARE_PAIR = meaning_of(atomics.compare_exchange), meaning_of(atomics.compare_exchange_pair)


class Ordering:
    """Keeps the clocks of streams and words while a program runs, and looks for races.

    Parameters
    ----------
    witness : Witness
        Reports the races.
    """

    def __init__(self, witness: Witness) -> None:
        self._witness, self._races = witness, witness.races
        self._addresses: dict[int, tuple[Any, int, int]] = {}

    def begin(self) -> None:
        """Begin another run."""
        self._addresses.clear()

    def starts(self, stream: Stream, parent: Stream | None) -> None:
        """Begin with a new stream."""
        self._races.starts(stream.number, None if parent is None else parent.number)

    def stepped(
        self, stream: Stream, meaning: Callable[..., Any], args: tuple[Any, ...], result: Any, shared: Witnessed | None
    ) -> None:
        """Order the steps after a primitive, given its result; ``shared`` is the array of the program that it is on."""
        order = _ORDERS.get(meaning, _COMPARED)
        if order is None:
            return
        count = 1
        if order is _COMPARED:
            if meaning is not _COMPARE and meaning is not _COMPARE_PAIR:
                releases = changed(meaning, args, result)
                self._races.order(stream.number, _NETWORK, acquires=True, releases=releases, replaces=False)
                return
            count = 1 + (meaning is _COMPARE_PAIR)
            if not (result if meaning is _COMPARE_PAIR else result == args[2]):
                order = _FAILED
        if shared is not None:
            for i in range(int(args[1]), int(args[1]) + count):
                self._witness.accessed(shared, i, ATOMIC_WRITE if order.releases else ATOMIC_READ, sys._getframe(2))
        word = self._address(args[0], args[1])
        for k in range(count):
            self._races.order(stream.number, word + 8 * k, *order)

    def _address(self, words: Any, i: Any) -> int:
        """Return the address of an element. Arrays are kept until the next run, so that each is asked only once."""
        known = self._addresses.get(id(words))
        if known is None:
            known = words, address_of(words, 0), int(words.strides[0])
            self._addresses[id(words)] = known
        return known[1] + int(i) * known[2]
