"""The networks of a machine with shared memory: rings of packets (see ``rings`` and ``message_waits``)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ..memory.nets import LoopNetwork
from ..program.messages.network import Packet
from ..protocols import rings, wait
from ..protocols.loop_packets import OF_LOOPS
from ..protocols.message_waits import FENCE, GIVEN, HEADER, INBOXES_AT, NETS, NETWORKS, RANK, STATE, SYNC, TAKEN
from .layout import rings_at
from .memory import ProcessorMemory
from .ring_loops import RingLoops

_FRONT = struct.Struct(f"={HEADER}q")


class SleepingNetwork:
    """A network whose processor sleeps for packets, room and the end of a barrier, all at once.

    Parameters
    ----------
    here : callable
        Notes where the program is, before a wait.
    aborted : callable
        Raises the error of a run that has failed.

    Attributes
    ----------
    doing : str
        What the processor waits for; empty while it does not wait.
    """

    longest: int
    loops: LoopNetwork

    def __init__(self, here: Callable[[], object], aborted: Callable[[], object]) -> None:
        self._here, self._aborted = here, aborted
        self.doing = ""

    def wait(self, doing: str, networks: int, deadline: int = 0, room: tuple[int, int] | None = None) -> bool:
        """See `Network.wait`."""
        self._here()
        status = self.wait_for_all(doing, networks, room or (0, 0), -1, deadline)
        if status == wait.ABORTED:
            self._aborted()
        return status == wait.OK

    def wait_for_all(self, doing: str, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        """Sleep until something comes; return OK, ABORTED or EXPIRED (see ``wait``).

        ``ticket`` is that of a barrier, whose end is waited for too; -1 for none.  See `Network.wait` for the others.
        """
        self.doing = doing
        status = self._asleep(networks, room, ticket, deadline)
        self.doing = ""
        return status

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        """See `Network.try_post`."""
        raise NotImplementedError

    def try_poll(self, networks: int) -> tuple[int, Packet] | None:
        """See `Network.try_poll`."""
        raise NotImplementedError

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        raise NotImplementedError


class RingNetwork(SleepingNetwork):
    """The rings of one processor; see `Network`.

    Parameters
    ----------
    core
        The runtime's entry points, or a substitute for them.
    """

    def __init__(
        self,
        memory: ProcessorMemory,
        rank: int,
        size: int,
        core: Any,
        here: Callable[[], object],
        aborted: Callable[[], object],
    ) -> None:
        super().__init__(here, aborted)
        slots = rings.slots_for(size)
        self._memory, self._core = memory, core
        self.longest = rings.longest(slots)
        nets = np.zeros((NETWORKS, rings.private_words(size)), np.int64)
        nbytes = 8 * rings.ring_words(size, slots)
        for network, net in enumerate(nets):
            rings.prepare(net, memory.segment.address + rings_at(size) + network * nbytes, rank, size, slots)
        nets[:, FENCE] = 0 if memory.sync[wait.RETRIES] and core.accept_fences() else 1
        nets[:, INBOXES_AT] = memory.segment.address + memory.shared[wait.INBOX]
        packets = np.zeros((2, HEADER + rings.MOST_WORDS), np.int64)
        state = np.zeros(STATE, np.int64)
        state[[SYNC, NETS, RANK]] = memory.sync.ctypes.data, nets.ctypes.data, rank
        state[[GIVEN, TAKEN]] = packets[0].ctypes.data, packets[1].ctypes.data
        self._kept, self._state = (nets, packets, state), state.ctypes.data  # the entry points are given addresses
        self._out, self._in = (packet.data.cast("B") for packet in packets)
        self._post, self._poll = core.post, core.poll
        self.loops: RingLoops = RingLoops(nets, self._state, memory.threads, self.wait)
        memory.shared[wait.MESSAGING] = 1
        memory.threads.watched()  # so that a deadlock is found

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        self._out[: len(data)] = data
        return bool(self._post(self._state, network, to, head, len(data) >> 3))

    def try_poll(self, networks: int) -> tuple[int, Packet] | None:
        while self._poll(self._state, networks):
            network, sender, head, count = _FRONT.unpack_from(self._in)
            words = self._in[_FRONT.size : _FRONT.size + 8 * count]
            if head < OF_LOOPS:
                return network, (sender, head, words)
            self.loops.keep(network, sender, head - OF_LOOPS, words)
        return None

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        own = self._memory.threads.own().address
        return int(self._core.await_event(self._state, own, networks, *room, ticket, deadline))
