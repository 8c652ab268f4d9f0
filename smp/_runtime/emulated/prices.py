"""Prices of an emulated machine in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol


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
    hz : float
        Cycles in a second, the unit of work on local data.
    """

    steps: Mapping[Callable[..., Any], int]
    woken: int
    clock: int
    hz: float = 1e9


class WordPrices(Protocol):
    """Prices of steps by the addresses of their words."""

    def operation(self) -> AbstractContextManager[None]:
        """Return a block in which all steps of the running stream on a cell are one operation."""

    def price(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> int:
        """Return the price of a step in ps, given the primitive and its arguments."""
