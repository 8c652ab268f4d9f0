"""The parent's side of the nursery: start one, open a channel in it for a machine, start workers through it."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
import weakref
from typing import Any

from . import _nursery
from .errors import MachineError

METHODS = ("forkserver", "spawn", "fork")
_ours: weakref.WeakSet[socket.socket] = (
    weakref.WeakSet()
)  # what a forked copy of this process must not hold open
_roots: dict[str, socket.socket] = {}  # start method -> root of the nursery that serves it
_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _roots.clear()
    for held in list(_ours):
        held.close()


os.register_at_fork(after_in_child=_after_fork)


def _pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    _ours.add(ours)
    return ours, theirs


def _start_nursery(method: str) -> socket.socket:
    """Start a nursery and return its root."""
    ours, theirs = _pair()
    parent = os.getpid()
    if method == "fork":
        with theirs:
            if os.fork() == 0:
                _nursery.main(theirs, parent, False)
            return ours
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import socket; from smp import _nursery, _worker; _worker.prepare();"
        f"_nursery.main(socket.socket(fileno={theirs.fileno()}), {parent}, {method == 'spawn'})"
    )
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=False,
        )
    threading.Thread(
        target=process.wait, name="smp nursery", daemon=True
    ).start()  # no zombie when it retires
    return ours


class Channel:
    """A machine's line to its nursery.

    Attributes
    ----------
    socket : socket.socket
        Readable when a worker has ended, or the nursery has.
    """

    def __init__(self, method: str) -> None:
        if method not in METHODS:
            raise ValueError(f"no start method {method!r}; there are {', '.join(METHODS)}")
        self.method = method
        with _lock:
            if method == "fork":  # a copy of this process as it is now: one for each machine
                self._root = _start_nursery(method)
                self.socket = self._open()
                return
            for _ in range(2):  # the nursery may have retired since: then once more with a new one
                if method not in _roots:
                    _roots[method] = _start_nursery(method)
                self._root = _roots[method]
                with contextlib.suppress(OSError):
                    self.socket = self._open()
                    return
                _roots.pop(method).close()
        raise MachineError("the process that starts the workers ended at once; see its message above")

    def _open(self) -> socket.socket:
        ours, theirs = _pair()
        with theirs:
            socket.send_fds(self._root, [b"c"], [theirs.fileno()])
        return ours

    def start(self, spec: dict[str, Any], fds: list[int]) -> int:
        """Start a worker that inherits ``fds``; return its process id."""
        try:
            socket.send_fds(self.socket, [pickle.dumps(("start", spec))], fds)
        except OSError as error:
            raise MachineError(f"the process that starts the workers is gone ({error.strerror})") from error
        while True:
            event = self.receive()
            if event is None:
                raise MachineError("the process that starts the workers ended at once; see its message above")
            if event[0] == "started":
                return int(event[1])

    def receive(self) -> tuple[Any, ...] | None:
        """Return the next event: ("started", pid), ("ended", pid, exit code), or None: the nursery is gone."""
        try:
            message = self.socket.recv(_nursery.MESSAGE)
        except ConnectionResetError:
            return None
        return tuple(pickle.loads(message)) if message else None

    def kill(self, pid: int) -> None:
        """Kill a worker of this channel."""
        with contextlib.suppress(OSError):
            self.socket.send(pickle.dumps(("kill", pid)))

    def close(self) -> None:
        """Kill what is left of the workers and close."""
        self.socket.close()
        if self.method == "fork":
            self._root.close()
