"""The networks of a processor, as its compiled loops are given them to send and take packets.

The protocol is in ``loop_packets``.  A loop gets addresses and works on the rings.  The methods here are for Python and
for loops that an emulated machine interprets: they check their arguments, and use the network as Python does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from smp.errors import NotPicklable

from ..loops.compiler import imported_with_numba
from ..protocols.loop_packets import KINDS, Polled

LEFT, RIGHT, BOTH = 1, 2, 3
_MOST = 1 << 63


class LoopNetwork(Protocol):
    """The networks of one processor, 0 (LEFT) and 1 (RIGHT), as loops use them."""

    def post(self, network: int, to: int, kind: int, a: int, b: int, c: int, d: int) -> bool:
        """Post a packet if there is room; return True if it was posted."""

    def poll(self, network: int) -> Polled:
        """Take a packet; return whether there is one, its kind, its sender, and its words."""

    def room(self, network: int, to: int) -> int:
        """Return the number of packets for which there is room."""

    def wait(self, networks: int, room: int, to: int) -> None:
        """Wait until a packet has come on one of the networks, or there is room in one to a processor."""

    def native(self) -> int:
        """Return the address that a compiled loop gets; see ``nets_in_loops``."""

    def keep(self, network: int, packet: tuple[int, int, bytes]) -> None:
        """Keep a packet of loops that was taken out of its queue: the processor that sent it, its kind, its words."""

    def totals(self) -> tuple[int, int]:
        """Return the number of packets that loops have posted, and of those that they have taken."""

    def kept(self) -> tuple[int, int, int] | None:
        """Return the number of packets that are kept for loops, and the sender and kind of the first; None if none."""


class Net:
    """The networks of a processor, for compiled loops: ``proc.net``.

    A program gives it to the functions `smp.compiled.try_post`, `try_poll`, `room`, `await_packet`, `await_room`.

    Parameters
    ----------
    size : int
        Number of processors.
    check : callable
        Raises an error if the caller may not send now.
    """

    __smp_by_python__ = True  # see ``stepped.loops``

    def __init__(self, network: LoopNetwork, size: int, check: Callable[[], object]) -> None:
        self._network, self._size, self._check = network, size, check

    def try_post(self, on: int, to: int, kind: int, a: int, b: int, c: int, d: int) -> bool:
        """See `smp.compiled.try_post`."""
        self._check()
        if not 0 <= operator.index(kind) < KINDS:
            raise ValueError(f"the kind of a packet is a number from 0 to {KINDS - 1:,}, not {kind}")
        words = [operator.index(word) for word in (a, b, c, d)]
        if not all(-_MOST <= word < _MOST for word in words):
            raise ValueError(f"the words of a packet have 64 bits, which is too few for {words}")
        return self._network.post(_number(on), self._processor(to), int(kind), *words)

    def try_poll(self, on: int) -> Polled:
        """See `smp.compiled.try_poll`."""
        self._check()
        return self._network.poll(_number(on))

    def room(self, on: int, to: int) -> int:
        """See `smp.compiled.room`."""
        self._check()
        return self._network.room(_number(on), self._processor(to))

    def await_packet(self, on: int) -> None:
        """See `smp.compiled.await_packet`."""
        self._check()
        self._network.wait(_networks(on), 0, 0)

    def await_room(self, on: int, to: int, polling: int) -> None:
        """See `smp.compiled.await_room`."""
        self._check()
        self._network.wait(_networks(polling), 1 << _number(on), self._processor(to))

    @property
    def _native(self) -> int:
        """The address that a compiled loop gets."""
        self._check()
        return self._network.native()

    def _processor(self, to: Any) -> int:
        rank = operator.index(to)
        if not 0 <= rank < self._size:
            raise ValueError(f"processor {rank} does not exist: ranks begin at 0 and are below {self._size}")
        return rank

    def __repr__(self) -> str:
        return f"<networks to {self._size} processors, for loops>"

    def __reduce__(self) -> NoReturn:
        raise NotPicklable("proc.net cannot be sent to another process: each processor has its own")


def _number(on: Any) -> int:
    """Return the number of a network."""
    if on not in (LEFT, RIGHT):
        raise ValueError(f"a packet of a loop goes on smp.LEFT or smp.RIGHT, not on {on!r}")
    return int(on) - 1


def _networks(on: Any) -> int:
    if on not in (LEFT, RIGHT, BOTH):
        raise ValueError(f"a wait is for packets on smp.LEFT, smp.RIGHT or smp.BOTH, not on {on!r}")
    return int(on)


imported_with_numba(f"{__package__}.nets_in_loops")
