"""The process that makes and buries the workers of a host machine.

    parent ──root──▶ nursery        a new channel (a descriptor) for each machine
    parent ◀─channel─▶ nursery      ("start", spec) + descriptors  ->  ("started", pid)
           one per machine                                             ("ended", pid, status), when it ends
                                    ("kill", pid)                      end of file: kill what is left of the machine
      nursery ──fork or exec──▶ worker   killed by the kernel when the nursery dies

The nursery is forked from the parent (start method ``fork``), or is a fresh interpreter that has imported what
workers need and forks them from there (``forkserver``), or makes each of them a fresh interpreter too (``spawn``).
It has one thread, so forking it is safe.  It watches the parent through a pidfd, not through PR_SET_PDEATHSIG, which
would follow the parent's *thread*; workers follow the nursery's only thread.  It alone waits for the workers, so a
process id that it is told to kill is never that of a stranger.  With no machine left it ends after a while.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
from typing import Any

from . import _compile

LINGER = 10.0  # seconds that a nursery without machines stays, for the next one
MESSAGE = 1 << 16
_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose id was ``parent``, dies."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


class Nursery:
    """The serving side; see the module."""

    def __init__(self, root: socket.socket, parent: int, fresh: bool) -> None:
        self.root, self.fresh, self.retiring = root, fresh, False
        self.poll = select.poll()
        self.channels: dict[int, socket.socket] = {}
        self.children: dict[int, tuple[int, int]] = {}  # pidfd -> (pid, descriptor of its channel)
        self.parent_fd = os.pidfd_open(parent)
        for fd in (root.fileno(), self.parent_fd):
            self.poll.register(fd, select.POLLIN)

    def serve(self) -> None:
        """Serve until the parent is gone, or no machine is left and none has come for a while."""
        while True:
            idle = not self.channels and not self.children
            if idle and self.retiring:
                return
            ready = self.poll.poll(LINGER * 1000 if idle else None)
            if (
                not ready
            ):  # from now on the parent is refused, and starts another; what it sent before is served
                self.root.shutdown(socket.SHUT_RD)
            for fd, _ in ready:
                if fd == self.parent_fd:
                    return
                if fd == self.root.fileno():
                    self._accept()
                elif fd in self.children:
                    self._bury(fd)
                elif fd in self.channels:
                    self._answer(fd)

    def _accept(self) -> None:
        message, fds, _, _ = socket.recv_fds(self.root, 1, 1)
        if not message:
            self.retiring = True
            self.poll.unregister(self.root.fileno())
            return
        channel = socket.socket(fileno=fds[0])
        self.channels[channel.fileno()] = channel
        self.poll.register(channel.fileno(), select.POLLIN)

    def _answer(self, fd: int) -> None:
        channel = self.channels[fd]
        try:
            message, fds, _, _ = socket.recv_fds(channel, MESSAGE, 4)
        except ConnectionResetError:
            message, fds = b"", []
        if not message:
            self._close(fd)
            return
        order, what = pickle.loads(message)
        if order == "start":
            pid = self._start(what, fds)
            for passed in fds:
                os.close(passed)
            pidfd = os.pidfd_open(pid)
            self.children[pidfd] = (pid, fd)
            self.poll.register(pidfd, select.POLLIN)
            self._tell(fd, ("started", pid))
        elif order == "kill":
            self._kill(lambda pid, _: pid == what)

    def _start(self, spec: dict[str, Any], fds: list[int]) -> int:
        spec["nursery"] = os.getpid()
        if spec["numba"] and not self.fresh:  # the parent uses it: import it once here, not in every worker
            _compile.numba()
        if self.fresh:
            spec["fds"] = fds
            code = "import sys, pickle; from smp import _worker; _worker.start(pickle.loads(sys.stdin.buffer.read()))"
            process = subprocess.Popen(
                [sys.executable, "-c", f"import sys; sys.path[:] = {spec['path']!r}; {code}"],
                stdin=subprocess.PIPE,
                pass_fds=fds,
            )
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # it died at once: its end is told like any other
                process.stdin.write(pickle.dumps(spec))
                process.stdin.close()
            process.returncode = 0  # we wait for it ourselves
            return process.pid
        pid = os.fork()
        if pid:
            return pid
        spec["fds"] = [os.dup(fd) for fd in fds]
        for mine in [self.root.fileno(), *self.channels, *self.children, *fds, self.parent_fd]:
            os.close(mine)
        from . import _worker

        _worker.start(spec)

    def _bury(self, pidfd: int) -> None:
        pid, channel = self.children.pop(pidfd)
        self.poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        self._tell(channel, ("ended", pid, os.waitstatus_to_exitcode(status)))

    def _tell(self, channel: int, what: tuple[Any, ...]) -> None:
        if channel in self.channels:
            with contextlib.suppress(OSError):  # the machine is being dropped
                self.channels[channel].send(pickle.dumps(what))

    def _kill(self, chosen: Any) -> None:
        for pid, channel in self.children.values():
            if chosen(pid, channel):
                os.kill(pid, signal.SIGKILL)

    def _close(self, fd: int) -> None:
        self._kill(lambda _, channel: channel == fd)
        self.poll.unregister(fd)
        self.channels.pop(fd).close()


def main(root: socket.socket, parent: int, fresh: bool) -> None:
    """Be a nursery; never returns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then says what to do
    status = 1
    try:
        Nursery(root, parent, fresh).serve()
        status = 0
    finally:
        os._exit(status)  # and with it, by PR_SET_PDEATHSIG, whatever worker is left
