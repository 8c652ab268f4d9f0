"""The networks of a machine with shared memory: rings of packets (see ``rings`` and ``message_waits``)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..loops.objects import type_offset
from ..memory.nets import LoopNetwork
from ..program.messages.handlers import Handlers
from ..program.messages.network import Taken, Transmissions
from ..protocols import rings, wait
from ..protocols.message_waits import (
    FENCE,
    FLOAT,
    GIVEN,
    HEADER,
    INBOXES_AT,
    INT,
    NETS,
    NETWORKS,
    NONE,
    RANK,
    SENT,
    STATE,
    SYNC,
    TAKEN,
    THREAD,
    TYPE_AT,
)
from .layout import rings_at
from .memory import ProcessorMemory
from .ring_loops import RingLoops


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
    send_numbers: Callable[[int, int, int, tuple[Any, ...]], int]
    take: Callable[[int], Taken | None]
    take_soon: Callable[[int], Taken | None]
    transmissions: Transmissions | None = None
    handlers: Handlers | None = None

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

    def sent_numbers(self) -> int:
        """See `Network.sent_numbers`."""
        return 0

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        raise NotImplementedError


class RingNetwork(SleepingNetwork):
    """The rings of one processor; see `Network`.

    Parameters
    ----------
    core
        The runtime's entry points, or a substitute for them.
    attentive : bool
        Whether a wait comes back after each slice of sleep, so that Python can handle signals.
    """

    def __init__(
        self,
        memory: ProcessorMemory,
        rank: int,
        size: int,
        core: Any,
        here: Callable[[], object],
        aborted: Callable[[], object],
        attentive: bool = False,
    ) -> None:
        super().__init__(here, aborted)
        slots = rings.slots_for(size)
        self._memory, self._core, self._attentive = memory, core, attentive
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
        state[[THREAD, NONE, INT, FLOAT]] = threading.get_ident(), id(None), id(int), id(float)
        state[TYPE_AT] = type_offset()
        self._out, self._post = packets[0].data.cast("B"), core.post
        self.send_numbers = partial(core.send_numbers, self._state)
        self.take, self.take_soon = partial(core.take_message, self._state), partial(core.take_soon, self._state)
        self.loops: RingLoops = RingLoops(nets, self._state, memory.threads, self.wait)
        memory.shared[wait.MESSAGING] = 1
        memory.threads.watched()  # so that a deadlock is found

    def try_post(self, network: int, to: int, head: int, data: bytes) -> bool:
        self._out[: len(data)] = data
        return bool(self._post(self._state, network, to, head, len(data) >> 3))

    def sent_numbers(self) -> int:
        return int(self._kept[2][SENT])

    def _asleep(self, networks: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
        own = self._memory.threads.own()
        await_event, asked = self._core.await_event, (self._state, own.address, networks, *room, ticket)
        own.in_use = True
        try:
            status = wait.CHANGING
            while status == wait.CHANGING:  # Python handles its signals here
                status = await_event(*asked, deadline, self._attentive)
        except BaseException:
            if self._attentive:
                await_event(*asked, wait.OVER, True)
            raise
        finally:
            own.in_use = False
        return int(status)
