"""Mailboxes, and the messages of a machine without shared memory."""

import pickle
import queue
import threading
import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from smp._runtime.program.messages.network import Packet

Address = tuple[str, int]
PARENT: Address = ("parent", 0)
ANSWERS: Address = ("answers", 0)


@dataclass(frozen=True)
class Make:
    """Message to an owner: make a part of a new array."""

    array: Hashable
    count: int
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Read:
    """Message to an owner: reply with the elements at some positions of a part."""

    ticket: Hashable
    reply_to: Address
    array: Hashable
    positions: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Write:
    """Message to an owner: set elements, or a field of them, and reply."""

    ticket: Hashable
    reply_to: Address
    array: Hashable
    positions: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    field: Any


@dataclass(frozen=True)
class Reply:
    """Message from an owner: the request with this ticket is done."""

    ticket: Hashable
    values: Any = None


@dataclass(frozen=True)
class Arrived:
    """Message from a processor to all: it has arrived at a collective."""

    number: int
    rank: int
    description: str
    block: bytes


@dataclass(frozen=True)
class Posted:
    """Message to a processor: a packet of one of the program's two networks."""

    network: int
    packet: Packet


@dataclass(frozen=True)
class Failed:
    """Message to a processor: the run ends for this cause."""

    cause: int


@dataclass(frozen=True)
class Printed:
    """Message to the parent: lines that a processor has printed."""

    text: str
    lines: int
    error: bool


@dataclass(frozen=True)
class Shown:
    """Message to a processor: the parent has shown some of its lines."""

    lines: int


class Network:
    """Mailboxes by their addresses. Messages are pickled, so a receiver shares nothing with the sender."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.here = threading.local()  # its ``rank`` is set in program threads
        self._boxes: dict[Address, queue.SimpleQueue[bytes]] = {}
        for rank in range(size):
            self.open(("owner", rank))
        self.open(PARENT)
        networks[id(self)] = self

    def open(self, address: Address) -> None:
        """Make an empty mailbox at an address."""
        self._boxes[address] = queue.SimpleQueue()

    def send(self, to: Address, message: object) -> None:
        self._boxes[to].put(pickle.dumps(message))

    def receive(self, at: Address, seconds: float | None = None) -> Any:
        """Wait for a message and return it; raise `queue.Empty` if none has come in time."""
        return pickle.loads(self._boxes[at].get(timeout=seconds))


networks: weakref.WeakValueDictionary[int, Network] = weakref.WeakValueDictionary()
