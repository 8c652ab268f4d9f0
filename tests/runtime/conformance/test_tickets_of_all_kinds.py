"""Collectives that are begun now and waited for later, on all kinds of machines."""

import functools
import gc
import random
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import Aborted, CollectiveMismatch, PhaseError, ProcessorRaised, WaitTimeout

Machines = Callable[[int], smp.Machine]
NAMES = ("barrier", "any", "all", "count", "reduce", "scan", "along", "broadcast")


def vote(k: int, rank: int) -> bool:
    return (5 * k + 3 * rank) % 7 < 3


def result(name: str, k: int, size: int, rank: int) -> Any:
    votes = [vote(k, other) for other in range(size)]
    first = min(rank, k % 2)  # an odd scan begins anew at processor 1
    vector = np.cumsum([other for other in range(size) for _ in range(k % 3)])
    return {
        "barrier": None,
        "any": any(votes),
        "all": all(votes),
        "count": sum(votes),
        "reduce": sum(k + other for other in range(size)),
        "scan": sum(k + other for other in range(first, rank)),
        "along": vector[rank * (k % 3) : (rank + 1) * (k % 3)].tolist(),
        "broadcast": {"of": k % size, "k": k},
    }[name]


def call(proc: smp.Processor, name: str, k: int, split: bool) -> Any:
    """Call a collective, and return its result or its ticket."""
    calls: Any = proc.split if split else proc
    if name == "barrier":
        return calls.barrier()
    if name == "reduce":
        return calls.reduce(k + proc.rank)
    if name == "scan":
        boundary = smp.ELEMENT if k % 2 and proc.rank == 1 else None
        return calls.scan(k + proc.rank, exclusive=True, segments=boundary)
    if name == "along":
        return calls.scan(np.full(k % 3, proc.rank), along=True)
    if name == "broadcast":
        return calls.broadcast({"of": proc.rank, "k": k}, k % proc.size)
    return getattr(calls, name)(vote(k, proc.rank))


def drawn(proc: smp.Processor, seed: int, rounds: int) -> list[Any]:
    """Call the same collectives on all processors; each draws which of them it splits, and when it waits."""
    same, own = random.Random(seed), random.Random(f"{seed} {proc.rank}")
    found: list[Any] = [None] * rounds
    tickets: list[tuple[int, Any]] = []
    for k in range(rounds):
        name = same.choice(NAMES)
        while tickets and (len(tickets) == 3 or own.random() < 0.3):
            first, ticket = tickets.pop(own.randrange(len(tickets)))
            found[first] = ticket.wait()
        if own.random() < 0.7:
            tickets.append((k, call(proc, name, k, split=True)))
        else:
            found[k] = call(proc, name, k, split=False)
            for first, ticket in tickets:
                found[first] = ticket.wait()
            tickets.clear()
    for first, ticket in tickets:
        found[first] = ticket.wait()
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in found]


@pytest.mark.parametrize(("processors", "rounds"), [(1, 20), (2, 60), (3, 60)])
@pytest.mark.parametrize("seed", range(3))
def test_it_makes_no_difference_which_processor_splits_a_collective(
    machines: Machines, processors: int, rounds: int, seed: int
) -> None:
    same = random.Random(seed)
    names = [same.choice(NAMES) for _ in range(rounds)]
    expected = [[result(name, k, processors, rank) for k, name in enumerate(names)] for rank in range(processors)]
    assert machines(processors).run(drawn, seed, rounds).results == expected


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

    line = program.__code__.co_firstlineno + 1
    for then in ("reduce", "split", "end"):
        with pytest.raises(
            ProcessorRaised, match=rf"the ticket for 'barrier', begun at .*kinds\.py:{line} was dropped"
        ):
            machines(2).run(program, then)


def test_the_line_of_a_ticket_is_that_of_the_call(machines: Machines) -> None:
    """It is found from the instruction, also if the call takes several lines or a library makes it."""

    def program(proc: smp.Processor) -> list[str]:
        tickets = [
            proc.split.barrier(),
            proc.split.scan(
                1,
            ),
            functools.reduce(lambda one, other: proc.split.count(True), [1, 2]),
        ]
        said = [repr(ticket) for ticket in tickets]
        for ticket in tickets:
            ticket.wait()
        return said

    first = program.__code__.co_firstlineno
    for said in machines(2).run(program).results:
        lines = [int(re.search(r"kinds\.py:(\d+)", each)[1]) for each in said]  # type: ignore[index]
        assert lines == [first + 2, first + 3, first + 6]


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


@pytest.mark.parametrize("then", ["computes", "begins a third", "comes to a barrier"])
def test_a_split_collective_that_does_not_match_is_reported_whatever_its_processor_did_last(
    machines: Machines, then: str
) -> None:
    """Processor 1 ends the run while processor 0 is past both calls, and waits for neither."""

    def program(proc: smp.Processor) -> None:
        first = proc.split.any(True)
        second = (proc.split.any if proc.rank else proc.split.all)(True)
        if proc.rank == 0:
            time.sleep(0.2)
            if then == "begins a third":
                proc.split.any(True)
            elif then == "comes to a barrier":
                proc.barrier()
        first.wait()
        second.wait()

    with pytest.raises(CollectiveMismatch, match=r"processor 0: all at .*\n.*processor 1: any at "):
        machines(2).run(program)


def test_an_array_has_no_vote_in_a_split_collective_either(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match=r"proc\.split\.any takes one truth value, not an array of shape \(2,\)"):
        machines(2).run(lambda proc: proc.split.any(np.zeros(2)))


def test_long_arrays_are_split(machines: Machines) -> None:
    """Arrays that are longer than a slot, three open at a time, and one that is changed after the call."""
    n = 50_000

    def program(proc: smp.Processor) -> list[Any]:
        mine, found = np.arange(n) + proc.rank, []
        out = np.zeros(n, np.int64)
        for k in range(4):
            given = mine + k
            tickets = [proc.split.reduce(given, out=out), proc.split.scan(given, lambda a, b: a + 2 * b)]
            tickets.append(proc.split.broadcast(given if proc.rank == k % 2 else None, k % 2))
            given[:] = -1  # the others get what it was; a root keeps its own array
            total, scanned, sent = (ticket.wait() for ticket in tickets)
            found.append((total is out, int(total[-1]), int(scanned[5]), len(sent), int(sent[k])))
        return found

    first, second = machines(2).run(program).results
    for k in range(4):
        total, root = 2 * (n - 1 + k) + 1, k % 2
        assert first[k] == (True, total, 5 + k, n, 2 * k + 1 if root else -1)
        assert second[k] == (True, total, 5 + k + 2 * (6 + k), n, -1 if root else 2 * k)


def test_a_long_reduction_is_split_by_all_or_by_none(messages: smp.Machine) -> None:
    def program(proc: smp.Processor) -> float:
        mine = np.ones(100_000)
        return float((proc.split.reduce(mine).wait() if proc.rank else proc.reduce(mine))[7])

    with smp.host(2) as machine, pytest.raises(CollectiveMismatch, match=r"split reduce\(add\) of float64\[100000\]"):
        machine.run(program)
    assert messages.run(program).results == [2.0, 2.0]  # they exchange whole arrays anyway


def test_the_error_of_an_operator_is_raised_by_the_wait_for_it(machines: Machines) -> None:
    def refuses(a: Any, b: Any) -> Any:
        raise ArithmeticError("never")

    def program(proc: smp.Processor) -> Any:
        first, second = proc.split.reduce(1, refuses), proc.split.reduce(2)
        found = second.wait()
        for _ in range(2):
            with pytest.raises(ArithmeticError, match="never"):
                first.wait()
        return found

    assert machines(2).run(program).results == [4, 4]
