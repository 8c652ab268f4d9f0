"""The primitives: each instruction has the effect of its Python body, and has it atomically."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.loops import locked, swapped, tickets
from support.machines import Machines
from support.sampled import examples

import smp
from smp._runtime.loops import atomics
from smp._runtime.loops.atomics import (
    clock,
    compare_exchange,
    exchange,
    fetch_add,
    futex_wait,
    futex_wake,
    load,
    peek,
    prefetch,
    prefetch_write,
    store,
    thread_clock,
    words_at,
)

INTEGERS = (np.int64, np.int32, np.uint64, np.int16, np.uint8)
LOAD, STORE, EXCHANGE, COMPARE_EXCHANGE, FETCH_ADD = range(5)


@smp.stream
def compiled(words, operations, places, expected, values, seen):
    for k in range(len(operations)):
        i, value = places[k], values[k]
        if operations[k] == LOAD:
            seen[k] = load(words, i)
        elif operations[k] == STORE:
            store(words, i, value)
        elif operations[k] == EXCHANGE:
            seen[k] = exchange(words, i, value)
        elif operations[k] == COMPARE_EXCHANGE:
            seen[k] = compare_exchange(words, i, expected[k], value)
        else:
            seen[k] = fetch_add(words, i, value)


def meant(words, operations, places, expected, values, seen):
    """Do the same as ``compiled``, through the Python bodies."""
    for k in range(len(operations)):
        i, value = places[k], values[k]
        if operations[k] == LOAD:
            seen[k] = load.meaning(words, i)
        elif operations[k] == STORE:
            store.meaning(words, i, value)
        elif operations[k] == EXCHANGE:
            seen[k] = exchange.meaning(words, i, value)
        elif operations[k] == COMPARE_EXCHANGE:
            seen[k] = compare_exchange.meaning(words, i, expected[k], value)
        else:
            seen[k] = fetch_add.meaning(words, i, value)


@st.composite
def histories(draw: st.DrawFn, dtype: type) -> tuple[Any, ...]:
    """Draw a short array and a sequence of operations on it, with few values so that comparisons also succeed."""
    span = np.iinfo(dtype)
    numbers = st.sampled_from([span.min, span.max, span.max - 1, 0, 1, 2, 3])
    words = np.array(draw(st.lists(numbers, min_size=1, max_size=4)), dtype)
    count = draw(st.integers(1, 12))
    operations = np.array(draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)))
    places = np.array(draw(st.lists(st.integers(0, len(words) - 1), min_size=count, max_size=count)))
    expected = np.array(draw(st.lists(numbers, min_size=count, max_size=count)), dtype)
    values = np.array(draw(st.lists(numbers, min_size=count, max_size=count)), dtype)
    return words, operations, places, expected, values


@pytest.mark.parametrize("dtype", INTEGERS)
def test_instruction_and_python_body_agree(dtype: type) -> None:
    @settings(max_examples=examples(60), deadline=None)
    @given(histories(dtype))
    def agree(history: tuple[Any, ...]) -> None:
        words, *rest = history
        ours, theirs = words.copy(), words.copy()
        seen, wanted = np.zeros(len(rest[0]), dtype), np.zeros(len(rest[0]), dtype)
        compiled(ours, *rest, seen)
        meant(theirs, *rest, wanted)
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(seen, wanted)

    agree()


def test_primitives_called_from_python_are_the_same_instructions() -> None:
    words = np.array([5, -1])
    assert load(words, 0) == 5
    store(words, 0, 6)
    assert exchange(words, 0, 7) == 6
    assert compare_exchange(words, 0, 8, 9) == 7
    assert compare_exchange(words, 0, 7, 9) == 7
    assert fetch_add(words, 0, -10) == 9
    assert words.tolist() == [-1, -1]
    prefetch(words, 1)
    prefetch_write(words, 1_000_000)  # a hint may name any address
    assert words.tolist() == [-1, -1]


def test_floats_are_loaded_and_stored() -> None:
    words = np.array([0.5, 1.5])
    store(words, 1, 2.25)
    assert load(words, 1) == 2.25


def test_strided_and_offset_words_are_addressed_correctly() -> None:
    words = np.arange(12)
    assert load(words[::3], 2) == 6
    assert fetch_add(words[4:], 1, 100) == 5
    assert words[5] == 105


@pytest.mark.parametrize(
    ("words", "what"),
    [(np.zeros((2, 2), np.int64), "one-dimensional"), (np.zeros(2), "elements of type float64")],
)
def test_elements_that_are_not_words_are_refused_at_compilation(words: Any, what: str) -> None:
    with pytest.raises(Exception, match=what):
        fetch_add(words, 0, 1)


def test_raw_memory_is_read_and_written() -> None:
    words = np.array([11, 22, 33])
    assert peek(words.ctypes.data + 8) == 22
    assert peek.meaning(words.ctypes.data + 8) == 22
    for view in (words_at(words.ctypes.data, 3), words_at.meaning(words.ctypes.data, 3)):
        view[2] += 1
    assert words.tolist() == [11, 22, 35]


def test_clocks_are_those_of_the_operating_system() -> None:
    clock(), thread_clock()  # compiles them
    assert time.monotonic_ns() <= clock() <= time.monotonic_ns()
    assert time.thread_time_ns() <= thread_clock() <= time.thread_time_ns()
    assert clock.meaning() <= clock() <= clock.meaning()


def test_the_clock_of_a_thread_stands_still_while_it_sleeps() -> None:
    before = thread_clock(), clock()
    time.sleep(0.05)
    after = thread_clock(), clock()
    assert after[0] - before[0] < 40_000_000 <= after[1] - before[1]


def test_a_futex_does_not_sleep_on_a_word_that_has_changed() -> None:
    words = np.array([1])
    before = clock()
    futex_wait(words, 0, 2, 10_000_000_000)
    assert clock() - before < 5_000_000_000


def test_a_futex_sleeps_until_its_time_is_over() -> None:
    words = np.array([1])
    futex_wait(words, 0, 1, 1)
    until, returns = clock() + 30_000_000, 0
    while clock() < until:
        futex_wait(words, 0, 1, 30_000_000)
        returns += 1
    assert returns <= 3  # it may return early for no reason; a busy loop would return thousands of times


def test_a_futex_wakes_its_sleepers() -> None:
    words = np.array([1, 0])

    def sleep() -> None:
        while load(words, 0) == 1:
            futex_wait(words, 0, 1, 10_000_000_000)
        fetch_add(words, 1, 1)

    load(words, 0), futex_wait(words, 0, 0, 1), fetch_add(words, 1, 0), futex_wake(words, 0, 1)  # compiles them
    sleepers = [threading.Thread(target=sleep) for _ in range(3)]
    for sleeper in sleepers:
        sleeper.start()
    store(words, 0, 0)
    deadline = time.monotonic() + 5
    while load(words, 1) < 3 and time.monotonic() < deadline:
        futex_wake(words, 0, 100)
    for sleeper in sleepers:
        sleeper.join(5)
    assert load(words, 1) == 3


def test_the_python_bodies_of_waits_do_nothing() -> None:
    words = np.array([1])
    assert futex_wait.meaning(words, 0, 1, 10**12) is None
    assert futex_wake.meaning(words, 0, 1) == 0
    assert atomics.pause.meaning() is None


ROUNDS = 20_000


@pytest.mark.parametrize("processors", [2, 8])
def test_fetch_add_hands_out_each_number_once(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    counter = machine.zeros(1, np.int64)

    def program(proc: smp.Processor, counter: smp.GlobalArray, rounds: int) -> np.ndarray:
        mine = np.zeros(rounds, np.int64)
        proc.barrier()
        tickets(counter.view, mine)
        return mine

    taken = machine.run(program, counter, ROUNDS).results
    assert all(np.all(np.diff(mine) > 0) for mine in taken)
    np.testing.assert_array_equal(np.sort(np.concatenate(taken)), np.arange(processors * ROUNDS))
    assert counter[0] == processors * ROUNDS


@pytest.mark.parametrize("processors", [2, 8])
def test_compare_exchange_makes_a_lock(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    words, rounds = machine.zeros(16, np.int64), 200 if processors > 2 else ROUNDS

    def program(proc: smp.Processor, words: smp.GlobalArray, rounds: int) -> None:
        proc.barrier()
        locked(words.view[:1], words.view[8:9], rounds)

    machine.run(program, words, rounds)
    assert words[8] == processors * rounds


@pytest.mark.parametrize("processors", [2, 8])
def test_exchange_neither_loses_nor_duplicates_values(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    slot = machine.array(np.array([-1]))

    def program(proc: smp.Processor, slot: smp.GlobalArray, rounds: int) -> np.ndarray:
        mine = np.arange(rounds) + proc.rank * rounds
        proc.barrier()
        swapped(slot.view, mine)
        return mine

    ends = machine.run(program, slot, ROUNDS).results
    everything = np.sort(np.concatenate([*ends, slot[:]]))
    np.testing.assert_array_equal(everything, np.arange(-1, processors * ROUNDS))
