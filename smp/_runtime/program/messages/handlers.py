"""Handlers: the functions that processors run on messages, which all register in the same order."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from smp.errors import CollectiveMismatch

from ...protocols.packet_heads import HANDLERS
from .packets import head_of, number_of

OWN = 16
"""Numbers that are reserved for handlers of smp itself."""


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
    """

    __slots__ = ("function", "head", "name", "number", "replies")

    def __init__(self, number: int, function: Callable[..., object], replies: bool, name: str = "") -> None:
        self.number, self.function, self.replies = number, function, replies
        self.name = name or str(getattr(function, "__qualname__", type(function).__name__))
        self.head = head_of(number, zlib.crc32(f"{self.name} {replies}".encode()))

    def __repr__(self) -> str:
        return f"<handler {self.number}, {self.name}{', which replies' if self.replies else ''}>"


class Handlers:
    """The handlers of one processor, by their numbers: those of the program from 0 on, those of smp at the end.

    Attributes
    ----------
    by_head : dict
        The handlers by the heads of messages of numbers.
    """

    def __init__(self) -> None:
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
        """Register a function of smp itself, with a number that does not depend on the handlers of the program."""
        handler = Handler(HANDLERS - 1 - len(self._own), function, replies=False, name=name)
        self._own[handler.number] = self.by_head[handler.head] = handler
        return handler

    def named(self, head: int, source: int) -> Handler | None:
        """Return the handler that a message names; None if it is not registered yet.

        Raises
        ------
        CollectiveMismatch
            If the sender knows another handler by this number.
        """
        number, name = number_of(head)
        if number >= len(self._known):
            return self._own.get(number)
        handler = self._known[number]
        if number_of(handler.head)[1] != name:
            theirs = [each for each in self._known if number_of(each.head)[1] == name]
            known = f"that is {theirs[0].name!r} there" if theirs else "none of those registered here has its name"
            raise CollectiveMismatch(
                f"processor {source} sent a message to handler {number}, which is {handler.name!r} here; {known}: all "
                "processors must register the same handlers, in the same order"
            )
        return handler
