"""The split-phase barrier under all schedules, with too few words, four times oversubscribed, and next to loops."""

import os
import signal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.machines import CPUS, Machines, guarded
from support.sampled import campaigns

import smp
from smp._runtime.protocols import barriers
from smp._runtime.shared_memory import slots
from smp.compiled import barrier, load, store
from smp.errors import DeadlockError, PhaseError, ProcessorDied, ProcessorRaised


def begun(m: smp.Machine) -> NDArray[np.int64]:
    return np.zeros(4, np.int64)


def ahead(proc: smp.Processor, words: Any, rounds: int = 4, opened: int = 3) -> None:
    """Begin rounds as early as possible; no round may be over before all have begun it."""
    tickets: list[Any] = []
    for k in range(rounds):
        if len(tickets) == opened:
            tickets.pop(0).wait()
            assert all(load(words, rank) >= k - opened + 1 for rank in range(proc.size))
        store(words, proc.rank, k + 1)
        tickets.append(proc.split.barrier())
        if tickets[0].done():
            assert all(load(words, rank) > k - len(tickets) + 1 for rank in range(proc.size))
    for ticket in tickets:
        ticket.wait()


def in_turn(proc: smp.Processor, words: Any) -> None:
    ahead(proc, words, 8, 1 if proc.rank else 3)


@pytest.mark.parametrize(("processors", "preemptions"), [(2, 2), *campaigns((3, 1))])
def test_no_round_is_over_before_all_have_begun_it(processors: int, preemptions: int) -> None:
    found = smp.explore(ahead, processors, preemptions, setup=begun)
    assert found.failure is None, str(found)


def test_four_words_are_too_few_for_three_open_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with three open rounds and one that waits for each: the second may add to a word too early."""
    assert smp.explore(in_turn, 2, 1, setup=begun).failure is None
    monkeypatch.setattr(barriers, "LAST", 3)
    failure = smp.explore(both_ahead, 2, 1, setup=begun).failure
    assert failure is not None
    assert isinstance(failure.error, DeadlockError)


def both_ahead(proc: smp.Processor, words: Any) -> None:
    ahead(proc, words, 8, 3)


def test_tickets_hold_when_four_times_oversubscribed(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        found, tickets = [], []
        for k in range(300):
            if len(tickets) == 1 + (k + proc.rank) % 3:
                found.append(tickets.pop(0).wait())
            if len(tickets) < 3:
                tickets.append(proc.split.count((k + proc.rank) % 2 == 0))
            else:
                found += [ticket.wait() for ticket in tickets]
                tickets = [proc.split.count((k + proc.rank) % 2 == 0)]
        return found + [ticket.wait() for ticket in tickets]

    size = 4 * CPUS
    with guarded(machines(size, start="fork")) as machine:
        expected = [sum((k + rank) % 2 == 0 for rank in range(size)) for k in range(300)]
        assert machine.run(program).results == [expected] * size


@smp.stream
def barriers_in_a_loop(sync: NDArray[np.int64], n: int) -> None:
    for _ in range(n):
        barrier(sync)


@pytest.mark.parametrize(("n", "kept"), [(7, True), (8, False)])
def test_the_result_of_a_ticket_outlives_a_few_barriers_in_loops(pair: smp.Machine, n: int, kept: bool) -> None:
    def program(proc: smp.Processor) -> Any:
        ticket = proc.split.count(proc.rank == 0)
        barriers_in_a_loop(proc.sync, n)
        if kept:
            return ticket.wait()
        with pytest.raises(PhaseError, match=f"the result of 'count' is lost, because {n} barriers in compiled loops"):
            ticket.wait()
        proc._tickets.open.clear()
        return 1

    assert pair.run(program).results == [1, 1]


def sums_ahead(proc: smp.Processor, rounds: int = 12) -> None:
    """Begin sums as early as possible, and wait for each as late as possible."""
    tickets: list[Any] = []
    for k in range(rounds):
        if len(tickets) == 3:
            first, ticket = tickets.pop(0)
            assert ticket.wait() == 10 * (2 * first + 1)
        tickets.append((k, proc.split.reduce(10 * (k + proc.rank))))
    for first, ticket in tickets:
        assert ticket.wait() == 10 * (2 * first + 1)


def test_slots_are_read_before_they_are_overwritten() -> None:
    found = smp.explore(sums_ahead, 2, 1, limit=3000)
    assert found.failure is None, str(found)


def test_five_sets_of_slots_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "SETS", 5)
    failure = smp.explore(sums_ahead, 2, 1, limit=3000).failure
    assert failure is not None
    assert isinstance(failure.error, ProcessorRaised)


@pytest.mark.parametrize("at", ["begin", "work", "wait", "after"])
@pytest.mark.parametrize("what", ["reduce", "scan", "broadcast"])
def test_a_processor_killed_around_a_split_collective_ends_the_run(machines: Machines, what: str, at: str) -> None:
    def program(proc: smp.Processor) -> None:
        def here(place: str) -> None:
            if proc.rank == 1 and at == place:
                os.kill(os.getpid(), signal.SIGKILL)

        for n in (3, 30_000):
            here("begin")
            ticket = getattr(proc.split, what)(np.zeros(n))
            here("work")
            other = proc.split.count(True)
            ticket.wait()
            here("wait")
            other.wait()
        proc.barrier()
        here("after")
        proc.barrier()

    with guarded(machines(2)) as machine, pytest.raises(ProcessorDied, match="processor 1"):
        machine.run(program)
