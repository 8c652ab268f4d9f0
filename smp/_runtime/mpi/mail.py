"""The messages of a rank of MPI; see ``nodes.mail``.

Two communicators keep short messages and the bytes of arrays apart.  A short message is a pickle; it is looked for
with a probe that takes it out at once, so that its length need not be known before.
"""

from __future__ import annotations

import pickle
from typing import Any

from ..nodes.mail import Message, Octets, Transfer


class _Request:
    """A transfer of MPI, which keeps its memory alive."""

    __slots__ = ("_octets", "_request")

    def __init__(self, request: Any, octets: Octets) -> None:
        self._request, self._octets = request, octets

    def done(self) -> bool:
        return bool(self._request.Test())


class MPIMail:
    """Messages over a communicator of MPI; see `Mail`.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    comm : communicator
        Its ranks are the processors.
    """

    def __init__(self, mpi: Any, comm: Any) -> None:
        self._mpi, self.rank, self.size = mpi, comm.rank, comm.size
        self._short, self._long = comm.Dup(), comm.Dup()
        self._status = mpi.Status()
        self._sending: list[tuple[Any, bytes]] = []

    def send(self, to: int, message: Message) -> None:
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._sending.append((self._short.Isend([data, self._mpi.BYTE], to), data))
        if len(self._sending) > 8:
            self._sending = [pair for pair in self._sending if not pair[0].Test()]

    def take(self) -> tuple[int, Message] | None:
        found = self._short.Improbe(status=self._status)
        if found is None:
            return None
        data, source = bytearray(self._status.Get_count(self._mpi.BYTE)), self._status.Get_source()
        found.Recv([data, self._mpi.BYTE])
        return source, pickle.loads(data)

    def give(self, to: int, tag: int, octets: Octets) -> Transfer:
        return _Request(self._long.Isend([octets, self._mpi.BYTE], to, tag), octets)

    def receive(self, source: int, tag: int, octets: Octets) -> Transfer:
        return _Request(self._long.Irecv([octets, self._mpi.BYTE], source, tag), octets)

    def close(self) -> None:
        """Take what is left over of the last run, and free the communicators; all ranks do this together."""
        done = self._short.Ibarrier()
        while not (done.Test() and all(request.Test() for request, _ in self._sending)):
            self.take()
        while self.take() is not None:
            pass
        self._short.Free()
        self._long.Free()
