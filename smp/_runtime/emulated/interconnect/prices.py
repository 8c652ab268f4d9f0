"""Times of a machine file as whole picoseconds: wires, and what a packet of a block takes of a processor."""

from __future__ import annotations

from dataclasses import dataclass

from ....errors import Unsupported
from ....machines import MachineFile
from ....machines.layout.communication import Block, Control, Interface, Message, Network

PICO = 1e12


@dataclass(frozen=True)
class Prices:
    """The tables of a machine file that describe messages, with their times in ps.

    A processor takes ``send`` for a packet of a block, ``poll`` for a poll, and ``handle`` for a packet that the poll
    finds. If packets interrupt the processor, there are no polls. ``pace`` is the time between two packets of a device
    that moves blocks, or 0 if the processor does.
    """

    message: Message
    network: Network
    interface: Interface
    cycle: float
    send: int
    poll: int
    handle: int
    start: int
    turn: int
    pace: int
    barrier: int

    def time(self, cycles: float) -> int:
        """Return a time in cycles as ps."""
        return round(cycles * self.cycle)

    def per_byte(self, level: int) -> int:
        """Return the time of a byte on one of the links of a level, or of a packet if all packets take the same."""
        network = self.network
        if network.link_cycles_per_packet is not None:
            return self.time(network.link_cycles_per_packet)
        if network.link_bandwidth is None:
            return 0
        bandwidth = network.link_bandwidth[min(level, len(network.link_bandwidth) - 1)]
        links = network.links[min(level, len(network.links) - 1)] if network.links and level > 0 else 1
        return round(PICO * links * self.interface.channels / bandwidth)


def prices(machine: MachineFile) -> Prices:
    """Return the prices of a machine with messages.

    Raises
    ------
    Unsupported
        If the machine has no messages.
    """
    message, network, interface = machine.message, machine.network, machine.interface
    if message is None or network is None or interface is None:
        raise Unsupported(f"{machine.name} has no network of packets: its file has no table [message]")
    cycle = PICO / machine.clock.hz
    block: Block | None = machine.block
    control: Control | None = machine.control
    copied = block.bandwidth if block else None
    pace = PICO * message.payload / copied if copied else 0.0
    device = block is not None and block.dma
    per_packet = message.inject if block is None else block.per_packet
    interrupts = message.notify == "interrupt"
    poll = 0.0 if interrupts else message.poll_empty
    handle = message.receive + message.dispatch + (machine.processor.interrupt if interrupts else -message.poll_empty)
    by_copies = 0.0 if device else pace
    return Prices(
        *(message, network, interface, cycle),
        send=round(max(0.0, (per_packet - poll)) * cycle + by_copies),
        poll=round(poll * cycle),
        handle=round(max(0.0, handle) * cycle + by_copies),
        start=round((block.start if block else 0) * cycle),
        turn=0,
        pace=round(pace) if device else 0,
        barrier=round((control.barrier or 0) * cycle) if control else 0,
    )
