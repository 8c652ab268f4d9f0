"""The parts of a machine with multithreaded processors, made from its machine file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from smp.machines import MachineFile

from ...loops import atomics
from ..local_work import Priced
from ..networks import congested, delays, queues
from ..networks.kinds import ROOM, Ideal
from ..parts import Parts
from ..port import EmulatedPort, Whole
from ..prices import Prices
from ..primitives import PRIMITIVES, meaning_of
from ..virtual_time import picoseconds
from .layout import TICKS
from .settings import settings_of
from .shared_words import SharedWords

QUEUES = (queues.post, queues.poll, queues.poll_for_loop, queues.room_for, queues.look, congested.transmit)
"""Steps on queues of messages, each of which is an access to the memory."""


class WordWork(Priced):
    """Local work whose prices are instruction words, which take longer the more streams of a processor run."""

    words: SharedWords | None = None

    def _run(
        self, loop: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> tuple[Any, float, str]:
        result, words, way = super()._run(loop, args, options)
        return result, words if self.words is None else self.words.cycles_of_words(words), way


class MultithreadedPort(EmulatedPort):
    """One processor's connection to a machine with multithreaded processors."""

    def __init__(self, processors: Whole, rank: int, words: SharedWords) -> None:
        super().__init__(processors, rank)
        self._prices = words

    def new_run(self) -> None:
        super().new_run()
        if self.rank == 0:
            self._prices.clear()


class _Shared:
    """State that the processors of one machine share; its prices are made with the first port."""

    def __init__(self, file: MachineFile, size: int, work: WordWork) -> None:
        self._file, self._size, self._work = file, size, work
        self._copy_per_byte = file.processor.copy_per_byte if file.processor is not None else 0.0

    def connect(self, processors: Whole, rank: int) -> MultithreadedPort:
        """Return the port of a processor."""
        if rank == 0:
            others: dict[Callable[..., Any], int] = dict.fromkeys(QUEUES, _access(self._file))
            settings, hz = settings_of(self._file, self._size), round(self._file.clock.hz)
            self._work.words = SharedWords(processors.emulator, settings, hz, others)
            processors.emulator.words = self._work.words
        assert self._work.words is not None
        return MultithreadedPort(processors, rank, self._work.words)

    def copied(self, nbytes: int) -> int:
        """Return the price of a copy by the running stream, in ps."""
        assert self._work.words is not None
        cycles = self._work.words.cycles_of_words(nbytes * self._copy_per_byte)
        return picoseconds(cycles, self._file.clock.hz)


def multithreaded_machine(file: MachineFile, size: int) -> Parts:
    """Return the parts of a machine that has a table ``[streams]``."""
    work = WordWork(file)
    shared = _Shared(file, size, work)
    return Parts(
        Prices(_steps(file), 0, 0, file.clock.hz),
        work,
        Ideal(ROOM),
        shared.copied,
        port=shared.connect,
        name=file.name,
        by_address=True,
    )


def _access(file: MachineFile) -> int:
    """Return the time of an access without contention, in ps."""
    settings = settings_of(file)
    return picoseconds((2 * settings.crossing + settings.access) / TICKS, file.clock.hz)


def _steps(file: MachineFile) -> dict[Callable[..., Any], int]:
    """Return the prices of steps under a schedule that knows no time order: those of single accesses."""
    meanings = [meaning_of(getattr(atomics, name)) for name in PRIMITIVES]
    return dict.fromkeys((*meanings, *QUEUES, delays.deliver), _access(file))
