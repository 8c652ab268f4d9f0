"""The parts of an emulated machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .clocked.emulator import ClockedEmulator
from .local_work import LoopWork
from .networks.kinds import Kind
from .port import EmulatedPort, Whole
from .prices import Prices


def _free(nbytes: int) -> int:
    return 0


def _none() -> None:
    return None


@dataclass(frozen=True)
class Parts:
    """All that distinguishes one emulated machine from another.

    Attributes
    ----------
    copied : callable
        Returns the price of a copy between a global array and local memory, in ps, for a number of bytes.
    work : LoopWork
        Runs loops over local data, and says how many cycles they take.
    port : callable
        Connects a processor to the machine.
    name : str
        Name of the machine.
    timed : bool
        Whether it needs streams that take their turns by the clock.
    unknown : tuple of str
        Assumptions of the machine that nothing was measured for.
    times : callable, optional
        Returns the measured times of the last run.
    emulator : callable
        Makes the emulator under the clock.
    by_address : bool
        Whether the price of a step depends on the address of its word; operations on cells are then interpreted.
    """

    prices: Prices
    work: LoopWork
    network: Kind
    copied: Callable[[int], int] = _free
    port: Callable[[Whole, int], EmulatedPort] = EmulatedPort
    name: str = ""
    timed: bool = False
    unknown: tuple[str, ...] = ()
    times: Callable[[], Mapping[str, Any] | None] = _none
    emulator: Callable[..., ClockedEmulator] = ClockedEmulator
    by_address: bool = False
