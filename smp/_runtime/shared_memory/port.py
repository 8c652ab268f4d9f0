"""Port of all machines with shared memory: one segment holds the arrays and all words that the processors wait for.

Each processor has two slots, which collectives use alternately (`SharedMemory.slots`).  A slot is written, published by
a barrier and read.  It is written again in the second collective after that.  This is after the barrier of the one in
between, at which all processors have read the slot.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import Aborted, PhaseError, WaitTimeout

from ..memory.arrays import GlobalArray
from ..memory.shared_elements import array_on, elements_of
from ..program.port import Mismatch, must_agree
from ..program.processor import share
from ..protocols import wait as _wait
from ..protocols.barriers import signature, votes
from ..protocols.entry_points import core
from .diagnosis import BoardDiagnosis
from .layout import SLOT
from .memory import ProcessorMemory

_LENGTH = 8  # bytes at the start of a slot, which hold the length of the whole block


class SharedMemoryPort:
    """One processor's connection to a machine with shared memory; see `Port`.

    Parameters
    ----------
    ask : callable
        ``ask(nbytes) -> offset`` asks the parent for a block of memory; only processor 0 calls it.
    entries : optional
        The runtime's entry points: machine code (`entry_points.core`), or a substitute for it.
    """

    def __init__(
        self, memory: ProcessorMemory, rank: int, size: int, ask: Callable[[int], int], entries: Any = None
    ) -> None:
        self.memory, self.rank, self.size, self._ask = memory, rank, size, ask
        self.core: Any = core() if entries is None else entries
        self.diagnosis = BoardDiagnosis(memory, rank, self.core)
        self._address = memory.sync.ctypes.data
        self._main = threading.get_ident()  # the thread that runs the program
        self.doing = ""
        self._overdue: int | None = None  # ticket of a barrier at which a wait timed out: the arrival still counts

    def clock(self) -> float:
        return time.perf_counter()

    def now(self) -> int:
        """Return the nanoseconds of the clock that deadlines use."""
        return time.monotonic_ns()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        nbytes = math.prod(shape) * dtype.itemsize
        offset = self._ask(nbytes) if self.rank == 0 else 0
        blocks = self.exchange(f"allocation of {dtype}{list(shape)}", offset.to_bytes(8, "little"))
        start = int.from_bytes(blocks[0], "little")
        return array_on(self.memory.segment.block(start, nbytes), shape, dtype)

    def fill(self, array: GlobalArray, values: NDArray[Any]) -> None:
        elements, mine = elements_of(array).all, share(array.size, self.rank, self.size)
        if values.shape == array.shape:
            elements.reshape(-1)[mine] = values.reshape(-1)[mine]
        elif values.ndim == 0:
            elements.reshape(-1)[mine] = values
        else:
            rows = share(len(array), self.rank, self.size)
            elements[rows] = np.broadcast_to(values, array.shape)[rows]

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        elements = elements_of(array).all
        if out is None:
            part = elements[index]
            if not isinstance(part, np.ndarray):  # one element: a NumPy scalar loses lengths and byte order
                return np.array(part, array.dtype)
            return part if part.base is None else part.copy()  # an index array has made a copy already
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and array.ndim == 1:
            must_agree(index.shape, array.dtype, out)
            np.take(elements, index, out=out, mode="raise")
            return out
        part = elements[index]
        must_agree(np.shape(part), part.dtype if isinstance(part, np.ndarray) else array.dtype, out)
        out[...] = part
        return out

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        elements_of(array).all[index] = values

    def fence(self) -> None:
        """Do nothing: stored values are in place already, and a barrier publishes them."""

    def arrive(self, description: str, vote: bool) -> int:
        if self._overdue is not None:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r}, where its arrival still counts, and now comes to "
                f"{description!r}; first call the earlier collective again, which goes on waiting"
            )
        self.doing = description
        self.diagnosis.here()
        if self.memory.shared[_wait.ABORT]:  # see `barriers.synchronise`
            self._ended(_wait.ABORTED, None)
        return int(self.core.arrive(self._address, signature(description), int(vote)))

    def passed(self, ticket: int) -> bool:
        if self.core.passed(self._address, ticket):
            return True
        if self.memory.shared[_wait.ABORT]:
            self._ended(_wait.ABORTED, None)
        return False

    def leave(self, ticket: int, description: str, timeout: float | None = None) -> int:
        sync, self.doing = self.memory.sync, description
        if sync[_wait.LEFT] > ticket + _wait.TURNS:
            raise PhaseError(
                f"the result of {description!r} is lost, because {sync[_wait.LEFT] - ticket - 1} barriers in compiled "
                f"loops or supersteps have followed it, more than {_wait.TURNS - 1}: wait for a ticket before them"
            )
        self.diagnosis.here()
        deadline = _wait.deadline_after(timeout, self.now())
        self._ended(self._on_any_thread(lambda: self.core.leave(self._address, ticket, deadline)), timeout)
        return votes(sync, ticket)

    def synchronise(self, description: str, timeout: float | None = None, vote: int = 0) -> None:
        if timeout is not None or self._overdue is not None:
            self._within(timeout, description, vote)
            return
        self.doing = description
        self.diagnosis.here()
        sign = signature(description)
        if self._on_a_stream():
            status = self._on_any_thread(lambda: self.core.synchronise(self._address, sign, vote, 0))
        else:
            status = self.core.synchronise(self._address, sign, vote, 0)
        if status:
            self._ended(status, timeout)

    def count(self, description: str, vote: bool, timeout: float | None = None) -> int:
        self.synchronise(description, timeout, int(vote))
        sync = self.memory.sync
        return votes(sync, sync[_wait.LEFT] - 1)

    def _on_a_stream(self) -> bool:
        """Return True if the calling thread is another than the one that runs the program."""
        return threading.get_ident() != self._main

    def _on_any_thread(self, wait: Callable[[], int]) -> int:
        """Wait for the processor; another of its threads than that of the program gives up its stream meanwhile."""
        if not self._on_a_stream():
            return wait()
        own = self.memory.threads.own()
        self.memory.threads.release(own)
        self.memory.sync_here()
        return int(wait() or self.memory.threads.acquire(own))

    def _within(self, timeout: float | None, description: str, vote: int) -> None:
        """Synchronise in time, or leave the arrival for the next call, which goes on waiting."""
        again = self._overdue is not None and description == self.doing
        if again and self.memory.sync[_wait.ROUND] != (self._overdue or 0) + 1:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r} and then went through a barrier in a compiled "
                "loop, which took its place; after a timeout, first call the same collective again"
            )
        ticket = self._overdue if again and self._overdue is not None else self.arrive(description, bool(vote))
        self._overdue = ticket
        try:
            self.leave(ticket, description, timeout)
        except Aborted:  # the run has failed: no wait can go on
            self._overdue = None
            raise
        self._overdue = None

    def _ended(self, status: int, timeout: float | None) -> None:
        if status == _wait.EXPIRED:
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s at {self.doing!r} and not all of the {self.size} processors "
                "arrived; give it longer, or call it again, which goes on waiting"
            )
        if status == _wait.ABORTED:
            kind = int(self.memory.shared[_wait.ABORT]) % 256
            raise Mismatch(self.doing) if kind == _wait.MISMATCHED else Aborted

    def exchange(self, description: str, block: bytes) -> list[bytes]:
        parts: list[list[bytes]] = [[] for _ in range(self.size)]
        room = SLOT - _LENGTH
        done, longest = 0, 1
        while done < longest:
            slots = [row.data for row in self.memory.slots()]
            chunk = block[done : done + room]
            mine = slots[self.rank]
            mine[:_LENGTH] = len(block).to_bytes(_LENGTH, "little")
            mine[_LENGTH : _LENGTH + len(chunk)] = chunk
            self.synchronise(description)
            for part, slot in zip(parts, slots, strict=True):
                length = int.from_bytes(slot[:_LENGTH], "little")
                longest = max(longest, length)
                part.append(bytes(slot[_LENGTH : _LENGTH + max(0, min(room, length - done))]))
            done += room
        return [b"".join(part) for part in parts]

    def call(self, loop: Callable[..., Any], arrays: Sequence[GlobalArray], args: Sequence[Any]) -> Any:
        return loop(*[array.view for array in arrays], *args)

    def new_run(self) -> None:
        """Forget the previous run; the parent has cleared the barrier."""
        self.memory.new_run()
        self._overdue = None
        self.diagnosis.clear()
