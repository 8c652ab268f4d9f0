"""The rings of one processor as its loops use them, and the packets that wait for loops outside the rings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..memory.threads import Threads
from ..protocols import loop_packets, rings
from ..protocols.entry_points import core
from ..protocols.loop_packets import ROW, Polled
from ..protocols.message_waits import HANDLED, KEPT, KEPT_AT, NETWORKS, OWN, RIGHT_AT, STATE_AT, WAIT


class RingLoops:
    """The rings of one processor; see `LoopNetwork`.

    Parameters
    ----------
    nets : int64 array
        Private words of this processor, a row for each network.
    state : int
        Address of its words for calls from Python.
    sleep : callable
        Waits as `Network.wait` does.
    """

    def __init__(self, nets: NDArray[np.int64], state: int, threads: Threads, sleep: Callable[..., object]) -> None:
        self._nets, self._state, self._threads, self._sleep = nets, state, threads, sleep
        self._rows = [np.zeros((0, ROW), np.int64) for _ in range(NETWORKS)]

    def post(self, network: int, to: int, kind: int, a: int, b: int, c: int, d: int) -> bool:
        return loop_packets.post(self._nets[network], to, kind, a, b, c, d)

    def poll(self, network: int) -> Polled:
        there, *rest = loop_packets.poll(self._nets[network])
        kind, source, a, b, c, d = map(int, rest)
        return there, kind, source, a, b, c, d

    def room(self, network: int, to: int) -> int:
        net = self._nets[network]
        return rings.room(net, to, int(net[rings.SLOTS]))

    def wait(self, networks: int, room: int, to: int) -> None:
        if not any(networks >> network & 1 and net[KEPT] for network, net in enumerate(self._nets)):
            self._sleep("a packet, in a loop", networks, room=(room, to))

    def native(self) -> int:
        left, right = self._nets
        if not left[RIGHT_AT]:
            left[[WAIT, STATE_AT]] = core().addresses["await_packet"], self._state
            left[[OWN, RIGHT_AT]] = self._threads.own().address, right.ctypes.data
        return int(left.ctypes.data)

    def totals(self) -> tuple[int, int]:
        return sum(map(loop_packets.posted, self._nets)), int(self._nets[:, HANDLED].sum())

    def kept(self) -> tuple[int, int, int] | None:
        for net, rows in zip(self._nets, self._rows, strict=True):
            if net[KEPT]:
                source, kind = rows[self._first(net, rows), :2].tolist()
                return int(self._nets[:, KEPT].sum()), source, kind
        return None

    def keep(self, network: int, packet: tuple[int, int, bytes]) -> None:
        source, kind, words = packet
        net, rows = self._nets[network], self._rows[network]
        count, first = int(net[KEPT]), self._first(net, rows)
        if first + count == len(rows):  # move them to a longer array
            longer = np.zeros((2 * count + 16, ROW), np.int64)
            longer[:count] = rows[first:]
            self._rows[network], rows, first = longer, longer, 0
        rows[first + count] = source, kind, *memoryview(words).cast("q")
        net[KEPT], net[KEPT_AT] = count + 1, rows[first:].ctypes.data

    def _first(self, net: NDArray[np.int64], rows: NDArray[np.int64]) -> int:
        """Return the index of the first row that no loop has taken."""
        return (int(net[KEPT_AT]) - rows.ctypes.data) // (8 * ROW) if net[KEPT] else 0
