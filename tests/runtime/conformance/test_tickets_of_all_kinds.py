"""Collectives that are begun now and waited for later, on all kinds of machines."""

import gc
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import Aborted, CollectiveMismatch, PhaseError, ProcessorRaised, WaitTimeout

Machines = Callable[[int], smp.Machine]
NAMES = ("barrier", "any", "all", "count")


def vote(k: int, rank: int) -> bool:
    return (5 * k + 3 * rank) % 7 < 3


def result(name: str, k: int, size: int) -> Any:
    votes = [vote(k, rank) for rank in range(size)]
    return {"barrier": None, "any": any(votes), "all": all(votes), "count": sum(votes)}[name]


def drawn(proc: smp.Processor, seed: int, rounds: int) -> list[Any]:
    """Call the same collectives on all processors; each draws which of them it splits, and when it waits."""
    same, own = random.Random(seed), random.Random(f"{seed} {proc.rank}")
    found: list[Any] = [None] * rounds
    tickets: list[tuple[int, Any]] = []
    for k in range(rounds):
        name = same.choice(NAMES)
        given = () if name == "barrier" else (vote(k, proc.rank),)
        while tickets and (len(tickets) == 3 or own.random() < 0.3):
            first, ticket = tickets.pop(own.randrange(len(tickets)))
            found[first] = ticket.wait()
        if own.random() < 0.7:
            tickets.append((k, getattr(proc.split, name)(*given)))
        else:
            found[k] = getattr(proc, name)(*given)
            for first, ticket in tickets:
                found[first] = ticket.wait()
            tickets.clear()
    for first, ticket in tickets:
        found[first] = ticket.wait()
    return found


@pytest.mark.parametrize(("processors", "rounds"), [(1, 20), (2, 60), (3, 60)])
@pytest.mark.parametrize("seed", range(3))
def test_it_makes_no_difference_which_processor_splits_a_collective(
    machines: Machines, processors: int, rounds: int, seed: int
) -> None:
    same = random.Random(seed)
    expected = [result(same.choice(NAMES), k, processors) for k in range(rounds)]
    assert machines(processors).run(drawn, seed, rounds).results == [expected] * processors


def test_a_ticket_keeps_its_result(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        first, second = proc.split.count(proc.rank > 0), proc.split.any(False)
        total = proc.reduce(1)  # a collective that is not split first waits for those that are
        third = proc.split.all(True)
        while not third.done():
            time.sleep(0)
        return first.done(), first.wait(), first.wait(), second.wait(), total, third.done(), third.wait(), third.done()

    machine = machines(3)
    assert machine.run(program).results == [(True, 2, 2, False, 3, True, True, True)] * 3


def test_a_fourth_open_collective_is_refused(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        tickets = [proc.split.count(k == 1) for k in range(3)]
        with pytest.raises(
            PhaseError, match=r"3 collectives are open, .*'count', begun at .*test_tickets_of_all.*:\d+"
        ):
            proc.split.barrier()
        found = [ticket.wait() for ticket in tickets]
        return found, proc.split.count(True).wait()

    assert machines(2).run(program).results == [([0, 2, 0], 2)] * 2


def test_a_dropped_ticket_is_reported_at_the_next_collective(machines: Machines) -> None:
    def program(proc: smp.Processor, then: str) -> None:
        proc.split.barrier()
        gc.collect()
        if then == "reduce":
            proc.reduce(1)
        elif then == "split":
            proc.split.barrier()

    for then in ("reduce", "split", "end"):
        with pytest.raises(ProcessorRaised, match=r"the ticket for 'barrier', begun at .*:\d+ was dropped"):
            machines(2).run(program, then)


def test_no_superstep_begins_while_a_collective_is_open(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        ticket = proc.split.barrier()
        with pytest.raises(PhaseError, match="superstep 'early' cannot begin while a collective is open, 'barrier'"):
            proc.superstep("early")
        ticket.wait()
        with proc.superstep("late"):
            pass

    machines(2).run(program)


def test_a_wait_that_has_timed_out_goes_on(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        if proc.rank == 0:
            ticket = proc.split.count(True)
            with pytest.raises(WaitTimeout, match="at 'count'"):
                ticket.wait(timeout=0.001)
            assert not ticket.done()
            return ticket.wait()
        time.sleep(0.1)
        return proc.count(True)

    machine = machines(2)
    if "emulated" in repr(machine):
        pytest.skip("virtual time does not pass while a program sleeps")
    assert machine.run(program).results == [2, 2]


@pytest.mark.parametrize("how", ["wait", "done"])
def test_a_failure_ends_every_wait_for_a_ticket(machines: Machines, how: str) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            raise KeyError("gone")
        ticket = proc.split.barrier()
        try:
            while how == "done" and not ticket.done():
                time.sleep(0)
            ticket.wait()
        except Aborted:
            return
        pytest.fail("the wait has ended without the other processor")

    with pytest.raises(ProcessorRaised, match="processor 1 of 2 raised KeyError: 'gone'"):
        machines(2).run(program)


def test_split_collectives_that_do_not_match_are_reported(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        first = proc.split.any(True)
        (proc.split.any if proc.rank else proc.split.all)(True).wait()
        first.wait()

    with pytest.raises(CollectiveMismatch, match=r"processor 0: all at .*\n.*processor 1: any at "):
        machines(2).run(program)


def test_an_array_has_no_vote_in_a_split_collective_either(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match=r"proc\.split\.any takes one truth value, not an array of shape \(2,\)"):
        machines(2).run(lambda proc: proc.split.any(np.zeros(2)))
