"""A message that has come, in the hands of its handler."""

from __future__ import annotations

from typing import Any, Protocol

from .handlers import Handler
from .networks import BOTH, On


class Answering(Protocol):
    """The sender of the answers of a handler: the messenger of its processor."""

    def replied(self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...], /) -> bool: ...
    def reply(
        self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...], on: On, /
    ) -> None: ...
    def forward(self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...], /) -> None: ...


class Message:
    """A message that has come, as its handler gets it.

    Attributes
    ----------
    source : int
        Processor that sent it.
    """

    __slots__ = ("_handler", "_messenger", "source")

    def __init__(self, messenger: Answering, handler: Handler, source: int) -> None:
        self._messenger, self._handler, self.source = messenger, handler, source

    def reply(self, handler: Handler, *args: Any, to: int | None = None, on: On = BOTH) -> None:
        """Send a reply, from the handler of a request, while it runs.

        Parameters
        ----------
        handler : Handler
            Handler that is registered without ``replies``.
        *args
            Arguments of the handler; see `Processor.send`.
        to : int, optional
            Processor that gets the reply; by default the one that sent the request.
        on : On
            Network on which it goes: ``smp.RIGHT``, or ``smp.EITHER``, which is LEFT only if there is room at once.  A
            reply of several packets always goes on RIGHT.

        Raises
        ------
        HandlerError
            If the handler that runs was not registered with ``replies``, or has ended.
        ValueError
            If there is no processor ``to``, the arguments are too long, or ``handler`` replies.
        """
        receiver = self.source if to is None else to
        if on is not BOTH or not self._messenger.replied(self, self._handler, receiver, handler, args):
            self._messenger.reply(self, self._handler, receiver, handler, args, on)

    def forward(self, handler: Handler, *args: Any, to: int) -> None:
        """Send a further request, from the handler of a request, while it runs: its handler may reply, or forward.

        While there is no room, it polls both networks, so handlers of other messages may run inside this one.

        Parameters
        ----------
        handler : Handler
            Handler that may be registered with ``replies``.
        *args
            Arguments of the handler; see `Processor.send`.  The processor that waits for a reply is not among them
            unless the program puts it there.
        to : int
            Processor that gets the request, possibly this one.

        Raises
        ------
        HandlerError
            If the handler that runs was not registered with ``replies``, or has ended.
        ValueError
            If there is no processor ``to``, or the arguments are too long.
        """
        self._messenger.forward(self, self._handler, to, handler, args)

    def __repr__(self) -> str:
        return f"<message from processor {self.source} to {self._handler.name}>"
