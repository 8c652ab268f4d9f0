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
from ..shared_memory_machine.accesses import Accesses
from ..shared_memory_machine.copying import carry_on
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

LATENCY, CONTENTION = "latency", "contention"
"""The two fidelities: packets do not meet in the network, or they do."""


class WireKind:
    """The network of a message machine; see `networks.kinds.Kind`."""

    timed = True

    def __init__(self, file: MachineFile, software: Software, times: Times, fidelity: str) -> None:
        self._file, self._software, self._times, self._fidelity = file, software, times, fidelity

    def queues(self, size: int) -> queues.WireQueues:
        network, interface = self._file.network, self._file.interface
        assert network is not None
        assert interface is not None
        wires: Wires
        if self._fidelity == LATENCY or network.kind == "ideal":
            wires = FreeWires(size, self._times)
        else:
            from .packet_wires import PacketWires  # imports Numba

            wires = PacketWires(self._file, size, self._software)
        return queues.WireQueues(size, self._software, OneChannel(wires) if interface.channels == 1 else wires)

    def of_a_processor(self) -> type[QueueNetwork]:
        return HandlerNetwork if self._software.own_processor else WireNetwork


def message_machine(file: MachineFile, size: int, fidelity: str) -> Parts:
    """Return the parts of a machine that has a table ``[message]``.

    ``fidelity`` is LATENCY if packets do not meet in the network.
    """
    software, times = Software.of(file), Times(file, size)
    control = Control.of(file, size, times.message(0, size - 1, WORD))
    by_lines = file.memory is not None and file.memory.shared == "directory"
    accesses = Accesses(file, whole=False) if by_lines else None
    shared = Shared(software, times, control, Copies(size, software, times), accesses)
    return Parts(
        Prices(_steps(), 0, 0, file.clock.hz),
        Priced(file),
        WireKind(file, software, times, fidelity),
        port=partial(HandlerPort if software.own_processor else MessagePort, shared=shared),
        name=file.name,
        timed=True,
        by_address=not by_lines,
    )


def _steps() -> dict[Callable[..., Any], int]:
    """Return the prices of steps: those on words of the runtime take no time, which all operations take as a whole."""
    meanings = [meaning_of(getattr(atomics, name)) for name in PRIMITIVES]
    of_queues = (plain.look, plain.room_for, queues.send, queues.take, queues.arrive, queues.catch_up)
    return dict.fromkeys((*meanings, *of_queues, carry_on), 0)
