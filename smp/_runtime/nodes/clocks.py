"""The clocks of the nodes, which are compared with that of processor 0 at the start and at the end of each run.

    first processor of a node         processor 0
        "time"                   ─▶
                                 ◀─   "clock", seconds                    TRIPS times, on all nodes at once
        shortest round trip ─▶ offset of the node
        "offset"                 ─▶   the other processors of the node

Processor 0 answers once it takes part itself.  Before that, its service thread could only answer late.
"""

from __future__ import annotations

import time

from ..program.records.clock_offsets import Drift, Offset, shortest
from .layout import Nodes
from .progress import Progress

TRIPS = 10


class NodeClocks:
    """The clock of one processor; see `Clocks`.

    Attributes
    ----------
    offset : float
        Seconds to be added to the node's clock during the run.
    doing : str
        Name of its waits, for reports.
    """

    doing = "comparison of the nodes' clocks"

    def __init__(self, progress: Progress, rank: int, nodes: Nodes) -> None:
        self._progress, self._rank, self.offset = progress, rank, 0.0
        node = nodes.of[rank]
        self._first, self._end = nodes.first[node], nodes.first[node] + nodes.count[node]
        self._trips = TRIPS * (len(nodes.first) - 1)  # of all nodes
        self.begin_run()
        progress.on("time", self._asked)
        progress.on("clock", self._answered)
        progress.on("offset", self._given)

    def begin_run(self) -> None:
        """Forget the previous run; call it before messages of the new one are carried out."""
        self._answers = 0  # answers that processor 0 still has to give
        self._kept: list[int] = []  # processors that have asked before it takes part
        self._came: tuple[float, float] | None = None  # the last answer, and when it came
        self._found: Offset | None = None

    def begin(self) -> None:
        """Measure the offset at the start of the run."""
        self._start = self._measured()
        self.offset = self._start.seconds

    def end(self) -> Drift:
        """Measure the offset at its end; return both."""
        return Drift(self._start, self._measured())

    def _measured(self) -> Offset:
        """Return the offset of this node now; the first processors of all nodes take part."""
        if self._rank == 0:
            self._answer()
        if self._first == 0:
            return Offset(time.perf_counter(), 0.0, 0.0)
        if self._rank != self._first:
            self._progress.until(lambda: self._found is not None)
            found, self._found = self._found, None
            assert found is not None
            return found
        found = shortest([self._trip() for _ in range(TRIPS)])
        for rank in range(self._first + 1, self._end):
            self._progress.send(rank, "offset", *found)
        return found

    def _answer(self) -> None:
        with self._progress.lock:
            self._answers = self._trips
            for source in self._kept:
                self._asked(source)
            self._kept.clear()
        self._progress.until(lambda: not self._answers)

    def _asked(self, source: int) -> None:
        if self._answers:
            self._progress.send(source, "clock", time.perf_counter())
            self._answers -= 1
        else:
            self._kept.append(source)

    def _trip(self) -> tuple[float, float, float]:
        self._came = None
        sent = time.perf_counter()
        self._progress.send(0, "time")
        self._progress.until(lambda: self._came is not None)
        assert self._came is not None
        return sent, *self._came

    def _answered(self, source: int, seconds: float) -> None:
        self._came = seconds, time.perf_counter()

    def _given(self, source: int, *offset: float) -> None:
        self._found = Offset(*offset)
