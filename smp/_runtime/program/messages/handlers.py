"""Handlers: the functions that processors run on messages, which all register in the same order."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from smp.errors import CollectiveMismatch

from ...protocols.packet_heads import HANDLERS
from .packets import head_of, number_of

OWN = 16
"""Numbers that are reserved for handlers of smp itself."""
SAME = "all processors must register the same handlers, in the same order"


class HandlerMismatch(CollectiveMismatch):
    """The processors have registered different handlers.  For users, the run ends with a `CollectiveMismatch`."""


def own(head: int) -> bool:
    """Return True if a message is to a handler of smp itself."""
    return number_of(head)[0] >= HANDLERS - OWN


class Handler:
    """A function that a processor runs on the messages that name it, as `Processor.handler` returns it.

    Attributes
    ----------
    number : int
        Number of the handler, the same on all processors.
    name : str
        Name of the function.
    replies : bool
        Whether it may send replies.
    own : bool
        Whether it is smp's own.  Its function then gets the sender in place of a message.
    """

    __slots__ = ("function", "head", "name", "number", "own", "replies")

    def __init__(self, number: int, function: Callable[..., object], replies: bool, name: str = "") -> None:
        self.number, self.function, self.replies = number, function, replies
        self.own = number >= HANDLERS - OWN
        self.name = name or str(getattr(function, "__qualname__", type(function).__name__))
        self.head = head_of(number, _hash(self.name, replies))

    def __repr__(self) -> str:
        return f"<handler {self.number}, {self.name}{', which replies' if self.replies else ''}>"


class Handlers:
    """The handlers of one processor, by their numbers: those of the program from 0 on, those of smp at the end.

    Parameters
    ----------
    rank : int
        Number of the processor, for messages.

    Attributes
    ----------
    by_head : dict
        The handlers by the heads of messages of numbers.
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._known: list[Handler] = []
        self._own: dict[int, Handler] = {}
        self.by_head: dict[int, Handler] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, function: Callable[..., object], replies: bool) -> Handler:
        """Register a function."""
        if not callable(function):
            raise TypeError(f"a handler must be a function of a message and its arguments, not {function!r}")
        if len(self._known) == HANDLERS - OWN:
            raise ValueError(f"a program can register at most {HANDLERS - OWN} handlers")
        handler = Handler(len(self._known), function, bool(replies))
        self._known.append(handler)
        self.by_head[handler.head] = handler
        return handler

    def reserve(self, name: str, function: Callable[..., object]) -> Handler:
        """Register a function of smp itself, with a number that does not depend on the handlers of the program.

        It is called as ``function(source, *args)``, calls nothing of the program, and sends nothing.
        """
        handler = Handler(HANDLERS - 1 - len(self._own), function, replies=False, name=name)
        self._own[handler.number] = self.by_head[handler.head] = handler
        return handler

    def named(self, head: int, source: int) -> Handler | None:
        """Return the handler that a message names; None if it is not registered yet.

        Raises
        ------
        HandlerMismatch
            If the sender knows another handler by this number.
        """
        number, name = number_of(head)
        if number >= len(self._known):
            return self._own.get(number)
        handler = self._known[number]
        if number_of(handler.head)[1] != name:
            raise HandlerMismatch(
                f"processor {source} sent a message to its handler {number}, {self._theirs(head)}, but handler "
                f"{number} of processor {self._rank} is {_described(handler.name, handler.replies)}: {SAME}"
            )
        return handler

    def unknown(self, head: int, source: int, count: int) -> HandlerMismatch:
        """Return the error for messages to a handler that is not registered here."""
        number, known = number_of(head)[0], len(self._known)
        return HandlerMismatch(
            f"processor {source} sent a message to its handler {number}, {self._theirs(head)}, but only {known} "
            f"{'is' if known == 1 else 'are'} registered on processor {self._rank}, and {count} "
            f"{'message waits' if count == 1 else 'messages wait'} there: {SAME}"
        )

    def _theirs(self, head: int) -> str:
        """Return the sender's name of a handler, of which a message has a hash, if a handler here has that name."""
        name = number_of(head)[1]
        for each in self._known:
            for replies in (each.replies, not each.replies):
                if number_of(head_of(0, _hash(each.name, replies)))[1] == name:
                    return _described(each.name, replies)
        return f"whose name is that of no handler on processor {self._rank}"


def _hash(name: str, replies: bool) -> int:
    return zlib.crc32(f"{name} {replies}".encode())


def _described(name: str, replies: bool) -> str:
    return f"{name!r}, which replies" if replies else repr(name)
