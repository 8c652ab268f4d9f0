"""Prices of an emulated machine in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


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
