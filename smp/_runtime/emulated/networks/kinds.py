"""The networks that an emulated machine can have: which of them carries its messages.

    smp.emulated(4, network=smp.networks.ideal(room=1))

Source: E. A. Brewer, Portable High-Performance Supercomputing, chapter 6.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .queues import Queues

ROOM = 64
"""Packets that a queue holds, if nothing else is given: as many as a ring of the host."""


@runtime_checkable
class Kind(Protocol):
    """A kind of network."""

    def queues(self, size: int) -> Queues:
        """Return the queues between the processors of one machine."""


class Ideal:
    """The network that `ideal` describes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def __repr__(self) -> str:
        return f"ideal(room={self.room})"

    def queues(self, size: int) -> Queues:
        from .queues import Queues

        return Queues(size, self.room)


def ideal(room: int = ROOM) -> Ideal:
    """Return a network that takes no time: a packet that a processor posts is there at once.

    Parameters
    ----------
    room : int
        Packets that find room between two processors on each of LEFT and RIGHT.  With little room, few messages show
        whether a program can wait for room for ever.

    Returns
    -------
    Ideal
        For ``network=`` of `smp.emulated`, `smp.explore` and `smp.replay`.

    Raises
    ------
    TypeError, ValueError
        If ``room`` is not a number of packets.

    Examples
    --------
    >>> import smp
    >>> def program(proc):
    ...     note = proc.handler(lambda message: None)
    ...     return [proc.try_send(proc.rank, note, on=smp.LEFT) for _ in range(2)]
    >>> with smp.emulated(1, network=smp.networks.ideal(room=1)) as machine:
    ...     machine.run(program).results[0]
    [True, False]
    """
    return Ideal(checked_room(room))


def checked_room(room: int) -> int:
    """Return the number of packets that a queue holds, or raise an error that says why it is not valid."""
    if isinstance(room, bool) or operator.index(room) < 1:
        raise ValueError(f"room must be a number of packets, 1 or more, not {room!r}")
    return operator.index(room)


def checked_network(network: object) -> Kind:
    """Return a kind of network, for None an ideal one, or raise an error that says why it is none."""
    if network is None:
        return Ideal(ROOM)
    if not isinstance(network, Kind):
        raise TypeError(f"network must be a network of smp.networks, such as smp.networks.ideal(), not {network!r}")
    return network
