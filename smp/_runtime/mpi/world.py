"""The ranks of one job of MPI, as the process sees them that is their parent.

    parent ── starts ──▶ launcher ──▶ ranks              a job of its own: `launch`
    parent ── starts ──▶ rank 0                          in a job whose launcher has started the parent: `join`;
                                                         the launcher has started the other ranks
    parent ◀── line ──── each rank                       Hello; after that see ``rank``

The parent itself stays outside of MPI, so the end of a rank is an event for it and not its own end.  Each rank connects
to a socket of the parent, whose address rank 0 gets from the parent, and the others from rank 0 by a broadcast of MPI
(see ``addresses``).
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from smp._computer.interrupt import HeldBack
from smp._computer.processes import exit_status
from smp.errors import MachineError

from ..host.pipe import Line
from ..nodes.heartbeat import PATIENCE as LOST
from .addresses import PARENT, PATIENCE, Listener
from .jobs import rank_command, shown
from .last_words import may_be_a_signal, status_in

KILLED = -signal.SIGKILL
SOON, REAPED, SHORT = 0.5, 0.1, 0.002
"""Seconds in which a launcher ends after a signal has ended a rank, if it can; seconds after which no other process
waits for the status of the rank, if the launcher ended first; and seconds between two looks."""
LAST = 1 << 16
"""Bytes of a launcher's last words."""
LINES = 12
"""Lines of a launcher's last words that an error shows."""

Event = tuple[Literal["ended", "lost", "untold"], int, int | None]
"""End of a rank, its number, and its exit status if that is known; see `smp._runtime.nodes.processes`."""


@dataclass(frozen=True)
class Hello:
    """First message of a rank.

    Attributes
    ----------
    rank, size : int
        Its number, and the number of all ranks.
    number : int
        Its number in the launcher's job, which may have the ranks of a node apart.
    node : int
        Number of its node.
    pid : int
        Its process.
    library : str
        Name of its library of MPI.
    files : list of str
        Files of shared memory that the library has made.  The library leaves them behind when a rank dies.
    """

    rank: int
    size: int
    number: int
    node: int
    pid: int
    library: str
    files: list[str]


class World:
    """The ranks of one job.

    Parameters
    ----------
    size : int
        Number of ranks.
    command : sequence of str
        Command of the launcher, or of rank 0 if the other ranks run already.
    joined : bool
        Whether the other ranks run already.
    far : bool
        Whether ranks may be on other computers.

    Attributes
    ----------
    lines : list of Line
        Lines to the ranks, once they are connected.
    pidfds : list of int or None
        Descriptors of the ranks' processes; None for one that is connected by TCP.
    places : list of (int, int)
        Node of each rank, from 0, and its place among the ranks of the node.
    runs : int
        Number of runs so far of all machines of the ranks.
    """

    def __init__(self, size: int, command: Sequence[str], joined: bool, far: bool) -> None:
        self.size, self.joined, self._command = size, joined, list(command)
        self.lines: list[Line] = []
        self.pidfds: list[int | None] = []
        self.places: list[tuple[int, int]] = []
        self.runs = 0
        self._files: set[str] = set()
        self._words = [io.FileIO(os.memfd_create(f"smp-launcher-{name}"), "r+") for name in ("output", "errors")]
        self._shown = [0, 0]  # bytes of these that the user has seen
        self._rest: list[tuple[str, bool]] = []  # what is not shown yet when they are closed
        self._listener = Listener(size, far)
        environment = {**os.environ, PARENT: str(self._listener.address)}
        if joined:  # what the launcher left open for rank 0 must stay open
            self._starter = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, close_fds=False)
        else:
            self._starter = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._words[0],
                stderr=self._words[1],
                env=environment,
                start_new_session=True,  # Ctrl-C is for the parent
            )
        self.starter = os.pidfd_open(self._starter.pid)

    def connect(self, ctrl_c: HeldBack, deadline: float) -> None:
        """Wait until all ranks are connected.

        Raises
        ------
        MachineError
            If they do not come in time, or not as one job.
        """
        poll = select.poll()
        for fd in (*(each.fileno() for each in self._listener.sockets), self.starter):
            poll.register(fd, select.POLLIN)
        came: dict[int, tuple[Line, Hello]] = {}
        while len(came) < self.size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise MachineError(f"{len(came)} of {self.size} ranks of MPI have come up in time{self._said()}")
            for fd, _ in ctrl_c.poll(poll, left * 1000 + 1):
                if fd == self.starter:
                    raise MachineError(self._why_not())
                self._accept(fd, came)
            if ctrl_c.presses:
                raise ctrl_c.interruption()
        self.lines = [came[rank][0] for rank in range(self.size)]
        hellos = [came[rank][1] for rank in range(self.size)]
        self.pidfds = [os.pidfd_open(hello.pid) if self.lines[hello.rank].is_local() else None for hello in hellos]
        nodes, self._numbers = [hello.node for hello in hellos], [hello.number for hello in hellos]
        self._pids = [hello.pid for hello in sorted(hellos, key=lambda hello: hello.number)]
        self.places = [(sorted(set(nodes)).index(node), nodes[:rank].count(node)) for rank, node in enumerate(nodes)]

    def _accept(self, fd: int, came: dict[int, tuple[Line, Hello]]) -> None:
        connection = self._listener.let_in(fd)
        if connection is None:
            return
        connection.settimeout(PATIENCE)
        line = Line(connection)
        line.give_up_after(LOST)  # each machine sets its own
        try:
            hello: Hello = line.receive()
        except (OSError, EOFError):
            line.close()
            return
        connection.settimeout(None)
        if line.is_local():  # on another computer, a file of that name would be another one
            self._files |= set(hello.files)
        if hello.size != self.size or hello.rank in came:
            raise MachineError(
                f"{shown(self._command) or 'the launcher'} started {self.size} ranks, but MPI says that they are "
                f"{hello.size}: the launcher does not belong to the library of MPI, {hello.library}"
            )
        came[hello.rank] = (line, hello)

    def _why_not(self) -> str:
        status = self._starter.wait()
        if self.joined:
            return f"rank 0 of MPI ended with status {status} before it was connected; see its message above"
        hint = "" if self._said() else ", without a message: does it belong to the library of MPI that mpi4py loads?"
        return f"{shown(self._command)} ended with status {status} before its ranks were connected{hint}{self._said()}"

    def _said(self) -> str:
        """Return the last lines that the launcher has printed, each on a line of its own."""
        lines = [line.rstrip() for line in self._text().splitlines() if line.strip(" =|\t")]
        return "".join(f"\n  {line}" for line in lines[-LINES:])

    def _text(self) -> str:
        """Return the last words of the launcher and the ranks."""
        ends = [max(0, os.fstat(words.fileno()).st_size - LAST) for words in self._words]
        text = b"\n".join(os.pread(words.fileno(), LAST, at) for words, at in zip(self._words, ends, strict=True))
        return text.decode(errors="replace")

    def printed(self) -> Iterator[tuple[str, bool]]:
        """Yield what ranks have printed to the launcher's outputs since the last call, and whether they are errors."""
        while self._rest:
            yield self._rest.pop(0)
        for number, words in enumerate(self._words):
            if words.closed:
                return
            size, seen = os.fstat(words.fileno()).st_size, self._shown[number]
            new = os.pread(words.fileno(), size - seen, seen)
            end = new.rfind(b"\n") + 1
            self._shown[number] += end
            if end:
                yield new[:end].decode(errors="replace"), number == 1

    def first_death(self, seen: int, leave: Callable[[], object]) -> Event | None:
        """Return the end of the rank that ended first; None if the launcher was killed, and the ranks with it.

        When a rank ends early, the launcher ends the others and then itself.  It may name one that it has ended itself,
        so the rank is the one that was ``seen`` to be gone first.  How it has ended is known to the kernel of its
        computer, from Linux 6.15 on.  Otherwise the launcher says it, in its last words or by its status.  That of
        MPICH does not always: it may name a rank that it has ended itself, or print nothing and end with 0 or with the
        number of the signal by which it has ended the others.
        """
        status = self._status(seen)
        if status is None and self._starter.poll() is None:
            leave()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._starter.wait(PATIENCE)
        launcher = self._starter.returncode
        if self.joined:  # it is rank 0 itself
            return ("ended", seen, KILLED) if launcher is None else ("ended", 0, launcher)
        if status is not None:
            return None if (self._starter.poll() or 0) < 0 else ("ended", seen, status)
        said = status_in(self._text(), self._numbers[seen], self._pids, launcher)
        if said is not None:
            return "ended", seen, said
        if launcher is None:  # it has not noticed any end
            return ("ended", seen, KILLED) if self.lines[seen].is_local() else ("lost", seen, None)
        if launcher < 0:
            return None
        return ("untold", seen, None) if may_be_a_signal(launcher) else ("ended", seen, launcher)

    def _status(self, rank: int) -> int | None:
        """Return the exit status of a rank on this computer, if it is known soon."""
        pidfd, end, ended = self.pidfds[rank], time.monotonic() + SOON, False
        while pidfd is not None and (now := time.monotonic()) < end:
            if (status := exit_status(pidfd)) is not None:
                return status
            if not ended and self._starter.poll() is not None:
                ended, end = True, now + REAPED
            time.sleep(SHORT)
        return None

    def end(self, at_once: bool = False) -> None:
        """End the ranks and the launcher, and wait for them.

        ``at_once`` says that ranks may hang, because another has died for example.
        """
        for line in self.lines:
            line.close()  # an idle rank takes this as the end of its work
        self._listener.close()
        if at_once:
            self._starter.terminate()  # a launcher ends its ranks then
        try:
            self._starter.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            for pidfd in filter(None, self.pidfds):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            self._starter.kill()
            self._starter.wait()
        for file in self._files:
            with contextlib.suppress(OSError):
                os.unlink(file)
        self._rest = list(self.printed())
        self.forget()

    def forget(self) -> None:
        """Close what this process holds of the ranks, which go on."""
        for line in self.lines:
            line.close()
        for fd in (*filter(None, self.pidfds), self.starter):
            os.close(fd)
        self._listener.close()
        for words in self._words:
            words.close()
        self.lines, self.pidfds = [], []


def join(size: int) -> World:
    """Return the world of the job to which this process belongs as its first process, with rank 0 as its child."""
    return World(size, rank_command(), joined=True, far=True)
