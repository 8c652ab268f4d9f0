"""A packet is never handled before it was posted, by the clocks of the two processors."""

from typing import Any

import numpy as np
import pytest
from support.machines import Machines, guarded

import smp
from smp import LEFT
from smp.compiled import await_packet, await_room, clock, try_poll, try_post

ORDINARY, MANY = 100_000, 1_000_000


@smp.stream
def post_times(net: Any, to: int, n: int, ahead: int) -> None:
    """Post the clock n times, with a number of ns added."""
    for k in range(n):
        while not try_post(net, LEFT, to, 0, clock() + ahead, k, 0, 0):
            await_room(net, LEFT, to, LEFT)


@smp.stream
def take_times(net: Any, n: int) -> tuple[int, int]:
    """Take n packets; return how many came before they were posted, and the ns of the shortest way."""
    early, shortest = 0, 1 << 62
    for k in range(n):
        there, _, _, posted, number, _, _ = try_poll(net, LEFT)
        while not there:
            await_packet(net, LEFT)
            there, _, _, posted, number, _, _ = try_poll(net, LEFT)
        took = clock() - posted
        early += took < 0 or number != k
        shortest = min(shortest, took)
    return early, shortest


def in_loops(proc: smp.Processor, n: int, ahead: int) -> Any:
    """Post from processor 0 to 1, then from 1 to 0; return what the taker has found."""
    found = None
    for sender in (0, 1):
        proc.barrier()
        if proc.rank == sender:
            post_times(proc.net, 1 - sender, n // 2, ahead)
        else:
            found = take_times(proc.net, n // 2)
    return found


@pytest.mark.parametrize("n", [ORDINARY, pytest.param(MANY, marks=pytest.mark.slow)])
def test_packets_of_loops_come_after_they_were_posted(pair: smp.Machine, n: int) -> None:
    with guarded(pair):
        run = pair.run(in_loops, n, 0)
    assert [early for early, _ in run.results] == [0, 0]
    assert all(shortest < run.wall * 1e9 for _, shortest in run.results)


def test_packets_of_a_clock_that_is_ahead_are_found(pair: smp.Machine) -> None:
    with guarded(pair):
        found = pair.run(in_loops, 1000, 10**12).results
    assert [early for early, _ in found] == [500, 500]


def test_messages_are_handled_after_they_were_sent(machines: Machines) -> None:
    n, processors = 2_000, 3

    def program(proc: smp.Processor) -> tuple[int, Any]:
        took: list[float] = []

        def came(message: smp.Message, sent: float) -> None:
            took.append(proc.clock() - sent)

        handler = proc.handler(came)
        for k in range(n):
            proc.send((proc.rank + 1 + k % 2) % proc.size, handler, proc.clock())
        proc.quiet()
        return len(took), np.min(took)

    results = machines(processors).run(program).results
    assert sum(count for count, _ in results) == processors * n
    assert all(shortest > 0 for _, shortest in results)


def test_the_clocks_of_loops_and_of_processors_agree(pair: smp.Machine) -> None:
    """A time of `proc.clock` goes to another processor, whose loop reads the clock later."""

    def program(proc: smp.Processor) -> int:
        longest = 0
        for k in range(500):
            if proc.rank == k % 2:
                assert try_post(proc.net, LEFT, 1 - proc.rank, 0, int(proc.clock() * 1e9), 0, 0, 0)
            else:
                early, took = take_times(proc.net, 1)
                assert early == 0
                longest = max(longest, took)
            proc.barrier()
        return longest

    with guarded(pair):
        run = pair.run(program)
    assert max(run.results) < run.wall * 1e9
