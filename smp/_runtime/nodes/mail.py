"""The interface between the processors of several nodes and what carries their messages.

    send ─▶ take          messages of Python objects; a send never waits; those of at most 4 KiB come in order
    give ─▶ receive       the bytes of an array, straight from memory to memory, matched by a tag

A processor calls all of this from one thread at a time.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Message = tuple[Any, ...]
Octets = NDArray[np.uint8]


class Transfer(Protocol):
    """A transfer of bytes that has begun.  The memory must stay as it is until it is done."""

    def done(self) -> bool:
        """Return True if this end is done; it need not be called again after that."""


class Mail(Protocol):
    """The messages of one processor.

    Attributes
    ----------
    rank, size : int
        Number of this processor, and number of all.
    """

    rank: int
    size: int

    def send(self, to: int, message: Message) -> None:
        """Send a message to another processor."""

    def take(self) -> tuple[int, Message] | None:
        """Return the next message that has come, with its sender; None if there is none."""

    def busy(self) -> bool:
        """Return True while a long message is being sent or received, which may go on only while this end looks."""

    def give(self, to: int, tag: int, octets: Octets) -> Transfer:
        """Begin to send contiguous bytes, for `receive` with the same tag; a tag is at most MOST_TAG."""

    def receive(self, source: int, tag: int, octets: Octets) -> Transfer:
        """Begin to receive as many bytes as another processor gives."""


MOST_TAG = 32767
PLAIN = {
    *("round", "brought", "result", "packet", "credit", "read", "elements", "write", "written"),
    *("time", "clock", "offset", "beat"),
}
"""Kinds of messages with nothing but numbers, bytes, text and None, all of them Python's own, and tuples of these."""
