"""Wrapper that records the events of each processor's streams while a program runs."""

from __future__ import annotations

from typing import Any

from ...loops.places import Enclosing
from ..port import without_memory
from ..processor import Processor
from .events import Recording


class WithEvents(Enclosing):
    """Records events from the call of the program on.  The processor ends the record when all threads have ended."""

    def __call__(self, proc: Processor, *args: Any, **kwargs: Any) -> Any:
        port = proc._port
        if port.node_memory is None:
            raise without_memory("record=True")
        proc._recorder.events = Recording(proc.rank, port.node_memory.threads, port.clock)
        return self.program(proc, *args, **kwargs)
