"""The networks that an emulated machine can have: which of them carries its messages.

    ideal        a packet has come as soon as it is posted
    delayed      a packet that is posted is in flight, and comes in a step of its own
    congested    a packet to a busy processor fails, and is sent again after a time-out

Source: E. A. Brewer, Portable High-Performance Supercomputing, chapter 6; of `congested`, see there.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .network import QueueNetwork
    from .queues import Queues

ROOM = 64
"""Packets that a queue holds, if nothing else is given: as many as a ring of the host."""


@runtime_checkable
class Kind(Protocol):
    """A kind of network.

    Attributes
    ----------
    timed : bool
        True if its packets take virtual time, so that the clocks of the processors must agree.
    """

    timed: bool

    def queues(self, size: int) -> Queues:
        """Return the queues between the processors of one machine."""

    def of_a_processor(self) -> type[QueueNetwork]:
        """Return the class by which each processor uses these queues."""


class Ideal:
    """The network that `ideal` describes."""

    timed = False

    def __init__(self, room: int) -> None:
        self.room = room

    def __repr__(self) -> str:
        return f"ideal(room={self.room})"

    def queues(self, size: int) -> Queues:
        from .queues import Queues

        return Queues(size, self.room)

    def of_a_processor(self) -> type[QueueNetwork]:
        from .network import QueueNetwork

        return QueueNetwork


class Delayed:
    """The network that `delayed` describes."""

    timed = False

    def __init__(self, room: int, ordered: bool) -> None:
        self.room, self.ordered = room, ordered

    def __repr__(self) -> str:
        return f"delayed(room={self.room}, ordered={self.ordered})"

    def queues(self, size: int) -> Queues:
        from .delays import DelayedQueues

        return DelayedQueues(size, self.room, self.ordered)

    def of_a_processor(self) -> type[QueueNetwork]:
        from .delays import DelayedNetwork

        return DelayedNetwork


class Congested:
    """The network that `congested` describes."""

    timed = True

    def __init__(self, latency: int, per_word: int, timeout: int) -> None:
        self.latency, self.per_word, self.timeout = latency, per_word, timeout

    def __repr__(self) -> str:
        return f"congested(latency={self.latency}, per_word={self.per_word}, timeout={self.timeout})"

    def queues(self, size: int) -> Queues:
        from .congested import Inputs

        return Inputs(size, self.latency, self.per_word, self.timeout)

    def of_a_processor(self) -> type[QueueNetwork]:
        from .congested import CongestedNetwork

        return CongestedNetwork


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


def delayed(room: int = ROOM, ordered: bool = True) -> Delayed:
    """Return a network on which a packet comes some time after it was posted, when the schedule chooses.

    A message to one processor can therefore come later than another one that was sent because of it, over a third
    processor.  No packet is lost.

    Parameters
    ----------
    room : int
        Packets that find room between two processors on each of LEFT and RIGHT: those in flight, and those that have
        come and were not taken.
    ordered : bool
        Whether the packets of one sender to one receiver on one network come in the order in which they were posted, as
        they do on every other machine.  If False, each comes by itself, which shows whether a program relies on that
        order, also on that of `Processor.expect_at` and of blocks.  A message is then one packet, however long it is.

    Returns
    -------
    Delayed
        For ``network=`` of `smp.emulated`, `smp.explore` and `smp.replay`.

    Raises
    ------
    TypeError, ValueError
        If ``room`` is not a number of packets, or ``ordered`` is neither True nor False.

    Notes
    -----
    The arrival of a packet is a step of the processor that has posted it, and has the charge of a load.  So a program
    has more schedules than on `ideal`; give `smp.explore` a ``limit``.  It delays packets for long, while random
    schedules seldom do.  A packet comes at the latest in the eighth poll of its network that would otherwise find
    nothing, so no schedule goes on for ever while one is in flight.
    Source: E. A. Brewer, Portable High-Performance Supercomputing, chapter 6, for networks that give up the order.

    Examples
    --------
    >>> import smp
    >>> def program(proc):
    ...     came = []
    ...     note = proc.handler(lambda message, k: came.append(k))
    ...     for k in range(4):
    ...         proc.send(proc.rank, note, k, on=smp.LEFT)
    ...     proc.quiet()
    ...     return came
    >>> for ordered in (True, False):
    ...     with smp.emulated(1, seed=8, network=smp.networks.delayed(ordered=ordered)) as machine:
    ...         machine.run(program).results[0]
    [0, 1, 2, 3]
    [1, 3, 2, 0]
    """
    if not isinstance(ordered, bool):
        raise TypeError(f"ordered must be True or False, not {ordered!r}")
    return Delayed(checked_room(room), ordered)


def congested(latency: int = 20_000, per_word: int = 1_000, timeout: int = 400_000) -> Congested:
    """Return a network on which a packet to a busy processor fails and has to be sent again after a time-out.

    Each processor has one input on each of LEFT and RIGHT, with a buffer for one packet.  A transmission arrives if the
    input is free when it begins; otherwise it takes as long, fails, and keeps the input taken until it ends.  After it
    has arrived, the input stays taken until the receiver polls.  `smp._runtime.emulated.networks.congested` has the
    whole model.

    Parameters
    ----------
    latency : int
        Time of every transmission, in ns of virtual time.  The sender is busy meanwhile.
    per_word : int
        Additional time for each word of the message, in ns.  A message is one packet, also if it is a pickle.
    timeout : int
        Time from the end of a failed transmission to the sender's next one to the same input, in ns.  After 8
        failures in a row it doubles with each further one, up to 16 times.  If it is above 0, every packet to a
        processor that polls arrives at last.

    Returns
    -------
    Congested
        For ``network=`` of `smp.emulated` with ``schedule="clock"``.  `smp.explore` and `smp.replay` refuse it, because
        their schedules do not follow virtual time.

    Raises
    ------
    TypeError, ValueError
        If a time is not a whole number of ns, 0 or more.

    Notes
    -----
    During the time-out, a send polls as it does while there is no room, and ``try_send`` returns False.
    `Processor.transmissions` counts the transmissions of a processor, and ``run.network`` has those of a run.  A sender
    whose receiver never polls tries until the run has made ``limit`` steps.
    Source: Synthetic-perturbation tuning of MIMD programs, section 3.2.1, says of the iPSC-1: "Heavily used
    message-passing provokes communication failures, which then require retransmissions."  The model is in the spirit
    of that, no more.

    Examples
    --------
    >>> import smp
    >>> def program(proc):
    ...     keep = proc.handler(lambda message, number: None)
    ...     if proc.rank > 0:
    ...         proc.send(0, keep, proc.rank, on=smp.LEFT)  # both at once: one of them has to try again
    >>> with smp.emulated(3, schedule="clock", network=smp.networks.congested()) as machine:
    ...     machine.run(program).network["failures"]
    array([0, 0, 1])
    """
    for name, time in (("latency", latency), ("per_word", per_word), ("timeout", timeout)):
        if isinstance(time, bool) or operator.index(time) < 0:
            raise ValueError(f"{name} must be a number of ns, 0 or more, not {time!r}")
    return Congested(operator.index(latency), operator.index(per_word), operator.index(timeout))


def checked_room(room: int) -> int:
    """Return the number of packets that a queue holds, or raise an error that says why it is not valid."""
    if isinstance(room, bool) or operator.index(room) < 1:
        raise ValueError(f"room must be a number of packets, 1 or more, not {room!r}")
    return operator.index(room)


def checked_network(network: object, by_clock: bool) -> Kind:
    """Return a kind of network, for None an ideal one, or raise an error that says why it is none, or does not fit.

    ``by_clock`` is True if the processors take turns in the order of virtual time.
    """
    if network is None:
        return Ideal(ROOM)
    if not isinstance(network, Kind):
        raise TypeError(f"network must be a network of smp.networks, such as smp.networks.ideal(), not {network!r}")
    if network.timed and not by_clock:
        raise ValueError(
            f"the packets of smp.networks.{network!r} take virtual time, about which processors agree only if they "
            'take turns in its order: use smp.emulated(..., schedule="clock"), or a network that takes no time, such '
            "as smp.networks.ideal(), which smp.explore and smp.replay need"
        )
    return network
