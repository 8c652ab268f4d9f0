"""The network of a processor whose handlers run on a processor of their own.

    program          work ──────────────────────────────────▶ waits until a handler has run
    handlers             a packet comes: handler ─ handler ─ ... until none is left

The handlers are a stream, which begins when a packet comes and ends when none is left.  The program takes no packets.
If a handler raises an error, the program raises it when it next looks for messages.

Source: M. I. Frank, LoPC: Modeling Contention in Parallel Algorithms, section 5.1, "Modeling Shared Memory".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ...loops.interpreter import here as running
from ...program.messages.network import Packet
from ..emulator import Emulator
from ..networks.queues import poll
from .network import WireNetwork
from .queues import catch_up

BOTH = 3


class HandlerNetwork(WireNetwork):
    """The network of one processor; see `Network`.

    Attributes
    ----------
    serve : callable
        Runs the handlers of all packets that have come.
    """

    interrupted = True  # the handlers' last look, which finds nothing, takes no time

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.serve: Callable[[], object] = lambda: None
        self._handlers: Any = None  # their stream, while it runs
        self._error: BaseException | None = None  # an error of a handler, which the program is to raise
        self._ran = False  # whether a handler has run since the program looked
        self._queues.notify[self._rank] = self.begin

    def taken(self, how: Callable[..., Any], networks: int) -> tuple[int, Packet] | None:
        interpreter = cast("Emulator", running.interpreter)
        if self._handlers is interpreter.running:
            self._wake_program()
            found = super().taken(how, networks)
            if found is not None:
                interpreter.step(catch_up, ())  # what the handler changes, it changes after the packet was received
            return found
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if how is not poll or not self._known():  # of a loop, or there is nothing that handlers could do
            return super().taken(how, networks)
        self.begin()
        interpreter.pass_picoseconds(self._queues.software.poll)
        return None

    def begin(self) -> None:
        """Let the handlers run, if they do not, and something has come."""
        interpreter, queues = running.interpreter, self._queues
        assert interpreter is not None
        if (
            self._handlers is None
            and self._known()
            and any(queues.has_packet(network, self._rank) for network in range(2))
        ):
            number = self._rank - queues.size  # those of programs are positive: at the same time, handlers go first
            self._handlers = interpreter.spawn(self._rank, self._handle, number=number)

    def _known(self) -> bool:
        """Return True if this processor has registered a handler."""
        return self.handlers is not None and bool(self.handlers.by_head)

    def _handle(self) -> None:
        try:
            self.serve()
        except Exception as error:
            self._error = error
            self._wake_program()
        finally:
            self._handlers = None

    def _wake_program(self) -> None:
        self._ran = True
        self._wake(self._rank)

    def _come(self, networks: int, room: tuple[int, int]) -> bool:
        ran, self._ran = self._ran, False
        return ran or super()._come(0, room)
