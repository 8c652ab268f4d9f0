"""The work of a processor at both ends of a message, in ps: the tables ``[message]``, ``[block]`` of a machine file.

    sender      │ request or reply │ inject │ inject │ ...     a packet each; only the first one is dearer
    receiver    │ interrupt │ receive │ dispatch │             for each packet; ``interrupt`` only if it was interrupted

    a block     by packets, as above; by a device, which writes it into memory while both processors go on; or by
                copies of both processors, where there is a bandwidth but no device
                │ poll_empty │                                 a poll that finds nothing

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1.3 and figure 6-6.
"""

from __future__ import annotations

from dataclasses import dataclass

from smp.machines import MachineFile

from ..virtual_time import picoseconds

WORD = 4
"""Bytes of a word, as in the publications."""


@dataclass(frozen=True)
class Software:
    """Processor time of messages and blocks, in ps; sizes in bytes.

    Attributes
    ----------
    request, reply : int
        Time to send a message that may only go on LEFT, and any other one.
    inject : int
        Time to send each further packet.
    late : int
        Part of the time of a request that comes after the packet has left.
    receive : int
        Time to receive a packet, with the beginning of its handler.
    poll : int
        Time of a poll that finds nothing.
    interrupt : int
        Time from an interrupt to its handler; 0 on a machine that polls.
    interrupts : bool
        Whether a packet interrupts the program.
    own_processor : bool
        Whether handlers run on a processor of their own.
    payload : int
        Bytes of data in a packet.
    block_start, block_packet : int
        Time to begin a block, and for each of its packets.
    block_byte : float
        Time that a device needs for each byte of a block; 0 if there is none.
    block_copy : float
        Time in which a processor copies a byte of a block, where there is no device; 0 if it goes by packets.
    strided : int
        Time for each element of a block that does not follow the one before.
    copy_byte : float
        Time to copy a byte from memory to memory.
    """

    request: int
    reply: int
    inject: int
    late: int
    receive: int
    poll: int
    interrupt: int
    interrupts: bool
    own_processor: bool
    payload: int
    block_start: int
    block_packet: int
    block_byte: float
    block_copy: float
    strided: int
    copy_byte: float

    @classmethod
    def of(cls, file: MachineFile) -> Software:
        """Return the times of a machine that has a table ``[message]``."""
        message, block, processor = file.message, file.block, file.processor
        assert message is not None

        def time(cycles: float) -> int:
            return picoseconds(cycles, file.clock.hz)

        own_processor = file.protocol is not None and file.protocol.processor
        interrupts = message.notify == "interrupt" and not own_processor
        byte = 1e12 / block.bandwidth if block is not None and block.bandwidth else 0.0
        device = block is not None and block.dma
        return cls(
            request=time(message.request),
            reply=time(message.rpc),
            inject=time(message.inject),
            late=0 if message.inject_at is None else time(message.request - message.inject_at),
            receive=time(message.receive + message.dispatch),
            poll=time(message.poll_empty),
            interrupt=0 if processor is None or not interrupts else time(processor.interrupt),
            interrupts=interrupts,
            own_processor=own_processor,
            payload=message.payload,
            block_start=time(message.request if block is None else block.start),
            block_packet=time(message.inject if block is None else block.per_packet),
            block_byte=byte if device else 0.0,
            block_copy=0.0 if device else byte,
            strided=0 if block is None else time(block.strided_per_element),
            copy_byte=0.0 if processor is None else processor.copy_per_byte * 1e12 / file.clock.hz,
        )

    def packets(self, nbytes: int) -> int:
        """Return the number of packets of a message or block with the given number of bytes; at least one."""
        return max(1, -(-nbytes // self.payload))

    def sending(self, nbytes: int, request: bool) -> int:
        """Return the processor time to send a message."""
        return (self.request if request else self.reply) + (self.packets(nbytes) - 1) * self.inject

    def receiving(self, packets: int) -> int:
        """Return the processor time to receive packets of one message or block."""
        return self.interrupt + packets * self.receive

    def sending_block(self, nbytes: int) -> int:
        """Return the processor time to send a block."""
        packets = 0 if self.block_byte else self.packets(nbytes) * self.block_packet
        return self.block_start + packets + round(nbytes * self.block_copy)

    def receiving_block(self, nbytes: int) -> int:
        """Return the processor time to receive a block: of all its packets, or of one and a copy of the whole."""
        whole = self.block_byte or self.block_copy
        return self.receiving(1 if whole else self.packets(nbytes)) + round(nbytes * self.block_copy)
