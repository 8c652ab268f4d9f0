"""Loops that send and take packets: a histogram, a gather by requests and answers, tokens that go round."""

import numpy as np

import smp
from smp.compiled import aborted, await_packet, await_room, load, pause, room, store, try_poll, try_post

ADD, END = 0, 1
ASK, ANSWER = 10, 11


@smp.stream
def counted(net, counts, ends):
    """Take a packet of `histogram`, if there is one; return whether there was one."""
    there, kind, source, a, b, _, _ = try_poll(net, smp.LEFT)
    if there:
        if kind == ADD:
            counts[a] += b
        elif kind == END:
            ends[source] += 1
        else:
            ends[source] = -100
    return there


@smp.stream
def histogram(net, rank, size, keys, counts, ends):
    """Count keys; key k belongs to processor k % size, which counts it at k // size."""
    for k in range(len(keys) + size):
        kind, to, a, b = ADD, 0, 0, 0
        if k < len(keys):
            to, a, b = keys[k] % size, keys[k] // size, 1
        else:
            kind, to = END, (rank + k) % size
        while not try_post(net, smp.LEFT, to, kind, a, b):
            if not counted(net, counts, ends):
                await_room(net, smp.LEFT, to)
    while np.sum(ends) < size:
        if not counted(net, counts, ends):
            await_packet(net, smp.LEFT)


@smp.stream
def took_answer(net, out):
    """Take an answer, if there is one; return how many there were."""
    there, kind, _, a, b, _, _ = try_poll(net, smp.RIGHT)
    if not there:
        return 0
    out[a] = b if kind == ANSWER else -1
    return 1


@smp.stream
def answered(net, size, table, out):
    """Answer a request, if there is one; return whether there was one, and how many answers came meanwhile."""
    there, kind, source, a, b, _, _ = try_poll(net, smp.LEFT)
    came = 0
    if there and kind == END:
        return 2, 0
    if there:
        while not try_post(net, smp.RIGHT, source, ANSWER, a, table[b]):
            some = took_answer(net, out)
            came += some
            if some == 0:
                await_room(net, smp.RIGHT, source, smp.RIGHT)
    return (1 if there else 0), came


@smp.stream
def gather(net, rank, size, wanted, table, out):
    """Set ``out[k]`` to element ``wanted[k]`` of a table; element i belongs to processor i % size, at i // size."""
    came = ends = 0
    n = len(wanted)
    for k in range(n + size):
        to = wanted[k] % size if k < n else (rank + k) % size
        kind, a, b = (ASK, k, wanted[k] // size) if k < n else (END, 0, 0)
        while k == n and came < n:  # all requests are answered before the first END
            some = took_answer(net, out)
            there, more = answered(net, size, table, out)
            came += some + more
            ends += there == 2
            if some == 0 and there == 0:
                await_packet(net)
        while not try_post(net, smp.LEFT, to, kind, a, b):
            some = took_answer(net, out)
            there, more = answered(net, size, table, out)
            came += some + more
            ends += there == 2
            if some == 0 and there == 0:
                await_room(net, smp.LEFT, to)
    while ends < size:
        there, more = answered(net, size, table, out)
        ends += there == 2
        if there == 0:
            await_packet(net)
    return came


@smp.stream
def round_trips(net, rank, size, tokens, hops, on):
    """Send some tokens to the next processor; each ends after ``hops`` hops.  Return the sum of what they have seen.

    Every processor adds its rank plus 1 to a token that comes.  The network has room for all tokens.
    """
    total = ended = 0
    for _ in range(tokens):
        while not try_post(net, on, (rank + 1) % size, 5, hops, 0):
            pass
    while ended < tokens:
        there, _, _, left, seen, _, _ = try_poll(net, on)
        if not there:
            await_packet(net, on)
        elif left == 1:
            total += seen + rank + 1
            ended += 1
        else:
            while not try_post(net, on, (rank + 1) % size, 5, left - 1, seen + rank + 1):
                pass
    return total


@smp.stream
def fill(net, on, to, most):
    """Post packets to a processor that does not poll until there is no room, at most ``most``; return how many."""
    sent = 0
    while sent < most and room(net, on, to) > 0 and try_post(net, on, to, 3, sent):
        sent += 1
    return sent


@smp.stream
def drain(net, on, out):
    """Take packets into ``out``, as kind, source and first word, up to one for a handler; return how many rows."""
    n = 0
    while n < len(out):
        there, kind, source, a, _, _, _ = try_poll(net, on)
        if not there:
            break
        out[n, 0], out[n, 1], out[n, 2] = kind, source, a
        n += 1
        if kind < 0:
            break
    return n


@smp.stream
def waits(net):
    """Wait for a packet."""
    await_packet(net)


@smp.stream
def waits_for_room(net, on, to, polling):
    """Wait for room, or for a packet."""
    await_room(net, on, to, polling)


@smp.stream
def meetings(net, words, sync, me, n):
    """Let processor 0 post a packet and processor 1 wait for it, ``n`` times, both a random moment after they have met.

    Return how many packets came; -1 if one was wrong.
    """
    drawn, came = 12345 + me, 0
    for k in range(n):
        store(words, 16 * me, k + 1)
        while load(words, 16 * (1 - me)) <= k:
            if aborted(sync):
                return -1
        drawn = (drawn * 1103515245 + 12345) % 2147483648
        for _ in range((drawn >> 8) % 16):
            pause()
        if me == 0:
            try_post(net, smp.LEFT, 1, 0, k)
        else:
            await_packet(net, smp.LEFT)
            there, _, _, a, _, _, _ = try_poll(net, smp.LEFT)
            if not there or a != k:
                return -1
            came += 1
    return came
