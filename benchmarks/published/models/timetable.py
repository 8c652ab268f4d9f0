"""Virtual time of a message program from a table of its operations, on a machine without contention.

    COMPUTE  time                                   local work, which messages interrupt if the machine has interrupts
    SEND     to, work, late, wire, receiving, tag   a block: it leaves after ``work``, and arrives ``wire`` later
    WAIT     number, tag                            poll until so many messages with the tag have been received in all

A program whose messages do not depend on data can be written as such a table.  It then takes a thousandth of the time
that the emulated machine takes to run it.  The rules are those of ``emulated/message_machine``, and a test holds both
times equal, to the picosecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import smp
from smp._runtime.emulated.message_machine.software import Software

COMPUTE, SEND, WAIT = range(3)
KIND, A, B, C, D, E, TAG, WIDTH = range(8)
"""Columns of a table: the kind of an operation, its numbers in the order above, and the tag; all times in ps."""
TAGS = 2
NEVER = 1 << 62
ROOM = 64
"""Messages that may wait at a processor."""
_START, _COMPUTING, _POLL_RIGHT, _POLL, _LOOK, _ASLEEP, _OVER = range(7)
Table = NDArray[np.int64]


def run(table: Table, starts: NDArray[np.int64], software: Software) -> NDArray[np.int64]:
    """Return the time at which each processor has ended, in ps, if all begin at time 0.

    Parameters
    ----------
    table : int64 array of shape (n, `WIDTH`)
        The operations of all processors, one processor after another.
    starts : int64 array of shape (p + 1,)
        The first operation of each processor, and the number of all.
    software : Software
        The machine, for the price of polls and for interrupts.

    Raises
    ------
    RuntimeError
        If a processor waits for a message that does not come.
    """
    ends = np.zeros(len(starts) - 1, np.int64)
    if not _run(table, starts, software.poll, software.interrupts, ends):
        raise RuntimeError("a processor waits for a message that no other one sends: the table is not complete")
    return ends


@smp.inline
def _post(arrivals: Any, costs: Any, tags: Any, count: int, arrival: int, cost: int, tag: int) -> None:
    """Insert a message behind those that arrive no later."""
    i = count
    while i > 0 and arrivals[i - 1] > arrival:
        arrivals[i], costs[i], tags[i] = arrivals[i - 1], costs[i - 1], tags[i - 1]
        i -= 1
    arrivals[i], costs[i], tags[i] = arrival, cost, tag


@smp.local
def _run(table: Any, starts: Any, poll: int, interrupts: bool, now: Any) -> bool:
    p = len(now)
    at, state, left = starts[:-1].copy(), np.zeros(p, np.int64), np.zeros(p, np.int64)
    due = np.zeros(p, np.int64)  # when each processor makes its next decision
    arrivals, costs, tags = np.zeros((p, ROOM), np.int64), np.zeros((p, ROOM), np.int64), np.zeros((p, ROOM), np.int64)
    waiting, received = np.zeros(p, np.int64), np.zeros((p, TAGS), np.int64)
    latest = np.zeros((p, p), np.int64)
    while True:
        k = 0  # the earliest processor: all messages that arrive until then are posted
        for other in range(1, p):
            if due[other] < due[k]:
                k = other
        if due[k] == NEVER:
            return bool(np.all(state == _OVER))
        time = due[k]
        if state[k] == _ASLEEP and not interrupts and poll > 0:
            time += (now[k] - time) % poll  # to the end of a poll
        elif state[k] == _COMPUTING:
            left[k] -= time - now[k]
        ready = waiting[k] > 0 and arrivals[k, 0] <= time
        taken = False
        if state[k] == _START:
            if at[k] == starts[k + 1]:
                state[k] = _OVER
                now[k], due[k] = time, NEVER
                continue
            one = table[at[k]]
            if one[KIND] == WAIT:
                time += poll  # nothing comes on LEFT
                state[k] = _POLL_RIGHT
            elif one[KIND] == SEND:
                to, time = one[A], time + one[B]
                arrival = max(time + one[D], latest[k, to])
                latest[k, to] = arrival
                _post(arrivals[to], costs[to], tags[to], waiting[to], arrival, one[E], one[TAG])
                waiting[to] += 1
                if state[to] == _COMPUTING or state[to] == _ASLEEP:
                    due[to] = min(due[to], arrival)
                time += one[C]
                at[k] += 1
            elif interrupts:
                left[k] = one[A]
                state[k] = _COMPUTING
            else:
                time += one[A]
                at[k] += 1
            due[k] = time
        elif state[k] == _COMPUTING:
            due[k] = time
            if ready:
                taken = True
            elif left[k] == 0:
                at[k] += 1
                state[k] = _START
            else:
                due[k] = time + left[k]
                if waiting[k] > 0:
                    due[k] = min(due[k], arrivals[k, 0])
        elif state[k] == _POLL_RIGHT:
            state[k] = _POLL
            taken = ready
            if not ready:
                time += poll
            due[k] = time
        elif state[k] == _POLL:
            if received[k, table[at[k], TAG]] >= table[at[k], A]:
                at[k] += 1
                state[k] = _START
            elif ready:
                taken = True
            else:
                time += 2 * poll
                state[k] = _LOOK
            due[k] = time
        elif state[k] == _LOOK and not ready:
            state[k] = _ASLEEP
            due[k] = arrivals[k, 0] if waiting[k] > 0 else NEVER
        else:
            state[k] = _POLL
            due[k] = time
        if taken:
            time += costs[k, 0]
            due[k] = time
            received[k, tags[k, 0]] += 1
            waiting[k] -= 1
            for i in range(waiting[k]):
                arrivals[k, i], costs[k, i], tags[k, i] = arrivals[k, i + 1], costs[k, i + 1], tags[k, i + 1]
        now[k] = time
