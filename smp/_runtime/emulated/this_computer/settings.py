"""The parts that the processors of a machine from a profile share, and their prices in ps."""

from __future__ import annotations

from smp.profiles.this_computer import ThisComputer

from ...loops import atomics
from ..emulator import Emulator
from ..networks import queues
from ..prices import Prices
from ..primitives import PRIMITIVES, meaning_of
from ..virtual_time import SECOND
from .barriers import Barriers
from .lines import Lines
from .memory import SharedMemory

BARRIERS = 3
"""Barriers of a superstep."""
INSTRUCTIONS = ("load", "store_release")
"""Primitives that are plain instructions."""


class Settings:
    """The memory, the barriers and the lines of a machine, and the prices of steps.

    Parameters
    ----------
    computer : ThisComputer
    size : int
        Number of processors.
    """

    def __init__(self, computer: ThisComputer, size: int) -> None:
        self.memory = SharedMemory(computer, size)
        barrier = computer.barrier(size)
        more = 0.0 if computer.python else computer.superstep(size) / BARRIERS - barrier
        self.barriers = Barriers(self.memory, ps(barrier), ps(max(0.0, more)))
        self.prices = _prices(computer)
        self._computer = computer

    def lines(self, emulator: Emulator) -> Lines:
        """Return the lines of the words that processors share."""
        return Lines(emulator, self.prices.steps, ps(self._computer.handover), self._computer.line_bytes)


def _prices(computer: ThisComputer) -> Prices:
    """Return the prices of steps on lines that the processor has."""
    atomic, load, pause = map(ps, (computer.atomic, computer.load, computer.pause))
    wake, woken = map(ps, computer.waking)
    steps = {meaning_of(getattr(atomics, name)): load if name in INSTRUCTIONS else atomic for name in PRIMITIVES}
    others = (("pause", pause), ("futex_wait", 0), ("futex_wake", wake))
    steps |= {meaning_of(getattr(atomics, name)): price for name, price in others}
    looks = (queues.poll, queues.poll_for_loop, queues.room_for, queues.look)
    steps |= {queues.post: atomic, **dict.fromkeys(looks, load)}
    return Prices(steps, woken, ps(computer.clock), computer.hz)


def ps(seconds: float) -> int:
    """Return whole picoseconds."""
    return round(seconds * SECOND)
