"""Quicksort with a shared stack: compared with NumPy's sort; counts of calls; all schedules of a tiny sort; errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from numpy.typing import NDArray
from support.machines import Machines
from support.sampled import each, examples

import smp
from smp.compiled import compare_exchange, exchange, load, pause, store, wait
from smp.errors import CheckFailed, DeadlockError, ProcessorRaised
from smp.kernels.sorting import quick, work_stack
from smp.kernels.sorting.quick import TYPES, Calls, sort_quick
from smp.kernels.sorting.work_stack import AWAITED, BALANCE, END, FREE, GUARDS, HELD, LOCK, Stack, pop, push, stack_on
from smp.kernels.sorting.work_stack import shared_stack as made_stack
from smp.perturb import counted as counted_places

GUARD = pytest.mark.parametrize("guard", GUARDS)
INLINE = pytest.mark.parametrize("inline_swap", [False, True], ids=["swap", "inline"])
SHAPES: dict[str, Callable[[int], NDArray[Any]]] = {
    "random": lambda n: np.random.default_rng(n).permutation(n),
    "ascending": lambda n: np.arange(n),
    "descending": lambda n: np.arange(n)[::-1],
    "equal": lambda n: np.full(n, 7),
    "few": lambda n: np.random.default_rng(n).integers(0, 3, n),
    "organ pipe": lambda n: np.minimum(np.arange(n), np.arange(n)[::-1]),
}


def sorted_by(machine: smp.Machine, keys: NDArray[Any], **options: Any) -> list[Calls]:
    """Sort, compare the keys with NumPy's order, and return the calls of each processor."""
    shared = machine.array(keys)
    run = machine.run(sort_quick, shared, **options)
    expected = np.sort(keys)
    np.testing.assert_array_equal(shared.view, expected)
    if keys.dtype.kind == "f":  # the same bits; NumPy may put -0.0 and 0.0, which are equal, in any order
        bits = f"u{keys.itemsize}"
        assert sorted(shared.view.view(bits).tolist()) == sorted(keys.view(bits).tolist())
    return list(run.results)


def total(calls: list[Calls]) -> Calls:
    return Calls(*np.sum(calls, axis=0).tolist())


def inversions(keys: NDArray[Any]) -> int:
    return int(np.triu(keys[:, None] > keys[None, :], 1).sum())


# ------------------------------------------------------------------------------------------------------ keys


@settings(max_examples=examples(80), deadline=None)
@given(
    keys=st.sampled_from(TYPES).flatmap(lambda dtype: of_numpy.arrays(dtype, st.integers(0, 60))),
    processors=st.integers(1, 4),
    cutoff=st.integers(1, 8),
    guard=st.sampled_from(GUARDS),
    inline_swap=st.booleans(),
    schedule=st.integers(0, 999),
)
def test_any_keys_of_any_type_are_sorted(
    keys: NDArray[Any], processors: int, cutoff: int, guard: str, inline_swap: bool, schedule: int
) -> None:
    """Duplicates, extremes, infinities, NaN: every array that hypothesis generates."""
    with smp.emulated(processors, seed=schedule) as machine:
        sorted_by(machine, keys, cutoff=cutoff, guard=guard, inline_swap=inline_swap)


@INLINE
@GUARD
@pytest.mark.parametrize("processors", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_keys_in_any_order_are_sorted(processors: int, guard: str, shape: str, inline_swap: bool) -> None:
    with smp.emulated(processors, seed=processors) as machine:
        sorted_by(machine, SHAPES[shape](300), guard=guard, inline_swap=inline_swap)


@INLINE
@pytest.mark.parametrize("guard", each(2, GUARDS))
@pytest.mark.parametrize("processors", each(3, [2, 1, 4]))
def test_keys_are_sorted_on_the_host(machines: Machines, processors: int, guard: str, inline_swap: bool) -> None:
    """Many keys, also with more processors than CPUs."""
    machine = machines(processors)
    for shape, made in SHAPES.items():
        sorted_by(machine, made(40_000 if shape == "random" else 5_000), guard=guard, inline_swap=inline_swap)
    for n in (0, 1, 2, 17):
        sorted_by(machine, SHAPES["random"](n), guard=guard, inline_swap=inline_swap)


@INLINE
def test_nan_comes_last_on_the_host_too(machines: Machines, inline_swap: bool) -> None:
    keys = np.random.default_rng(5).normal(size=20_000)
    keys[::3], keys[1::50], keys[2::70] = np.nan, -np.inf, np.inf
    sorted_by(machines(2), keys, inline_swap=inline_swap)
    sorted_by(machines(2), np.full(1_000, np.nan), inline_swap=inline_swap)


@pytest.mark.parametrize("dtype", each(3, TYPES), ids=str)
def test_any_type_is_sorted_on_the_host(machines: Machines, dtype: np.dtype[Any]) -> None:
    """The keys include the extremes of each type; both forms of exchange are used."""
    least, greatest = (np.iinfo if dtype.kind in "iu" else np.finfo)(dtype).min, np.iinfo(np.int32).max
    keys = np.random.default_rng(7).integers(0, greatest, 3_000).astype(dtype)
    keys[::9] = least
    for inline_swap in (False, True):
        sorted_by(machines(2), keys, inline_swap=inline_swap)


def test_many_small_sorts_in_sequence_succeed(machines: Machines) -> None:
    """Many sorts in sequence make processors often begin, wait and end at the same time."""

    def program(proc: smp.Processor, keys: smp.GlobalArray) -> list[bool]:
        right = []
        for seed in range(60):
            with proc.superstep("scatter") as step:
                step.compute()
                mine = proc.block(len(keys))
                step.copy_out(keys, mine, np.random.default_rng(seed).permutation(len(keys))[mine])
            sort_quick(proc, keys, cutoff=2, guard=GUARDS[seed % 2])
            right.append(np.array_equal(keys.view, np.arange(len(keys))))
        return right

    for processors in (2, 4):
        machine = machines(processors)
        for right in machine.run(program, machine.zeros(50, np.int64)).results:
            assert all(right)


# ------------------------------------------------------------------------------------------------------ calls


@settings(max_examples=examples(40), deadline=None)
@given(
    keys=of_numpy.arrays(np.int64, st.integers(0, 80), elements=st.integers(0, 40)),
    cutoff=st.integers(1, 9),
    seed=st.integers(-9, 1 << 40),
    processors=st.integers(1, 5),
    schedule=st.integers(0, 99),
)
def test_the_number_of_calls_depends_on_the_keys_only(
    keys: NDArray[Any], cutoff: int, seed: int, processors: int, schedule: int
) -> None:
    with smp.emulated(1) as machine:
        alone = total(sorted_by(machine, keys, cutoff=cutoff, seed=seed))
    with smp.emulated(processors, seed=schedule) as machine:
        every = total(sorted_by(machine, keys, cutoff=cutoff, seed=seed))
    assert every[2:-1] == alone[2:-1]  # push, swap, bubble_sort, select, partition_list
    assert every.pop == every.push + processors
    assert every.s_lock == every.pop + every.push
    assert every.bubble_sort == every.partition_list + 1
    assert every.select == every.partition_list
    assert every.push <= max(1, len(keys) // (cutoff + 1))
    assert alone.waits == 0


@settings(max_examples=examples(40), deadline=None)
@given(
    keys=of_numpy.arrays(np.float32, st.integers(0, 80)),
    cutoff=st.integers(1, 9),
    processors=st.sampled_from([1, 2, 3, 5]),
)
def test_inline_exchanges_change_no_other_call_and_no_bit(keys: NDArray[Any], cutoff: int, processors: int) -> None:
    """Both forms exchange the same keys, also NaN of any bits, 0.0 and -0.0."""
    with smp.emulated(processors, schedule="clock") as machine:
        found = []
        for inline_swap in (False, True):
            shared = machine.array(keys)
            calls = total(machine.run(sort_quick, shared, cutoff=cutoff, inline_swap=inline_swap).results)
            found.append((shared.view.view(np.uint32).tolist(), calls))
    (bits, plain), (same, inline) = found
    assert bits == same
    assert inline.swap == inline.partition_list
    assert inline._replace(swap=0, waits=0) == plain._replace(swap=0, waits=0)


def passed(machine: smp.Machine, keys: NDArray[Any], **options: Any) -> tuple[dict[str, int], Calls]:
    """Return the number of passes of each place in a sort, and its calls."""
    shared = machine.array(keys)
    with counted_places() as met:
        run = machine.run(sort_quick, shared, **options)
    assert np.array_equal(shared.view, np.sort(keys))
    return {name: place.passes for name, place in met.items()}, total(run.results)


@INLINE
@GUARD
def test_each_place_is_passed_as_often_as_its_routine_is_called(
    machines: Machines, guard: str, inline_swap: bool
) -> None:
    keys = SHAPES["random"](700)
    options = {"guard": guard, "cutoff": 5, "inline_swap": inline_swap, "seed": 4}
    with smp.emulated(3, schedule="clock") as emulated:
        for machine in (emulated, machines(2)):
            places, calls = passed(machine, keys, **options)
            expected = {name: getattr(calls, name) for name in ("s_lock", "push", "pop", "swap", "bubble_sort")}
            assert places == {**expected, "code1": calls.partition_list}


@settings(max_examples=30, deadline=None)
@given(keys=of_numpy.arrays(np.int32, st.integers(0, 16), elements=st.integers(0, 9)))
def test_a_short_list_takes_one_swap_for_each_inversion(keys: NDArray[Any]) -> None:
    with smp.emulated(2) as machine:
        calls = total(sorted_by(machine, keys))
    assert calls[:-1] == (4, 3, 1, inversions(keys), 1, 0, 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_order_of_the_keys_needs_many_more_partitions_than_another(shape: str) -> None:
    """Each partition removes at least one key, so the worst case is 1,999; distinct and equal keys stay below 300."""
    with smp.emulated(1) as machine:
        calls = total(sorted_by(machine, SHAPES[shape](2_000), seed=3))
    assert 2_000 // 17 <= calls.partition_list < 300


@GUARD
def test_another_seed_divides_the_keys_differently(guard: str) -> None:
    with smp.emulated(2) as machine:
        found = {total(sorted_by(machine, SHAPES["random"](500), seed=seed, guard=guard)).swap for seed in range(5)}
    assert len(found) > 1


# -------------------------------------------------------------------------------------------------- schedules


def explored(guard: str, keys: list[int], bound: int, limit: int = 100_000, inline_swap: bool = False) -> Any:
    """Explore the schedules of two processors that sort a few keys."""

    def setup(machine: smp.Machine) -> Any:
        words = machine.zeros(2 + 2 + len(keys), np.int64)
        return machine.array(keys), words, machine.cells(1, full=True), machine.cells(4)

    def program(proc: smp.Processor, shared: Any, words: Any, top: smp.Cells, orders: smp.Cells) -> None:
        quick.main(shared.view, stack_on(words.view, top, orders, guard, proc), 1, 0, inline_swap)
        assert shared.view.tolist() == sorted(keys), "back before all keys are in place"

    return smp.explore(program, 2, bound, setup=setup, limit=limit)


@pytest.mark.parametrize(
    ("guard", "inline_swap"),
    [("lock", False), ("cell", False), ("lock", True)],
)
@pytest.mark.slow
def test_every_schedule_of_a_tiny_sort_ends_with_all_keys_in_place(guard: str, inline_swap: bool) -> None:
    found = explored(guard, [2, 4, 1, 3], 2, inline_swap=inline_swap)
    assert found.failure is None, str(found.failure)
    assert found.bound == 2
    assert found.schedules > 5_000


@pytest.mark.slow
@GUARD
def test_every_schedule_of_a_sort_of_six_keys_succeeds(guard: str) -> None:
    found = explored(guard, [3, 1, 4, 2, 6, 5], 2)
    assert found.failure is None, str(found.failure)
    assert found.bound == 2


def counted(lock: Callable[[Stack], tuple[int, int]], guard: str) -> Any:
    """Explore, with one preemption, three processors that each take the guard once and add one to the balance."""

    def setup(machine: smp.Machine) -> Any:
        return machine.zeros(2 + 3, np.int64), machine.cells(1, full=True), machine.cells(6)

    def program(proc: smp.Processor, words: Any, top: smp.Cells, orders: smp.Cells) -> None:
        stack = stack_on(words.view, top, orders, guard, proc)
        balance, _ = lock(stack)
        work_stack.s_unlock(stack, balance + 1)

    def all_three(run: smp.Run, words: Any, top: smp.Cells, orders: smp.Cells) -> bool:
        return (top.readxx(0) if guard == "cell" else words.view[BALANCE]) == 3

    return smp.explore(program, 3, 1, setup=setup, check=all_three)


@GUARD
def test_the_guard_admits_one_processor_at_a_time_and_none_sleeps_for_ever(guard: str) -> None:
    found = counted(work_stack.s_lock, guard)
    assert found.failure is None, str(found.failure)
    assert found.bound == 1


def lock_that_forgets_who_sleeps(stack: Stack) -> tuple[int, int]:
    while compare_exchange(stack.words, LOCK, FREE, HELD) != FREE:
        if exchange(stack.words, LOCK, AWAITED) == FREE:
            store(stack.words, LOCK, HELD)
            break
        wait(stack.words, LOCK, AWAITED, stack.sync)
    return load(stack.words, BALANCE), 1


def test_a_lock_that_forgets_sleeping_processors_is_found() -> None:
    found = counted(lock_that_forgets_who_sleeps, "lock")
    assert found.failure is not None, str(found)
    assert isinstance(found.failure.error, DeadlockError)


def push_without_the_lock(stack: Stack, first: int, stop: int) -> int:
    balance = load(stack.words, BALANCE)
    if balance < 0:
        free = load(stack.waiting, -balance - 1)
        store(stack.words, BALANCE, balance + 1)
        stack.orders.writeef(2 * free, first)
        stack.orders.writeef(2 * free + 1, stop)
    else:
        store(stack.sublists, 2 * balance, first)
        store(stack.sublists, 2 * balance + 1, stop)
        store(stack.words, BALANCE, balance + 1)
    return 0


def push_that_frees_the_guard_too_early(stack: Stack, first: int, stop: int) -> int:
    balance, waits = work_stack.s_lock(stack)
    work_stack.s_unlock(stack, balance + 1)
    if balance < 0:
        free = load(stack.waiting, -balance - 1)
        stack.orders.writeef(2 * free, first)
        stack.orders.writeef(2 * free + 1, stop)
    else:
        store(stack.sublists, 2 * balance, first)
        store(stack.sublists, 2 * balance + 1, stop)
    return waits


def pop_that_sees_the_end_when_the_stack_is_empty(stack: Stack) -> tuple[int, int, int]:
    balance, waits = work_stack.s_lock(stack)
    work_stack.s_unlock(stack, max(balance - 1, 0))
    if balance == 0:
        return END, END, waits
    return load(stack.sublists, 2 * balance - 2), load(stack.sublists, 2 * balance - 1), waits


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("push", push_without_the_lock),
        ("push", push_that_frees_the_guard_too_early),
        ("pop", pop_that_sees_the_end_when_the_stack_is_empty),
    ],
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, name: str, planted: Callable[..., Any]) -> None:
    monkeypatch.setattr(quick, name, planted)
    found = explored("lock", [3, 1, 4, 2], 2, limit=20_000)
    assert found.failure is not None, str(found)
    assert isinstance(found.failure.error, ProcessorRaised | DeadlockError | CheckFailed)


# --------------------------------------------------------------------------------------------------- failures


def fails_once_the_others_wait(proc: smp.Processor, keys: smp.GlobalArray, guard: str) -> None:
    """The last processor holds a sublist, so the sort cannot end; the others sort, and then wait for a sublist."""
    stack = made_stack(proc, len(keys), guard)
    if proc.rank == proc.size - 1:
        push(stack, 0, 0)
        pop(stack)
        proc.barrier()
        while (stack.top.peek(0)[1] if stack.by_cell else load(stack.words, BALANCE)) != 1 - proc.size:
            pause()
        raise RuntimeError("and never comes back")
    proc.barrier()
    quick.main(keys.view, stack, 1, 0, False)


@GUARD
@pytest.mark.parametrize("processors", [2, 3])
def test_a_processor_that_fails_during_the_sort_ends_all(machines: Machines, processors: int, guard: str) -> None:
    keys = SHAPES["random"](2_000)
    machine = machines(processors)
    with pytest.raises(ProcessorRaised, match="never comes back") as raised:
        machine.run(fails_once_the_others_wait, machine.array(keys), guard)
    assert raised.value.rank == processors - 1
    sorted_by(machine, keys, guard=guard)  # the machine still works
    with smp.emulated(processors, seed=1) as machine, pytest.raises(ProcessorRaised, match="never comes back"):
        machine.run(fails_once_the_others_wait, machine.array(keys[:100]), guard)


def fails_with_the_guard_in_hand(proc: smp.Processor, keys: smp.GlobalArray, guard: str) -> None:
    stack = made_stack(proc, len(keys), guard)
    if proc.rank == 0:
        work_stack.s_lock(stack)
        proc.barrier()
        raise RuntimeError("and never frees it")
    proc.barrier()
    push(stack, 0, 1)


@GUARD
def test_a_processor_that_fails_while_it_holds_the_guard_ends_all(machines: Machines, guard: str) -> None:
    machine = machines(2)
    with pytest.raises(ProcessorRaised, match="never frees it"):
        machine.run(fails_with_the_guard_in_hand, machine.zeros(10, np.int64), guard)


@pytest.mark.parametrize(
    ("keys", "options", "says"),
    [
        (np.zeros(3, np.int16), {}, "cannot sort keys of int16"),
        (np.zeros(3, np.complex128), {}, "cannot sort keys of complex128"),
        (np.zeros((2, 2)), {}, r"not one of shape \(2, 2\)"),
        (np.zeros(3), {"cutoff": 0}, "cutoff must be at least 1, not 0"),
        (np.zeros(3), {"cutoff": 2.5}, "float"),
        (np.zeros(3), {"guard": "none"}, "unknown guard 'none'; choose lock or cell"),
        (np.zeros(3), {"seed": "x"}, "str"),
    ],
)
def test_keys_that_cannot_be_sorted_and_invalid_options_are_refused(
    keys: NDArray[Any], options: dict[str, Any], says: str
) -> None:
    with smp.emulated(2) as machine, pytest.raises(ProcessorRaised, match=says):
        machine.run(sort_quick, machine.array(keys), **options)
