"""The address of the parent, and the connections that ranks make to it.

    rank on the first node    a Unix socket with a random name, in no file system; the kernel says whose process it is
    rank on another node      TCP; both ends prove that they know the key

MPI carries the address, with the key, to all ranks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
from collections.abc import Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple

import psutil

PARENT = "SMP_MPI_PARENT"
"""Variable of the environment with the parent's address."""
PATIENCE = 2.0
"""Seconds that the other end of a connection gets to say who it is."""


class Address(NamedTuple):
    """The place at which ranks reach the parent.

    Attributes
    ----------
    name : str
        Name of its Unix socket.
    key : str
        What both ends of a TCP connection know.
    port : int
        TCP port; 0 if all ranks must be on the parent's computer.
    hosts : tuple of str
        Internet addresses of the computer, best first.
    """

    name: str
    key: str
    port: int
    hosts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Address:
        """Return the address from its text."""
        name, key, port, *hosts = text.split(" ")
        return cls(name, key, int(port), tuple(hosts))

    def __str__(self) -> str:
        return " ".join((self.name, self.key, str(self.port), *self.hosts))


class Listener:
    """Lets ranks in.

    Parameters
    ----------
    size : int
        Number of ranks.
    far : bool
        Whether ranks may be on other computers.
    """

    def __init__(self, size: int, far: bool) -> None:
        name, self._key, port = f"smp-mpi-{secrets.token_hex(16)}", secrets.token_hex(32), 0
        self.sockets = [socket.socket(socket.AF_UNIX)]
        self.sockets[0].bind("\0" + name)
        if far:
            self.sockets.append(socket.create_server(("", 0)))
            port = self.sockets[1].getsockname()[1]
        for each in self.sockets:
            each.listen(size)
        self.address = Address(name, self._key, port, _hosts() if far else ())

    def let_in(self, fd: int) -> socket.socket | None:
        """Accept a connection; return None if its other end is not allowed in."""
        connection, _ = next(each for each in self.sockets if each.fileno() == fd).accept()
        try:
            if connection.family == socket.AF_UNIX:
                check_user(connection)
            else:
                _prove(connection, self._key, first=True)
        except (OSError, EOFError, AuthenticationError):
            connection.close()
            return None
        return connection

    def close(self) -> None:
        """Let no further rank in."""
        for each in self.sockets:
            each.close()


def check_user(connection: socket.socket) -> None:
    """Raise `PermissionError` unless the other end of a Unix socket is a process of the same user."""
    asked = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    if struct.unpack("3i", asked)[1] != os.getuid():
        raise PermissionError("a process of another user has connected")


def connected(address: Address, here: bool) -> socket.socket:
    """Return a connection to the parent.

    Parameters
    ----------
    here : bool
        Whether this process is on the first node.

    Raises
    ------
    OSError
        If the parent cannot be reached.
    """
    if here or not address.port:
        connection = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(ConnectionRefusedError):
            connection.connect("\0" + address.name)
            return connection
        connection.close()
    tried = []
    for host in address.hosts:
        try:
            connection = socket.create_connection((host, address.port), PATIENCE)
            connection.settimeout(None)
            _prove(connection, address.key, first=False)
            return connection
        except (OSError, EOFError, AuthenticationError) as error:
            tried.append(f"{host} port {address.port}: {error}")
    raise OSError("; ".join(tried) or "all ranks must be on the parent's computer")


def _prove(connection: socket.socket, key: str, first: bool) -> None:
    """Check that the other end knows the key, and show that this one does.

    Raises
    ------
    OSError, EOFError
        If it does not, or does not answer in time.
    """
    limit = struct.pack("ll", int(PATIENCE), 0)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, limit)
    with Connection(os.dup(connection.fileno())) as messages:
        for proof in (deliver_challenge, answer_challenge)[:: 1 if first else -1]:
            proof(messages, key.encode())
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 0, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _hosts() -> tuple[str, ...]:
    """Return the internet addresses of this computer, the loopback's last.

    The address of its name and that of the way to the internet come first.  The ranks may be on a network of their
    own, as the nodes of a cluster often are, so the other addresses follow.
    """
    found: list[str] = []
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing; the system chooses the address that it would send from
        found.append(probe.getsockname()[0])
    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    for name, entries in psutil.net_if_addrs().items():
        found += [entry.address for entry in entries if entry.family == socket.AF_INET and name in up]
    outer: Sequence[str] = [host for host in dict.fromkeys(found) if not host.startswith("127.")]
    return (*outer, "127.0.0.1")
