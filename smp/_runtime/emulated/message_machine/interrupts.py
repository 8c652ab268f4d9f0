"""Computation that messages interrupt.

    compute   ──────┐ interrupt, handler ┌──────────┐ handler ┌────▶ ends that much later
                    └────────────────────┘          └─────────┘

A handler runs to its end; messages that come meanwhile wait.  The program notices nothing but the time and what the
handlers have changed.

Source: M. I. Frank, LoPC: Modeling Contention in Parallel Algorithms, section 2.
"""

from __future__ import annotations

from typing import cast

from ...protocols.inboxes import ASLEEP, EVENTS
from ...protocols.message_waits import inbox_of
from ..clocked.emulator import ClockedEmulator
from ..port import Whole
from ..sleepers import address_of
from .network import WireNetwork


class Interrupts:
    """Lets the processors of a machine compute, and handle the messages that come meanwhile."""

    def __init__(self, emulator: ClockedEmulator, processors: Whole) -> None:
        self._emulator, self._processors = emulator, processors

    def compute(self, picoseconds: int) -> None:
        """Let the running stream compute."""
        emulator, running = self._emulator, self._emulator.running
        assert running is not None
        port = self._processors.ports[running.rank]
        if running.index > 0 or port.inside is not None or port.serve is None:
            emulator.pass_picoseconds(picoseconds)
            return
        network, inbox, left = cast("WireNetwork", port.network), inbox_of(port.memory.sync, running.rank), picoseconds
        while True:
            network.interrupted = True
            port.serve()
            network.interrupted = False
            if left <= 0:
                return
            began = emulator.picoseconds()
            inbox[ASLEEP] = 1
            emulator.sleep(address_of(inbox, EVENTS), left)
            inbox[ASLEEP] = 0
            left -= emulator.picoseconds() - began
