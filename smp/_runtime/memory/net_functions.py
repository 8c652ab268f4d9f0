"""Packets of loops: the functions that both compiled loops and Python can call.

From Python, each function calls a method of `Net`.  For compiled loops, ``nets_in_loops`` defines what it does.
"""

from __future__ import annotations

from ..protocols.loop_packets import Polled
from .nets import BOTH, Net


def try_post(net: Net, on: int, to: int, kind: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> bool:
    """Send a packet of four words to a processor, if there is room; return True if it was sent.

    Parameters
    ----------
    net : Net
        ``proc.net``.
    on : int
        Network: ``smp.LEFT`` or ``smp.RIGHT``.
    to : int
        Processor that gets the packet, possibly this one.
    kind : int
        Number from 0 to 2^37 - 1, by which the receiver knows what to do with the packet.
    a, b, c, d : int
        Words of the packet, int64.

    Notes
    -----
    It does not wait.  A loop that finds no room takes packets until there is room, because the processor that does not
    take packets may be waiting for room itself.  Between polls in vain it calls `await_room`, as in this example.  Each
    processor sends a number to the next one and adds up those that come.  A packet of kind 1 says that there are no
    more from its sender.

    Packets that are answered go on ``smp.LEFT``, their answers on ``smp.RIGHT``.  A loop that waits for room for an
    answer takes packets from RIGHT only, and `await_room` gets ``polling=smp.RIGHT``.  Then no two loops wait for each
    other.

    Examples
    --------
    >>> import smp
    >>> from smp.compiled import await_packet, await_room, try_poll, try_post
    >>> @smp.stream
    ... def taken(net, sums):
    ...     there, kind, source, a, b, c, d = try_poll(net, smp.LEFT)
    ...     if there:
    ...         sums[kind] += a
    ...     return there
    >>> @smp.stream
    ... def send(net, to, kind, a, sums):
    ...     while not try_post(net, smp.LEFT, to, kind, a):
    ...         if not taken(net, sums):
    ...             await_room(net, smp.LEFT, to)
    >>> @smp.stream
    ... def work(net, to, n, sums):
    ...     for k in range(n):
    ...         send(net, to, 0, k, sums)
    ...     send(net, to, 1, 1, sums)
    ...     while sums[1] == 0:
    ...         if not taken(net, sums):
    ...             await_packet(net, smp.LEFT)
    >>> def program(proc):
    ...     sums = np.zeros(2, np.int64)
    ...     work(proc.net, (proc.rank + 1) % proc.size, 1000, sums)
    ...     return int(sums[0])
    >>> import numpy as np
    >>> with smp.host(2) as machine:
    ...     machine.run(program).results
    [499500, 499500]
    """
    return net.try_post(on, to, kind, a, b, c, d)


def try_poll(net: Net, on: int) -> Polled:
    """Take a packet from a network, if one has come.

    Parameters
    ----------
    net : Net
        ``proc.net``.
    on : int
        Network: ``smp.LEFT`` or ``smp.RIGHT``.

    Returns
    -------
    there : bool
        Whether there was a packet; if not, all that follows is without meaning.
    kind : int
        Kind of the packet.  -1 stands for a message to a Python handler: it is not taken, and no later packet of its
        sender can be, so the loop should return to Python, which calls ``proc.poll()``.
    source : int
        Processor that sent it.
    a, b, c, d : int
        Its words.

    Notes
    -----
    It does not wait.  All senders have their turn.  Packets from one sender on one network come in order.  Packets that
    come while a processor polls from Python are kept, and a loop takes them first.
    """
    return net.try_poll(on)


def room(net: Net, on: int, to: int) -> int:
    """Return the number of packets for which there is room on a network to a processor.

    Parameters
    ----------
    net, on, to
        See `try_post`.
    """
    return net.room(on, to)


def await_packet(net: Net, on: int = BOTH) -> None:
    """Wait until a packet has come that was not taken; sleep if that takes long.

    Parameters
    ----------
    net : Net
        ``proc.net``.
    on : int
        Networks: ``smp.LEFT``, ``smp.RIGHT`` or ``smp.BOTH``.

    Raises
    ------
    Aborted
        If another processor fails.
    """
    net.await_packet(on)


def await_room(net: Net, on: int, to: int, polling: int = BOTH) -> None:
    """Wait until there is room on a network to a processor, or a packet has come; sleep if that takes long.

    Parameters
    ----------
    net, on, to
        See `try_post`.
    polling : int
        Networks on which a packet ends the wait: ``smp.BOTH``, or ``smp.RIGHT`` if the packet to be sent is an answer.

    Raises
    ------
    Aborted
        If another processor fails.
    """
    net.await_room(on, to, polling)
