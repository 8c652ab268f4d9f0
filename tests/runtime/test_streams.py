"""Streams and threads: the number that run at once, their waits for each other, results, and errors."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.cells_scenarios import (
    Way,
    await_traps,
    many_producers_for_one_thread,
    one_producer_for_many_threads,
    played,
)
from support.linearizability import READFE, WRITEEF
from support.machines import CPUS, Machines, guarded

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.loops.atomics import words_at
from smp._runtime.protocols.stream_slots import FREE, TEAM_WORDS
from smp._runtime.protocols.waiters import TEAM, record_at
from smp.compiled import exchange, fetch_add, load, pause, readfe, store, writeef
from smp.errors import NotPicklable, ProcessorRaised, WaitTimeout


@pytest.fixture
def one(machines: Machines) -> Iterator[smp.Machine]:
    """A machine of one processor that may use all CPUs; closed if a test takes too long."""
    with guarded(machines(1, pin=False), 20) as machine:
        yield machine


Program = Callable[[smp.Processor], Any]


def alone(machine: smp.Machine, program: Program) -> Any:
    """Return the result of a program on the only processor of a machine."""
    return machine.run(program).results[0]


# Number of threads that run at once.


@smp.stream
def together(words, turns):
    """Record in ``words[1]`` the largest number of threads that were ever in this loop at the same time."""
    for _ in range(turns):
        here = fetch_add(words, 0, 1) + 1
        most = load(words, 1)
        while here > most:
            exchange(words, 1, here)
            here, most = most, load(words, 1)
        for _ in range(300):
            pause()
        fetch_add(words, 0, -1)


@smp.stream
def together_between_waits(words, cells, i, turns):
    """Do the same, but wait for the answer of another thread between the turns."""
    for _ in range(turns):
        together(words, 1)
        writeef(cells, i, 1)
        readfe(cells, i + 1)


@smp.stream
def answer(cells, i, turns):
    for _ in range(turns):
        readfe(cells, i)
        writeef(cells, i + 1, 1)


@pytest.mark.parametrize("streams", [1, 2, 3, 7])
def test_at_most_n_threads_run_at_any_moment(one: smp.Machine, streams: int) -> None:
    """The pool has many more threads than streams."""

    def program(proc: smp.Processor) -> tuple[int, int]:
        words = np.zeros(2, np.int64)
        with proc.streams(streams) as pool:
            for _ in range(60):
                pool.start(together, words, 10)
        return int(words[0]), int(words[1])

    left, most = alone(one, program)
    assert left == 0
    assert 1 <= most <= streams


@pytest.mark.parametrize("streams", [1, 2, 3])
@pytest.mark.parametrize("retries", [0, None])
def test_at_most_n_threads_run_although_they_trap(one: smp.Machine, streams: int, retries: int | None) -> None:
    """Threads give up their stream and take one again hundreds of times. The answering threads are in another pool."""
    cells = one.cells(24, retries=retries)

    def program(proc: smp.Processor) -> tuple[int, int]:
        words = np.zeros(2, np.int64)
        with proc.streams(streams) as pool, proc.streams(2) as other:
            for i in range(0, 24, 2):
                pool.start(together_between_waits, words, cells, i, 20)
                other.start(answer, cells, i, 20)
        return int(words[0]), int(words[1])

    left, most = alone(one, program)
    assert left == 0
    assert 1 <= most <= streams


def test_a_pool_runs_many_more_threads_than_streams(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[list[int], int]:
        with proc.streams(3) as pool:
            threads = [pool.start(lambda k=k: k * k) for k in range(2000)]
            return [thread.result() for thread in threads], len(proc.counters())

    squares, records = alone(one, program)
    assert squares == [k * k for k in range(2000)]
    assert records < 50  # they were not 2,000 threads of the operating system


@smp.stream
def hand_over(words, me, turns, patience):
    """Alternate with another loop by plain atomics, without any wait; return the number of turns that came."""
    for k in range(turns):
        looks = 0
        while load(words, 0) != 2 * k + me:
            pause()
            looks += 1
            if looks > patience:
                return k
        store(words, 0, 2 * k + me + 1)
    return turns


def test_loops_on_streams_of_one_processor_run_at_the_same_time(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[int]:
        words = np.zeros(1, np.int64)
        hand_over(np.ones(1, np.int64), 0, 1, 1)  # loads the loop
        with proc.streams(2) as pool:
            return pool.map(lambda me: hand_over(words, me, 100, 1 << 31), range(2))

    assert alone(one, program) == [100, 100]


# Traps.


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("retries", [0, 1, None])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_trap_gives_the_stream_up(machines: Machines, pinned: bool, retries: int | None, compiled: bool) -> None:
    """A consumer and a producer share one stream."""
    machine = machines(1, pin=(usable_cpus()[0],) if pinned else False)
    cells, way = machine.cells(1, retries=retries), Way(compiled=compiled)

    def program(proc: smp.Processor) -> list[int]:
        with proc.streams(1) as pool:
            consumer = pool.start(played, way, 0, cells, [(READFE, 0, 0)] * 200)
            pool.start(played, way, 1, cells, [(WRITEEF, 0, k) for k in range(200)])
            return consumer.result()

    with guarded(machine, 20):
        assert alone(machine, program) == list(range(200))


def test_a_thread_that_retries_endlessly_does_not_keep_its_stream(machines: Machines) -> None:
    """Retrying gives up the stream now and then, just as polling does."""
    machine = machines(1, pin=(usable_cpus()[-1],))
    cells = machine.cells(1, retries=1 << 40)

    def program(proc: smp.Processor) -> list[int]:
        with proc.streams(1) as pool:
            consumer = pool.start(played, Way(), 0, cells, [(READFE, 0, 0)] * 5)
            pool.start(played, Way(), 1, cells, [(WRITEEF, 0, k) for k in range(5)])
            return consumer.result()

    with guarded(machine, 5):
        assert alone(machine, program) == list(range(5))


def test_waiting_for_a_thread_gives_up_the_stream(one: smp.Machine) -> None:
    """Threads start other threads and wait for them, all on one stream."""

    def program(proc: smp.Processor) -> int:
        def fib(n: int) -> int:
            if n < 2:
                return n
            first, second = pool.start(fib, n - 1), pool.start(fib, n - 2)
            return first.result() + second.result()

        with proc.streams(1) as pool:
            return pool.start(fib, 7).result()

    assert alone(one, program) == 13


def test_a_served_thread_waits_until_a_stream_is_free(one: smp.Machine) -> None:
    """While another thread runs on the only stream, the served thread is ready but not yet running."""
    cells = one.cells(2)

    def program(proc: smp.Processor) -> tuple[list[str], tuple[int, int, int], tuple[int, int, int]]:
        said, go = [], threading.Event()

        def first() -> None:
            cells.readfe(0)
            said.append("first goes on")

        def second() -> None:
            said.append("second has the stream")
            go.wait()  # keeps the stream: this is not a wait on a cell
            said.append("second ends")

        with proc.streams(1) as pool:
            pool.start(first)
            until(lambda: pool.trapped == 1)
            pool.start(second)
            until(lambda: bool(said))
            before = pool.streams, pool.ready, pool.trapped
            cells.writeef(0, 1)
            until(lambda: pool.ready == 1)
            seen = pool.streams, pool.ready, pool.trapped
            go.set()
        return said, before, seen

    said, before, seen = alone(one, program)
    assert said == ["second has the stream", "second ends", "first goes on"]
    assert before == (1, 0, 1)
    assert seen[:2] == (1, 1)


def until(true: Callable[[], bool]) -> None:
    """Wait until another thread has made a condition true."""
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_pool_reports_its_streams_and_its_ready_and_trapped_threads(one: smp.Machine) -> None:
    cells = one.cells(8)

    def program(proc: smp.Processor) -> list[Any]:
        with proc.streams(2) as pool:
            seen = [(pool.streams, pool.ready, pool.trapped), repr(pool)]
            go = threading.Event()
            busy = [pool.start(go.wait) for _ in range(2)]
            until(lambda: pool.ready == 0)
            waiting = [pool.start(cells.readfe, i) for i in range(5)]
            seen.append((pool.streams, pool.ready, pool.trapped))
            go.set()
            until(lambda: pool.trapped == 5 and all(thread.done() for thread in busy))
            seen += [(pool.streams, pool.ready, pool.trapped), [thread.done() for thread in (*busy, *waiting)]]
            for i in range(5):
                cells.writeef(i, i)
            seen.append([thread.result() for thread in waiting])
            until(lambda: pool.trapped == 0)
            seen.append((pool.streams, pool.ready, pool.trapped))
        return seen

    assert alone(one, program) == [
        (2, 0, 0),
        "<pool of 2 streams, 0 threads ready, 0 trapped>",
        (2, 5, 0),
        (2, 0, 5),
        [True] * 2 + [False] * 5,
        list(range(5)),
        (2, 0, 0),
    ]


@pytest.mark.parametrize("scenario", [one_producer_for_many_threads, many_producers_for_one_thread])
@pytest.mark.parametrize("jitter", [0, 500])
def test_start_when_waits_until_all_cells_are_full(
    machines: Machines, scenario: Callable[[smp.Machine, Way], None], jitter: int
) -> None:
    for processors in (1, 2, 3):
        with guarded(machines(processors)) as machine:
            for seed in range(10):
                scenario(machine, Way(jitter=jitter, seed=seed))


def test_start_when_accepts_one_cell_or_none_and_refuses_absent_cells(one: smp.Machine) -> None:
    cells = one.cells(3, full=True)

    def program(proc: smp.Processor) -> list[Any]:
        with proc.streams(1) as pool:
            seen = [pool.start_when(cells, 1, divmod, 7, 2).result(), pool.start_when(cells, [], lambda: 3).result()]
            seen.append(pool.start_when(cells, np.int64(2), cells.readfe, i=2).result())
            try:
                pool.start_when(cells, [0, 3], lambda: 3)
            except IndexError as error:
                seen.append(str(error))
            return seen

    assert alone(one, program) == [(3, 1), 3, 0, "cell 3 is out of bounds: the number of cells is 3"]


# Results and errors.


def test_map_returns_results_in_order_whichever_thread_ends_first(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[list[int], list[int]]:
        ended: list[int] = []

        def work(k: int) -> int:
            time.sleep(0.002 * (7 * k % 5))
            ended.append(k)
            return 10 * k

        with proc.streams(4) as pool:
            return pool.map(work, iter(range(12))), ended

    results, ended = alone(one, program)
    assert results == [10 * k for k in range(12)]
    assert sorted(ended) == list(range(12))


def test_all_arguments_are_passed_to_the_function(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        def work(*args: Any, **kwargs: Any) -> Any:
            return args, kwargs

        with proc.streams(1) as pool:
            same = object()
            thread = pool.start(lambda x: x is same, same)
            return [pool.start(work, 1, *(2, 3), function=4, timeout=5).result(), thread.result(), pool.map(str, [])]

    assert alone(one, program) == [((1, 2, 3), {"function": 4, "timeout": 5}), True, []]


def test_a_result_can_be_asked_for_twice_and_by_several_threads(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[int]:
        cells = proc.cells(1)
        with proc.streams(2) as pool:
            thread = pool.start(cells.readfe, 0)
            others = [pool.start(thread.result) for _ in range(5)]
            cells.writeef(0, 6)
            return [thread.result(), thread.result(timeout=0), *(other.result() for other in others)]

    assert alone(one, program) == [6] * 7


def test_result_times_out_if_the_thread_has_not_ended(one: smp.Machine) -> None:
    cells = one.cells(1)

    def program(proc: smp.Processor) -> tuple[str, bool, str, int, bool, str]:
        with proc.streams(1) as pool:
            thread = pool.start(cells.readfe, 0)
            before = thread.done(), repr(thread)
            try:
                thread.result(timeout=0.01)
            except WaitTimeout as error:
                told = str(error)
            cells.writeef(0, 8)
            return told, *before, thread.result(timeout=20), thread.done(), repr(thread)

    assert alone(one, program) == (
        "the thread has not ended within 0.01 s; give it longer, or see what it waits for",
        False,
        "<thread, running or waiting>",
        8,
        True,
        "<thread, done>",
    )


class Special(Exception):
    pass


@pytest.mark.parametrize("kind", [Special, KeyboardInterrupt, SystemExit, MemoryError])
def test_asking_for_a_result_raises_the_exception_of_the_thread(one: smp.Machine, kind: type[BaseException]) -> None:
    def program(proc: smp.Processor) -> list[str]:
        def fail() -> None:
            raise kind("because")

        seen = []
        with proc.streams(2) as pool:
            thread = pool.start(fail)
            for _ in range(2):
                try:
                    thread.result()
                except kind as error:
                    seen += [str(error), str(thread.error is error), repr(thread)]
            seen.append(str(pool.start(lambda: "goes on").result()))
        return seen

    shown = f"<thread, raised {kind('because')!r}>"
    assert alone(one, program) == ["because", "True", shown] * 2 + ["goes on"]


def line_of(text: str) -> int:
    """Return the number of the line of this file that contains only the text."""
    with open(__file__) as file:
        return next(k for k, line in enumerate(file, start=1) if line.strip() == text)


@pytest.mark.parametrize("pool", ["with", "open", "team"])
@pytest.mark.parametrize("streams", [1, 3])
def test_an_error_that_is_never_asked_for_ends_the_run(machines: Machines, pool: str, streams: int) -> None:
    def program(proc: smp.Processor) -> None:
        def fail() -> None:
            raise Special("unheard")

        if proc.rank == 0:
            proc.barrier()
        elif pool == "with":
            with proc.streams(streams) as made:
                made.start(fail)
                made.start(lambda: None).result()
        else:
            made = proc.team if pool == "team" else proc.streams(streams)
            made.start(fail)

    with guarded(machines(2), 20) as machine:
        with pytest.raises(ProcessorRaised, match="processor 1 of 2 raised Special: unheard at") as caught:
            machine.run(program)
        assert isinstance(caught.value.__cause__, Special)
        line = line_of('raise Special("unheard")')
        assert f"{os.path.basename(__file__)}:{line}" in str(caught.value)
        assert 'raise Special("unheard")' in caught.value.remote_traceback
        assert machine.run(lambda proc: proc.reduce(1)).results == [2, 2]


def test_no_error_is_lost(one: smp.Machine) -> None:
    """The thread may end before or after the program reaches the end of the block."""

    def program(proc: smp.Processor, rest: int) -> None:
        with proc.streams(1) as pool:
            pool.start(lambda: 1 // 0)
            for _ in range(rest):
                pool.trapped  # noqa: B018  (some microseconds)

    for k in range(300):
        with pytest.raises(ProcessorRaised, match="ZeroDivisionError"):
            one.run(program, k % 30)


def test_map_raises_the_error_of_one_thread_after_all_have_run(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[str, list[int]]:
        done = []

        def work(k: int) -> None:
            if k == 2:
                raise Special("third")
            done.append(k)

        with proc.streams(1) as pool:
            try:
                pool.map(work, range(5))
            except Special as error:
                told = str(error)
        return told, done

    assert alone(one, program) == ("third", [0, 1, 3, 4])


def test_the_error_of_the_block_is_the_one_reported(one: smp.Machine) -> None:
    """Errors of its threads do not hide an error inside the with block, and waiting threads are released."""
    cells = one.cells(1)

    def program(proc: smp.Processor) -> None:
        with proc.streams(2) as pool:
            pool.start(cells.readfe, 0)
            pool.start(lambda: 1 // 0)
            raise Special("in the block")

    with pytest.raises(ProcessorRaised, match="raised Special: in the block"):
        one.run(program)
    assert one.run(lambda proc: threading.active_count()).results[0] < 10


# Pools.


def test_close_waits_for_all_threads(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[list[int], str, list[int]]:
        done: list[int] = []

        def work(k: int, deep: int) -> None:
            time.sleep(0.002)
            if deep:
                pool.start(work, k + 10, deep - 1)  # while the pool is being closed
            done.append(k)

        with proc.streams(2) as pool:
            for k in range(4):
                pool.start(work, k, 3)
        inside = sorted(done)
        try:
            pool.start(work, 0, 0)
        except RuntimeError as error:
            told = str(error)
        last = proc.streams(1)
        last.start(work, 99, 0)
        last.close()
        return inside, told, done[-1:]

    inside, told, last = alone(one, program)
    assert inside == [10 * deep + k for deep in range(4) for k in range(4)]
    assert told == "this pool is closed: start threads inside its with block"
    assert last == [99]


def test_a_pool_that_is_not_closed_ends_with_the_program(one: smp.Machine) -> None:
    array = one.zeros(1, np.int64)

    def program(proc: smp.Processor) -> None:
        def work() -> None:
            time.sleep(0.02)
            array.view[0] += 1

        for _ in range(3):
            proc.streams(2).start(work)

    for k in range(1, 4):
        one.run(program)
        assert array[0] == 3 * k
    assert alone(one, lambda proc: threading.active_count()) < 10


def test_proc_team_is_the_processors_pool(machines: Machines) -> None:
    def program(proc: smp.Processor) -> tuple[int, bool, int]:
        words = np.zeros(2, np.int64)
        for _ in range(20):
            proc.team.start(together, words, 5)
        proc.team.map(abs, [1])
        proc.team.close()
        return proc.team.streams, proc.team is proc.team, int(words[1])

    with guarded(machines(2, streams=3)) as machine:
        for streams, wanted in ((None, 3), (1, 1), (5, 5)):
            for made, same, most in machine.run(program, streams=streams).results:
                assert (made, same) == (wanted, True)
                assert most <= wanted
    with guarded(machines(1)) as machine:
        assert machine.run(lambda proc: proc.team.streams).results == [1]


def test_a_pool_grows_with_the_ready_threads(one: smp.Machine) -> None:
    """It grows up to its ceiling. All running threads wait for each other, in plain Python."""

    def program(proc: smp.Processor) -> list[tuple[int, int]]:
        seen = []
        for ceiling, most in ((3, 3), (8, 8), (None, 12)):
            meeting = threading.Barrier(most)
            with proc.streams(1, grow=True, ceiling=ceiling) as pool:
                threads = [pool.start(meeting.wait, 20) for _ in range(most)]
                for thread in threads:
                    thread.result()
                pool.map(lambda _: None, range(30))
                seen.append((most, pool.streams))
        return seen

    for most, streams in alone(one, program):
        assert most <= streams <= {3: 3, 8: 8, 12: 128}[most]


def test_a_pool_that_does_not_grow_keeps_its_streams(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[int, int]:
        with proc.streams(2) as pool:
            pool.map(lambda k: time.sleep(0.001), range(30))
            return pool.streams, proc.streams(3, grow=True, ceiling=3).streams

    assert alone(one, program) == (2, 3)


def test_streams_retire_when_they_have_nothing_to_do(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[int, int, int]:
        meeting = threading.Barrier(6)
        with proc.streams(2, grow=True, ceiling=6, retire=0.02) as pool:
            for thread in [pool.start(meeting.wait, 20) for _ in range(6)]:
                thread.result()
            grown = pool.streams
            until(lambda: pool.streams == 2)
            least = pool.streams
            meeting.reset()
            for thread in [pool.start(meeting.wait, 20) for _ in range(6)]:  # and it grows again
                thread.result()
            return grown, least, pool.streams

    assert alone(one, program) == (6, 2, 6)


def test_every_thread_runs_although_streams_retire(one: smp.Machine) -> None:
    """Streams retire at once or soon, while threads are started at all moments."""

    def program(proc: smp.Processor) -> list[int]:
        results = []
        for retire in (0, 1e-4, 1e-3):
            with proc.streams(1, grow=True, ceiling=4, retire=retire) as pool:
                threads = []
                for k in range(150):
                    threads.append(pool.start(abs, -k))
                    time.sleep(1e-4 * (k % 4))
                results.append(sum(thread.result() for thread in threads))
        return results

    assert alone(one, program) == [sum(range(150))] * 3


def test_invalid_pools_and_threads_are_refused(one: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[str]:
        told = []
        for args in ({"n": 0}, {"n": 2, "ceiling": 3}, {"n": 4, "grow": True, "ceiling": 3}, {"n": 1, "retire": -1}):
            try:
                proc.streams(**args)
            except ValueError as error:
                told.append(str(error))
        try:
            proc.streams(1.5)  # type: ignore[arg-type]
        except TypeError as error:
            told.append(type(error).__name__)
        try:
            proc.streams(1).start(3)  # type: ignore[arg-type]
        except TypeError as error:
            told.append(str(error))
        return told

    told = alone(one, program)
    assert "streams" in told[0]
    assert told[1:] == [
        "ceiling=3 is only for a pool that grows: give grow=True as well",
        "a pool of 4 streams cannot have a ceiling of 3",
        "retire must be a number of seconds, 0 or more, not -1",
        "TypeError",
        "a thread must run a function, not a int",
    ]


def test_pools_and_threads_stay_in_their_process(machines: Machines) -> None:
    def program(proc: smp.Processor, what: str) -> Any:
        pool = proc.streams(1)
        thread = pool.start(abs, -1)
        return pool if what == "pool" else thread

    for what, told in (
        ("pool", "a pool of streams cannot be sent to another process"),
        ("thread", "a thread cannot be sent to another process"),
    ):
        with pytest.raises(ProcessorRaised, match=told) as caught:
            machines(1).run(program, what)
        assert isinstance(caught.value.__cause__, NotPicklable)


def test_a_record_is_reused_by_the_next_thread(one: smp.Machine) -> None:
    """Many pools, one after the other, do not use up the records."""
    cells = one.cells(1)

    def program(proc: smp.Processor) -> int:
        for k in range(40):
            with proc.streams(3) as pool:
                thread = pool.start(cells.readfe, 0)
                cells.writeef(0, k)
                assert thread.result() == k
        return len(proc.counters())

    alone(one, program)
    before = alone(one, program)
    for _ in range(3):
        assert alone(one, program) <= before + 4


def test_each_stream_has_its_own_counters(one: smp.Machine) -> None:
    cells = one.cells(1, retries=5)

    def program(proc: smp.Processor) -> list[list[int]]:
        before = proc.counters()
        base = cells.counters()["traps"].sum()
        with proc.streams(3) as pool:
            threads = []
            for j in range(3):
                await_traps(cells, base + j)
                threads.append(pool.start(cells.readfe, 0))
            await_traps(cells, base + 3)
            after = proc.counters()
            for k in range(3):
                cells.writeef(0, k)
            assert [thread.result() for thread in threads] == [0, 1, 2]
        after["retries"][: len(before)] -= before["retries"]
        after["traps"][: len(before)] -= before["traps"]
        return [[int(row["rank"]), int(row["retries"]), int(row["traps"])] for row in after if row["traps"]]

    assert alone(one, program) == [[0, 5, 1]] * 3


def test_plain_python_threads_all_finish(one: smp.Machine) -> None:
    """All threads do work in plain Python, in parallel or alternately."""

    def program(proc: smp.Processor) -> list[int]:
        with proc.streams(4) as pool:
            return pool.map(lambda n: sum(range(n)), [20_000] * 8)

    assert alone(one, program) == [sum(range(20_000))] * 8
    assert sys.version_info >= (3, 11)


@pytest.mark.parametrize("split", [False, True])
def test_a_stream_that_was_at_a_vote_holds_a_stream_again(machines: Machines, split: bool) -> None:
    """It gives its stream up in the wait.  If it did not take it back, more threads than streams would run later."""

    def program(proc: smp.Processor) -> tuple[int, ...]:
        def vote() -> int:
            return proc.split.count(True).wait() if split else proc.count(True)

        def free() -> int:
            return int(words_at(record_at(proc._port.memory.threads.own().address)[TEAM], TEAM_WORDS)[FREE])

        with proc.streams(2) as pool:
            return pool.start(lambda: (vote(), free(), vote(), free())).result()

    with guarded(machines(2)) as machine:
        assert machine.run(program).results == [(2, 1, 2, 1)] * 2


def test_collectives_belong_to_the_processors_first_thread(machines: Machines) -> None:
    """Streams synchronise through cells. The processor enters a barrier once, however many streams it has."""

    def program(proc: smp.Processor, cells: smp.Cells) -> int:
        with proc.streams(CPUS) as pool:
            threads = [pool.start(cells.fetch_add, 0, 1) for _ in range(50)]
            proc.barrier()
            for thread in threads:
                thread.result()
        proc.barrier()
        return cells.readff(0)

    with guarded(machines(2)) as machine:
        assert machine.run(program, machine.cells(1, full=True)).results == [100, 100]
