"""Numbers that one thread changes and another awaits: no change is missed, under all schedules and by real threads."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.loops.atomics import exchange, futex_wait, futex_wake, load, store
from smp._runtime.protocols import awaited
from smp._runtime.protocols.awaited import ASLEEP, NUMBER, WORDS, await_change, change, entries
from smp._runtime.protocols.wait import EVER

START, DONE = slice(0, WORDS), slice(WORDS, 2 * WORDS)
LAST = 2


def awaits(words: Any, number: int) -> None:
    seen = load(words, NUMBER)
    while seen != number:
        seen = awaited.await_change(words, seen, 0, EVER)


def served(words: Any) -> int:
    """Serve until the last number is seen; return how many were seen."""
    seen, count = 0, 0
    while seen != LAST:
        seen, count = awaited.await_change(words[START], seen, 0, EVER), count + 1
        awaited.change(words[DONE], seen)
    return count


def each_is_awaited(proc: smp.Processor, shared: smp.GlobalArray) -> int:
    words = shared.view
    if proc.rank == 1:
        return served(words)
    for number in (1, LAST):
        awaited.change(words[START], number)
        awaits(words[DONE], number)
    return LAST


def the_first_is_withdrawn(proc: smp.Processor, shared: smp.GlobalArray) -> int:
    words = shared.view
    if proc.rank == 1:
        return served(words)
    awaited.change(words[START], 1)
    awaited.change(words[START], LAST)
    awaits(words[DONE], LAST)
    return LAST


PROGRAMS: dict[str, tuple[Callable[..., int], tuple[int, ...]]] = {
    "each is awaited": (each_is_awaited, (2,)),
    "the first is withdrawn": (the_first_is_withdrawn, (1, 2)),
}


def explored(name: str) -> Exploration:
    program, counts = PROGRAMS[name]
    return smp.explore(
        program,
        2,
        None,
        setup=lambda machine: machine.zeros(2 * WORDS, np.int64),
        check=lambda run, shared: run.results[0] == LAST and run.results[1] in counts,
        reduction=True,
    )


@pytest.mark.parametrize("name", each(2, reversed(PROGRAMS)))
def test_no_change_is_missed_under_all_schedules(name: str) -> None:
    found = explored(name)
    assert found.failure is None, str(found)
    assert found.complete
    assert found.schedules > 100


def looks_too_early(words: Any, number: int) -> bool:
    asleep = load(words, ASLEEP)
    exchange(words, NUMBER, number)
    if asleep:
        futex_wake(words, NUMBER, 1)
    return bool(asleep)


def says_too_late_that_it_sleeps(words: Any, seen: int, spin: int, limit: int) -> int:
    while load(words, NUMBER) == seen:
        futex_wait(words, NUMBER, seen, EVER)
        exchange(words, ASLEEP, 1)
    store(words, ASLEEP, 0)
    return int(load(words, NUMBER))


@pytest.mark.parametrize("fault", [looks_too_early, says_too_late_that_it_sleeps])
def test_a_wake_up_that_may_be_missed_is_found(monkeypatch: pytest.MonkeyPatch, fault: Callable[..., Any]) -> None:
    replaced = "change" if fault is looks_too_early else "await_change"
    monkeypatch.setattr(awaited, replaced, fault)
    assert explored("each is awaited").failure is not None


@pytest.mark.parametrize("spin", [0, 20_000])
@pytest.mark.parametrize("linger", [0, 1000])
def test_two_threads_answer_each_other(spin: int, linger: int) -> None:
    """Each of 20,000 numbers is seen, whether the threads spin or sleep."""
    words, calls = np.zeros(32, np.int64), entries()
    start, done = words.ctypes.data, words.ctypes.data + 128
    rounds, seen = 20_000, list[int]()

    def serve() -> None:
        last = 0
        while last < rounds:
            last = calls.serve(done, start, last, spin)
            seen.append(last)
        calls.begin(done, last, 0)

    thread = threading.Thread(target=serve)
    thread.start()
    for number in range(1, rounds + 1):
        calls.begin(start, number, linger)
        assert calls.end(done, number, spin, EVER)
    thread.join()
    assert seen == list(range(1, rounds + 1))


def test_a_change_in_python_wakes_a_thread_that_sleeps() -> None:
    words, calls, seen = np.zeros(32, np.int64), entries(), list[int]()
    thread = threading.Thread(target=lambda: seen.append(calls.end(words.ctypes.data, 7, 0, EVER)))
    thread.start()
    deadline = time.monotonic() + 10
    while load(words, ASLEEP) == 0 and time.monotonic() < deadline:
        pass
    assert change(words, 5)  # not the awaited one
    change(words, 7)
    thread.join()
    assert seen == [1]
    assert await_change(words, 5, 0, EVER) == 7


def test_a_wait_ends_at_its_limit() -> None:
    words, calls = np.zeros(32, np.int64), entries()
    began = time.monotonic()
    assert calls.end(words.ctypes.data, 7, 1000, 20_000_000) == 0
    assert time.monotonic() - began > 0.01
    assert await_change(words, 0, 0, 1000) == 0
    assert words[ASLEEP] == 0
