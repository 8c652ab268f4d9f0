"""Compiled loops of the messages probe over rings of packets; each times one burst and stamps it.

    trips    a packet of 32 bytes goes there and back between processors 0 and 1
    flow     packets of 32 bytes are posted, or taken, or both at once
    drain    polls of both networks, each until it is empty

A burst's stamp is a row of `overlaps.SPAN`: start, end, CPU time, operations.  Every wait also looks at the machine's
abort word, so it ends if another processor fails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, load, thread_clock
from smp._runtime.loops.compiler import inline, local
from smp._runtime.protocols.rings import SIZE, publish, rings_of, take, try_poll, try_post
from smp._runtime.protocols.wait import aborted
from smp.errors import Aborted

Words = NDArray[np.int64]


@inline
def _taken(net: Words, sender: int, count: int, at: int) -> int:
    """Read and take a packet of four words that a poll has found; return the sum of its words."""
    words = rings_of(net)
    total = load(words, at) + load(words, at + 1) + load(words, at + 2) + load(words, at + 3)
    take(net, sender, count)
    return int(total)


@local
def trips(net: Words, sync: Words, me: int, n: int, span: Words) -> int:
    """Send a packet there and back ``n`` times; return the sum of all words that have come.

    Parameters
    ----------
    net : int64 array
        Private words of this processor and a network; see ``rings``.
    sync : int64 array
        ``proc.sync``.
    me : {0, 1}
        Rank of this processor; processor 0 begins.
    n : int
    span : int64 array, shape (4,)
        Receives the stamp; an operation is a packet there and back.

    Raises
    ------
    Aborted
        When another processor has failed.
    """
    total = 0
    cpu = thread_clock()
    start = clock()
    for k in range(n):
        if me == 0:
            while not try_post(net, 1, 0, 4, k, k, k, k, 0, 0, 0):
                if aborted(sync):
                    raise Aborted
        sender, _, count, at = try_poll(net)
        while sender < 0:
            if aborted(sync):
                raise Aborted
            sender, _, count, at = try_poll(net)
        total += _taken(net, sender, count, at)
        if me == 1:
            while not try_post(net, 0, 0, 4, k, k, k, k, 0, 0, 0):
                if aborted(sync):
                    raise Aborted
    span[0], span[1] = start, clock()
    span[2], span[3] = thread_clock() - cpu, n
    return total


@local
def flow(net: Words, sync: Words, to: int, send: int, receive: int, span: Words) -> int:
    """Post ``send`` packets to a processor and take ``receive`` packets; return the sum of all words that have come.

    Parameters
    ----------
    net, sync
        As for `trips`.
    to : int
        Processor that gets the packets; the words of the kth packet are k, k + 1, k + 2 and k + 3.
    send, receive : int
    span : int64 array, shape (4,)
        Receives the stamp; an operation is a packet, or a packet posted and a packet taken.

    Raises
    ------
    Aborted
        When another processor has failed.
    """
    posted, got, total = 0, 0, 0
    cpu = thread_clock()
    start = clock()
    while posted < send or got < receive:
        waits = True
        if posted < send and try_post(net, to, 0, 4, posted, posted + 1, posted + 2, posted + 3, 0, 0, 0):
            posted += 1
            waits = False
        if got < receive:
            sender, _, count, at = try_poll(net)
            if sender >= 0:
                total += _taken(net, sender, count, at)
                got += 1
                waits = False
        if waits and aborted(sync):
            raise Aborted
    span[0], span[1] = start, clock()
    span[2], span[3] = thread_clock() - cpu, max(send, receive)
    return total


@local
def drain(left: Words, right: Words, times: int, span: Words) -> tuple[int, int]:
    """Poll both networks until each is empty, the given number of times.

    Parameters
    ----------
    left, right : int64 array
        Private words of this processor and the two networks.
    times : int
    span : int64 array, shape (4,)
        Receives the stamp; an operation is a poll of one network that finds nothing.

    Returns
    -------
    tuple of int
        Number of packets that were found, and the sum of their words.
    """
    found, total = 0, 0
    cpu = thread_clock()
    start = clock()
    for _ in range(times):
        sender, _, count, at = try_poll(left)
        while sender >= 0:
            total += _taken(left, sender, count, at)
            found += 1
            sender, _, count, at = try_poll(left)
        sender, _, count, at = try_poll(right)
        while sender >= 0:
            total += _taken(right, sender, count, at)
            found += 1
            sender, _, count, at = try_poll(right)
    span[0], span[1] = start, clock()
    span[2], span[3] = thread_clock() - cpu, 2 * times
    for k in range(left[SIZE]):  # as before a sleep, so that senders find empty rings
        publish(left, k)
        publish(right, k)
    return found, total
