"""The shared words of treatments: each protocol under all schedules of small programs, and under load on the host.

lock, counts     `act` and `meet`, Python code over primitives, which an emulated machine interprets as it stands
cells            those of `Cell` and `Message`: see `smp.perturb.places.site`

Each protocol has a wrong variant, which the same check detects.
"""

import ctypes
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.machines import HARD, Machines, Script

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.loops import place_actions
from smp._runtime.loops.place_actions import LOCK, MET, MET_WORDS, RECORD_WORDS, WORD, act, machine_code, meet
from smp._runtime.loops.places import PLACES
from smp.compiled import compare_exchange, delay, load, store
from smp.errors import ProcessorDied, ProcessorRaised
from smp.perturb import treated
from smp.perturb.places.site import Site

KEY = 7


def record(kind: int, word: Any) -> Any:
    """Return a record of the table, for a key of 7."""
    made = np.zeros(RECORD_WORDS, np.int64)
    made[place_actions.KEY], made[place_actions.KIND], made[WORD] = KEY, kind, word.ctypes.data
    return made


# The lock.


def lock_under_schedules(
    monkeypatch: pytest.MonkeyPatch, processors: int, bound: int | None, take: Callable[..., Any] = compare_exchange
) -> Exploration:
    """Let each processor pass a place that is treated by the lock; no two may be inside at the same time."""
    inside: list[int] = []

    def taking(word: Any, i: int, expected: int, value: int) -> Any:
        seen = take(word, i, expected, value)
        if seen == expected:
            inside.append(1)  # before any other processor takes a step
            assert len(inside) == 1, "two hold the lock"
        return seen

    def leaving(word: Any, i: int, value: int) -> None:
        store(word, i, value)
        inside.pop()

    def setup(machine: smp.Machine) -> tuple[Any, Any]:
        inside.clear()
        word = np.zeros(1, np.int64)
        return record(LOCK, word), word

    monkeypatch.setattr(place_actions, "compare_exchange", taking)
    monkeypatch.setattr(place_actions, "store", leaving)
    return smp.explore(
        lambda proc, one, word: act(one.ctypes.data, KEY, 0),
        processors,
        bound,
        setup=setup,
        check=lambda run, one, word: word[0] == 0 and not inside,
    )


@pytest.mark.parametrize(("processors", "bound", "least"), [(2, None, 6), (3, 1, 50)])
def test_only_one_processor_holds_the_lock_and_all_leave_it(
    monkeypatch: pytest.MonkeyPatch, processors: int, bound: int | None, least: int
) -> None:
    found = lock_under_schedules(monkeypatch, processors, bound)
    assert found.failure is None, found
    assert found.complete == (bound is None)
    assert found.schedules >= least


def test_a_lock_that_is_taken_in_two_steps_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_two_steps(word: Any, i: int, expected: int, value: int) -> Any:
        seen = load(word, i)
        if seen == expected:
            store(word, i, value)
        return seen

    found = lock_under_schedules(monkeypatch, 2, 2, in_two_steps)
    assert found.failure is not None
    assert "two hold the lock" in str(found.failure.error)


def test_a_thread_that_waits_for_the_lock_needs_no_wake_up() -> None:
    word = np.ones(1, np.int64)  # held
    one = record(LOCK, word)
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(machine_code(act).address)
    waiters = [threading.Thread(target=enter, args=(one.ctypes.data, KEY, 0)) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    time.sleep(0.02)
    assert all(waiter.is_alive() for waiter in waiters)
    word[0] = 0
    for waiter in waiters:
        waiter.join(HARD)
    assert not any(waiter.is_alive() for waiter in waiters)
    assert word[0] == 0


# The counts.


def counts_under_schedules(keys: list[list[int]], bound: int | None) -> Exploration:
    """Let each processor pass places with these keys; the name of each is its key plus 100,000."""
    expected = Counter(key for mine in keys for key in mine)

    def setup(machine: smp.Machine) -> tuple[Any, Any]:
        counts = np.zeros(MET * MET_WORDS, np.int64)
        return record(0, counts), counts

    def program(proc: smp.Processor, one: Any, counts: Any) -> None:
        for key in keys[proc.rank]:
            meet(one.ctypes.data, key, key + 100_000)

    def check(run: smp.Run, one: Any, counts: Any) -> bool:
        rows = [row for row in counts.reshape(-1, MET_WORDS)[:, :3].tolist() if row[0]]
        return sorted(rows) == sorted([key, passes, key + 100_000] for key, passes in expected.items())

    return smp.explore(program, len(keys), bound, setup=setup, check=check)


@pytest.mark.parametrize(
    ("keys", "bound"),
    [
        ([[5], [5]], None),
        ([[5, 5], [5]], None),
        ([[5], [5 + MET]], None),  # their searches begin at the same row
        ([[5, 5 + MET], [5 + MET, 5]], 3),
        ([[MET - 1], [2 * MET - 1], [MET - 1]], 2),  # and wrap around
    ],
)
def test_every_pass_is_counted_once_in_one_row_of_its_key(keys: list[list[int]], bound: int | None) -> None:
    found = counts_under_schedules(keys, bound)
    assert found.failure is None, found
    assert found.schedules > 30


def claimed_in_two_steps(words: Any, i: int, expected: int, value: int) -> Any:
    seen = load(words, i)
    store(words, i, value)
    return seen


def added_in_two_steps(words: Any, i: int, value: int) -> None:
    store(words, i, load(words, i) + value)


@pytest.mark.parametrize(
    ("primitive", "wrong", "keys"),
    [
        ("compare_exchange", claimed_in_two_steps, [[5], [5 + MET]]),
        ("fetch_add", added_in_two_steps, [[5], [5]]),
    ],
)
def test_counts_that_are_made_in_two_steps_are_detected(
    monkeypatch: pytest.MonkeyPatch, primitive: str, wrong: Callable[..., Any], keys: list[list[int]]
) -> None:
    monkeypatch.setattr(place_actions, primitive, wrong)
    assert counts_under_schedules(keys, 2).failure is not None


def test_a_full_table_counts_no_new_places_but_still_counts_the_old_ones() -> None:
    counts = np.zeros((MET, MET_WORDS), np.int64)
    one = record(0, counts)
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(machine_code(meet).address)
    for key in range(1, MET + 10):
        enter(one.ctypes.data, key, 1)
    enter(one.ctypes.data, 5, 1)
    assert counts[:, 1].sum() == MET + 1
    assert counts[counts[:, 0] == 5, 1] == 2


# The cells.


@pytest.mark.parametrize(("processors", "bound", "least"), [(2, 2, 200), (3, 1, 200)])
def test_the_cells_are_full_again_under_every_schedule(processors: int, bound: int, least: int) -> None:
    def program(proc: smp.Processor, cells: smp.Cells) -> None:
        site = Site(cells, proc.rank, proc.size)
        site.take_and_leave()
        site.send()

    def check(run: smp.Run, cells: smp.Cells) -> bool:
        sent = [cells.peek(i) for i in range(processors)]
        return cells.peek(processors) == (True, 0) and sent == [(True, 1)] * processors

    found = smp.explore(program, processors, bound, setup=Site.cells_of, check=check)
    assert found.failure is None, found
    assert found.schedules >= least


@smp.stream
def through(passes: int) -> None:
    for _ in range(passes):
        delay("x")


def test_killing_a_processor_that_has_the_cell_ends_the_run(nothing_left: None) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            call = PLACES.orders()["x"].call
            site = call.__self__  # type: ignore[union-attr]
            site.cells.readfe(site.size)
            os.kill(os.getpid(), signal.SIGKILL)
        through(1_000_000)

    with smp.host(3) as machine, treated({"x": "cell"}):
        began = time.monotonic()
        with pytest.raises(ProcessorDied, match="SIGKILL"):
            machine.run(program)
        assert time.monotonic() - began < HARD


@pytest.mark.parametrize("treatment", ["lock", "cell", "message", "1us"])
def test_an_error_ends_the_processors_that_pass_places(machines: Machines, treatment: str) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            through(100)
            raise ValueError("now")
        while True:
            through(100)
            proc.barrier()

    began = time.monotonic()
    with treated({"x": treatment}), pytest.raises(ProcessorRaised, match="now"):
        machines(3).run(program)
    assert time.monotonic() - began < HARD


# All protocols at the same time, on the host.

HAMMER = """
    import os, sys, threading
    import numpy as np
    import smp
    from smp._runtime.loops.places import PLACES
    from smp.compiled import delay, load, store
    from smp.perturb import carried, counted, treated

    from smp._runtime.loops.place_actions import MET, MET_WORDS

    available = sorted(os.sched_getaffinity(0))
    if sys.argv[1] == "pinned":
        os.sched_setaffinity(0, available[:1])
    count = 4 * len(available)

    @smp.local
    def loop(passes):
        for _ in range(passes):
            delay("x")
            delay("y")

    @smp.local
    def until(over):
        passes = 0
        while load(over, 0) == 0:
            delay("x")
            delay("y")
            passes += 1
        return passes

    def together(function, *args):
        threads = [threading.Thread(target=function, args=args) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def joined(threads):
        for thread in threads:
            thread.join()

    over = np.ones(1, np.int64)
    loop(1), until(over)
    with counted() as met:
        joined(together(loop, 20_000))
    assert [met[name].passes for name in "xy"] == [20_000 * count] * 2, met
    with treated({"x": "lock", "y": "lock"}):
        joined(together(loop, 2_000))
    assert PLACES._lock_word[0] == 0

    over[0] = 0
    threads = together(until, over)
    for k in range(40):  # the table changes under loops that run; and a process is forked meanwhile
        with counted() as met:
            others = np.full(MET * MET_WORDS, -1)
            loop(100)
        assert met["x"].passes >= 100 and (others == -1).all()
        with treated({"x": "lock", "y": ("lock", "100ns", "work:10", "buffer:64KiB", "sleep:1us")[k % 5]}):
            if k % 10 == 0 and not os.fork():
                loop(10)
                os._exit(PLACES._lock_word[0])
            if k % 10 == 0:
                assert os.wait()[1] == 0
    over[0] = 1
    joined(threads)
    assert PLACES._lock_word[0] == 0 and not PLACES.table.any()

    PLACES._lock_word[0] = 1  # a thread of this process holds it
    with treated({"x": "lock"}):
        if not os.fork():
            loop(1)
            os._exit(PLACES._lock_word[0])
        assert os.wait()[1] == 0
    assert PLACES._lock_word[0] == 1

    with smp.host(count) as machine:
        with treated({"x": "cell", "y": "message"}):
            program = carried(lambda proc: loop(30), machine)
        machine.run(program)
        assert [program.cells.peek(k) for k in range(count + 1)] == [(True, 1)] * count + [(True, 0)]
    print("well")
"""


@pytest.mark.parametrize("where", ["free", pytest.param("pinned", marks=pytest.mark.slow)])
def test_the_words_withstand_four_threads_for_each_cpu(script: Script, where: str) -> None:
    out, err = script(HAMMER, where).communicate(timeout=100)
    assert out == "well\n", err
