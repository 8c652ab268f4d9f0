"""Wrapper that counts events with the hardware's counters on each processor while a program runs."""

from __future__ import annotations

from typing import Any

from ...loops.places import Enclosing, called
from ..processor import Processor


class WithCounters(Enclosing):
    """Counts events from the program's call to its return, including those of the threads that it starts."""

    def __call__(self, proc: Processor, *args: Any, **kwargs: Any) -> Any:
        memory = proc._port.node_memory
        if memory is None:
            return called(self.program, proc, *args, **kwargs)
        counters = memory.hardware()
        try:
            counters.start()
            result = called(self.program, proc, *args, **kwargs)
            proc._recorder.hardware = counters.stop(), counters.missing
            return result
        finally:
            counters.close()
