"""Fork server for the worker processes of host machines: it starts them, signals them, and waits for them to end.

    parent ──root──▶ fork server         a new channel (a descriptor) for each machine
    parent ◀─channel─▶ fork server       ("start", rank, numba?) + descriptors of the worker
           one per machine               ("signal", rank, number)
                                                        ("ended", rank, status), when it has ended
                                                        ("failed", rank, why): it could not be started
                                         end of file: kill what is left of the machine
      fork server ──fork or exec──▶ worker   killed by the kernel when the fork server dies

The start method says what the fork server is.  With ``fork``, it is forked from the parent.  With ``forkserver``, it
is a fresh interpreter that has imported what workers need and forks them from there.  With ``spawn``, it is a fresh
interpreter that starts each worker as a fresh interpreter too.

The fork server has one thread, so forking it is safe.  It watches the parent through a pidfd, and not through
PR_SET_PDEATHSIG, which would follow the parent's *thread*; workers follow the fork server's only thread.  Only the
fork server waits for the workers, so it never kills another process that has been given the id of one of them.  With
no machine left, it ends after a while.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from smp._computer.limits import remedy

from ..loops import compiler
from . import worker

LINGER = 10.0  # seconds that a fork server without machines waits for the next one
MESSAGE = 1 << 12
_FRESH = """\
import sys
sys.path[:] = {path!r}
from smp._runtime.host import worker
worker.start({server}, {fds})
"""


@dataclass(frozen=True)
class Child:
    """A worker: its process, its rank, and its machine's channel."""

    pid: int
    rank: int
    channel: socket.socket


class ForkServer:
    """The serving side; see the module."""

    def __init__(self, root: socket.socket, parent: int, fresh: bool) -> None:
        self.root, self.fresh, self.retiring = root, fresh, False
        self.poll = select.poll()
        self.channels: dict[int, socket.socket] = {}
        self.children: dict[int, Child] = {}  # by pidfd
        self.parent_fd = os.pidfd_open(parent)
        for fd in (root.fileno(), self.parent_fd):
            self.poll.register(fd, select.POLLIN)

    def serve(self) -> None:
        """Serve until the parent is gone, or until no machine is left and none has come for a while."""
        while True:
            idle = not self.channels and not self.children
            if idle and self.retiring:
                return
            ready = self.poll.poll(LINGER * 1000 if idle else None)
            if not ready:  # the parent's next request fails, and it starts another server; earlier requests are served
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
        if not fds:  # this process has too many open files; the kernel closed the channel, as the parent notices
            return
        channel = socket.socket(fileno=fds[0])
        self.channels[channel.fileno()] = channel
        self.poll.register(channel.fileno(), select.POLLIN)

    def _answer(self, fd: int) -> None:
        channel = self.channels[fd]
        try:
            message, fds, flags, _ = socket.recv_fds(channel, MESSAGE, 8)
        except ConnectionResetError:
            message, fds, flags = b"", [], 0
        if not message:
            self._close(fd)
            return
        order, rank, *rest = pickle.loads(message)
        if order == "signal":
            self._signal(channel, rest[0], rank)
            return
        try:
            if flags & socket.MSG_CTRUNC:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid = self._start(fds, *rest)
            pidfd = self._watched(pid)
        except OSError as error:  # no more processes or files, or no memory
            self._tell(channel, ("failed", rank, remedy(error)))
        else:
            self.children[pidfd] = Child(pid, rank, channel)
            self.poll.register(pidfd, select.POLLIN)
        finally:
            for passed in fds:
                os.close(passed)

    def _start(self, fds: Sequence[int], numba: bool) -> int:
        """Start a worker that inherits ``fds``; return its process id."""
        server = os.getpid()
        if self.fresh:
            code = _FRESH.format(path=sys.path, server=server, fds=list(fds))
            process = subprocess.Popen([sys.executable, "-c", code], pass_fds=fds)
            process.returncode = 0  # this server waits for it
            return process.pid
        if numba:  # import it once here, not in every worker
            compiler.set_up()
        pid = os.fork()
        if pid:
            return pid
        try:
            for mine in [self.root.fileno(), *self.channels, *self.children, self.parent_fd]:
                os.close(mine)
            worker.start(server, fds)
        finally:
            os._exit(1)  # an error must not make a second fork server of this copy

    def _watched(self, pid: int) -> int:
        """Return a descriptor of a worker; end the worker if there is none."""
        try:
            return os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise

    def _bury(self, pidfd: int) -> None:
        child = self.children.pop(pidfd)
        self.poll.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(child.pid, 0)
        self._tell(child.channel, ("ended", child.rank, os.waitstatus_to_exitcode(status)))

    def _tell(self, channel: socket.socket, what: tuple[Any, ...]) -> None:
        if channel.fileno() >= 0:
            with contextlib.suppress(OSError):  # the machine is being dropped
                channel.send(pickle.dumps(what))

    def _signal(self, channel: socket.socket, number: int, rank: int | None = None) -> None:
        for child in self.children.values():
            if child.channel is channel and rank in (None, child.rank):
                os.kill(child.pid, number)

    def _close(self, fd: int) -> None:
        channel = self.channels.pop(fd)
        self._signal(channel, signal.SIGKILL)
        self.poll.unregister(fd)
        channel.close()


def _settle_files() -> None:
    """Read nothing, since keyboard input is for the parent, and have a standard output and error output."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    for number in (1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: a file that is received could get this number
            os.dup2(null, number)
    if null > 2:
        os.close(null)
    else:
        os.set_inheritable(null, True)


def main(root: socket.socket, parent: int, fresh: bool) -> NoReturn:
    """Run as the fork server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and sends orders
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if a parent ignored it, the kernel would reap the workers
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    status = 1
    try:
        _settle_files()
        with contextlib.suppress(ProcessLookupError):  # the parent died before it could be watched
            ForkServer(root, parent, fresh).serve()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)  # the kernel then ends all workers that are left, by PR_SET_PDEATHSIG
