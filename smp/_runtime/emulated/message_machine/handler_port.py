"""One processor's connection to a message machine whose handlers run on a processor of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ...loops.interpreter import here as interpreting
from ...shared_memory.networks import SleepingNetwork
from ..clocked.emulator import ClockedEmulator
from ..port import Whole
from .handler_network import HandlerNetwork
from .port import MessagePort, Shared
from .queues import catch_up


class HandlerPort(MessagePort):
    """One processor's connection to the machine; see `Port`.

    While a handler runs, the program is not inside it, because both run at the same time.
    """

    def __init__(self, processors: Whole, rank: int, shared: Shared) -> None:
        self._whole = processors
        self._insides: dict[int, Callable[[], str]] = {}  # by stream
        super().__init__(processors, rank, shared)

    def _make_network(self) -> SleepingNetwork:
        network = cast("HandlerNetwork", super()._make_network())
        network.serve = self._run_handlers
        return network

    def _compute_of(self, processors: Whole) -> Callable[[int], None]:
        emulator = cast("ClockedEmulator", processors.emulator)

        def compute(picoseconds: int) -> None:
            port = cast("HandlerPort", processors.ports[emulator.rank or 0])
            if port._network is not None:
                cast("HandlerNetwork", port._network).begin()  # for what came before there were handlers
            emulator.pass_picoseconds(picoseconds)
            assert interpreting.interpreter is not None
            interpreting.interpreter.step(catch_up, ())  # the program may look at what handlers have changed meanwhile

        return compute

    def _run_handlers(self) -> None:
        if self.serve is not None:
            self.serve()

    @property
    def inside(self) -> Callable[[], str] | None:
        """The text for the handler that the running stream runs, or None."""
        return self._insides.get(self._stream())

    @inside.setter
    def inside(self, text: Callable[[], str] | None) -> None:
        if text is None:
            self._insides.pop(self._stream(), None)
        else:
            self._insides[self._stream()] = text

    def on_a_stream(self) -> bool:
        return super().on_a_stream() and self.inside is None

    def _stream(self) -> int:
        running = self._whole.emulator.running
        return 0 if running is None else running.index
