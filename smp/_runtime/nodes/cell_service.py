"""The operations on the cells of a node that processors of other nodes, and the parent, ask for.

    asker       "cell", ticket, request ─▶      a processor of the cell's node
    asker    ◀─ "celled", ticket, status, bits

An operation that need not wait is done at once.  Another one gets a thread of its own, which waits at the cell as a
stream of the node does, and ends with the operation, its deadline, or the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..loops.atomics import clock
from ..memory.threads import Threads
from ..protocols import wait, waiters
from ..protocols.cell import MUST_WAIT
from .cells import DO, PEEK, STATE
from .messages import Request
from .progress import Progress

Answer = Callable[[int, int], object]
THREAD = "smp stream for another node"


class CellService:
    """Does the operations that are asked for, and asks for those of this processor.

    Parameters
    ----------
    address : callable
        Returns the address of a cell of this node, given the request.
    """

    def __init__(self, progress: Progress, threads: Threads, address: Callable[[Request], int]) -> None:
        self._progress, self._threads, self._address = progress, threads, address
        self._tickets = 0
        self._answers: dict[int, tuple[int, int]] = {}
        self._waiting: set[threading.Thread] = set()
        self._over = False  # whether the run has failed and its waits were ended
        progress.on("cell", self._asked)
        progress.on("celled", self._answered)

    def begin_run(self) -> None:
        """Forget what came for requests of the previous run."""
        self._answers.clear()
        self._over = False

    def end_run(self, end_waits: Callable[[], object]) -> None:
        """Refuse further requests of a run that has failed, call ``end_waits``, and wait until the waits have ended.

        One that missed the end of its run would stay in the queue of a cell whose memory gets another use.
        """
        with self._progress.lock:
            self._over, waiting = True, list(self._waiting)
        end_waits()
        for thread in waiting:
            thread.join()

    def ask(self, to: int, request: Request) -> tuple[int, int]:
        """Have a request carried out by another processor; return the status and the bits."""
        with self._progress.lock:
            self._tickets += 1
            ticket = self._tickets
            self._progress.send(to, "cell", ticket, request)
        self._progress.until(lambda: ticket in self._answers)
        return self._answers.pop(ticket)

    def _answered(self, source: int, ticket: int, status: int, bits: int) -> None:
        self._answers[ticket] = status, bits

    def _asked(self, source: int, ticket: int, request: Request) -> None:
        def answer(status: int, bits: int) -> None:
            self._progress.send(source, "celled", ticket, status, bits)

        if self._over:
            answer(wait.ABORTED, 0)
        else:
            self.carry_out(request, answer)

    def carry_out(self, request: Request, answer: Answer) -> None:
        """Carry out a request on a cell of this node, and answer it; do not wait."""
        try:
            address = self._address(request)
        except KeyError:  # it is of a run that has failed, and its cells have been dropped
            answer(wait.ABORTED, 0)
            return
        if request.what == STATE:
            answer(0, int(self._threads.state(address)))
            return
        own = self._threads.own()
        own.in_use = True
        try:
            if request.what == PEEK:
                status = self._threads.peeked(own, address)
            else:
                own.words[waiters.BITS] = request.bits
                status = self._threads.tried(own, address, request.op)
            bits = int(own.words[waiters.BITS])
        finally:
            own.in_use = False
        if request.what != DO or status != MUST_WAIT:
            answer(status, bits)
            return
        thread = threading.Thread(target=self._wait, args=(address, request, answer), name=THREAD, daemon=True)
        with self._progress.lock:
            self._waiting.add(thread)
            thread.start()

    def _wait(self, address: int, request: Request, answer: Answer) -> None:
        own = self._threads.own()
        own.in_use = True
        try:
            own.words[waiters.BITS] = request.bits
            limit = request.retries if request.retries >= 0 else int(own.words[waiters.RETRIES])
            deadline = 0 if request.timeout is None else wait.deadline_after(request.timeout, clock())
            status = self._threads.operate(own, address, request.op, limit, deadline)
            answer(status, int(own.words[waiters.BITS]))
        finally:
            own.in_use = False
        with self._progress.lock:
            self._waiting.discard(threading.current_thread())
