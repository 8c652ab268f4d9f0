"""The messages of a rank of MPI; see ``nodes.mail``.

    short messages    into RECEIVES buffers, for which receives are posted before they come; the buffers are taken in
                      the order in which they were posted, which is that in which the messages came
    long messages     announced by a short one, with their length, after which a receive is posted
    bytes of arrays   a communicator of their own, matched by the tag

A message is marshalled, which is quick, or pickled if it has more than Python's own types (marshalling would make
bytes of numbers of NumPy).
"""

from __future__ import annotations

import marshal
import pickle
from typing import Any

from ..nodes.mail import PLAIN, Message, Octets, Transfer

RECEIVES, LENGTH = 32, 8192
"""Number and bytes of the buffers for short messages."""
SHORT, LONG = 0, 1  # tags
MARSHALLED, PICKLED, ANNOUNCED = b"m", b"p", b"a"


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
        self._messages, self._bytes = comm.Dup(), comm.Dup()
        self._status = mpi.Status()
        self._sending: list[tuple[Any, bytes]] = []
        self._coming: list[tuple[Any, int, bytearray]] = []  # long messages: requests, senders, buffers
        self._buffers = [bytearray(LENGTH) for _ in range(RECEIVES)]
        self._receives = [
            self._messages.Recv_init([buffer, mpi.BYTE], mpi.ANY_SOURCE, SHORT) for buffer in self._buffers
        ]
        self._leaving: list[Any] = []  # requests of long messages that are being sent
        self._next = 0
        for receive in self._receives:
            receive.Start()

    def send(self, to: int, message: Message) -> None:
        data = _packed(message)
        if len(data) <= LENGTH:
            self._begin(to, SHORT, data)
        else:
            self._begin(to, SHORT, ANNOUNCED + len(data).to_bytes(8, "little"))
            self._begin(to, LONG, data)
            self._leaving.append(self._sending[-1][0])
        if len(self._sending) > 8:
            self._sending = [pair for pair in self._sending if not pair[0].Test()]

    def _begin(self, to: int, tag: int, data: bytes) -> None:
        self._sending.append((self._messages.Isend([data, self._mpi.BYTE], to, tag), data))

    def take(self) -> tuple[int, Message] | None:
        if self._coming:
            for number, (request, source, long) in enumerate(self._coming):
                if request.Test():
                    del self._coming[number]
                    return source, _unpacked(long)
        status, at = self._status, self._next
        receive = self._receives[at]
        if not receive.Test(status):
            return None
        source, data = status.Get_source(), self._buffers[at][: status.Get_count(self._mpi.BYTE)]
        receive.Start()
        self._next = (at + 1) % RECEIVES
        if data[:1] != ANNOUNCED:
            return source, _unpacked(data)
        long = bytearray(int.from_bytes(data[1:], "little"))
        self._coming.append((self._messages.Irecv([long, self._mpi.BYTE], source, LONG), source, long))
        return None

    def busy(self) -> bool:
        if self._leaving:
            self._leaving = [request for request in self._leaving if not request.Test()]
        return bool(self._coming or self._leaving)

    def give(self, to: int, tag: int, octets: Octets) -> Transfer:
        return _Request(self._bytes.Isend([octets, self._mpi.BYTE], to, tag), octets)

    def receive(self, source: int, tag: int, octets: Octets) -> Transfer:
        return _Request(self._bytes.Irecv([octets, self._mpi.BYTE], source, tag), octets)

    def close(self) -> None:
        """Take what is left over of the last run, and free all that MPI holds; all ranks do this together.

        A library may end a job as failed if something is left when MPI is finalised.
        """
        done = self._messages.Ibarrier()
        while not done.Test() or not all(request.Test() for request, _ in self._sending):
            self.take()
        while self.take() is not None or self._coming:
            pass
        for receive in self._receives:
            receive.Cancel()
            receive.Wait()
            receive.Free()
        self._messages.Free()
        self._bytes.Free()


def _packed(message: Message) -> bytes:
    if message[0] in PLAIN:
        return MARSHALLED + marshal.dumps(message)
    return PICKLED + pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def _unpacked(data: bytes | bytearray) -> Message:
    message: Message = (marshal if data[:1] == MARSHALLED else pickle).loads(memoryview(data)[1:])
    return message
