"""Prices of an emulated machine in virtual time: of single steps, of copies, and of loops over local data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .networks.kinds import Kind
    from .port import EmulatedPort
    from .processors import EmulatedProcessors


@dataclass(frozen=True)
class Prices:
    """The prices of steps, in ps.

    Attributes
    ----------
    steps : mapping
        Price of each primitive that touches shared words, by its Python body.
    woken : int
        Price of being woken.
    clock : int
        Price of reading the clock.
    """

    steps: Mapping[Callable[..., Any], int]
    woken: int
    clock: int


class LocalWork(Protocol):
    """The price of work on local data."""

    def charge(self, loop: Callable[..., Any], args: tuple[Any, ...]) -> int:
        """Return the price of a call of a loop that `smp.local` has made, in ps."""


def _free(nbytes: int) -> int:
    return 0


@dataclass(frozen=True)
class Parts:
    """All that distinguishes one emulated machine from another.

    Attributes
    ----------
    copied : callable
        Returns the price of a copy between a global array and local memory, in ps, for a number of bytes.
    port : callable, optional
        Connects a processor to the machine; by default as one with shared memory.
    """

    prices: Prices
    work: LocalWork
    network: Kind
    copied: Callable[[int], int] = _free
    port: Callable[[EmulatedProcessors, int], EmulatedPort] | None = None
