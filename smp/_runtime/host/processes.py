"""The worker processes of one machine: their start, the lines to them, their boxes, and their end."""

from __future__ import annotations

import contextlib
import io
import os
import select
import socket
import time
from collections.abc import Callable, Collection
from typing import Any

from ..memory.segment import Segment
from .launcher import PATIENCE, Channel
from .pipe import Line
from .surroundings import output


class WorkerProcesses:
    """The worker processes of one machine, by rank.

    Parameters
    ----------
    method : str
        Start method: "forkserver", "spawn" or "fork".

    Attributes
    ----------
    channel : Channel
        Line to the fork server, which starts the processes and reports their ends.
    lines : list of Line
        Lines to the processes.
    alive : set of int
        Ranks that were started, and whose end has not been reported.
    """

    def __init__(self, method: str) -> None:
        self.channel = Channel(method)
        self.lines: list[Line] = []
        self.alive: set[int] = set()
        self._boxes: list[io.FileIO] = []

    def start(self, rank: int, segment: Segment, specification: dict[str, Any]) -> None:
        """Start the process of the next rank, and send it its specification."""
        ours, theirs = socket.socketpair()
        self.lines.append(Line(ours))
        self._boxes.append(io.FileIO(os.memfd_create("smp-box")))
        with theirs, output(1) as out, output(2) as error:
            held = (theirs, segment.file, self._boxes[rank], out, error)
            self.channel.start(rank, [file.fileno() for file in held])
        self.alive.add(rank)
        self.send(rank, specification)

    def polled(self) -> tuple[select.poll, dict[int, int | None]]:
        """Return a poll of all lines and of the channel, and the rank of each descriptor, None for the channel."""
        poll = select.poll()
        sources: dict[int, int | None] = {self.channel.socket.fileno(): None}
        sources.update({line.fileno(): rank for rank, line in enumerate(self.lines)})
        for fd in sources:
            poll.register(fd, select.POLLIN)
        return poll, sources

    def send(self, rank: int, message: Any) -> None:
        """Send a message, unless the process has died."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the fork server reports its death
            self.lines[rank].send(message)

    def signal(self, ranks: Collection[int], number: int) -> None:
        """Send a signal to some of the processes."""
        for rank in ranks:
            self.channel.signal(rank, number)

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
        poll.register(self.channel.socket.fileno(), select.POLLIN)
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
                event = self.channel.receive()
                if event is None:
                    return
                self.alive.discard(event[1])

    def close(self) -> None:
        """Close the lines and the boxes."""
        for line, box in zip(self.lines, self._boxes, strict=False):
            line.close()
            box.close()
