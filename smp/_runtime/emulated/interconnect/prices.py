"""Times of a machine file as whole picoseconds: wires, and what a packet of a block takes of a processor."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import Unsupported
from ....machines import MachineFile
from ....machines.layout.communication import Interface, Network

PICO = 1e12


@dataclass(frozen=True)
class Prices:
    """Times in ps, with the tables of the machine file that describe queues and wires.

    A processor takes ``send`` for a packet of a block, ``poll`` for a poll, and ``handle`` for a packet that the poll
    finds. If packets interrupt the processor, a poll costs nothing. ``start`` begins a block. ``pace`` is the time
    between two packets of a device that moves blocks, or 0 if the processor does. Every ``stolen_every``, a timer
    interrupt takes ``stolen``, if these are not 0.
    """

    network: Network
    interface: Interface
    cycle: float
    payload: int
    send: int
    poll: int
    handle: int
    start: int
    pace: int
    barrier: int
    interrupts: bool
    stolen_every: int
    stolen: int

    def time(self, cycles: float) -> int:
        """Return a time in cycles as ps."""
        return round(cycles * self.cycle)

    def per_byte(self, level: int) -> int:
        """Return the time of a byte on one of the links of a level, or of a packet if all packets take the same.

        The bandwidth of a level is shared by all equal links of all channels.
        """
        network = self.network
        if network.link_cycles_per_packet is not None:
            return self.time(network.link_cycles_per_packet)
        if network.link_bandwidth is None:
            return 0
        bandwidth = network.link_bandwidth[min(level, len(network.link_bandwidth) - 1)]
        links = network.links[min(level, len(network.links) - 1)] if network.links and level > 0 else 1
        return round(PICO * links * self.interface.channels / bandwidth)


def prices_of(machine: MachineFile) -> Prices:
    """Return the prices of a machine with messages.

    A processor that copies blocks itself at a bandwidth does so at both ends.

    Raises
    ------
    Unsupported
        If the machine has no messages.
    """
    message, network, interface, block = machine.message, machine.network, machine.interface, machine.block
    if message is None or network is None or interface is None:
        raise Unsupported(
            f"{machine.name!r} has no network of packets, because its file has no table [message]: use a machine that "
            "has one, such as cm5"
        )
    cycle = PICO / machine.clock.hz
    interrupts = message.notify == "interrupt"
    device = block is not None and block.dma
    copying = PICO * message.payload / block.bandwidth if block and block.bandwidth else 0.0
    copied = 0.0 if device else copying
    poll = 0.0 if interrupts else message.poll_empty
    send = (message.inject if block is None or device else block.per_packet) - poll
    handle = (
        message.receive
        + message.dispatch
        + (machine.processor.interrupt if machine.processor and interrupts else -poll)
    )
    return Prices(
        *(network, interface, cycle, message.payload),
        send=round(max(0.0, send) * cycle + copied),
        poll=round(poll * cycle),
        handle=round(max(0.0, handle) * cycle + copied),
        start=round((block.start if block else 0.0) * cycle),
        pace=round(copying) if device else 0,
        barrier=round((machine.control.barrier or 0.0) * cycle) if machine.control else 0,
        interrupts=interrupts,
        stolen_every=round((machine.clock.interrupt_every or 0.0) * cycle),
        stolen=round((machine.clock.interrupt_cost or 0.0) * cycle),
    )
