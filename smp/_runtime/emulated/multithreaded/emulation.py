"""A run of a program on multithreaded processors, as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import DeadlockError
from smp.machines import MachineFile

from . import layout
from .cycles import begin_at, run_until
from .program import Label, Program
from .settings import WORD_BYTES, settings_of
from .state import State

FOREVER = 1 << 61


@dataclass(frozen=True)
class Change:
    """A thread has changed its mode: see ``traps``."""

    cycle: int
    thread: int
    mode: int


@dataclass(frozen=True)
class Totals:
    """Counts over all processors.

    Attributes
    ----------
    words, background : int
        Instruction words of threads and of the runtime's own streams.
    sent : int
        Words that left a processor for the memory, retries among them.
    retries : int
        Memory operations that were sent again because a full/empty bit was not as needed.
    traps, handled : int
        Threads that left a word to the runtime, and operations that the runtime did because their word was trapped.
    remaps : int
        States of threads that were restored.
    operations : int
        Memory operations of programs that ended without the runtime.
    held_up : int
        Cycles in which the first word at a processor's link could not leave.
    """

    words: int
    background: int
    sent: int
    retries: int
    traps: int
    handled: int
    remaps: int
    operations: int
    held_up: int


class Emulation:
    """Multithreaded processors with a program and a memory.

    Parameters
    ----------
    machine : MachineFile
        A machine with the tables ``[streams]``, ``[memory]`` and ``[network]``.
    program : Program
    words : int
        Words of memory. They are full and hold 0.
    processors : int, optional
        Number of processors; by default that of the machine file.
    threads : int, optional
        Largest number of threads in the whole run; by default the streams of all processors, and one more each.
    notes : int, optional
        Largest number of changes of mode that are kept in `changes`.

    Attributes
    ----------
    values : ndarray of int64 (words,)
        The memory.
    """

    def __init__(
        self,
        machine: MachineFile,
        program: Program,
        words: int,
        *,
        processors: int | None = None,
        threads: int | None = None,
        notes: int = 0,
    ) -> None:
        self.machine = machine
        self._settings = settings_of(machine, processors)
        count = self._settings.processors * (self._settings.streams + 1) if threads is None else threads
        self._state = State(self._settings, program.table(), words, count, notes)
        self.values = self._state.memory[:, layout.CONTENT]

    @property
    def cycle(self) -> int:
        """The last cycle in which something has happened."""
        return int(self._state.counters[layout.NOW])

    @property
    def seconds(self) -> float:
        """The time of `cycle`."""
        return self.cycle / self.machine.clock.hz

    @property
    def totals(self) -> Totals:
        """Counts over all processors since the beginning."""
        return Totals(*map(int, self._state.totals.sum(axis=0)))

    @property
    def changes(self) -> list[Change]:
        """The first changes of mode of threads, in the order of time."""
        return [Change(*map(int, row)) for row in self._state.log[: self._state.counters[layout.LOGGED]]]

    def make_empty(self, addresses: ArrayLike) -> None:
        """Set the full/empty bits of some words to empty."""
        self._state.memory[np.asarray(addresses, np.int64), layout.TAG] |= layout.EMPTY

    def is_full(self, address: int) -> bool:
        """Return True if the full/empty bit of a word is full."""
        return not self._state.memory[address, layout.TAG] & layout.EMPTY

    def limit_streams(self, count: int) -> None:
        """Let each processor have at most ``count`` streams, so that further threads wait for one."""
        self._state.processors[:, layout.STREAMS] = min(count, self._settings.streams)

    def start(
        self, at: Label, registers: Mapping[int, int] | None = None, *, processor: int = 0, cycle: int = 1
    ) -> int:
        """Start a stream at a label; return the number of its thread, which is used again when it has ended.

        Parameters
        ----------
        at : Label
        registers : mapping of int to int, optional
            Values of registers; all others are 0.
        processor : int
        cycle : int
            Cycle from which on it may issue its first word.

        Raises
        ------
        ValueError
            If the processor does not exist or has no free stream, or the cycle is over.
        """
        state, settings = self._state, self._settings
        if not 0 <= processor < settings.processors:
            raise ValueError(f"processor={processor} must be from 0 to {settings.processors - 1}")
        row = state.processors[processor]
        if row[layout.MAPPED] >= row[layout.STREAMS]:
            raise ValueError(f"processor {processor} has only {row[layout.STREAMS]} streams, and all are in use")
        if cycle <= self.cycle:
            raise ValueError(f"cycle={cycle} must come after the current cycle, {self.cycle}")
        thread = int(begin_at(settings, state.arrays, processor, at.word, cycle))
        if thread == layout.NONE:
            raise ValueError(f"the emulation has room for {len(state.threads)} threads: open it with more (threads=)")
        for register, value in (registers or {}).items():
            state.registers[thread, register] = value
        return thread

    def run(self, until: int = FOREVER) -> bool:
        """Run until all threads have ended, or up to a cycle; return True if all have ended.

        Raises
        ------
        DeadlockError
            If all threads wait for words that no thread will change. Up to a given cycle this is no error, because
            threads may be started later.
        IndexError
            If a thread uses an address that the memory does not have.
        RuntimeError
            If a thread starts a stream and there is none, or creates more threads than the emulation has room for.
        """
        status = run_until(self._settings, self._state.arrays, until)
        if status == layout.STUCK and until == FOREVER:
            raise DeadlockError(self._waiting())
        if status in _FAILURES:
            thread = int(self._state.counters[layout.CULPRIT])
            word = int(self._state.threads[thread, layout.PC])
            error, why = _FAILURES[status]
            raise error(f"thread {thread}, cycle {self.cycle}, near word {word} of the program: {why}")
        return status == layout.ENDED

    def _waiting(self) -> str:
        state = self._state
        threads = state.threads[: state.counters[layout.THREADS]]
        at = sorted(set(threads[threads[:, layout.WAITS] == layout.QUEUED, layout.AT].tolist()))
        return (
            f"at cycle {self.cycle}, all {state.counters[layout.LIVE]} threads wait, and no other thread is left to "
            f"change the words at {at}"
        )


_FAILURES: dict[int, tuple[type[Exception], str]] = {
    layout.BAD_ADDRESS: (
        IndexError,
        f"the address is outside the memory, whose addresses count words of {WORD_BYTES} bytes",
    ),
    layout.NO_STREAM: (RuntimeError, "all streams of the processor are in use: start fewer, or create threads instead"),
    layout.NO_ROOM: (RuntimeError, "the emulation has no room for a further thread: open it with more (threads=)"),
}
