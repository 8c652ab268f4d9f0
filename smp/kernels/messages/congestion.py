"""A network that congests: each node has one input, and a message that finds it taken has to be sent again.

    from b   ══════ message ══════▶┐
                                   ├─▶ input of a ─▶ buffer, for one message ─▶ node a, when it waits
    from c         ══════ message ═X
                                   └ failed: c sends it again after a time-out

    transmission   takes latency + words * per_word, and its sender is busy meanwhile; it arrives if the input is free
                   when it begins; else it takes as long, and has failed
    input          free, unless a message is arriving, or is in the buffer, or a transmission that has failed goes on
                   still: so that failures bring about failures
    node           takes messages out of its buffer while it waits, for one that it wants or for a time-out, and keeps
                   those that it does not want yet; while it computes or sends, the buffer stays full.  One that sleeps
                   takes a moment to wake: a second message right after a first fails

So it does not pay to send to a node that is busy.  Where nodes send as soon as they can, delays can make them quicker.

A port, in shared memory, belongs to a node:

    word           written by                                          read by
    INPUT          FREE -> ARRIVING: compare_exchange, by a sender     senders; the node, which sleeps on it
                   ARRIVING -> FULL: the same sender
                   FULL -> FREE: the node
    NOISE          senders that fail: raised to when they end          senders
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

INPUT, NOISE, KIND, LENGTH, NOTHING = range(5)  # NOTHING: is never written, to sleep on
FREE, ARRIVING, FULL = range(3)
_PORT = 8  # words of a port: a line
Words = NDArray[np.int64]
Message = NDArray[np.float64]


class Timing(NamedTuple):
    """What a network takes, in ns; on an emulated machine in virtual ones."""

    latency: int = 20_000
    """Of every transmission."""
    per_word: int = 1_000
    """Of each of its words, beside that."""
    timeout: int = 400_000
    """From the end of a transmission that has failed to the next attempt.  Where it is longer than those of all others
    together that may be sent to the same node, one of them comes through for certain."""


@stream
def transmit(ports: Words, rank: int, to: int, duration: int, sync: Words) -> bool:
    """Send for ``duration`` ns; return whether the input was free, which is ARRIVING then."""
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
    """Tell a node that a message is in its buffer."""
    store(ports, to * _PORT + INPUT, FULL)
    wake(ports, to * _PORT + INPUT, 1)


@stream
def await_message(ports: Words, rank: int, deadline: int, sync: Words) -> bool:
    """Wait until a message is in a node's own buffer; False when the deadline is there first, if it is not 0."""
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
    """Leave a node's own input free."""
    store(ports, rank * _PORT + INPUT, FREE)


class Network:
    """A network, as one node has it in hand: made by `network`.

    Attributes
    ----------
    timing : Timing
    attempts, failures : int
        Transmissions of this node so far, and those of them that have failed.
    """

    def __init__(self, proc: Processor, words: int, timing: Timing) -> None:
        self.timing = timing
        self.attempts = self.failures = 0
        self._rank, self._sync = proc.rank, proc.sync
        self._ports = proc.zeros((proc.size, _PORT), np.int64).view.reshape(-1)
        self._buffers = proc.zeros((proc.size, words), np.float64).view
        self._kept: defaultdict[int, deque[Message]] = defaultdict(deque)

    def send(self, to: int, kind: int, message: ArrayLike) -> None:
        """Send a message, as often as it takes until it is in the other's buffer.

        Parameters
        ----------
        to : int
            A node; it may be this one.
        kind : int
            What the other asks for it by.
        message : array_like (k,)
            As float64; not longer than the ``words`` of the network.
        """
        sent, (nodes, words) = np.asarray(message, np.float64), self._buffers.shape
        if sent.ndim != 1 or len(sent) > words or not 0 <= to < nodes:
            raise ValueError(f"a message of shape {sent.shape} to node {to}: {nodes} nodes take up to {words} words")
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
        """Wait for a message of a kind, the first that was sent of those not yet received, and return it."""
        while not self._kept[kind]:
            self._fetched(0)
        return self._kept[kind].popleft()

    def _fetched(self, deadline: int) -> bool:
        """Take a message out of the buffer, once there is one; False when the deadline is there first."""
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
        Of the longest message; from 1.
    timing : Timing, optional
        Times of tens of microseconds or more: beside them, every wait that sleeps takes some 3 on an emulated machine,
        and some 50 on the host.  The clocks of an emulated machine agree only under ``schedule="clock"``.

    Returns
    -------
    Network
        To be used in Python, by the thread that has called this, in this run.

    Raises
    ------
    TypeError, ValueError
        On all processors alike.

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
            raise ValueError(f"{name}={number}: give a number from {least}")
    return Network(proc, words, times)
