"""The segment that the ranks of one node share: the first one makes it and passes its descriptor to the others."""

from __future__ import annotations

import secrets
import socket
from typing import Any

from ..memory.segment import Segment
from ..shared_memory.node_memory import made
from .addresses import check_user

SECONDS = 20.0
"""Seconds that the other ranks of a node get to fetch the descriptor."""


def shared_in(of_node: Any) -> Segment:
    """Return a new segment; all ranks of a node call this together.

    Parameters
    ----------
    of_node : communicator
        The ranks of the node.
    """
    if of_node.rank:
        return _fetched(of_node.bcast(None))
    segment = made(of_node.size)
    name = f"smp-node-{secrets.token_hex(16)}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)  # in no file system: nothing is left behind
        listener.listen(of_node.size)
        listener.settimeout(SECONDS)
        of_node.bcast(name)
        for _ in range(of_node.size - 1):
            connection, _ = listener.accept()
            with connection:
                check_user(connection)
                socket.send_fds(connection, [b"d"], [segment.file.fileno()])
    return segment


def _fetched(name: str) -> Segment:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect("\0" + name)
        _, fds, _, _ = socket.recv_fds(connection, 1, 1)
    return Segment(fds[0])
