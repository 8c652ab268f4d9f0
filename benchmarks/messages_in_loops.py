"""Measure what a packet between compiled loops costs, next to a cache line and an atomic addition.

    python benchmarks/messages_in_loops.py [--rounds 600]

The two sides of each ratio are timed in neighbouring bursts, and the table has the quartiles of the ratios of these
pairs.  A line goes there and back when two processors load and store it in turn.  Each row is measured twice: as posts
are, without a fence, because a processor that falls asleep makes a fence on all CPUs; and with a full fence in each
post, as where the system has no such call.  The targets are for CPUs on different cores; see ``rings.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bursts import Row, Words, additions, line_trips, placed, print_rows, rounds

import smp
from smp._runtime.loops.atomics import fence_all, store_release
from smp._runtime.protocols.message_waits import FENCE
from smp.compiled import clock, load, try_poll, try_post

TRIPS, PACKETS, LOOKS, FENCES = 300, 4000, 1000, 20  # in a burst


@smp.stream
def packet_trips(net: Any, me: int, n: int) -> int:
    """Return the ns in which a packet goes there and back ``n`` times."""
    begun = clock()
    for k in range(n):
        if me == 0:
            while not try_post(net, smp.LEFT, 1, 0, k, k, k, k):
                pass
        there, _, _, value, _, _, _ = try_poll(net, smp.LEFT)
        while not there:
            there, _, _, value, _, _, _ = try_poll(net, smp.LEFT)
        if me == 1:
            while not try_post(net, smp.LEFT, 0, 0, value, k, k, k):
                pass
    return clock() - begun


@smp.stream
def one_way(net: Any, line: Words, me: int, turn: int, n: int) -> int:
    """Return the ns in which ``n`` packets go from processor 0 to 1, which begins; -1 if they are wrong."""
    begun = clock()
    if me == 0:
        while load(line, 0) != turn:
            pass
        for k in range(n):
            while not try_post(net, smp.LEFT, 1, 0, k, k + 1, k + 2, k + 3):
                pass
    else:
        total = 0
        store_release(line, 0, turn)
        for _ in range(n):
            there, _, _, a, b, c, d = try_poll(net, smp.LEFT)
            while not there:
                there, _, _, a, b, c, d = try_poll(net, smp.LEFT)
            total += a + b + c + d
        if total != 4 * (n * (n - 1) // 2) + 6 * n:
            return -1
    return clock() - begun


@smp.stream
def polls(net: Any, n: int) -> tuple[int, int]:
    """Return the ns of ``n`` polls in vain, and the number of packets that they found, which is 0."""
    begun, found = clock(), 0
    for _ in range(n):
        found += try_poll(net, smp.LEFT)[0]
    return clock() - begun, found


@smp.stream
def fences(n: int) -> int:
    """Return the ns of ``n`` fences on all CPUs."""
    begun = clock()
    for _ in range(n):
        fence_all()
    return clock() - begun


def program(proc: smp.Processor, line: Any, n: int) -> list[list[float]]:
    """Return the ns of a line's trip, an addition and a fence, then of packets in both ways, one row a round."""
    me, net, words = proc.rank, proc.net, np.zeros(8, np.int64)
    nets = net._network._nets  # type: ignore[attr-defined]
    assert (nets[:, FENCE] == 0).all(), "this system has no fence on all CPUs, so there is nothing to compare"
    found, turn = [], 0
    for _ in range(n + 3):
        proc.barrier()
        row = [line_trips(line.view, me, turn, TRIPS) / TRIPS, additions(words, LOOKS) / LOOKS, fences(FENCES) / FENCES]
        turn += 2 * TRIPS
        for fence in (0, 1):
            nets[:, FENCE] = fence
            proc.barrier()
            row.append(packet_trips(net, me, TRIPS) / TRIPS)
            proc.barrier()
            turn += 1
            ns = one_way(net, line.view, me, turn, PACKETS)
            assert ns >= 0, "the packets were not those that were sent"
            row.append(ns / PACKETS)
            proc.barrier()
            ns, there = polls(net, LOOKS)
            assert there == 0, "a poll found a packet in an empty ring"
            row.append(ns / LOOKS)
        found.append(row)
    return found[3:]


def main() -> None:
    n = rounds("Measure what a packet between compiled loops costs, as ratios of one run.")
    with smp.host(2) as machine:
        run = machine.run(program, machine.zeros(16, np.int64), n)
    times = np.array(run.results[1])
    line, addition, fence = times[:, :3].T
    rows: list[Row] = []
    for way, (trip, packet, poll) in (("", times[:, 3:6].T), (", fence in each post", times[:, 6:9].T)):
        rows += [
            (f"packet there and back{way} / line", trip, line, None if way else 1.3),
            (f"packet of 32 bytes one way{way} / line", packet, line, None if way else 0.05),
            (f"poll of 2 empty rings{way} / atomic addition", poll, addition, None),
        ]
    rows.append(("fence on all CPUs / line", fence, line, None))
    print_rows(rows, 62)
    print(f"{n} rounds of bursts; {placed(run)}")


if __name__ == "__main__":
    main()
