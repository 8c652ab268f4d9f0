"""A network that congests: each node has one input, and a message that finds it taken has to be sent again.

    from b   ══════ message ══════▶┐
                                   ├─▶ input of a ─▶ buffer, for one message ─▶ node a, when it waits
    from c         ══════ message ═X
                                   └ failed: c sends it again after a time-out

    transmission   takes latency + words * per_word, and its sender is busy meanwhile; it arrives if the input is free
                   when it begins; otherwise it takes as long, and fails
    input          free, unless a message is arriving, or is in the buffer, or a failed transmission is still going on;
                   so failures cause more failures
    node           takes messages out of its buffer while it waits for a message or for a time-out, and keeps those that
                   it does not want yet; while it computes or sends, the buffer stays full.  A sleeping node takes a
                   moment to wake, so a second message right after the first fails

So it does not pay to send to a node that is busy.  If nodes send as soon as they can, delays can make them quicker.

Every node has a port, which is made of words in shared memory:

    word           written by                                          read by
    INPUT          FREE -> ARRIVING: compare_exchange, by a sender     senders; the node, which sleeps on it
                   ARRIVING -> FULL: the same sender
                   FULL -> FREE: the node
    NOISE          failing senders: raised to the time of their end    senders
    KIND, LENGTH,  the sender whose message arrives, before FULL       the node, after FULL
    the buffer

Source: Synthetic-perturbation tuning of MIMD programs, section 3.2.1, says of the iPSC-1: "Heavily used message-passing
provokes communication failures, which then require retransmissions."  The model is in the spirit of that, no more.
"""

from __future__ import annotations

import operator
from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import Processor, stream
from smp._runtime.protocols.wait import ABORTED, EXPIRED, WHOLE, blocked
from smp.compiled import clock, compare_exchange, load, store, wake
from smp.errors import Aborted

INPUT, NOISE, KIND, LENGTH, NOTHING = range(5)  # NOTHING is never written: a word to sleep on
FREE, ARRIVING, FULL = range(3)
_PORT = 8  # words of a port: a line
Words = NDArray[np.int64]
Message = NDArray[np.float64]


class Timing(NamedTuple):
    """Times of a network in ns, which on an emulated machine are virtual."""

    latency: int = 20_000
    """Time of every transmission."""
    per_word: int = 1_000
    """Additional time for each of its words."""
    timeout: int = 400_000
    """Time from the end of a failed transmission to the next attempt.  If it is longer than all other transmissions
    together that may be sent to the same node, one of them is certain to arrive."""


@stream
def transmit(ports: Words, rank: int, to: int, duration: int, sync: Words) -> bool:
    """Send for ``duration`` ns; return True if the input was free, which is then ARRIVING."""
    now, port = clock(), to * _PORT
    end = now + duration
    free = load(ports, port + NOISE) <= now and compare_exchange(ports, port + INPUT, FREE, ARRIVING) == FREE
    if not free:
        noise = load(ports, port + NOISE)
        while noise < end:
            before, noise = noise, compare_exchange(ports, port + NOISE, noise, end)
            if noise == before:
                break
    if blocked(ports, rank * _PORT + NOTHING, WHOLE, 0, False, sync, end) == ABORTED:
        raise Aborted
    return free


@stream
def deliver(ports: Words, to: int) -> None:
    """Signal to a node that a message is in its buffer."""
    store(ports, to * _PORT + INPUT, FULL)
    wake(ports, to * _PORT + INPUT, 1)


@stream
def await_message(ports: Words, rank: int, deadline: int, sync: Words) -> bool:
    """Wait until a message is in a node's own buffer; return False if the deadline passes first (0 means none)."""
    own = rank * _PORT + INPUT
    state = load(ports, own)
    while state != FULL:
        status = blocked(ports, own, WHOLE, state, False, sync, deadline)
        if status == ABORTED:
            raise Aborted
        if status == EXPIRED:
            return False
        state = load(ports, own)
    return True


@stream
def release(ports: Words, rank: int) -> None:
    """Set a node's own input free."""
    store(ports, rank * _PORT + INPUT, FREE)


class Network:
    """A network as one node uses it, made by `network`.

    Attributes
    ----------
    timing : Timing
    attempts, failures : int
        Number of transmissions of this node so far, and number of those that failed.
    """

    def __init__(self, proc: Processor, words: int, timing: Timing) -> None:
        self.timing = timing
        self.attempts = self.failures = 0
        self._rank, self._sync = proc.rank, proc.sync
        self._ports = proc.zeros((proc.size, _PORT), np.int64).view.reshape(-1)
        self._buffers = proc.zeros((proc.size, words), np.float64).view
        self._kept: defaultdict[int, deque[Message]] = defaultdict(deque)

    def send(self, to: int, kind: int, message: ArrayLike) -> None:
        """Send a message, and repeat it until it is in the buffer of the receiving node.

        Parameters
        ----------
        to : int
            Receiving node; it may be this one.
        kind : int
            Kind by which the receiving node asks for the message.
        message : array_like (k,)
            Data of the message, converted to float64; not longer than the ``words`` of the network.
        """
        sent, (nodes, words) = np.asarray(message, np.float64), self._buffers.shape
        if sent.ndim != 1 or len(sent) > words or not 0 <= to < nodes:
            raise ValueError(
                f"cannot send a message of shape {sent.shape} to node {to}: the network has {nodes} nodes, numbered "
                f"from 0, and a message is one-dimensional with up to {words} words"
            )
        duration = self.timing.latency + len(sent) * self.timing.per_word
        self.attempts += 1
        while not transmit(self._ports, self._rank, to, duration, self._sync):
            self.failures += 1
            retry = clock() + self.timing.timeout
            while self._fetched(retry):
                pass
            self.attempts += 1
        self._ports[to * _PORT + KIND], self._ports[to * _PORT + LENGTH] = kind, len(sent)
        self._buffers[to, : len(sent)] = sent
        deliver(self._ports, to)

    def receive(self, kind: int) -> Message:
        """Wait for a message of a kind and return it; of those not yet received, it is the first that was sent."""
        while not self._kept[kind]:
            self._fetched(0)
        return self._kept[kind].popleft()

    def _fetched(self, deadline: int) -> bool:
        """Take a message out of the buffer once there is one; return False if the deadline passes first."""
        if not await_message(self._ports, self._rank, deadline, self._sync):
            return False
        own = self._ports[self._rank * _PORT :]
        self._kept[int(own[KIND])].append(self._buffers[self._rank, : own[LENGTH]].copy())
        release(self._ports, self._rank)
        return True


def network(proc: Processor, words: int, timing: Timing | None = None) -> Network:
    """Return a network of all processors, each of which is a node; all of them call it alike.

    Parameters
    ----------
    proc : Processor
    words : int
        Length of the longest message in words, from 1.
    timing : Timing, optional
        Times of the network, which should be tens of microseconds or more.  Every wait that sleeps adds some 3 us on an
        emulated machine, and some 50 us on the host machine.  The clocks of an emulated machine agree only under
        ``schedule="clock"``.

    Returns
    -------
    Network
        The network, to be used in Python, in this run, by the thread that called this function.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike.

    Examples
    --------
    >>> import smp
    >>> from smp.kernels.messages.congestion import network
    >>> def program(proc):
    ...     net = network(proc, words=3)
    ...     if proc.rank > 0:
    ...         net.send(0, proc.rank, [1.0, 2.0, 3.0])  # both at once: one of them has to try again
    ...         return net.attempts, net.failures
    ...     return [float(net.receive(kind).sum()) for kind in (2, 1)]
    >>> with smp.emulated(3, schedule="clock") as machine:
    ...     machine.run(program).results
    [[6.0, 6.0], (1, 0), (2, 1)]
    """
    times = timing or Timing()
    for name, number, least in (("words", words, 1), *((name, ns, 0) for name, ns in times._asdict().items())):
        if operator.index(number) < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
    return Network(proc, words, times)
