"""The worker processes of one machine: their start, the lines to them, their boxes, and their end.

`Processes` is what a machine needs of them.  Those of `WorkerProcesses` are started by a fork server; those that a
launcher of MPI has started are in ``mpi.ranks``.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from smp._computer.interrupt import HeldBack

from ..memory.segment import Segment
from .launcher import PATIENCE, Channel
from .pipe import Line
from .surroundings import output


class Processes:
    """The worker processes of one machine, by rank.

    Attributes
    ----------
    lines : list of Line
        Lines to the processes.
    alive : set of int
        Ranks that were started, and whose end has not been reported.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.alive: set[int] = set()
        self._boxes: list[io.FileIO] = []

    def prepare(self, ctrl_c: HeldBack, deadline: float) -> None:
        """Do what has to be done once, before the first process is started."""

    def start(self, rank: int, segment: Segment, specification: dict[str, Any]) -> None:
        """Start the process of the next rank, and send it its specification."""
        self._boxes.append(io.FileIO(os.memfd_create("smp-box")))
        with output(1) as out, output(2) as error:
            self._start(rank, [file.fileno() for file in (segment.file, self._boxes[rank], out, error)])
        self.alive.add(rank)
        self.send(rank, specification)

    def _start(self, rank: int, fds: Sequence[int]) -> None:
        """Start a process that inherits ``fds``, and make its line."""
        raise NotImplementedError

    def ends(self) -> int:
        """Return a descriptor that is readable when a process, or the one that starts them, has ended."""
        raise NotImplementedError

    def event(self) -> tuple[Any, ...] | None:
        """Return the next event, when `ends` is readable; None if the process that starts them is gone.

        An event is ("ended", rank, status), ("untold", rank, None) if it is not known how the process has ended, or
        ("failed", rank, why) if it could not be started.
        """
        raise NotImplementedError

    def polled(self) -> tuple[select.poll, dict[int, int | None]]:
        """Return a poll of all lines and of `ends`, and the rank of each descriptor, None for `ends`."""
        poll = select.poll()
        sources: dict[int, int | None] = {self.ends(): None}
        sources.update({line.fileno(): rank for rank, line in enumerate(self.lines)})
        for fd in sources:
            poll.register(fd, select.POLLIN)
        return poll, sources

    def send(self, rank: int, message: Any) -> None:
        """Send a message, unless the process has died or the network to it is lost."""
        with contextlib.suppress(OSError):  # an event or the end of the line reports that
            self.lines[rank].send(message)

    def signal(self, ranks: Collection[int], number: int) -> None:
        """Send a signal to some of the processes."""
        raise NotImplementedError

    def box(self, rank: int) -> str:
        """Return the traceback that a process has left when it crashed."""
        return os.pread(self._boxes[rank].fileno(), 1 << 16, 0).decode(errors="replace")

    def bury(self, patience: float, kill: Callable[[int], None]) -> None:
        """End the processes and wait until they are gone.

        ``kill`` is called with the rank of each that has not ended by itself after ``patience`` seconds.
        """
        for rank in self.alive:
            self.send(rank, ("close", None))
        poll = select.poll()
        poll.register(self.ends(), select.POLLIN)
        deadline, killed = time.monotonic() + patience, False
        while self.alive:
            left = deadline - time.monotonic()
            if left <= 0 and killed:
                return
            if left <= 0:
                deadline, killed = time.monotonic() + PATIENCE, True
                for rank in self.alive:
                    kill(rank)
            elif poll.poll(left * 1000 + 1):
                event = self.event()
                if event is None:
                    return
                self.alive.discard(event[1])

    def close(self) -> None:
        """End what is left of the processes, and close the lines and the boxes."""
        for line, box in zip(self.lines, self._boxes, strict=False):
            line.close()
            box.close()

    def forget(self) -> None:
        """Close the lines in a forked copy of the process that opened them, without ending the processes."""
        Processes.close(self)


class WorkerProcesses(Processes):
    """Processes that a fork server starts.

    Parameters
    ----------
    method : str
        Start method: "forkserver", "spawn" or "fork".
    """

    def __init__(self, method: str) -> None:
        super().__init__()
        self._channel = Channel(method)

    def _start(self, rank: int, fds: Sequence[int]) -> None:
        ours, theirs = socket.socketpair()
        self.lines.append(Line(ours))
        with theirs:
            self._channel.start(rank, [theirs.fileno(), *fds])

    def ends(self) -> int:
        return self._channel.socket.fileno()

    def event(self) -> tuple[Any, ...] | None:
        return self._channel.receive()

    def signal(self, ranks: Collection[int], number: int) -> None:
        for rank in ranks:
            self._channel.signal(rank, number)

    def close(self) -> None:
        self._channel.close()
        super().close()

    def forget(self) -> None:
        self._channel.forget()
        super().forget()
