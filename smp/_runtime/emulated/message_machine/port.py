"""One processor's connection to a machine whose processors share no memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

from numpy.typing import NDArray

from ...memory.arrays import GlobalArray
from ...program.port import Buffer, without_memory
from ...protocols import wait
from ...shared_memory.port import SharedMemoryPort
from ..clocked.emulator import ClockedEmulator
from ..port import EmulatedPort, Whole
from ..shared_memory_machine.accesses import Accesses
from ..virtual_time import SECOND
from .control import BROADCASTS, Control
from .copies import Copies
from .interrupts import Interrupts
from .software import Software
from .times import Times
from .words import Words

ROUNDS = 64
"""Barriers whose latest arrivals are kept: those that are open, and those of one collective."""


class Shared:
    """State that the processors of one machine share.

    Attributes
    ----------
    arrivals : dict
        For each open barrier, by its ticket, the latest arrival so far.
    accesses : Accesses or None
        Accesses to lines of memory that all processors share by a directory; None without such memory.
    """

    def __init__(
        self, software: Software, times: Times, control: Control, copies: Copies, accesses: Accesses | None
    ) -> None:
        self.software, self.times, self.control, self.copies = software, times, control, copies
        self.accesses = accesses
        self.arrivals: dict[int, int] = {}


class MessagePort(EmulatedPort):
    """One processor's connection to a message machine; see `Port`."""

    def __init__(self, processors: Whole, rank: int, shared: Shared) -> None:
        super().__init__(processors, rank)
        self._emulator = cast("ClockedEmulator", processors.emulator)
        self._shared = shared
        self._landing = 0  # when the last block that this processor has written arrives
        self._met: deque[tuple[int, int]] = deque(maxlen=ROUNDS)  # own arrivals at the last barriers: time and ticket
        if rank == 0:
            processors.emulator.compute = self._compute_of(processors)
            if shared.accesses is not None:
                shared.accesses.open(processors)
            else:
                processors.emulator.words = Words(processors, shared.software, shared.times, shared.copies)

    def _compute_of(self, processors: Whole) -> Callable[[int], None]:
        """Return the function that lets the running processor compute."""
        if not self._shared.software.interrupts:
            return self._emulator.pass_picoseconds
        return Interrupts(self._emulator, processors).compute

    def new_run(self) -> None:
        super().new_run()
        self._landing = 0
        self._met.clear()
        if self.rank == 0:
            self._shared.copies.clear()
            self._shared.arrivals.clear()
            if self._shared.accesses is not None:
                self._shared.accesses.clear()

    # Global arrays.

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        local = SharedMemoryPort.get(self, array, index, out)
        self._pay()
        now = self._emulator.picoseconds()
        self._emulator.pass_picoseconds(self._shared.copies.read(self.rank, array, index, now) - now)
        return local

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        SharedMemoryPort.put(self, array, index, values)
        self._pay()
        now = self._emulator.picoseconds()
        sent, landed = self._shared.copies.write(self.rank, array, index, now)
        self._emulator.pass_picoseconds(sent - now)
        self._landing = max(self._landing, landed)

    def fence(self) -> None:
        """Wait until all that this processor has written has arrived."""
        self._pay()
        self._emulator.pass_picoseconds(max(0, self._landing - self._emulator.picoseconds()))

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        if self._shared.accesses is None:
            raise without_memory("a loop on global arrays")
        self._pay()
        run = super().call
        return self._shared.accesses.loop(self.rank, arrays, lambda: run(loop, arrays, args))

    def _pay(self) -> None:
        """Do the work for others that has come since the last call."""
        debts = self._shared.copies.debts
        owed, debts[self.rank] = debts[self.rank], 0
        if owed:
            self._emulator.pass_picoseconds(owed)

    # Barriers.

    def arrive(self, description: str, vote: bool = False, block: Sequence[Buffer] | None = None) -> int:
        self._pay()
        ticket = int(self.memory.sync[wait.ROUND])  # of the round that begins now
        arrivals, now = self._shared.arrivals, self._emulator.picoseconds()
        arrivals[ticket] = max(now, arrivals.get(ticket, 0))
        self._met.append((now, ticket))
        arrivals.pop(ticket - ROUNDS, None)
        return super().arrive(description, vote, block)

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        found = super().leave(ticket, description, timeout)
        over = self._shared.arrivals[ticket] + self._shared.control.barrier
        self._emulator.pass_picoseconds(max(0, over - self._emulator.picoseconds()))
        self._shared.copies.debts[self.rank] = 0
        return found

    def synchronise(self, description: str, timeout: float | None = None, vote: bool = False) -> int:
        return self._within(timeout, description, vote)

    def priced(self, name: str, read: int, written: int, began: float, nbytes: int | None) -> None:
        """Let a collective that has just ended take the time of this machine, after the last processor has begun it.

        The barriers by which the runtime carries it out are a part of that time.
        """
        if nbytes is None:
            nbytes = max(read, written) if name.startswith(BROADCASTS) else written
        time = self._shared.control.time(name, nbytes)
        start, now = round(began * SECOND), self._emulator.picoseconds()
        first = next((ticket for arrived, ticket in self._met if arrived >= start), None)
        if first is None:  # it was split: its barrier is over
            over = now + time - self._shared.control.barrier
        else:
            over = self._shared.arrivals.get(first, now) + time
        self._emulator.pass_picoseconds(max(0, over - now))
