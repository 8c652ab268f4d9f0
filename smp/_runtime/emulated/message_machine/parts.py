"""The parts of a message machine, made from its machine file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
from .handler_network import HandlerNetwork
from .handler_port import HandlerPort
from .network import WireNetwork
from .one_channel import OneChannel
from .port import MessagePort, Shared
from .software import WORD, Software
from .times import Times
from .wires import FreeWires, Wires


class WireKind:
    """The network of a message machine; see `networks.kinds.Kind`."""

    timed = True

    def __init__(self, software: Software, times: Times, channels: int) -> None:
        self._software, self._times, self._channels = software, times, channels

    def queues(self, size: int) -> queues.WireQueues:
        wires: Wires = FreeWires(size, self._times)
        return queues.WireQueues(size, self._software, OneChannel(wires) if self._channels == 1 else wires)

    def of_a_processor(self) -> type[QueueNetwork]:
        return HandlerNetwork if self._software.beside else WireNetwork


def message_machine(file: MachineFile, size: int) -> Parts:
    """Return the parts of a machine that has a table ``[message]``."""
    software, times = Software.of(file), Times(file, size)
    assert file.interface is not None
    control = Control.of(file, size, times.message(0, size - 1, WORD))
    shared = Shared(software, times, control, Copies(size, software, times))
    return Parts(
        Prices(_steps(), 0, 0, file.clock.hz),
        Priced(file),
        WireKind(software, times, file.interface.channels),
        port=partial(HandlerPort if software.beside else MessagePort, shared=shared),
        name=file.name,
        by_address=True,
    )


def _steps() -> dict[Callable[..., Any], int]:
    """Return the prices of steps: those on words of the runtime take no time, which all operations take as a whole."""
    meanings = [meaning_of(getattr(atomics, name)) for name in PRIMITIVES]
    of_queues = (plain.look, plain.room_for, queues.send, queues.take, queues.arrive, queues.catch_up)
    return dict.fromkeys((*meanings, *of_queues), 0)
