"""Parts that run in parallel in the calling process: their results, errors, and Ctrl-C once all parts have ended."""

import contextlib
import contextvars
import multiprocessing
import os
import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import smp
from smp._computer.limits import allowed_cpus, current_cpu, usable_cpus
from smp.kernels import helpers
from smp.kernels.in_process import opened, side_by_side, streams_for

several_cpus = pytest.mark.skipif(len(usable_cpus()) < 2, reason="a helper has a CPU of its own")


def test_results_come_in_order_and_the_first_part_runs_in_the_calling_thread() -> None:
    assert side_by_side(threading.get_ident) == [threading.get_ident()]
    assert side_by_side(threading.get_ident, lambda: 7, lambda: 8) == [threading.get_ident(), 7, 8]


@pytest.mark.parametrize("guilty", [0, 1])
def test_an_error_is_raised_once_all_parts_have_ended(guilty: int) -> None:
    ended = []

    def fails() -> None:
        raise ValueError("this part")

    def ends_late() -> None:
        time.sleep(0.2)
        ended.append(True)

    parts = (fails, ends_late) if guilty == 0 else (ends_late, fails)
    with pytest.raises(ValueError, match="this part"):
        side_by_side(*parts)
    assert ended == [True]


def test_ctrl_c_is_raised_once_all_parts_have_ended() -> None:
    ended = []

    def presses() -> None:
        time.sleep(0.1)  # so that the caller is waiting by now
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(lambda: None, presses)
    assert ended == [True]


@several_cpus
def test_a_helper_keeps_off_the_cpu_of_its_caller() -> None:
    both = threading.Barrier(2)

    def where() -> set[int]:
        both.wait(10)
        return os.sched_getaffinity(0)

    for _ in range(20):
        before = current_cpu()
        mine, helpers_own = side_by_side(where, where)
        assert mine == set(allowed_cpus())
        assert len(mine - helpers_own) == 1
        if current_cpu() == before:  # otherwise the caller was moved meanwhile
            break
    assert mine - helpers_own == {before}


@several_cpus
def test_the_caller_does_what_a_helper_has_not_begun() -> None:
    """It does not wait for the helper, which has other work."""
    borrowed = helpers.borrow(len(usable_cpus()) - 1, len(usable_cpus()) - 1)
    try:
        assert set(side_by_side(*[threading.get_ident] * 5)) == {threading.get_ident()}
    finally:
        helpers.give_back(borrowed)
    late, began = threading.Event(), threading.Event()

    def waits() -> None:
        began.set()
        late.wait(10)

    one, done, everywhere = borrowed[0], list[int](), frozenset(allowed_cpus())
    one.begin(waits, everywhere)
    assert began.wait(10)
    threading.Timer(0.05, late.set).start()
    one.end(everywhere)
    assert late.is_set()
    for number in range(2000):
        one.begin(lambda number=number: done.append(number), everywhere)
        one.end(everywhere)
    assert done == sorted(set(done))


def test_without_further_threads_the_caller_does_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(helpers, "_free", [])
    monkeypatch.setattr(helpers, "_made", 0)
    monkeypatch.setattr(threading.Thread, "start", fails)
    assert side_by_side(*[threading.get_ident] * 4) == [threading.get_ident()] * 4
    assert helpers._made == 0


def test_calls_of_many_threads_share_the_helpers() -> None:
    def many(caller: int) -> bool:
        return all(side_by_side(*[lambda k=k: (caller, k) for k in range(5)])[4] == (caller, 4) for _ in range(300))

    with ThreadPoolExecutor(4 * len(usable_cpus())) as callers:
        assert all(callers.map(many, range(4 * len(usable_cpus()))))
    assert sum(thread.name.startswith("smp kernel") for thread in threading.enumerate()) <= len(usable_cpus()) - 1


def test_a_thread_that_is_pinned_to_one_cpu_does_all_parts() -> None:
    def pinned() -> list[int]:
        os.sched_setaffinity(0, {allowed_cpus()[0]})  # of this thread
        time.sleep(0.01)
        return [threading.get_ident(), *side_by_side(*[threading.get_ident] * 4)]

    with ThreadPoolExecutor(1) as other:
        assert len(set(other.submit(pinned).result())) == 1


def test_a_child_that_was_forked_has_helpers_of_its_own() -> None:
    side_by_side(*[time.time] * 3)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(side_by_side, [os.getpid, os.getpid]).get(20) != [os.getpid()] * 2


def test_nothing_refers_to_the_parts_afterwards() -> None:
    array = np.zeros(10)
    seen = weakref.ref(array)

    def fails(array: object = array) -> None:
        raise ValueError("this part")

    for parts in ([lambda array=array: array.sum()] * 3, [fails] * 3):
        with contextlib.suppress(ValueError):
            side_by_side(*parts)
    side_by_side(*[time.time] * 3)
    del array, fails, parts
    deadline = time.monotonic() + 5
    while seen() is not None and time.monotonic() < deadline:
        time.sleep(0.01)  # a helper may be about to drop the last part
    assert seen() is None


def test_the_machine_determines_the_number_of_streams_and_where_programs_run() -> None:
    def outside() -> None:
        cpus = len(usable_cpus())
        assert streams_for(None) == cpus
        with smp.emulated(1) as one, smp.emulated(1000) as many:
            assert (streams_for(one), streams_for(many), streams_for(None)) == (1, min(1000, cpus), min(1000, cpus))
            with opened(None) as chosen:
                assert chosen is many
            with opened(one) as chosen:
                assert chosen is one

    contextvars.Context().run(outside)
