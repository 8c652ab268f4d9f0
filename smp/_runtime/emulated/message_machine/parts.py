"""The parts of a message machine, made from its machine file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smp.machines import MachineFile

from ...loops import atomics
from ..local_work import Priced
from ..networks import queues as plain
from ..networks.network import QueueNetwork
from ..parts import Parts
from ..prices import Prices
from ..primitives import PRIMITIVES, meaning_of
from . import queues
from .control import Control
from .copies import Copies
from .network import WireNetwork
from .port import Shared
from .software import WORD, Software
from .times import Times
from .wires import FreeWires


class WireKind:
    """The network of a message machine; see `networks.kinds.Kind`."""

    timed = True

    def __init__(self, software: Software, times: Times) -> None:
        self._software, self._times = software, times

    def queues(self, size: int) -> queues.WireQueues:
        return queues.WireQueues(size, self._software, FreeWires(size, self._times))

    def of_a_processor(self) -> type[QueueNetwork]:
        return WireNetwork


def message_machine(file: MachineFile, size: int) -> Parts:
    """Return the parts of a machine that has a table ``[message]``."""
    software, times = Software.of(file), Times(file, size)
    control = Control.of(file, size, times.message(0, size - 1, WORD))
    shared = Shared(software, times, control, Copies(size, software, times))
    return Parts(
        Prices(_steps(), 0, 0, file.clock.hz),
        Priced(file),
        WireKind(software, times),
        port=shared.connect,
        name=file.name,
        timed=True,
        by_address=True,
    )


def _steps() -> dict[Callable[..., Any], int]:
    """Return the prices of steps: those on words of the runtime take no time, which all operations take as a whole."""
    meanings = [meaning_of(getattr(atomics, name)) for name in PRIMITIVES]
    of_queues = (plain.look, plain.room_for, queues.send, queues.take, queues.arrive)
    return dict.fromkeys((*meanings, *of_queues), 0)
