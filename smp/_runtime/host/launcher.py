"""The parent's side of the fork server: starts it, opens a channel for each machine, and starts workers through it."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from smp.errors import MachineError

from ..loops import compiler
from . import forkserver

METHODS = ("forkserver", "spawn", "fork")
PATIENCE = 5.0  # seconds that a fork server without work gets to end; it takes a few milliseconds
_CODE = """\
import sys
sys.path[:] = {path!r}
import socket
from smp._runtime.host import forkserver, worker
worker.prepare()
forkserver.main(socket.socket(fileno={root}), {parent}, {fresh})
"""
_ours: weakref.WeakSet[socket.socket] = weakref.WeakSet()  # must not stay open in a forked copy of this process
_roots: dict[str, socket.socket] = {}  # start method -> root of the fork server that serves it
_copies: set[int] = set()  # fork servers that are copies of this process and have not been reaped
_fresh_ones: set[int] = set()  # fork servers that are fresh interpreters and have not ended
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _roots.clear()
    _copies.clear()
    _fresh_ones.clear()
    for held in list(_ours):
        held.close()


os.register_at_fork(after_in_child=_after_fork)


def _at_exit() -> None:
    for root in _roots.values():
        root.close()


atexit.register(_at_exit)


def _pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    _ours.add(ours)
    return ours, theirs


def _bury_copies() -> None:
    """Reap the copies that have ended but were not closed: a Ctrl-C can end the finalizer that would close them."""
    for pid in list(_copies):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                continue
        _copies.discard(pid)


def _copied() -> tuple[socket.socket, int]:
    """Start a fork server that is a copy of this process; return its root and its process id."""
    _bury_copies()
    if compiler.wanted():  # once here, not in every copy
        compiler.set_up()
    ours, theirs = _pair()
    for stream in (sys.stdout, sys.stderr):  # otherwise the copies would print the buffered text again
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    parent = os.getpid()
    with theirs:
        pid = os.fork()
        if pid == 0:
            forkserver.main(theirs, parent, False)
    _copies.add(pid)
    return ours, pid


def _fresh(method: str) -> socket.socket:
    """Start a fork server that is a fresh interpreter; return its root."""
    ours, theirs = _pair()
    path = [entry for entry in sys.path if isinstance(entry, str)]  # import skips the others too
    with theirs:
        code = _CODE.format(path=path, root=theirs.fileno(), parent=os.getpid(), fresh=method == "spawn")
        # The new interpreter inherits the blocked signal, so that a Ctrl-C cannot end it while it starts.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", code], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _fresh_ones.add(process.pid)
    threading.Thread(target=_bury, args=(process,), name="smp fork server", daemon=True).start()
    return ours


def _bury(process: subprocess.Popen[bytes]) -> None:
    """Wait until a fork server retires, so that no zombie is left."""
    process.wait()
    _fresh_ones.discard(process.pid)


def fork_servers() -> set[int]:
    """Return the process ids of all fork servers of this process: all workers of its machines descend from them."""
    return _copies | _fresh_ones


def copies() -> set[int]:
    """Return the process ids of fork servers that are copies of this process, and thus map its memory."""
    return set(_copies)


class Channel:
    """A machine's line to its fork server.

    Attributes
    ----------
    socket : socket.socket
        Readable when a worker, or the fork server, has ended.
    """

    def __init__(self, method: str) -> None:
        if method not in METHODS:
            raise ValueError(f"start must be one of {', '.join(METHODS)}, not {method!r}")
        self._own: int | None = None  # process id of a fork server that serves only this machine
        with _lock:
            if method == "fork":  # a copy of this process as it is now: one for each machine
                self._root, self._own = _copied()
                self.socket = self._open()
                return
            for _ in range(2):  # the fork server may have retired since: then try again with a new one
                if method not in _roots:
                    _roots[method] = _fresh(method)
                self._root = _roots[method]
                with contextlib.suppress(OSError):
                    self.socket = self._open()
                    return
                _roots.pop(method).close()
        raise MachineError("the process that starts the processors ended at once; see its message above")

    def _open(self) -> socket.socket:
        ours, theirs = _pair()
        with theirs:
            socket.send_fds(self._root, [b"c"], [theirs.fileno()])
        return ours

    def start(self, rank: int, fds: Sequence[int]) -> None:
        """Have the fork server start a worker that inherits ``fds``."""
        order = pickle.dumps(("start", rank, compiler.wanted()))
        try:
            socket.send_fds(self.socket, [order], list(fds))
        except OSError as error:
            raise MachineError(
                f"the process that starts the processors has ended, or has too many open files ({error.strerror})"
            ) from error

    def receive(self) -> tuple[Any, ...] | None:
        """Return the next event (see `forkserver`), or None if the fork server is gone."""
        try:
            message = self.socket.recv(forkserver.MESSAGE)
        except ConnectionResetError:
            return None
        return tuple(pickle.loads(message)) if message else None

    def signal(self, rank: int, number: int) -> None:
        """Send a signal to the worker of that rank on this channel, if there is one."""
        with contextlib.suppress(OSError):
            self.socket.send(pickle.dumps(("signal", rank, int(number))))

    def close(self) -> None:
        """Have the fork server kill the workers that are left, and close the channel."""
        self.socket.close()
        if self._own is None:
            return
        self._root.close()
        with contextlib.suppress(ChildProcessError, ProcessLookupError):  # the kernel reaps it if SIGCHLD is ignored
            watch = select.poll()
            pidfd = os.pidfd_open(self._own)
            try:
                watch.register(pidfd, select.POLLIN)
                if not watch.poll(PATIENCE * 1000):
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            finally:
                os.close(pidfd)
            os.waitpid(self._own, 0)
        _copies.discard(self._own)

    def forget(self) -> None:
        """Close the channel in a forked copy of the process that opened it, without ending the workers."""
        self.socket.close()
        if self._own is not None:
            self._root.close()
