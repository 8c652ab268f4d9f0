"""Operations that are timed by themselves, in bursts: those of all processors, and those of processor 0 with a partner.

near    the partner is another processor of the node
far     it is a processor of another node
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.processor import Processor

MEBIBYTE = 1 << 20
ELEMENTS = 10_000
AT_ONCE = 32  # requests: as many as a processor may send to another one before it takes any
Act = Callable[[], object]


class Task(NamedTuple):
    """An operation: its name, the processors that take part, the number of times in a burst, and the partner's rank."""

    name: str
    where: str
    times: int
    partner: int


OF_ALL = {
    "barrier": 200,
    "empty superstep": 100,
    "any": 200,
    "reduce of a number": 200,
    "scan of a number": 100,
    "broadcast of a number": 100,
    f"reduce of {ELEMENTS:,} numbers": 20,
}
WITH_PARTNER = {
    "read of 8 bytes": 100,
    "read of 1 MiB": 10,
    "request and reply": 100,
    f"request and reply, {AT_ONCE} at once": 10 * AT_ONCE,
    "value to a cell and back": 100,
}


def tasks_of(nodes: Sequence[int]) -> list[Task]:
    """Return the operations that a machine has, given the node of each processor."""
    found = [Task(name, "all", times, 0) for name, times in OF_ALL.items()]
    for where, same in (("near", True), ("far", False)):
        partners = [rank for rank in range(1, len(nodes)) if (nodes[rank] == nodes[0]) is same]
        found += [Task(name, where, times, partners[0]) for name, times in WITH_PARTNER.items() if partners]
    return found


def bursts(proc: Processor, array: GlobalArray, cells: Cells, tasks: Sequence[Task]) -> list[float]:
    """Take a burst of each operation; return the seconds that one takes."""
    operations = Operations(proc, array, cells)
    found = []
    for task in tasks:
        act = operations.act(task)
        proc.barrier()
        act(max(1, task.times // 10))
        proc.barrier()
        start = time.perf_counter()
        act(task.times)
        found.append((time.perf_counter() - start) / task.times)
        proc.barrier()
    return found


class Operations:
    """The operations of one processor.

    Parameters
    ----------
    proc : Processor
    array : GlobalArray of float64
        At least 1 MiB for each processor.
    cells : Cells
        Two cells for each processor, those of a processor next to each other.
    """

    def __init__(self, proc: Processor, array: GlobalArray, cells: Cells) -> None:
        self.proc, self.array, self.cells = proc, array, cells
        self._numbers, self._answers = np.ones(ELEMENTS), 0
        self._mebibyte = np.empty(MEBIBYTE // 8)
        self._answered = proc.handler(self._count)
        self._asked = proc.handler(self._answer, replies=True)

    def _count(self, message: Any, *words: int) -> None:
        self._answers += 1

    def _answer(self, message: Any, *words: int) -> None:
        message.reply(self._answered, *words)
        self._count(message)

    def act(self, task: Task) -> Callable[[int], None]:
        """Return the function that does an operation a number of times, or takes the partner's part in it."""
        proc = self.proc
        of_all: dict[str, Act] = {
            "barrier": proc.barrier,
            "empty superstep": self._superstep,
            "any": lambda: proc.any(False),
            "reduce of a number": lambda: proc.reduce(1.0),
            "scan of a number": lambda: proc.scan(1.0),
            "broadcast of a number": lambda: proc.broadcast(1.0),
            f"reduce of {ELEMENTS:,} numbers": lambda: proc.reduce(self._numbers),
        }
        if task.where == "all":
            return self._repeated(of_all[task.name])
        block = len(self.array) // proc.size * task.partner
        with_partner: dict[str, Callable[[int], None]] = {
            "read of 8 bytes": lambda times: self._reads(times, block, 1),
            "read of 1 MiB": lambda times: self._reads(times, block, MEBIBYTE // 8),
            "request and reply": lambda times: self._requests(times, 1, task.partner),
            f"request and reply, {AT_ONCE} at once": lambda times: self._requests(times, AT_ONCE, task.partner),
            "value to a cell and back": lambda times: self._hand_overs(times, task.partner),
        }
        return with_partner[task.name]

    def _repeated(self, act: Act) -> Callable[[int], None]:
        def repeated(times: int) -> None:
            for _ in range(times):
                act()

        return repeated

    def _superstep(self) -> None:
        with self.proc.superstep("empty") as step:
            step.compute()

    def _reads(self, times: int, start: int, words: int) -> None:
        with self.proc.superstep("reads") as step:
            if self.proc.rank == 0:
                out = self._mebibyte[:words]
                for _ in range(times):
                    step.copy_in(self.array, slice(start, start + words), out=out)
            step.compute()

    def _requests(self, times: int, at_once: int, partner: int) -> None:
        proc = self.proc
        self._answers = 0
        proc.barrier()
        for asked in range(at_once, times + 1, at_once):
            if proc.rank == 0:
                for _ in range(at_once):
                    proc.request(partner, self._asked, asked)
            if proc.rank in (0, partner):
                proc.wait_until(lambda asked=asked: self._answers >= asked)  # type: ignore[misc]

    def _hand_overs(self, times: int, partner: int) -> None:
        mine, theirs = 0, 2 * partner
        for k in range(times):
            if self.proc.rank == 0:
                self.cells.writeef(theirs, k)
                self.cells.readfe(mine)
            elif self.proc.rank == partner:
                self.cells.writeef(mine, self.cells.readfe(theirs))
