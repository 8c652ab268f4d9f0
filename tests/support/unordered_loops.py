"""Loops of messages that do not rely on the order within a network: a histogram, a triangular system, and darts.

The gather of ``packet_loops`` does not rely on it either.
"""

import numpy as np

import smp
from smp.compiled import await_packet, await_room, try_poll, try_post

ADD, END = 0, 1
THROW, STUCK, MISSED = 10, 11, 12


@smp.stream
def counted(net, counts, left):
    """Take a packet of `histogram`, if there is one; return whether there was one."""
    there, kind, _, a, b, _, _ = try_poll(net, smp.LEFT)
    if there:
        if kind == ADD:
            counts[a] += 1
            left[0] -= 1
        else:  # the end of a sender says how many keys it has sent, since it may come before them
            left[0] += b
            left[1] -= 1
    return there


@smp.stream
def histogram(net, rank, size, keys, counts):
    """Count keys; key k belongs to processor k % size, which counts it at k // size."""
    sent, left = np.zeros(size, np.int64), np.zeros(2, np.int64)
    left[1] = size
    for k in range(len(keys) + size):
        if k < len(keys):
            kind, to, a, b = ADD, keys[k] % size, keys[k] // size, 0
            sent[to] += 1
        else:
            kind, to, a, b = END, k - len(keys), 0, sent[k - len(keys)]
        while not try_post(net, smp.LEFT, to, kind, a, b):
            if not counted(net, counts, left):
                await_room(net, smp.LEFT, to)
    while left[0] != 0 or left[1] != 0:
        if not counted(net, counts, left):
            await_packet(net, smp.LEFT)


@smp.stream
def used(net, indptr, indices, data, x, missing, ready, count):
    """Use an unknown that has come, if there is one; return whether there was one, and the number of ready rows."""
    there, _, _, column, solution, _, _ = try_poll(net, smp.LEFT)
    if there:
        for entry in range(indptr[column], indptr[column + 1]):
            row = indices[entry]
            x[row] -= data[entry] * solution
            missing[row] -= 1
            if missing[row] == 0:
                ready[count] = row
                count += 1
    return there, count


@smp.stream
def triangular(net, rank, size, indptr, indices, data, needed, x, missing, ready):
    """Solve a triangular system of integers, as ``examples/triangular.py`` does by messages.

    ``indptr``, ``indices`` and ``data`` are the rows of this processor, stored by columns; ``needed[column, p]`` says
    whether processor p needs an unknown; ``missing`` has the number of unknowns that each row needs.
    """
    count = 0
    for row in range(len(x)):
        if missing[row] == 0:
            ready[count] = row
            count += 1
    solved = 0
    while solved < len(x):
        if count == 0:
            there, count = used(net, indptr, indices, data, x, missing, ready, count)
            if not there:
                await_packet(net, smp.LEFT)
            continue
        count -= 1
        solved += 1
        row = ready[count]
        column, solution = row * size + rank, x[row]
        for to in range(size):
            while needed[column, to] and not try_post(net, smp.LEFT, to, 0, column, solution):
                there, count = used(net, indptr, indices, data, x, missing, ready, count)
                if not there:
                    await_room(net, smp.LEFT, to)


@smp.stream
def replied(net, missed, state):
    """Take the reply to a dart, if there is one; return whether there was one."""
    there, kind, _, element, _, _, _ = try_poll(net, smp.RIGHT)
    if there:
        state[1] -= 1
        if kind == MISSED:
            missed[state[0]] = element
            state[0] += 1
    return there


@smp.stream
def landed(net, table, missed, state):
    """Take a dart, if there is one, and reply to it; return whether there was one."""
    there, kind, source, place, element, _, _ = try_poll(net, smp.LEFT)
    if there and kind == END:
        state[2] += 1
    elif there:
        free = table[place] < 0
        if free:
            table[place] = element
        while not try_post(net, smp.RIGHT, source, STUCK if free else MISSED, element):
            if not replied(net, missed, state):
                await_room(net, smp.RIGHT, source, smp.RIGHT)
    return there


@smp.stream
def served(net, table, missed, state):
    """Take a packet from each network; return whether there was one."""
    reply = replied(net, missed, state)
    dart = landed(net, table, missed, state)
    return reply or dart


@smp.stream
def darts(net, size, elements, width, drawn, table):
    """Throw elements until all are in the table; ``drawn`` are random numbers, used again after the last one."""
    missed, state = elements.copy(), np.zeros(3, np.int64)  # number of missed ones, of darts in the air, of ends
    state[0], throws = len(elements), 0
    while state[0] > 0 or state[1] > 0:
        if state[0] > 0:
            state[0] -= 1
            state[1] += 1
            element, place = missed[state[0]], (drawn[throws % len(drawn)] + throws // len(drawn)) % (width * size)
            throws += 1
            while not try_post(net, smp.LEFT, place // width, THROW, place % width, element):
                if not served(net, table, missed, state):
                    await_room(net, smp.LEFT, place // width)
        elif not served(net, table, missed, state):
            await_packet(net)
    for to in range(size):  # all darts of this processor were replied to, so its end comes after them
        while not try_post(net, smp.LEFT, to, END):
            if not served(net, table, missed, state):
                await_room(net, smp.LEFT, to)
    while state[2] < size:
        if not served(net, table, missed, state):
            await_packet(net)
