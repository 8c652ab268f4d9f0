"""The network of a message machine as one processor uses it: each call takes the processor's own time."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from ...loops.interpreter import here as running
from ...program.messages.network import Packet
from ...protocols import wait
from ...protocols.packet_heads import PARTIAL, PICKLED, TYPES
from ...shared_memory.memory import ProcessorMemory
from ..networks.network import QueueNetwork
from ..networks.queues import poll_for_loop, room_for
from .queues import Load, WireQueues, send, take

_LANDED = struct.Struct("=qq")  # of the packet after a block: number of the port, bytes


class WireNetwork(QueueNetwork):
    """The network of one processor; see `Network`.

    Attributes
    ----------
    interrupted : bool
        Whether a message has interrupted the program: it then looks for no others.
    """

    interrupted = False
    _queues: WireQueues

    def __init__(
        self,
        memory: ProcessorMemory,
        rank: int,
        queues: WireQueues,
        here: Callable[[], object],
        aborted: Callable[[], object],
    ) -> None:
        super().__init__(memory, rank, queues, here, aborted)
        queues.notify[rank] = lambda: self._wake(rank)

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        interpreter, queues = running.interpreter, self._queues
        assert interpreter is not None
        if not interpreter.step(room_for, (queues, network, self._rank, to)):
            return False
        software, block = queues.software, self._block(head, data)
        whole = queues.wires.whole
        if block:
            begins, goes_on, load = software.block_start, *self._load_of_block(block, whole)
        else:
            begins = software.request if self._replies(head) else software.reply
            further = (software.packets(len(data)) - 1) * software.inject
            receiving = software.receiving(software.packets(len(data)) if whole else 1)
            begins, goes_on = begins - software.late, software.late + further
            load = Load(len(data), further, False, receiving)
        interpreter.pass_picoseconds(begins)
        posted: bool = interpreter.step(send, (queues, network, to, (self._rank, head, data), load))
        interpreter.pass_picoseconds(goes_on)
        queues.watch()
        return posted

    def _load_of_block(self, nbytes: int, whole: bool) -> tuple[int, Load]:
        """Return the time in which the processor sends the packets of a block, and the block as the wires see it."""
        software = self._queues.software
        if software.block_byte:
            return 0, Load(nbytes, round(nbytes * software.block_byte), True, software.receiving(1))
        sending, copying = software.sending_block(nbytes) - software.block_start, round(nbytes * software.block_copy)
        receiving = software.receiving_block(nbytes) if whole else software.receiving(1) + copying
        return sending, Load(nbytes, sending, False, receiving)

    def taken(self, how: Callable[..., Any], networks: int) -> tuple[int, Packet] | None:
        interpreter, queues = running.interpreter, self._queues
        assert interpreter is not None
        found = interpreter.step(take, (queues, networks, self._rank, how is poll_for_loop))
        if found is None:
            if not self.interrupted:
                interpreter.pass_picoseconds(queues.software.poll * networks.bit_count())
            return None
        network, sent, parts = found
        interpreter.pass_picoseconds(parts * queues.software.receive + (0 if sent is None else sent[1]))
        queues.watch()
        return None if sent is None else (network, sent[0])

    def _block(self, head: int, data: bytes) -> int:
        """Return the bytes of the block for which a packet stands; 0 if it stands for itself."""
        handler = self._handler(head)
        return _LANDED.unpack(data)[1] if handler is not None and handler.own and handler.name == "block" else 0

    def _replies(self, head: int) -> bool:
        handler = self._handler(head)
        return handler is not None and handler.replies

    def _handler(self, head: int) -> Any:
        return None if self.handlers is None else self.handlers.by_head.get(head & ~(TYPES | PARTIAL | PICKLED))

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        interpreter, queues = running.interpreter, self._queues
        assert interpreter is not None
        began = interpreter.picoseconds()
        queues.wires.polls(self._rank, True)
        status = super()._asleep(networks, room, ticket, deadline)
        queues.wires.polls(self._rank, False)
        software = queues.software
        poll = 0 if software.interrupts or software.own_processor else software.poll
        if status == wait.OK and poll and any(networks >> k & 1 and queues.has_packet(k, self._rank) for k in (0, 1)):
            interpreter.pass_picoseconds(-(interpreter.picoseconds() - began) % poll)  # to the end of a poll
        return status
