"""The host machine's port: processes of this computer that share one segment.

    header of the segment        sync words │ a board for each processor │ two slots for each │ records of streams

``exchange`` uses the two slots in turn.  Round k is written to slot k % 2, published by a barrier and read.  The
slot is written again in round k + 2, after the barrier of round k + 1, at which everybody has read round k.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp.errors import Aborted, WaitTimeout

from ..memory.arrays import GlobalArray, attach
from ..memory.cells import counters
from ..memory.segment import PAGE, Segment
from ..protocols import wait as _wait
from ..protocols.barrier import ARRIVALS, signature
from ..protocols.entry_points import core
from ..protocols.waiters import TABLE_WORDS
from .last_seen import BOARD, Board

SLOT = 1 << 16  # bytes; longer blocks are exchanged in several rounds
_LENGTH = 8  # the slot opens with the length of the whole block


class Mismatch(Aborted):
    """This processor took part in another collective than the others; says in which."""


def boards_at(rank: int) -> int:
    """Offset of a processor's board."""
    return PAGE + rank * BOARD


def slots_at(size: int) -> int:
    """Offset of the first slot."""
    return -(-boards_at(size) // PAGE) * PAGE


def records_at(size: int) -> int:
    """Offset of the table of records."""
    return slots_at(size) + 2 * size * SLOT


def header(size: int) -> int:
    """Bytes of the segment's header for so many processors; a record takes memory once a stream has it."""
    return records_at(size) + 8 * TABLE_WORDS


class HostPort:
    """One processor's connection to the host machine; see `Port`.

    Parameters
    ----------
    retries : int
        Looks before a wait blocks.
    ask : callable
        ``ask(nbytes) -> offset`` has the parent give out a block; used by processor 0 only.
    entries : optional
        The runtime's entry points: machine code (`entry_points.core`), or what stands in for it.
    """

    def __init__(
        self, segment: Segment, rank: int, size: int, retries: int, ask: Callable[[int], int], entries: Any = None
    ) -> None:
        self.segment, self.rank, self.size, self._ask = segment, rank, size, ask
        self.shared = segment.words(0, _wait.SHARED_WORDS)
        self.sync = np.zeros(_wait.PRIVATE_WORDS, np.int64)
        self.sync[[_wait.SHARED, _wait.SIZE, _wait.RETRIES]] = segment.address, size, retries
        self.sync[_wait.SLICE] = _wait.MOMENT
        self.board = Board(segment, boards_at(rank))
        slots = segment.bytes_at(slots_at(size), 2 * size * SLOT)
        self._slots = [[slots[(k * size + r) * SLOT :][:SLOT] for r in range(size)] for k in (0, 1)]
        self._round = 0
        self.core: Any = core() if entries is None else entries
        self._address = self.sync.ctypes.data
        assert segment.roster is not None
        self.roster = segment.roster
        self._main = threading.get_ident()  # the thread that runs the program
        self.doing = ""
        self._overdue: int | None = None  # ticket of a barrier at which a wait timed out: the arrival stands

    def clock(self) -> float:
        return time.perf_counter()

    def now(self) -> int:
        """Nanoseconds of the clock in which deadlines are told."""
        return time.monotonic_ns()

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> GlobalArray:
        offset = self._ask(nbytes) if self.rank == 0 else 0
        blocks = self.exchange(f"allocation of {dtype}{list(shape)}", offset.to_bytes(8, "little"))
        start = int.from_bytes(blocks[0], "little")
        self.segment.ask_for_huge_pages(start, nbytes)
        return attach(self.segment, start, nbytes, shape, dtype)

    def get(self, array: GlobalArray, index: Any, out: NDArray[Any] | None) -> NDArray[Any]:
        if out is None:
            part = array._elements[index]
            if not isinstance(part, np.ndarray):  # one element: a scalar of NumPy's forgets lengths and byte order
                return np.array(part, array.dtype)
            return part if part.base is None else part.copy()  # an index array has made a copy already
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and array.ndim == 1:
            _must_agree(index.shape, array.dtype, out)
            np.take(array._elements, index, out=out, mode="raise")
            return out
        part = array._elements[index]
        _must_agree(np.shape(part), part.dtype if isinstance(part, np.ndarray) else array.dtype, out)
        out[...] = part
        return out

    def put(self, array: GlobalArray, index: Any, values: Any) -> None:
        array._elements[index] = values

    def arrive(self, description: str) -> int:
        if self._overdue is not None:
            raise WaitTimeout(
                f"processor {self.rank} has timed out at {self.doing!r}, where it stays counted in, and comes to "
                f"{description!r}; call the same again first: it goes on waiting"
            )
        self.doing = description
        self.board.here()
        if self.shared[_wait.ABORT]:  # see `barrier.synchronise`
            self._ended(_wait.ABORTED, None)
        return int(self.core.arrive(self._address, signature(description)))

    def passed(self, ticket: int) -> bool:
        word, expected = self.shared[_wait.BARRIER + 16 * (ticket % 2)], self.sync[_wait.EXPECTED + ticket % 2]
        return int(word) & ARRIVALS == int(expected) & ARRIVALS

    def wait(self, ticket: int, timeout: float | None = None) -> None:
        self._ended(self.core.await_passed(self._address, ticket, _wait.deadline_after(timeout, self.now())), timeout)

    def synchronise(self, description: str, timeout: float | None = None) -> None:
        if timeout is not None or self._overdue is not None:
            self._within(timeout, description)
            return
        self.doing = description
        self.board.here()
        if self._on_a_stream():
            status = self._from_a_stream(description)
        else:
            status = self.core.synchronise(self._address, signature(description), 0)
        if status:
            self._ended(status, timeout)

    def _on_a_stream(self) -> bool:
        """Whether another thread of the processor's calls than the one that runs the program."""
        return threading.get_ident() != self._main

    def _from_a_stream(self, description: str) -> int:
        """Synchronise for the processor from another thread of it, which gives its stream up meanwhile."""
        own = self.roster.own()
        self.roster.release(own)
        self.sync_here()
        status = self.core.synchronise(self._address, signature(description), 0)
        return int(status or self.roster.acquire(own))

    def _within(self, timeout: float | None, description: str) -> None:
        """Synchronise in time, or leave the arrival for the next call, which goes on waiting."""
        again = self._overdue is not None and description == self.doing
        if again and self.sync[_wait.ROUND] != (self._overdue or 0) + 1:
            raise WaitTimeout(
                f"processor {self.rank} timed out at {self.doing!r} and then went through a barrier in a compiled "
                "loop, which took that one's place; after a timeout call the same collective again first"
            )
        ticket = self._overdue if again and self._overdue is not None else self.arrive(description)
        self._overdue = ticket
        try:
            self.wait(ticket, timeout)
        except Aborted:  # nothing to go on with
            self._overdue = None
            raise
        self._overdue = None

    def _ended(self, status: int, timeout: float | None) -> None:
        if status == _wait.EXPIRED:
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s at {self.doing!r} and not all of the {self.size} processors "
                "came; give it longer, or call it again, which goes on waiting"
            )
        if status == _wait.ABORTED:
            kind = int(self.shared[_wait.ABORT]) % 256
            raise Mismatch(self.doing) if kind == _wait.MISMATCHED else Aborted

    def exchange(self, description: str, block: bytes) -> list[bytes]:
        parts: list[list[bytes]] = [[] for _ in range(self.size)]
        room = SLOT - _LENGTH
        done, longest = 0, 1
        while done < longest:
            slots = self._slots[self._round % 2]
            self._round += 1
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

    def call(self, loop: Callable[..., Any], *args: Any) -> Any:
        return loop(*args)

    def counters(self) -> NDArray[np.void]:
        return counters(self.segment, self.rank)

    def mark(self, step: int, phase: int, label: str) -> None:
        self.board.mark(step, phase, label)

    def sync_here(self) -> NDArray[np.int64]:
        self.sync[_wait.RECORD_AT] = self.roster.own().address
        return self.sync

    def new_run(self) -> None:
        """Forget the run before; the parent has cleared the barrier."""
        self.sync_here()
        self.sync[_wait.ROUND :] = 0
        self._round = 0
        self._overdue = None
        self.board.clear()


def _must_agree(shape: tuple[int, ...], dtype: np.dtype[Any], out: NDArray[Any]) -> None:
    if shape != out.shape or dtype != out.dtype:
        raise ValueError(
            f"copy_in of {dtype}{list(shape)} into out={out.dtype}{list(out.shape)}: shape and dtype must agree"
        )
