"""Streams that share the keys: each task is done once, under all schedules, and by real threads."""

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.keys_of_types import needs_vectors
from support.sampled import each

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.loops.atomics import futex_wait, load, store
from smp._runtime.protocols.wait import EVER
from smp.errors import CheckFailed, DeadlockError, RaceError
from smp.kernels.sorting.by_vectors import sharing, tasks
from smp.kernels.sorting.by_vectors.sharing import BETWEEN, BLOCK, BLOCKS, ENDS, PART, words_for
from smp.kernels.sorting.by_vectors.tasks import ACTIVE, CHANGES, FREE, IDLE, LOCK, MOST, STEPS, TASKS, WAITING


def sorted_places(words: Any) -> list[int]:
    """Take parts, split them down to single places and leave all but the first one; return those first ones."""
    found = list[int]()
    while True:
        low, high, kind = tasks.take(words)
        if low == high:
            return found
        assert kind == PART
        while high - low > 1:
            middle = (low + high + 1) // 2
            tasks.put(words, middle, high, PART)
            high = middle
        tasks.leave_no_more(words)
        found.append(int(low))


def all_wait(proc: smp.Processor, shared: smp.GlobalArray) -> list[int]:
    return sorted_places(shared.view)


def one_splits_first(proc: smp.Processor, shared: smp.GlobalArray) -> list[int]:
    words = shared.view
    if proc.rank == 0:
        sharing.put_part(words, 0, 1)
        sharing.put_part(words, 1, 1)  # empty
        sharing.put_part(words, 1, 2)
        tasks.leave_no_more(words)
    return sorted_places(words)


PROGRAMS: dict[str, tuple[Callable[..., list[int]], list[tuple[int, int]], int]] = {
    "one splits first": (one_splits_first, [], 2),
    "three places": (all_wait, [(0, 3)], 3),
    "two parts": (all_wait, [(0, 1), (1, 3)], 3),
}


def words_of(parts: list[tuple[int, int]], active: int) -> Any:
    words = words_for(parts, 2)
    words[ACTIVE] = active
    return words


def explored(name: str, bound: int) -> Exploration:
    program, parts, places = PROGRAMS[name]
    return smp.explore(
        program,
        2,
        bound,
        setup=lambda machine: machine.array(words_of(parts, int(not parts))),
        check=lambda run, shared: sorted(run.results[0] + run.results[1]) == list(range(places)),
    )


def halves(proc: smp.Processor, words: Any, source: Any, keys: Any, pivots: Any, copies: bool) -> int:
    """Make the first split with the Python of the compiled functions, and sort the halves."""
    left = np.empty((4, 2), np.int64)
    arrays = (array.view for array in (source, keys, words, pivots))
    return int(sharing.sort_shared.__wrapped__(*arrays, copies, 16, 16, 0, left))


def split_simply(keys: Any, low: int, high: int, pivot: float, *_: object) -> int:
    part = keys[low:high].copy()
    keys[low:high] = np.append(part[part <= pivot], part[part > pivot])
    return low + int((part <= pivot).sum())


def split_into_simply(source: Any, keys: Any, low: int, high: int, pivot: float) -> int:
    keys[low:high] = source[low:high]
    return split_simply(keys, low, high, pivot)


def sort_simply(keys: Any, low: int, high: int, left: Any) -> int:
    keys[low:high].sort()
    return 0


@pytest.fixture
def simple_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that split a handful of keys, so that many schedules are run in little time."""
    monkeypatch.setattr(sharing, "GROUP_BYTES", 8)
    monkeypatch.setattr(sharing, "pivot_of", lambda *_: (0.5, False, False))
    for compiled in ("split_first", "sort_one", "exchange"):
        monkeypatch.setattr(sharing, compiled, getattr(sharing, compiled).__wrapped__)
    for name, function in (
        ("split", split_simply),
        ("split_into", split_into_simply),
        ("sort_part", sort_simply),
    ):
        monkeypatch.setattr(sharing, name, function)


FIRST_SPLITS = {
    "both exchange": (np.arange(16) * 7 % 16 / 16, False),
    "copied": (np.arange(16) * 7 % 16 / 16, True),
    "one has a key to exchange": (
        np.append(np.arange(8), [15, *range(9, 15), 8]) / 16 - (np.arange(16) == 15) / 4,
        False,
    ),
    "nothing to exchange": (np.arange(16) / 16 - 0.05, False),
    "all low": (np.arange(16) / 40, True),
}


def explored_split(name: str, bound: int) -> Exploration:
    keys, copies = FIRST_SPLITS[name]

    def set_up(machine: smp.Machine) -> Any:
        words = machine.array(words_for([(0, 16)], 2, blocks=2))
        place = machine.array(np.full(16, 99.0) if copies else keys)
        return words, machine.array(keys), place, machine.array(np.full(1, np.nan)), copies

    def is_sorted(run: Any, *arguments: Any) -> bool:
        return bool((arguments[2].view == np.sort(keys)).all()) and run.results == [0, 0]

    return smp.explore(halves, 2, bound, setup=set_up, check=is_sorted)


@pytest.fixture(autouse=True)
def no_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle streams sleep at once; compiled loops spin as always."""
    monkeypatch.setattr(tasks, "SPIN", -1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_part_is_taken_once_under_all_schedules_with_a_preemption(name: str) -> None:
    found = explored(name, 1)
    assert found.failure is None, str(found)
    assert found.schedules > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_part_is_taken_once_under_all_schedules_with_two_preemptions(name: str) -> None:
    found = explored(name, 2)
    assert found.failure is None, str(found)
    assert found.bound == 2
    assert found.schedules > 1000


@pytest.mark.usefixtures("simple_loops")
@pytest.mark.parametrize("name", each(2, FIRST_SPLITS))
def test_two_streams_split_together_under_all_schedules_with_a_preemption(name: str) -> None:
    found = explored_split(name, 1)
    assert found.failure is None, str(found)
    assert found.schedules > 50


@pytest.mark.slow
@pytest.mark.usefixtures("simple_loops")
@pytest.mark.parametrize("name", FIRST_SPLITS)
def test_two_streams_split_together_under_all_schedules_with_two_preemptions(name: str) -> None:
    found = explored_split(name, 2)
    assert found.failure is None, str(found)
    assert found.bound == 2
    assert found.schedules > 1000


def end_step_without_the_lock(words: Any) -> bool:
    left = load(words, STEPS) - 1
    store(words, STEPS, left)
    return bool(left == 0)


def begin_split_and_leave_the_block_too_early(keys: Any, words: Any, pivots: Any, pivot: Any, copies: bool) -> int:
    words[BLOCKS], end = 0, 9
    tasks.put(words, end, len(keys), BLOCK)
    pivots[0] = pivot[0]
    words[BETWEEN] = words[ENDS + 1] = end
    tasks.begin_steps(words, 2)
    return end


@pytest.mark.usefixtures("simple_loops")
@pytest.mark.parametrize(
    ("replaced", "fault"),
    [("end_step", end_step_without_the_lock), ("begin_split", begin_split_and_leave_the_block_too_early)],
)
def test_a_fault_in_the_first_split_is_found(
    replaced: str, fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, replaced, fault)
    errors = (
        found.error
        for name in ("one has a key to exchange", "both exchange")
        if (found := explored_split(name, 1).failure)
    )
    assert any(isinstance(error, CheckFailed | DeadlockError | RaceError) for error in errors)


def put_without_the_lock(words: Any, first: int, second: int, kind: int) -> None:
    waiting = load(words, WAITING)
    for k, number in enumerate((first, second, kind)):
        store(words, TASKS + 3 * waiting + k, number)
    store(words, WAITING, waiting + 1)


def unlock_that_wakes_nobody(words: Any, changed: bool) -> None:
    if changed and load(words, IDLE) > 0:
        store(words, CHANGES, load(words, CHANGES) + 1)
    store(words, LOCK, FREE)


take = tasks.take


def take_that_reads_changes_too_late(words: Any) -> tuple[int, int, int]:
    tasks.lock(words)
    while load(words, WAITING) == 0 and load(words, ACTIVE) > 0:
        store(words, IDLE, load(words, IDLE) + 1)
        tasks.unlock(words, False)
        seen = load(words, CHANGES)
        while load(words, CHANGES) == seen:
            futex_wait(words, CHANGES, seen, EVER)
        tasks.lock(words)
        store(words, IDLE, load(words, IDLE) - 1)
    tasks.unlock(words, False)
    return take(words)


def leave_no_more_in_silence(words: Any) -> None:
    tasks.lock(words)
    store(words, ACTIVE, load(words, ACTIVE) - 1)
    tasks.unlock(words, False)


@pytest.mark.parametrize(
    ("replaced", "fault", "error"),
    [
        ("put", put_without_the_lock, CheckFailed),
        ("unlock", unlock_that_wakes_nobody, DeadlockError),
        ("take", take_that_reads_changes_too_late, DeadlockError),
        ("leave_no_more", leave_no_more_in_silence, DeadlockError),
    ],
)
def test_a_fault_in_the_protocol_is_found(
    replaced: str, fault: Callable[..., Any], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, replaced, fault)
    if replaced == "put":
        monkeypatch.setattr(sharing, replaced, fault)
    assert any(isinstance(found.error, error) for name in PROGRAMS if (found := explored(name, 2).failure))


@needs_vectors
@pytest.mark.parametrize("pinned", [False, True])
def test_more_threads_than_cpus_sort_all_keys(pinned: bool) -> None:
    """Eight threads take tiny parts, on any CPU or all on one, until each has had some, which the system decides."""
    rng, cpu, together = np.random.default_rng(0), {min(os.sched_getaffinity(0))}, threading.Barrier(8)
    taken = [0] * 8

    def sort(k: int) -> None:
        if pinned:
            os.sched_setaffinity(0, cpu)  # of this thread
        left = np.empty((64, 2), np.int64)
        together.wait()
        while count := sharing.sort_shared(source, keys, words, pivots, copies, 256, 256, 512, left):
            taken[k] += 1
            for low, high in left[:count]:
                keys[low:high].sort()

    for rounds in itertools.count(1):
        source, pivots = rng.integers(0, 5000, 500_000), np.empty(1, np.int64)  # parts of few values are left to NumPy
        copies = rounds % 3 == 0
        keys = np.full_like(source, -1) if copies else source.copy()
        if rounds % 3 == 1:
            expected = np.append(np.sort(keys[:200_000]), np.sort(keys[200_000:]))
            words = words_for([(0, 200_000), (200_000, len(keys))], 8)
        else:
            expected, words = np.sort(source), words_for([(0, len(keys))], 8, blocks=2)
        threads = [threading.Thread(target=sort, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(keys, expected)
        assert rounds < 500, f"a thread has had no part: {taken}"
        if rounds >= 10 and min(taken) > 0:
            break


@pytest.mark.parametrize("last", [300, 4000])
def test_a_part_is_split_for_a_stream_that_would_find_none(last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All keys would be short enough; but a stream that takes the last part gives some of it away, if that is longer.

    Of the compiled functions, their Python is called, to see what they sort.
    """
    keys, left, parts = np.random.default_rng(0).random(2000), np.empty((64, 2), np.int64), list[int]()
    expected = np.sort(keys)

    def sort_part(keys: Any, low: int, high: int, left: Any) -> int:
        parts.append(high - low)
        keys[low:high].sort()
        return 0

    monkeypatch.setattr(sharing, "sort_part", sort_part)
    monkeypatch.setattr(sharing, "sort_one", sharing.sort_one.__wrapped__)
    words = words_for([(0, len(keys))], 1)
    assert sharing.sort_shared.__wrapped__(keys, keys, words, keys[:1], False, 4000, last, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)
    assert sum(parts) == len(keys)
    assert max(parts[-2:]) <= last
    assert (len(parts) == 1) == (last >= len(keys))


@needs_vectors
def test_streams_sort_what_they_have_if_too_many_parts_wait() -> None:
    keys, left = np.random.default_rng(0).random(50_000), np.empty((64, 2), np.int64)
    expected, words = np.sort(keys), words_for([(0, len(keys))], 1)
    words[MOST], words[TASKS + 9 :] = 2, -1
    assert sharing.sort_shared(keys, keys, words, keys[:1], False, 256, 256, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)
    assert (words[TASKS + 9 :] == -1).all()


@needs_vectors
@pytest.mark.parametrize("ascending", [False, True])
def test_a_part_whose_pivot_is_bad_is_not_split_again(ascending: bool) -> None:
    """Nearly all keys are equal, so one side is empty, or has few keys."""
    keys, left = np.zeros(50_000), np.empty((64, 2), np.int64)
    keys[:100] = np.random.default_rng(0).random(100) * (1 if ascending else -1)
    expected = np.sort(keys)
    words = words_for([(0, len(keys))], 1)
    assert sharing.sort_shared(keys, keys, words, keys[:1], False, 256, 256, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)


@needs_vectors
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("values", [1, 3, 1000, 0])
def test_one_stream_makes_the_first_split_alone_if_no_other_one_comes(values: int, copies: bool) -> None:
    rng, left = np.random.default_rng(0), np.empty((64, 2), np.int64)
    source = rng.integers(0, values, 20_000).astype(float) if values else rng.random(20_000)
    keys = np.full_like(source, np.nan) if copies else source.copy()
    words = words_for([(0, len(keys))], 2, blocks=2)
    assert sharing.sort_shared(source, keys, words, np.empty(1), copies, 2000, 2000, 0, left) == 0
    np.testing.assert_array_equal(keys, np.sort(source))
