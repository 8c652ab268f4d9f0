"""The processors of a machine without shared memory: two threads each."""

import math
import queue
import select
import threading
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from smp._computer.interrupt import HeldBack
from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.memory.cells import Cells
from smp._runtime.program.answering import answer
from smp._runtime.program.answers import Answer, Done, Mismatched, Raised
from smp._runtime.program.failures import Failure, RaisedBy, Unmatched
from smp._runtime.program.pickling import load_call
from smp._runtime.program.port import show, without_memory
from smp._runtime.program.records.account import NOTHING
from smp._runtime.protocols import wait
from smp.errors import MachineClosed, Unsupported, WaitTimeout

from .network import ANSWERS, Failed, Network, Printed, Shown
from .parts import in_parts, make, own
from .port import MessagePort

GRACE = 0.5  # seconds that the others have to end after one has failed
LOOK = 0.02  # seconds between two checks of Ctrl-C and of the time


class MessageProcessors:
    """Processors that only send messages; see `smp._runtime.program.port.Processors`."""

    kind = "messages"
    first_touch = False
    account = NOTHING
    pages = ""

    def __init__(self, size: int) -> None:
        self.size, self.nodes, self.closed, self._stopped = size, list(range(size)), "", False
        self._network, self._runs, self._arrays = Network(size), 0, count()
        self._calling = threading.Lock()
        for rank in range(size):
            threading.Thread(target=own, args=(self._network, rank), daemon=True).start()

    def call(
        self, message: bytes, streams: int, ctrl_c: HeldBack, timeout: float | None, helpers: bool | None
    ) -> tuple[list[Done], object]:
        with self._calling:
            if self.closed or self._stopped:
                raise MachineClosed(f"this machine is closed: {self.closed}")
            self._runs += 1
            self._network.open(ANSWERS)
            for rank in range(self.size):
                self._network.open(("program", rank))
            for rank in range(self.size):
                threading.Thread(target=self._serve, args=(rank, message, streams), daemon=True).start()
            return self._answers(ctrl_c, math.inf if timeout is None else time.monotonic() + timeout), None

    def _serve(self, rank: int, message: bytes, streams: int) -> None:
        network = self._network
        network.here.rank = rank
        port = MessagePort(network, rank, self._runs)
        report = lambda reported: network.send(ANSWERS, (rank, reported))  # noqa: E731
        report(answer(port, partial(load_call, message), lambda: None, report, streams))

    def _answers(self, ctrl_c: HeldBack, end: float) -> list[Done]:
        """Gather one answer of each processor, or raise the first failure."""
        answers: dict[int, Answer] = {}
        failures: list[Failure] = []
        pending, until, why = set(range(self.size)), math.inf, None
        while pending and time.monotonic() < until:
            why = why or self._why(ctrl_c, end)
            if why is not None and until == math.inf:
                for rank in range(self.size):
                    self._network.send(("program", rank), Failed(wait.INTERRUPTED))
            if (why or failures) and until == math.inf:
                until = time.monotonic() + GRACE
            try:
                rank, came = self._network.receive(ANSWERS, LOOK)
            except queue.Empty:
                continue
            if isinstance(came, Printed):
                show(came.text, came.error)
                self._network.send(("program", rank), Shown(came.lines))
            elif isinstance(came, Raised):
                failures.append(RaisedBy(rank, came))
            elif isinstance(came, Mismatched):
                failures.append(Unmatched(rank))
                answers[rank] = came
            else:
                pending.discard(rank)
                answers.setdefault(rank, came)
        if pending:
            self.close("processors did not stop")
        if why is not None:
            raise why
        if failures:
            raise failures[0].error(answers, self.size)
        return cast("list[Done]", [answers[rank] for rank in range(self.size)])

    def _why(self, ctrl_c: HeldBack, end: float) -> BaseException | None:
        """Return the error with which the run has to end, or None if it may go on."""
        ctrl_c.poll(select.poll(), 0)
        if ctrl_c.presses:
            return KeyboardInterrupt()
        if self._stopped:
            return MachineClosed("this machine was closed: close() was called while its program ran")
        return WaitTimeout("the run has not ended in time; give it longer") if time.monotonic() >= end else None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        if self.closed:
            raise MachineClosed(f"this machine is closed: {self.closed}")
        name = ("parent", next(self._arrays))
        for rank in range(self.size):
            make(self._network, name, shape, dtype, rank)
        return in_parts(self._network, name, shape, dtype)

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None) -> Cells:
        raise without_memory("cells")

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        raise Unsupported(
            "processors that run at the same time leave no list of steps; smp.emulated(..., trace=True) keeps one"
        )

    def restart(self) -> None:
        raise Unsupported("the memory of these processors ends with them; open a new machine")

    def stop(self) -> None:
        self._stopped = True
        if self._calling.acquire(timeout=2 * GRACE):
            self._calling.release()

    def close(self, why: str) -> None:
        if not self.closed:
            self.closed = why
            for rank in range(self.size):
                self._network.send(("owner", rank), None)
