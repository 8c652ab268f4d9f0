"""The messages of a processor in a run with a log."""

from __future__ import annotations

from typing import Any

from ..port import Port
from ..records.log import Log
from ..records.runtime_states import HANDLING, SENDING
from .handlers import Handler
from .messenger import Messenger
from .network import OTHER, Network
from .networks import How, On


class LoggedMessenger(Messenger):
    """The messages of one processor, of which each that is sent or handled is an event of the log, and a state.

    A run without a log has a `Messenger`, which does nothing for it.
    """

    def __init__(self, port: Port, network: Network, log: Log) -> None:
        super().__init__(port, network)
        self._log = log
        self.send_numbers = _looked_at_closer

    def try_send(self, to: int, handler: Handler, args: tuple[Any, ...], on: On) -> bool:
        with self._log.during("message", SENDING):
            self._log.event("message", f"tries to send to {handler.name} of processor {to}")
            return super().try_send(to, handler, args, on)

    def send_words(self, to: int, handler: Handler, words: bytes) -> None:
        with self._log.during("message", SENDING):
            super().send_words(to, handler, words)

    def try_words(self, to: int, handler: Handler, words: bytes) -> bool:
        with self._log.during("message", SENDING):
            return super().try_words(to, handler, words)

    def _post(self, to: int, handler: Handler, args: tuple[Any, ...], on: On, polled: On, how: How) -> None:
        with self._log.during("message", SENDING):
            self._log.event("message", f"sends to {handler.name} of processor {to}")
            super()._post(to, handler, args, on, polled, how)

    def _run(self, handler: Handler, source: int, args: tuple[Any, ...]) -> None:
        with self._log.during("message", HANDLING):
            self._log.event("message", f"runs {handler.name} of processor {source}")
            super()._run(handler, source, args)


def _looked_at_closer(networks: int, to: int, head: int, args: tuple[Any, ...]) -> int:
    """Leave all messages to `LoggedMessenger.send`; see `Network.send_numbers`."""
    return OTHER
