"""`smp.explore` and `smp.replay` run the right number of schedules, and find the errors of wrong protocols.

The planted bugs are small wrong protocols. Each is written in one function with its right twin: ``right`` selects one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp._runtime.loops.atomics import futex_wait
from smp.compiled import compare_exchange, exchange, fetch_add, load, pause, store
from smp.compiled import wake as futex_wake
from smp.errors import CheckFailed, DeadlockError, LivelockError, ProcessorRaised, ScheduleError

EVER = 1 << 62
MOST = 1_000
"""Number of schedules within which each planted bug must be found."""


def words(count: int = 8) -> Callable[[smp.Machine], Any]:
    return lambda machine: np.zeros(count, np.int64)


# The number of schedules.


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 4), (3, 3), (4, 5)])
def test_the_schedules_of_two_processors_are_a_binomial_coefficient(a: int, b: int) -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for _ in range((a, b)[proc.rank]):
            fetch_add(w, 0, 1)

    found = smp.explore(program, 2, None, setup=words(1), check=lambda run, w: w[0] == a + b)
    assert found.failure is None
    assert found.complete
    assert found.schedules == math.comb(a + b, a)


@pytest.mark.parametrize("preemptions", [0, 1, 2, 3])
def test_there_are_as_many_schedules_with_n_preemptions_as_words_with_n_breaks(preemptions: int) -> None:
    """The words have three a's and three b's. A break is a change from a letter that still occurs later."""

    def breaks(mask: int) -> int:
        word = [mask >> k & 1 for k in range(6)]
        if sum(word) != 3:
            return 99
        return sum(word[k] != word[k + 1] and word[k] in word[k + 1 :] for k in range(5))

    def program(proc: smp.Processor, w: Any) -> None:
        for _ in range(3):
            fetch_add(w, 0, 1)

    found = smp.explore(program, 2, preemptions, setup=words(1))
    assert found.schedules == sum(breaks(mask) <= preemptions for mask in range(64))
    assert not found.complete
    assert found.bound == preemptions


def test_the_schedules_of_three_processors_are_a_multinomial_coefficient() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for _ in range(2):
            fetch_add(w, 0, 1)

    found = smp.explore(program, 3, None, setup=words(1))
    assert found.schedules == math.factorial(6) // 2**3


def test_no_schedule_is_run_twice_and_all_outcomes_are_seen() -> None:
    orders = []

    def program(proc: smp.Processor, w: Any, order: list[int]) -> None:
        for _ in range(3):
            fetch_add(w, 0, 1)
            order.append(proc.rank)

    def setup(machine: smp.Machine) -> Any:
        return np.zeros(1, np.int64), []

    found = smp.explore(program, 2, None, setup=setup, check=lambda run, w, order: orders.append(tuple(order)))
    assert len(orders) == len(set(orders)) == found.schedules == 20


def test_a_blocked_stream_is_not_a_candidate() -> None:
    """If processor 1 looks first, it sleeps until processor 0 wakes it, and there is no further choice."""

    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 0:
            store(w, 0, 1)
            futex_wake(w, 0, 1)
        else:
            futex_wait(w, 0, 0, EVER)

    found = smp.explore(program, 2, None, setup=words(1))
    assert found.failure is None
    assert found.schedules == 3  # 1 first, which is woken; 0's store first, then 1 before or after the wake-up
    assert found.complete


def test_a_deadline_may_come_at_any_moment() -> None:
    seen = set()

    def program(proc: smp.Processor, w: Any) -> int:
        if proc.rank == 0:
            store(w, 0, 1)
            futex_wake(w, 0, 1)
            return 0
        futex_wait(w, 0, 0, 1_000)
        return int(load(w, 0))

    smp.explore(program, 2, None, setup=words(1), check=lambda run, w: seen.add(run.results[1]))
    assert seen == {0, 1}


def test_two_polling_processors_do_not_keep_the_third_from_running() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 2:
            fetch_add(w, 1, 1)
            store(w, 0, 1)
        else:
            while load(w, 0) == 0:
                pause()

    found = smp.explore(program, 3, 1, setup=words(2))
    assert found.failure is None


def test_endless_steps_raise_an_error_that_names_the_line() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        while load(w, 0) == 0:
            pass

    found = smp.explore(program, 2, setup=words(1), longest=300)
    assert found.failure is not None
    assert isinstance(found.failure.error, LivelockError)
    assert len(found.failure.steps) <= 300
    assert "test_exploration.py" in str(found.failure.error)
    assert "must call pause()" in str(found.failure.error)


def test_the_limit_ends_an_exploration_and_its_text_says_so() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for _ in range(8):
            fetch_add(w, 0, 1)

    found = smp.explore(program, 3, 2, setup=words(1), limit=50)
    assert (found.schedules, found.complete, found.failure) == (50, False, None)
    assert "at most 0 preemptions; others have more" in str(found)


def test_the_failure_with_the_fewest_preemptions_is_found_first() -> None:
    """The program fails only if processor 0 is interrupted twice."""

    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 0:
            seen = [load(w, 0) for _ in range(3)]
            assert seen != [0, 1, 2]
        else:
            for _ in range(2):
                fetch_add(w, 0, 1)

    found = smp.explore(program, 2, 3, setup=words(1))
    assert found.failure is not None
    assert (
        found.failure.preemptions == 3
    )  # 0, 1, 0, 1, 0: the last switch to 0 is free, and so is the first choice of 0
    assert smp.explore(program, 2, 2, setup=words(1)).failure is None
    assert found.bound == smp.explore(program, 2, None, setup=words(1)).bound == 2, "all schedules with 2 were run"


# The text of a failure, and its replay.


def lose(proc: smp.Processor, w: Any) -> None:
    store(w, 0, load(w, 0) + 1)


def counted(run: smp.Run, w: Any) -> bool:
    return bool(w[0] == 2)


def test_a_failure_is_replayed_to_the_same_error() -> None:
    found = smp.explore(lose, 2, setup=words(1), check=counted)
    assert found.failure is not None
    for what in (found, found.failure, found.failure.schedule):
        lines: list[str] = []
        with pytest.raises(CheckFailed, match="the check returned False"):
            smp.replay(what, lose, 2, setup=words(1), check=counted, trace=lines.append)
        assert [line.split()[1:-1] for line in lines] == [
            [str(rank), *words.split()] for rank, _, words, _ in found.failure.operations
        ]


def test_the_text_of_an_exploration_has_two_lines_and_the_operations() -> None:
    failed = str(smp.explore(lose, 2, setup=words(1), check=counted))
    assert failed.startswith("failed: CheckFailed with 1 preemption, found after 3 schedules in ")
    assert len(failed.splitlines()) == 2 + 4
    fine = str(smp.explore(lose, 2, 0, setup=words(1), check=counted))
    assert fine.startswith("no failure: 2 schedules in ")
    assert fine.endswith("\nthese are all schedules with at most 0 preemptions; others have more")
    assert str(smp.explore(lose, 1, setup=words(1))).endswith("\nthese are all schedules of the program")


def test_a_schedule_of_another_program_is_refused() -> None:
    with pytest.raises(ScheduleError, match="choice 1 of the schedule is 5, but there are 2 candidates"):
        smp.replay([0, 5], lose, 2, setup=words(1))
    with pytest.raises(ValueError, match="there is no failure to replay"):
        smp.replay(smp.explore(lose, 1, setup=words(1)), lose, 1)


def test_an_exception_of_a_processor_is_reported_as_by_a_run() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        if fetch_add(w, 0, 1) == 1:
            raise KeyError("second")

    found = smp.explore(program, 2, setup=words(1))
    assert found.failure is not None
    error = found.failure.error
    assert isinstance(error, ProcessorRaised)
    assert error.rank == 1
    assert isinstance(error.__cause__, KeyError)
    assert str(error).startswith("processor 1 of 2 raised KeyError: 'second' at ")
    assert 'raise KeyError("second")' in error.remote_traceback


def test_arrays_of_the_machine_begin_each_schedule_as_they_were_made() -> None:
    def program(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> int:
        fetch_add(b.view, 0, 1)
        return int(fetch_add(a.view, 0, 1))

    def setup(machine: smp.Machine) -> Any:
        return machine.zeros(1, np.int64), machine.array([5])

    def check(run: smp.Run, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
        assert sorted(run.results) == [0, 1]
        assert b[0] == 7

    found = smp.explore(program, 2, None, setup=setup, check=check)
    assert (found.failure, found.schedules) == (None, 6)


def test_the_barrier_holds_under_all_schedules_with_two_preemptions() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for k in range(2):
            fetch_add(w, k, 1)
            proc.barrier()
            assert load(w, k) == 2

    found = smp.explore(program, 2, 2, setup=words(2))
    assert found.failure is None
    assert found.schedules > 100


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="a program must be a function"):
        smp.explore(3, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="processors must be from 1"):
        smp.explore(lose, 0)
    with pytest.raises(ValueError, match="the bound must be a number of preemptions"):
        smp.explore(lose, 2, -1)


# Planted bugs.


@dataclass
class Planted:
    """A protocol in a right and a wrong version; ``error`` is the class of error that the wrong one causes."""

    program: Callable[..., Any]
    error: type[Exception]
    processors: int
    check: Callable[..., Any] | None


PLANTED: dict[str, Planted] = {}


def planted(
    error: type[Exception], processors: int = 2, check: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(program: Callable[..., Any]) -> Callable[..., Any]:
        PLANTED[program.__name__] = Planted(program, error, processors, check)
        return program

    return enter


def alone(w: Any, i: int) -> None:
    """Enter and leave a section in which only one processor may be at a time."""
    assert fetch_add(w, i, 1) == 0, "two are inside"
    fetch_add(w, i, -1)


def until(w: Any, i: int, value: int) -> None:
    while load(w, i) != value:
        pause()


def asleep_while(w: Any, i: int, value: int) -> None:
    while load(w, i) == value:
        futex_wait(w, i, value, EVER)


@planted(CheckFailed, check=lambda run, w: w[0] == 2)
def an_update_is_lost(proc: smp.Processor, w: Any, right: bool) -> None:
    if right:
        fetch_add(w, 0, 1)
    else:
        store(w, 0, load(w, 0) + 1)


@planted(CheckFailed, check=lambda run, w: w[0] == 2)
def a_failed_compare_exchange_is_not_tried_again(proc: smp.Processor, w: Any, right: bool) -> None:
    while True:
        old = load(w, 0)
        if compare_exchange(w, 0, old, old + 1) == old or not right:
            return


@planted(DeadlockError)
def the_waker_changes_another_word_than_the_sleeper_compares(proc: smp.Processor, w: Any, right: bool) -> None:
    if proc.rank == 0:
        store(w, 0, 1)
        if right:
            store(w, 1, 1)
        futex_wake(w, 1, 1)
    elif load(w, 0) == 0:
        futex_wait(w, 1, 0, EVER)


@planted(DeadlockError)
def the_waiters_are_counted_before_the_state_is_published(proc: smp.Processor, w: Any, right: bool) -> None:
    flag, waiters = 0, 1
    if proc.rank == 0:
        before = load(w, waiters)
        store(w, flag, 1)
        if (load(w, waiters) if right else before) > 0:
            futex_wake(w, flag, 1)
    else:
        fetch_add(w, waiters, 1)
        asleep_while(w, flag, 0)


@planted(DeadlockError)
def the_wake_up_comes_before_the_store(proc: smp.Processor, w: Any, right: bool) -> None:
    if proc.rank == 1:
        asleep_while(w, 0, 0)
    elif right:
        store(w, 0, 1)
        futex_wake(w, 0, 1)
    else:
        futex_wake(w, 0, 1)
        store(w, 0, 1)


@planted(DeadlockError)
def the_sleeper_compares_with_what_it_reads_a_second_time(proc: smp.Processor, w: Any, right: bool) -> None:
    if proc.rank == 0:
        store(w, 0, 1)
        futex_wake(w, 0, 1)
    else:
        while load(w, 0) == 0:
            futex_wait(w, 0, 0 if right else load(w, 0), EVER)


@planted(ProcessorRaised, processors=3)
def a_waiter_does_not_look_again_when_it_is_woken(proc: smp.Processor, w: Any, right: bool) -> None:
    if proc.rank == 0:
        store(w, 0, 1)
        futex_wake(w, 0, 2)
    elif proc.rank == 1:
        futex_wake(w, 0, 2)  # meant for another sleeper
    else:
        while load(w, 0) == 0:
            futex_wait(w, 0, 0, EVER)
            if not right:
                break
        assert load(w, 0) == 1


@planted(DeadlockError, processors=3)
def one_is_woken_where_two_may_go_on(proc: smp.Processor, w: Any, right: bool) -> None:
    if proc.rank == 0:
        fetch_add(w, 0, 2)
        futex_wake(w, 0, 2 if right else 1)
        return
    while True:
        left = load(w, 0)
        if left == 0:
            futex_wait(w, 0, 0, EVER)
        elif compare_exchange(w, 0, left, left - 1) == left:
            return


@planted(ProcessorRaised)
def a_write_of_two_words_is_torn(proc: smp.Processor, w: Any, right: bool) -> None:
    lock, a, b = 0, 1, 2
    while right and exchange(w, lock, 1):
        pause()
    if proc.rank == 0:
        store(w, a, 7)
        store(w, b, 7)
    else:
        assert load(w, a) == load(w, b), "torn"
    store(w, lock, 0)


@planted(ProcessorRaised)
def a_sequence_lock_is_read_without_a_second_look(proc: smp.Processor, w: Any, right: bool) -> None:
    version, a, b = 0, 1, 2
    if proc.rank == 0:
        store(w, version, 1)
        store(w, a, 7)
        store(w, b, 7)
        store(w, version, 2)
        return
    while True:
        before = load(w, version)
        if before % 2 == 0:
            pair = load(w, a), load(w, b)
            if not right or load(w, version) == before:
                break
        pause()
    assert pair[0] == pair[1], "torn"


@planted(ProcessorRaised)
def a_barrier_of_one_word_is_used_twice(proc: smp.Processor, w: Any, right: bool) -> None:
    for turn in (1, 2):
        fetch_add(w, turn, 1)
        fetch_add(w, 0, 1)
        while load(w, 0) < (2 * turn if right else 2):
            pause()
        assert load(w, turn) == 2, "too early"


@planted(LivelockError)
def a_barrier_without_generations_is_reset_before_all_have_left(proc: smp.Processor, w: Any, right: bool) -> None:
    count, generation = 0, 1
    mine = load(w, generation)
    if fetch_add(w, count, 1) == 1:
        store(w, count, 0)
        store(w, generation, mine + 1)
    elif right:
        while load(w, generation) == mine:
            pause()
    else:
        until(w, count, 2)


@planted(ProcessorRaised)
def a_barrier_lets_go_before_its_count_is_reset(proc: smp.Processor, w: Any, right: bool) -> None:
    count, generation = 0, 1
    for turn in (2, 3):
        fetch_add(w, turn, 1)
        mine = load(w, generation)
        if fetch_add(w, count, 1) == 1:
            if right:
                store(w, count, 0)
                store(w, generation, mine + 1)
            else:
                store(w, generation, mine + 1)
                store(w, count, 0)
        else:
            for _ in range(20):
                if load(w, generation) != mine:
                    break
                pause()
            else:
                raise AssertionError("the barrier does not let go")


@planted(CheckFailed, processors=3, check=lambda run, w: run.results.count(True) <= 1)
def a_fill_wakes_two_and_both_take_the_value(proc: smp.Processor, w: Any, right: bool) -> bool:
    full = 0
    if proc.rank == 0:
        store(w, full, 1)
        futex_wake(w, full, 2)
        return False
    if load(w, full) == 0:
        futex_wait(w, full, 0, 1_000)
    if right:
        return bool(compare_exchange(w, full, 1, 0) == 1)
    taken = load(w, full) == 1
    if taken:
        store(w, full, 0)
    return bool(taken)


@planted(ProcessorRaised)
def a_lock_is_tested_and_then_set(proc: smp.Processor, w: Any, right: bool) -> None:
    if right:
        while exchange(w, 0, 1):
            pause()
    else:
        until(w, 0, 0)
        store(w, 0, 1)
    alone(w, 1)
    store(w, 0, 0)


@planted(LivelockError)
def a_ticket_is_read_and_then_counted(proc: smp.Processor, w: Any, right: bool) -> None:
    ticket, serving = 0, 1
    if right:
        mine = fetch_add(w, ticket, 1)
    else:
        mine = load(w, ticket)
        store(w, ticket, mine + 1)
    until(w, serving, mine)
    alone(w, 2)
    fetch_add(w, serving, 1)


@planted(ProcessorRaised)
def peterson_gives_way_before_it_raises_its_flag(proc: smp.Processor, w: Any, right: bool) -> None:
    me, other, turn = proc.rank, 1 - proc.rank, 2
    if right:
        store(w, me, 1)
        store(w, turn, other)
    else:
        store(w, turn, other)
        store(w, me, 1)
    while load(w, other) == 1 and load(w, turn) == other:
        pause()
    alone(w, 3)
    store(w, me, 0)


@planted(ProcessorRaised)
def peterson_without_one_flag(proc: smp.Processor, w: Any, right: bool) -> None:
    me, other, turn = proc.rank, 1 - proc.rank, 2
    if right or me == 0:
        store(w, me, 1)
    store(w, turn, other)
    while load(w, other) == 1 and load(w, turn) == other:
        pause()
    alone(w, 3)
    store(w, me, 0)


@planted(ProcessorRaised)
def dekker_looks_before_it_raises_its_flag(proc: smp.Processor, w: Any, right: bool) -> None:
    me, other = proc.rank, 1 - proc.rank
    if right:
        store(w, me, 1)
        if load(w, other) == 1:  # give up
            store(w, me, 0)
            return
    else:
        if load(w, other) == 1:
            return
        store(w, me, 1)
    alone(w, 2)
    store(w, me, 0)


@planted(DeadlockError)
def two_locks_are_taken_in_two_orders(proc: smp.Processor, w: Any, right: bool) -> None:
    order = (0, 1) if right or proc.rank == 0 else (1, 0)
    for lock in order:
        while exchange(w, lock, 1):
            futex_wait(w, lock, 1, EVER)
    for lock in order:
        store(w, lock, 0)
        futex_wake(w, lock, 1)


@planted(DeadlockError, processors=3)
def a_mutex_forgets_that_others_sleep(proc: smp.Processor, w: Any, right: bool) -> None:
    """Drepper's mutex: 0 free, 1 locked, 2 locked and another may sleep.  A woken processor must lock with 2."""
    if compare_exchange(w, 0, 0, 1) != 0:
        slept = False
        while exchange(w, 0, 2 if right or not slept else 1) != 0:
            futex_wait(w, 0, 2, EVER)
            slept = True
    if exchange(w, 0, 0) == 2:
        futex_wake(w, 0, 1)


@planted(ProcessorRaised, processors=3)
def a_lock_is_freed_by_one_that_has_not_got_it(proc: smp.Processor, w: Any, right: bool) -> None:
    mine = exchange(w, 0, 1) == 0
    if mine:
        alone(w, 1)
    if mine or not right:
        store(w, 0, 0)


@planted(ProcessorRaised)
def a_reader_slips_in_while_the_writer_looks(proc: smp.Processor, w: Any, right: bool) -> None:
    """Word 0 counts readers, and is -1 for a writer. In the wrong version the writer has a word of its own."""
    readers, writer, inside = 0, 1, 2
    if proc.rank == 0:
        if right:
            while compare_exchange(w, readers, 0, -1) != 0:
                pause()
        else:
            until(w, readers, 0)
            store(w, writer, 1)
        alone(w, inside)
        store(w, readers if right else writer, 0)
    else:
        if right:
            while (n := load(w, readers)) < 0 or compare_exchange(w, readers, n, n + 1) != n:
                pause()
        else:
            until(w, writer, 0)
            fetch_add(w, readers, 1)
        alone(w, inside)
        fetch_add(w, readers, -1)


@planted(ProcessorRaised)
def a_buffer_takes_one_more_than_it_has_room_for(proc: smp.Processor, w: Any, right: bool) -> None:
    room, head, tail, slots = 2, 0, 1, 2
    for k in range(3):
        if proc.rank == 0:
            while load(w, tail) - load(w, head) >= (room if right else room + 1):
                pause()
            store(w, slots + k % room, k)
            store(w, tail, k + 1)
        else:
            while load(w, tail) == k:
                pause()
            assert load(w, slots + k % room) == k
            store(w, head, k + 1)


@planted(ProcessorRaised)
def a_slot_is_announced_before_it_is_written(proc: smp.Processor, w: Any, right: bool) -> None:
    tail, slot, ready = 0, 1, 2
    if proc.rank == 0:
        fetch_add(w, tail, 1)
        store(w, slot, 5)
        store(w, ready, 1)
    else:
        until(w, ready if right else tail, 1)
        assert load(w, slot) == 5


@planted(ProcessorRaised)
def something_is_made_once_and_used_before_it_is_made(proc: smp.Processor, w: Any, right: bool) -> None:
    """Double-checked initialisation. The wrong version writes the flag before the value."""
    there, lock, value = 0, 1, 2
    if load(w, there) == 0:
        while exchange(w, lock, 1):
            pause()
        if load(w, there) == 0:
            for word in (value, there) if right else (there, value):
                store(w, word, 1)
        store(w, lock, 0)
    assert load(w, value) == 1


def each_node_is_somewhere(run: smp.Run, w: Any) -> bool:
    nodes, node = run.results[0] + run.results[1], w[0] % 256
    while node and len(nodes) < 9:
        nodes.append(node)
        node = w[node]
    return sorted(nodes) == [1, 2]


@planted(CheckFailed, check=each_node_is_somewhere)
def a_stack_does_not_see_that_its_top_went_and_came_back(proc: smp.Processor, w: Any, right: bool) -> list[int]:
    """The nodes are 1 and 2, and word n holds node n's successor. The right version counts in the head's upper bits."""
    head, made = 0, 5

    def push(node: int) -> None:
        while True:
            old = load(w, head)
            store(w, node, old % 256)
            if compare_exchange(w, head, old, node + (old // 256 + 1) * 256 * right) == old:
                return

    def pop() -> int:
        while True:
            old = load(w, head)
            if old % 256 == 0:
                return 0
            after = load(w, old % 256)
            if compare_exchange(w, head, old, after + (old // 256 + 1) * 256 * right) == old:
                return int(old % 256)

    if proc.rank == 0:
        push(2)
        push(1)
        store(w, made, 1)
        one = pop()
        return [node for node in (one, pop()) if node]
    until(w, made, 1)
    first, second = pop(), pop()
    if first:
        push(first)
    return [second] if second else []


@planted(CheckFailed, check=lambda run, w: w[1] == 1)
def the_last_reference_is_dropped_twice(proc: smp.Processor, w: Any, right: bool) -> None:
    references, freed = 0, 1
    fetch_add(w, references, 1)
    proc.barrier()
    before = fetch_add(w, references, -1)
    if (before == 1) if right else (load(w, references) == 0):
        fetch_add(w, freed, 1)


@planted(DeadlockError)
def an_abort_is_looked_for_before_the_waiter_can_be_seen(proc: smp.Processor, w: Any, right: bool) -> None:
    aborted, status, waiting, nudge = 0, 1, 1, 256
    if proc.rank == 0:
        store(w, aborted, 1)
        if load(w, status) % 256 == waiting:
            fetch_add(w, status, nudge)
            futex_wake(w, status, 1)
        return
    if right:
        store(w, status, waiting)
        ends = load(w, aborted)
    else:
        ends = load(w, aborted)
        store(w, status, waiting)
    if not ends:
        futex_wait(w, status, waiting, EVER)


@planted(CheckFailed, check=lambda run, w: run.results[0] == run.results[1])
def a_waiter_whose_time_is_over_does_not_see_that_it_was_served(proc: smp.Processor, w: Any, right: bool) -> bool:
    status, waiting, served, expired = 0, 0, 1, 2
    if proc.rank == 0:  # serves the waiter; returns True if it did
        if compare_exchange(w, status, waiting, served) != waiting:
            return False
        futex_wake(w, status, 1)
        return True
    futex_wait(w, status, waiting, 1_000)  # waits; returns True if it was served
    if right:
        return compare_exchange(w, status, waiting, expired) == served
    was = load(w, status) == served
    store(w, status, expired)
    return bool(was)


def on(planted: Planted, right: bool) -> Callable[..., Any]:
    return lambda proc, w: planted.program(proc, w, right)


def test_there_are_at_least_twenty_planted_bugs() -> None:
    assert len(PLANTED) >= 20


WAYS = each(2, [(2, False), (2, True), (None, True)])
"""Bounds, each with or without reduction."""


@pytest.mark.parametrize(("bound", "reduction"), WAYS)
@pytest.mark.parametrize("name", each(3, PLANTED))
def test_a_planted_bug_is_found(name: str, bound: int | None, reduction: bool) -> None:
    bug = PLANTED[name]
    found = smp.explore(
        on(bug, False), bug.processors, bound, setup=words(), check=bug.check, limit=MOST, reduction=reduction
    )
    assert found.failure is not None, str(found)
    error = bug.error
    if bound is None and isinstance(found.failure.error, LivelockError):
        error = LivelockError  # without a bound, a processor may also be interrupted for ever
    assert isinstance(found.failure.error, error), str(found.failure)
    with pytest.raises(error):
        smp.replay(found, on(bug, False), bug.processors, setup=words(), check=bug.check)


@pytest.mark.parametrize(("bound", "reduction"), WAYS)
@pytest.mark.parametrize("name", each(2, PLANTED))
def test_the_right_twin_of_a_planted_bug_passes(name: str, bound: int | None, reduction: bool) -> None:
    bug = PLANTED[name]
    found = smp.explore(
        on(bug, True), bug.processors, bound, setup=words(), check=bug.check, limit=MOST, reduction=reduction
    )
    assert found.failure is None, str(found.failure)
    if bound is not None:  # those that wait in loops have very many schedules without a bound
        assert found.bound is None or found.bound >= 1
