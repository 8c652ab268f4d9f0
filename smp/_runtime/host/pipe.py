"""A line between the parent and a worker: pickled messages on a stream socket, each preceded by its length in 8 bytes.

The parent takes the bytes that have arrived and never waits for the rest.  So a worker that dies or stops in the
middle of a message delays no other process.
"""

from __future__ import annotations

import pickle
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DESCRIPTORS = 8
"""Number of descriptors that can be sent at once."""
_HEAD = 8
_SMALL = 1 << 16  # bytes up to which head and body are sent together


@dataclass(frozen=True)
class Ready:
    """Message of a worker that waits for calls."""

    pid: int


@dataclass(frozen=True)
class Allocate:
    """Message of a worker that asks for a block."""

    nbytes: int


@dataclass(frozen=True)
class Idle:
    """Message of a worker that has closed its machine, and waits for the next one."""


class Line:
    """One end of a line."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._begin(bytearray(_HEAD), head=True)

    def fileno(self) -> int:
        """Return the descriptor, for polling."""
        return self._socket.fileno()

    def is_local(self) -> bool:
        """Return True if the other end is on this computer for sure."""
        return self._socket.family == socket.AF_UNIX

    def give_up_after(self, seconds: float) -> None:
        """Have the kernel end the line when another computer has not answered for some seconds, at least 3."""
        if self.is_local():
            return
        third = int(seconds / 3)
        for option, value in (
            (socket.TCP_KEEPIDLE, third),
            (socket.TCP_KEEPINTVL, third),
            (socket.TCP_KEEPCNT, 2),
            (socket.TCP_USER_TIMEOUT, int(1000 * seconds)),
        ):
            self._socket.setsockopt(socket.IPPROTO_TCP, option, value)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def _begin(self, part: bytearray, head: bool) -> None:
        self._part, self._filled, self._is_head = part, 0, head

    def send(self, message: Any) -> None:
        """Send a message; wait while the other end does not take it."""
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        head = len(data).to_bytes(_HEAD, "little")
        if len(data) <= _SMALL:
            self._socket.sendall(head + data)
        else:
            self._socket.sendall(head)
            self._socket.sendall(data)

    def take(self, wait: bool = False) -> Any:
        """Take the bytes that have arrived; return the message that they complete, or None.

        Parameters
        ----------
        wait : bool
            Whether to wait until some have arrived.

        Raises
        ------
        EOFError, OSError
            If the other end is gone.
        """
        flags = 0 if wait else socket.MSG_DONTWAIT
        try:
            with memoryview(self._part) as part:
                count = self._socket.recv_into(part[self._filled :], 0, flags)
        except BlockingIOError:
            return None
        if count == 0:
            raise EOFError("the other end of the line is closed")
        self._filled += count
        if self._filled < len(self._part):
            return None
        whole = self._part
        if self._is_head:
            self._begin(bytearray(int.from_bytes(whole, "little")), head=False)
            return None
        self._begin(bytearray(_HEAD), head=True)
        return pickle.loads(whole)

    def receive(self) -> Any:
        """Wait for a whole message and return it; raises the errors of `take`."""
        while (message := self.take(wait=True)) is None:
            pass
        return message

    def send_fds(self, fds: Sequence[int]) -> None:
        """Send descriptors, or none, between two messages; with some, the other end is on this computer."""
        if fds:
            socket.send_fds(self._socket, [b"d"], list(fds))
        else:
            self._socket.sendall(b"d")

    def take_fds(self) -> list[int] | None:
        """Wait for descriptors, and return them; None if the other end is closed."""
        if not self.is_local():
            return [] if self._socket.recv(1) else None
        data, fds, _, _ = socket.recv_fds(self._socket, 1, DESCRIPTORS)
        return list(fds) if data else None

    def close(self) -> None:
        """Close this end."""
        self._socket.close()
