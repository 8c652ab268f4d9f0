"""The barrier, entered from compiled code and from Python, with more processors than CPUs and with all on one CPU."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from support.loops import early, ping_pong
from support.machines import Machines
from support.sampled import campaigns

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.loops.atomics import futex_wake
from smp._runtime.protocols import wait
from smp._runtime.protocols.barriers import signature
from smp.compiled import barrier, count, store
from smp.errors import ProcessorRaised, WaitTimeout

CPUS = len(usable_cpus())


def entered(machine: smp.Machine) -> smp.GlobalArray:
    """Return an array with one cache line of shared memory for each processor."""
    return machine.zeros(8 * machine.size, np.int64)


@pytest.mark.parametrize("processors", [1, 2, 3, 4, 8])
def test_no_processor_leaves_before_all_have_entered(machines: Machines, processors: int) -> None:
    """There are 10,000 rounds if every processor has a CPU, and 1,000 otherwise. One in ten is entered from Python."""
    machine = machines(processors)
    turns = 100 if processors <= CPUS else 10
    run = machine.run(early, entered(machine), 90, 10, turns)
    assert run.results == [0] * processors


@pytest.mark.slow
@pytest.mark.parametrize("processors", range(1, 9))
def test_no_processor_leaves_early_in_a_long_run(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    assert machine.run(early, entered(machine), 90, 10, 100).results == [0] * processors
    assert machine.run(early, entered(machine), 90, 10, 10, 300).results == [0] * processors


def test_no_processor_leaves_early_with_random_delays(machines: Machines) -> None:
    machine = machines(2)
    assert machine.run(early, entered(machine), 100, 2, 20, 3000).results == [0, 0]


def test_no_processor_leaves_early_when_pinned_to_one_cpu(machines: Machines) -> None:
    machine = machines(3, pin=(usable_cpus()[0],) * 3)
    assert machine.run(early, entered(machine), 90, 10, 10).results == [0, 0, 0]


def test_no_processor_leaves_early_when_four_times_oversubscribed(machines: Machines) -> None:
    machine = machines(4 * CPUS)
    assert machine.run(early, entered(machine), 90, 10, 5, 300).results == [0] * 4 * CPUS


@pytest.mark.parametrize("late", range(3))
@pytest.mark.parametrize("when", ["start", "finish"])
def test_the_barrier_holds_whichever_processor_is_late(machines: Machines, late: int, when: str) -> None:
    machine = machines(3)

    def program(proc: smp.Processor, words: smp.GlobalArray) -> list[int]:
        if when == "start" and proc.rank == late:
            time.sleep(0.03)
        seen = []
        for k in range(5):
            words.view[8 * proc.rank] = 10 * k + proc.rank
            proc.barrier()
            seen.append(int(words.view[::8].sum()))
            if when == "finish" and proc.rank == late:
                time.sleep(0.01)
            proc.barrier()
        return seen

    assert machine.run(program, entered(machine)).results == [[3 * 10 * k + 3 for k in range(5)]] * 3


def test_no_sleeper_remains_on_record_after_a_run(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        for _ in range(100):
            proc.barrier()

    pair.run(program)
    words = pair._processors.segment.words(0, wait.SHARED_WORDS)
    assert [words[wait.ABORT], words[wait.SLEEPERS]] == [0, 0]


@smp.stream
def counted(sync: NDArray[np.int64], rank: int, found: NDArray[np.int64]) -> None:
    """Vote in every (rank + 1)-th round, with a plain barrier after every third."""
    for k in range(len(found)):
        found[k] = count(sync, k % (rank + 1) == 0)
        if k % 3 == 0:
            barrier(sync)


@pytest.mark.parametrize("processors", [1, 2, 3, 4 * CPUS])
def test_compiled_loops_count_votes(machines: Machines, processors: int) -> None:
    rounds = 1000 if processors <= CPUS else 100

    def program(proc: smp.Processor) -> tuple[list[int], int]:
        found = np.zeros(rounds, np.int64)
        counted(proc.sync, proc.rank, found)
        return found.tolist(), proc.count(proc.rank > 0)

    expected = [sum(k % (rank + 1) == 0 for rank in range(processors)) for k in range(rounds)]
    assert machines(processors).run(program).results == [(expected, processors - 1)] * processors


@pytest.mark.parametrize(
    ("processors", "rounds", "preemptions"), [(2, 3, 2), (3, 2, 1), *campaigns((2, 10, 1), (3, 3, 1))]
)
def test_votes_are_counted_under_every_schedule(processors: int, rounds: int, preemptions: int) -> None:
    def program(proc: smp.Processor) -> list[int]:
        return [proc.count((k + proc.rank) % 2 == 0) for k in range(rounds)]

    expected = [sum((k + rank) % 2 == 0 for rank in range(processors)) for k in range(rounds)]
    found = smp.explore(program, processors, preemptions, check=lambda run: run.results == [expected] * processors)
    assert found.failure is None, str(found)
    assert found.bound == preemptions or found.complete


def test_signatures_are_the_same_in_every_process(pair: smp.Machine) -> None:
    texts = ["barrier", "reduce(add) of int64[3]", "", "Übung"]
    here = [signature(text) for text in texts]
    assert len(set(here)) == 4
    assert all(0 <= sign < 1 << 30 for sign in here)
    assert pair.run(lambda proc: [signature(text) for text in texts]).results == [here, here]


def test_compiled_loops_wait_for_each_other_on_a_word(pair: smp.Machine) -> None:
    words = pair.zeros(8, np.int64)
    assert pair.run(lambda proc: ping_pong(words.view, proc.rank, 2000, proc.sync)).results == [2000, 2000]


def test_compiled_loops_block_when_they_share_a_cpu(machines: Machines) -> None:
    machine = machines(2, pin=(usable_cpus()[0],) * 2)
    words = machine.zeros(8, np.int64)
    assert machine.run(lambda proc: ping_pong(words.view, proc.rank, 2000, proc.sync)).results == [2000, 2000]


@pytest.mark.parametrize("options", [{}, {"pin": (usable_cpus()[0],) * 2}])
def test_a_barrier_that_timed_out_can_be_entered_again(machines: Machines, options: dict[str, object]) -> None:
    machine = machines(2, **options)

    def program(proc: smp.Processor) -> list[str]:
        said = []
        if proc.rank == 1:
            time.sleep(0.1)
        try:
            proc.barrier(timeout=0.02)
            said.append("together")
        except WaitTimeout as error:
            said.append(str(error))
            proc.barrier()  # goes on waiting at the same barrier
        proc.barrier(timeout=10)
        proc.barrier(timeout=float("inf"))
        return said

    first, second = machine.run(program).results
    assert "processor 0 waited 0.02 s at 'barrier' and not all of the 2 processors arrived" in first[0]
    assert second == ["together"]


def test_a_timeout_must_be_followed_by_the_same_barrier(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            try:
                proc.barrier(timeout=0.0)
            except WaitTimeout:
                proc.reduce(1)
        else:
            time.sleep(0.1)
            proc.barrier()

    with pytest.raises(
        ProcessorRaised, match=r"timed out at 'barrier'.* and now comes to 'reduce\(add\) of int64\[\]'"
    ):
        pair.run(program)
    assert pair.run(lambda proc: proc.reduce(1)).results == [2, 2]


def test_an_uncaught_timeout_ends_the_run(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            time.sleep(0.1)
        proc.barrier(timeout=0.01)

    with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised WaitTimeout") as caught:
        pair.run(program)
    assert isinstance(caught.value.__cause__, WaitTimeout)
    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_an_invalid_timeout_is_refused(pair: smp.Machine, timeout: float) -> None:
    with pytest.raises(ProcessorRaised, match="a timeout must be a number of seconds, 0 or more"):
        pair.run(lambda proc: proc.barrier(timeout))


def changed_and_aborted(proc: smp.Processor, words: NDArray[np.int64], look: Callable[..., int]) -> int:
    """Wait for a word, which another processor changes before it ends the run."""
    if proc.rank:
        store(words, wait.BARRIER, 1)
        store(words, wait.ABORT, wait.MISMATCHED)
        futex_wake(words, wait.BARRIER, 1)
        return wait.OK
    sync = np.zeros(wait.PRIVATE_WORDS, np.int64)
    sync[[wait.SHARED, wait.RETRIES, wait.SLICE]] = words.ctypes.data, 2, wait.EVER
    return look(words, sync)


@pytest.mark.parametrize(
    "look",
    [
        lambda words, sync: wait.spun(words, wait.BARRIER, wait.WHOLE, 1, True, sync),
        lambda words, sync: wait.blocked(words, wait.BARRIER, wait.WHOLE, 1, True, sync, 0, False),
    ],
    ids=["spun", "blocked"],
)
def test_a_change_before_an_abort_is_seen_under_every_schedule(look: Callable[..., int]) -> None:
    found = smp.explore(
        partial(changed_and_aborted, look=look),
        2,
        3,
        setup=lambda m: np.zeros(wait.SHARED_WORDS, np.int64),
        check=lambda run, words: run.results[0] in (wait.OK, wait.CHANGING),
    )
    assert found.failure is None, str(found)
    assert found.bound == 3 or found.complete
