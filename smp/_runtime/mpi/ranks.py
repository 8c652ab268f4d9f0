"""The ranks of MPI as the worker processes of a machine, and the way of a process into its job.

In a job of a launcher, the first process goes on with the user's script and is the parent of all machines, one after
another.  The others become ranks, and end when the script of the first ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NoReturn

from smp._computer.interrupt import HeldBack
from smp.errors import MachineError

from ..host.pipe import Idle
from ..nodes.processes import NodesProcesses
from .jobs import Place, rank_command
from .world import KILLED, Event, World, join

_joined: World | None = None
_serving = False  # whether the ranks of this job serve a machine


class RankProcesses(NodesProcesses):
    """The ranks of a job as the processes of one machine.

    Parameters
    ----------
    world : World
        They may be on their way; `prepare` waits for them.
    """

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._broken = False  # whether a rank has died: the others may hang
        self._first: Event | None = None  # end of the rank that has ended first
        self._ends = select.epoll()
        self._lost = select.epoll()  # its events come in the order in which the lines have ended

    def prepare(self, ctrl_c: HeldBack, deadline: float) -> None:
        if self.lines:  # it was called when it was not yet known on how many nodes the ranks are
            return
        if not self._world.lines:
            self._world.connect(ctrl_c, deadline)
        self.lines = list(self._world.lines)
        for fd in filter(None, self._world.pidfds):
            self._ends.register(fd, select.EPOLLIN)
        for line in self.lines:
            self._lost.register(line.fileno(), select.EPOLLRDHUP)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Return the node of each rank, from 0, and its place among the ranks of the node."""
        return self._world.places

    def start_on_nodes(self, rank: int, specification: dict[str, Any]) -> None:
        """Have a rank begin as a processor of a machine of several nodes."""
        self.alive.add(rank)
        self.lines[rank].send_fds(())
        self.send(rank, specification)

    def next_run(self) -> int:
        self._world.runs += 1
        return self._world.runs

    def printed(self) -> Iterator[tuple[str, bool]]:
        return self._world.printed()

    def lost(self, rank: int) -> tuple[Any, ...] | None:
        self._broken = True
        if self._first is not None:
            return self._first if rank == self._first[1] else ("ended", rank, KILLED)
        self._first = self._world.first_death(self._first_lost(rank), self.leave)
        return self._first

    def _first_lost(self, seen: int) -> int:
        """Return the rank whose line has ended first.

        A process that ends closes its line before the launcher knows of its end, and kills the others.
        """
        lost = [fd for fd, _ in self._lost.poll(0)]
        return next((rank for fd in lost for rank, line in enumerate(self.lines) if line.fileno() == fd), seen)

    def _start(self, rank: int, fds: Sequence[int]) -> None:
        self.lines[rank].send_fds(fds)

    def ends(self) -> int:
        return self._ends.fileno()

    def event(self) -> tuple[Any, ...] | None:
        ready = [self._world.pidfds.index(fd) for fd, _ in self._ends.poll(0)]
        if not ready:
            return None
        event = self.lost(ready[0])
        pidfd = None if event is None else self._world.pidfds[event[1]]
        if pidfd is not None:
            with contextlib.suppress(OSError):
                self._ends.unregister(pidfd)
        return event

    def signal(self, ranks: Collection[int], number: int) -> None:
        for rank in ranks:
            pidfd = self._world.pidfds[rank] if self._world.pidfds else None
            if pidfd is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, number)

    def bury(self, patience: float, kill: Callable[[int], None]) -> None:
        """Wait until the ranks are idle; one that is not idle in time is killed, and the others with it."""
        for rank in self.alive:
            self.send(rank, ("close", None))
        poll, _ = self.polled()
        waiting, deadline = set(self.alive), time.monotonic() + patience
        while waiting and not self._broken:
            left = deadline - time.monotonic()
            if left <= 0:
                self._broken = True
                for rank in waiting:
                    kill(rank)
            for fd, _ in poll.poll(max(0.0, left) * 1000 + 1):
                self._broken |= fd == self.ends()
                waiting -= {rank for rank in waiting if fd == self.lines[rank].fileno() and self._idle(rank)}

    def _idle(self, rank: int) -> bool:
        """Take what a rank sends; return True if it has closed its machine."""
        try:
            return isinstance(self.lines[rank].take(), Idle)
        except Exception:  # the end of the line, or bytes that are no message
            self._broken = True
            return True

    def close(self) -> None:
        global _serving
        self._ends.close()
        self._lost.close()
        for box in self._boxes:
            box.close()
        if self._world.joined:
            _serving = False
        else:
            self._world.end(at_once=self._broken)

    def forget(self) -> None:
        self._ends.close()
        self._lost.close()
        super().forget()
        self._world.forget()


def ranks_of_job(place: Place) -> RankProcesses:
    """Return the ranks of the job to which this process belongs, for one machine; only its first process returns.

    Raises
    ------
    MachineError
        If the ranks serve a machine already, or this process has initialised MPI itself.
    """
    global _joined, _serving
    if "mpi4py.MPI" in sys.modules:
        raise MachineError(
            "this script has imported mpi4py.MPI, so it is a rank of MPI itself, and smp cannot start the rank in its "
            "place: call smp.mpi() without that import, or start the script without a launcher"
        )
    if place.rank > 0:
        become_a_rank()
    if _serving:
        raise MachineError("the ranks of this job of MPI already serve an open machine; close it first")
    if _joined is None:
        _joined = join(place.size)
        atexit.register(_joined.end)
    _serving = True
    return RankProcesses(_joined)


def become_a_rank() -> NoReturn:
    """Replace the program of this process by that of a rank."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    command = rank_command()
    os.execv(command[0], command)
