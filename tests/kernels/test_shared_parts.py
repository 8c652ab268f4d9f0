"""Streams that share the parts of the keys: each part is taken once, under all schedules, and by real threads."""

import itertools
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.keys_of_types import needs_vectors

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.loops.atomics import futex_wait, load, store
from smp._runtime.protocols.wait import EVER
from smp.errors import CheckFailed, DeadlockError
from smp.kernels.sorting.by_vectors import sharing
from smp.kernels.sorting.by_vectors.sharing import CHANGES, ENDS, FREE, IDLE, LOCK, MOST, SPLITTING, WAITING, words_for


def sorted_places(words: Any) -> list[int]:
    """Take parts, split them down to single places and leave all but the first one; return those first ones."""
    found = list[int]()
    while True:
        low, high = sharing.take(words)
        if low == high:
            return found
        while high - low > 1:
            middle = (low + high + 1) // 2
            sharing.put(words, middle, high)
            high = middle
        sharing.leave_no_more(words)
        found.append(int(low))


def all_wait(proc: smp.Processor, shared: smp.GlobalArray) -> list[int]:
    return sorted_places(shared.view)


def one_splits_first(proc: smp.Processor, shared: smp.GlobalArray) -> list[int]:
    words = shared.view
    if proc.rank == 0:
        sharing.put(words, 0, 1)
        sharing.put(words, 1, 1)  # empty
        sharing.put(words, 1, 2)
        sharing.leave_no_more(words)
    return sorted_places(words)


PROGRAMS: dict[str, tuple[Callable[..., list[int]], list[tuple[int, int]], int]] = {
    "one splits first": (one_splits_first, [], 2),
    "three places": (all_wait, [(0, 3)], 3),
    "two parts": (all_wait, [(0, 1), (1, 3)], 3),
}


def explored(name: str, bound: int) -> Exploration:
    program, parts, places = PROGRAMS[name]
    return smp.explore(
        program,
        2,
        bound,
        setup=lambda machine: machine.array(words_for(parts, 2, splitting=int(not parts))),
        check=lambda run, shared: sorted(run.results[0] + run.results[1]) == list(range(places)),
    )


@pytest.fixture(autouse=True)
def no_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle streams sleep at once; compiled loops spin as always."""
    monkeypatch.setattr(sharing, "SPIN", -1)


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


def put_without_the_lock(words: Any, low: int, high: int) -> None:
    waiting = load(words, WAITING)
    store(words, ENDS + 2 * waiting, low)
    store(words, ENDS + 2 * waiting + 1, high)
    store(words, WAITING, waiting + 1)


def unlock_that_wakes_nobody(words: Any, changed: bool) -> None:
    if changed and load(words, IDLE) > 0:
        store(words, CHANGES, load(words, CHANGES) + 1)
    store(words, LOCK, FREE)


take = sharing.take


def take_that_reads_changes_too_late(words: Any) -> tuple[int, int]:
    sharing.lock(words)
    while load(words, WAITING) == 0 and load(words, SPLITTING) > 0:
        store(words, IDLE, load(words, IDLE) + 1)
        sharing.unlock(words, False)
        seen = load(words, CHANGES)
        while load(words, CHANGES) == seen:
            futex_wait(words, CHANGES, seen, EVER)
        sharing.lock(words)
        store(words, IDLE, load(words, IDLE) - 1)
    sharing.unlock(words, False)
    return take(words)


def leave_no_more_in_silence(words: Any) -> None:
    sharing.lock(words)
    store(words, SPLITTING, load(words, SPLITTING) - 1)
    sharing.unlock(words, False)


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
        while count := sharing.sort_shared(keys, words, 256, 256, 512, left):
            taken[k] += 1
            for low, high in left[:count]:
                keys[low:high].sort()

    for rounds in itertools.count(1):
        keys = rng.integers(0, 5000, 500_000)  # parts of few values are left to NumPy
        expected = np.append(np.sort(keys[:200_000]), np.sort(keys[200_000:]))
        words = words_for([(0, 200_000), (200_000, len(keys))], 8)
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

    Of the compiled function, its Python is called, to see what it sorts.
    """
    keys, left, parts = np.random.default_rng(0).random(2000), np.empty((64, 2), np.int64), list[int]()
    expected = np.sort(keys)

    def sort_part(keys: Any, low: int, high: int, left: Any) -> int:
        parts.append(high - low)
        keys[low:high].sort()
        return 0

    monkeypatch.setattr(sharing, "sort_part", sort_part)
    assert sharing.sort_shared.__wrapped__(keys, words_for([(0, len(keys))], 1), 4000, last, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)
    assert sum(parts) == len(keys)
    assert max(parts[-2:]) <= last
    assert (len(parts) == 1) == (last >= len(keys))


@needs_vectors
def test_streams_sort_what_they_have_if_too_many_parts_wait() -> None:
    keys, left = np.random.default_rng(0).random(50_000), np.empty((64, 2), np.int64)
    expected, words = np.sort(keys), words_for([(0, len(keys))], 1)
    words[MOST], words[ENDS + 6 :] = 2, -1
    assert sharing.sort_shared(keys, words, 256, 256, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)
    assert (words[ENDS + 6 :] == -1).all()


@needs_vectors
@pytest.mark.parametrize("ascending", [False, True])
def test_a_part_whose_pivot_is_bad_is_not_split_again(ascending: bool) -> None:
    """Nearly all keys are equal, so one side is empty, or has few keys."""
    keys, left = np.zeros(50_000), np.empty((64, 2), np.int64)
    keys[:100] = np.random.default_rng(0).random(100) * (1 if ascending else -1)
    expected = np.sort(keys)
    assert sharing.sort_shared(keys, words_for([(0, len(keys))], 1), 256, 256, 0, left) == 0
    np.testing.assert_array_equal(keys, expected)
