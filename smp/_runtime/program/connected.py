"""A processor's connection to its machine, and its open collectives, which all its calls use."""

from __future__ import annotations

from .collectives.tickets import Tickets
from .port import Port, without_memory
from .shared import SharedMemory
from .steps import Recorder


class Connected:
    """A processor that is connected to its machine.

    Attributes
    ----------
    rank, size : int
        Number of this processor, from 0, and number of all processors.
    """

    def __init__(self, port: Port, recorder: Recorder) -> None:
        self._port, self._recorder = port, recorder
        self.rank, self.size = port.rank, port.size
        self._tickets = Tickets(port)

    def _shared_memory(self, what: str) -> SharedMemory:
        """Return the memory that all processors share, or raise `Unsupported` for ``what``, which needs it."""
        memory = self._port.memory
        if memory is None:
            raise without_memory(what)
        return memory
