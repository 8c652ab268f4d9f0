"""The emulated machine repeats a run exactly from the same seed, and otherwise behaves like the host."""

import gc
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import ROOT, Machines, segments

import smp
from smp._runtime.emulated.costs import Charges
from smp._runtime.emulated.primitives import PRIMITIVES
from smp._runtime.loops import atomics
from smp._runtime.loops.atomics import futex_wait
from smp.compiled import clock, compare_exchange, fetch_add, load, pause, store
from smp.compiled import wake as futex_wake
from smp.errors import (
    Aborted,
    CollectiveMismatch,
    DeadlockError,
    LivelockError,
    MachineClosed,
    MachineError,
    NotPicklable,
    PhaseError,
    ProcessorRaised,
    ScheduleError,
    Unsupported,
    WaitTimeout,
)

EVER = 1 << 62
SCHEDULES = [{"seed": 0}, {"seed": 1}, {"schedule": "clock"}, {"schedule": []}]

anyhow = pytest.mark.parametrize("how", SCHEDULES, ids=str)
How = dict[str, Any]


# The same schedule gives the same run.


def busy(proc: smp.Processor, words: smp.GlobalArray) -> list[int]:
    mine = [int(fetch_add(words.view, 0, 1)) for _ in range(5)]
    proc.barrier()
    return mine


def traced(**how: Any) -> tuple[list[Any], list[Any]]:
    with smp.emulated(3, trace=True, **how) as machine:
        return machine.run(busy, machine.zeros(1, np.int64)).results, machine.trace


@anyhow
def test_the_same_schedule_gives_the_same_steps(how: How) -> None:
    assert traced(**how) == traced(**how)


def test_another_seed_gives_other_steps() -> None:
    runs = [traced(seed=seed) for seed in range(4)]
    assert len({tuple(steps) for _, steps in runs}) == 4
    for results, _ in runs:
        assert sorted(number for mine in results for number in mine) == list(range(15))


def test_a_run_after_a_failure_repeats_the_first() -> None:
    with smp.emulated(3, trace=True) as machine:
        words = machine.zeros(1, np.int64)
        first = machine.run(busy, words).results
        steps = machine.trace
        with pytest.raises(ProcessorRaised):
            machine.run(lambda proc: proc.barrier() if proc.rank else 1 / 0)
        words[:] = 0
        assert machine.run(busy, words).results == first
        assert machine.trace == steps


def test_the_trace_names_processor_primitive_and_line() -> None:
    with smp.emulated(1, trace=True) as machine:

        def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
            store(words.view, 0, 1)
            load(words.view, 0)

        machine.run(program, machine.zeros(1, np.int64))
        steps = machine.trace[:2]
        line = program.__code__.co_firstlineno
    assert [step[:3] for step in steps] == [(0, 0, "store"), (0, 0, "load")]
    assert [step[3] for step in steps] == [f"{__file__}:{line + 1}", f"{__file__}:{line + 2}"]


def test_a_list_of_choices_is_followed() -> None:
    def order(choices: list[int]) -> list[int]:
        with smp.emulated(2, schedule=choices) as machine:
            program = lambda proc, words: [int(fetch_add(words.view, 0, 1)) for _ in range(2)]  # noqa: E731
            results = machine.run(program, machine.zeros(1, np.int64)).results
        return [rank for _, rank in sorted((number, rank) for rank in (0, 1) for number in results[rank])]

    assert order([0, 0, 0]) == [0, 0, 1, 1]
    assert order([1, 0, 0]) == [1, 1, 0, 0]
    assert order([0, 1, 1, 0]) == [0, 1, 0, 1] or order([0, 1, 1, 1]) == [0, 1, 0, 1]


# Programs behave as on the host.


def both(machines: Machines, size: int, program: Callable[..., Any], *args: Any) -> None:
    expected = machines(size).run(program, *args).results
    for how in SCHEDULES:
        with smp.emulated(size, **how) as machine:
            assert machine.run(program, *args).results == expected, how


def test_the_counting_example_has_the_same_counts_as_on_the_host(machines: Machines) -> None:
    source = (ROOT / "examples" / "count.py").read_text()
    names: dict[str, Any] = {}
    exec(compile(source.split("with smp.host")[0], str(ROOT / "examples" / "count.py"), "exec"), names)
    data = np.random.default_rng(0).integers(0, 64, 10_000)

    def counted(machine: smp.Machine) -> tuple[Any, ...]:
        keys, counts = machine.array(data), machine.zeros((2, 64), np.int64)
        run = machine.run(names["count"], keys, counts)
        accesses = [tuple(row) for row in run.steps[["step", "label", "rank", "reads", "writes", "bytes_read"]]]
        return run.results, counts[:].tolist(), accesses

    expected = counted(machines(2))
    for how in SCHEDULES:
        with smp.emulated(2, **how) as machine:
            assert counted(machine) == expected
    assert sum(expected[0]) == 10_000


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_collectives_and_arrays_of_processors_agree_with_the_host(machines: Machines, size: int) -> None:
    def program(proc: smp.Processor) -> Any:
        numbers = proc.array(np.arange(7))
        zeros, full = proc.zeros((2, 3)), proc.full(4, 9, np.int8)
        with proc.superstep("s") as step:
            local = step.copy_in(numbers, proc.block(7))
            step.compute()
            step.copy_out(numbers, proc.block(7), local + 1)
        return (
            proc.reduce(proc.rank + 1),
            proc.scan(np.int64(proc.rank)),
            proc.gather("x" * proc.rank),
            proc.broadcast({"from": proc.rank}, root=proc.size - 1),
            proc.reduce(np.full(3, proc.rank), np.maximum).tolist(),
            numbers.view.tolist(),
            zeros.view.sum(),
            full.view.tolist(),
        )

    both(machines, size, program)


@anyhow
def test_no_processor_leaves_a_round_before_all_have_entered_it(how: How) -> None:
    def program(proc: smp.Processor, counts: smp.GlobalArray) -> None:
        for k in range(20):
            fetch_add(counts.view, k, 1)
            proc.barrier()
            assert load(counts.view, k) == proc.size

    for size in (1, 2, 5):
        with smp.emulated(size, **how) as machine:
            machine.run(program, machine.zeros(20, np.int64))


@given(st.integers(1, 6), st.integers(0, 1000), st.lists(st.integers(-5, 5), min_size=6, max_size=6))
@settings(max_examples=15, deadline=None)
def test_reductions_and_scans_equal_serial_sums(size: int, seed: int, values: list[int]) -> None:
    with smp.emulated(size, seed=seed) as machine:
        results = machine.run(lambda proc: (proc.reduce(values[proc.rank]), proc.scan(values[proc.rank]))).results
    assert results == [(sum(values[:size]), sum(values[: rank + 1])) for rank in range(size)]


@anyhow
def test_broadcasts_work_back_to_back_with_rotating_roots(how: How) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        return [proc.broadcast((proc.rank, k), root=k % proc.size) for k in range(12)]

    with smp.emulated(3, **how) as machine:
        assert machine.run(program).results == [[(k % 3, k) for k in range(12)]] * 3


@anyhow
def test_a_reduction_is_correct_whichever_processor_is_late(how: How) -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray, late: int, at_the_end: bool) -> Any:
        def dally() -> None:
            for _ in range(200):
                load(words.view, 0)

        if proc.rank == late and not at_the_end:
            dally()
        total = proc.reduce(proc.rank)
        if proc.rank == late and at_the_end:
            dally()
        return total

    with smp.emulated(3, **how) as machine:
        words = machine.zeros(1, np.int64)
        for late in range(3):
            for at_the_end in (False, True):
                assert machine.run(program, words, late, at_the_end).results == [3, 3, 3]


@anyhow
def test_collectives_that_do_not_match_are_reported(how: How) -> None:
    with smp.emulated(2, **how) as machine:
        for program, names in (
            (lambda proc: proc.reduce(1) if proc.rank else proc.barrier(), ("barrier at", "reduce(add) of int64[] at")),
            (lambda proc: None if proc.rank else proc.barrier(), ("barrier at", "return from the program at")),
            (lambda proc: proc.reduce(np.zeros(1 + proc.rank)), ("float64[1] at", "float64[2] at")),
            (lambda proc: proc.zeros(1 + proc.rank), ("allocation of float64[", "end of allocation at")),
        ):
            with pytest.raises(CollectiveMismatch) as caught:
                machine.run(program)
            assert all(name in str(caught.value) for name in names)
            assert f"{__file__}:" in str(caught.value)
        assert machine.run(lambda proc: proc.reduce(1)).results == [2, 2]


@anyhow
def test_reads_of_a_superstep_see_the_old_values(how: How) -> None:
    def program(proc: smp.Processor, numbers: smp.GlobalArray) -> int:
        with proc.superstep() as step:
            seen = step.copy_in(numbers)
            step.copy_out(numbers, proc.rank, proc.rank + 1)
        return int(seen.sum())

    with smp.emulated(3, **how) as machine:
        numbers = machine.zeros(4, np.int64)
        assert machine.run(program, numbers).results == [0, 0, 0]
        assert numbers[:].tolist() == [1, 2, 3, 0]


def test_a_transpose_is_counted_exactly() -> None:
    def program(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
        rows = proc.block(6)
        with proc.superstep("transpose") as step:
            part = step.copy_in(a, rows)
            step.compute()
            step.copy_out(b, (slice(None), rows), part.T)

    with smp.emulated(3) as machine:
        a = machine.array(np.arange(36).reshape(6, 6))
        b = machine.zeros((6, 6), np.int64)
        row = machine.run(program, a, b).summary()[0]
        assert (row["hr"], row["hw"], row["m"]) == (12, 12, 72)
        assert (b[:] == a[:].T).all()


@anyhow
def test_an_exception_of_a_processor_ends_the_run_with_rank_and_traceback(how: How) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            raise KeyError("here")
        proc.barrier()

    with smp.emulated(3, **how) as machine:
        with pytest.raises(ProcessorRaised, match=r"processor 1 of 3 raised KeyError: 'here' at .*:\d+") as caught:
            machine.run(program)
        assert caught.value.rank == 1
        assert isinstance(caught.value.__cause__, KeyError)
        assert 'raise KeyError("here")' in caught.value.remote_traceback
        assert "smp/_runtime" not in caught.value.remote_traceback
        assert machine.run(lambda proc: proc.rank).results == [0, 1, 2]


def test_an_array_outside_a_superstep_is_refused_only_on_a_processor() -> None:
    with smp.emulated(2) as machine:
        numbers = machine.array([1, 2])
        with pytest.raises(ProcessorRaised) as caught:
            machine.run(lambda proc, a: a[0], numbers)
        assert isinstance(caught.value.__cause__, PhaseError)
        assert numbers[0] == 1


def test_arguments_and_results_are_copies_and_arrays_are_shared() -> None:
    def program(proc: smp.Processor, given: list[int], shared: smp.GlobalArray) -> Any:
        given.append(proc.rank)
        made = proc.full(2, 5)
        return given, shared, made

    with smp.emulated(2) as machine:
        given, shared = [7], machine.zeros(1)
        results = machine.run(program, given, shared).results
        assert [result[0] for result in results] == [[7, 0], [7, 1]]
        assert given == [7]
        assert results[0][1] is not results[1][1]
        results[0][1][0] = 3
        assert shared[0] == 3
        assert results[1][2][:].tolist() == [5, 5]
        with pytest.raises(NotPicklable, match="argument 0"):
            machine.run(lambda proc, lock: None, threading.Lock())


def test_a_program_that_catches_the_abort_gets_it_again() -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            raise ValueError
        try:
            proc.barrier()
        except Aborted:
            proc.barrier()

    with smp.emulated(2) as machine, pytest.raises(ProcessorRaised, match="processor 0 of 2 raised ValueError"):
        machine.run(program)


@anyhow
def test_a_wait_with_a_deadline_ends_in_virtual_time(how: How) -> None:
    def program(proc: smp.Processor) -> Any:
        if proc.rank == 0:
            with pytest.raises(WaitTimeout, match=r"processor 0 waited 3600 s at 'barrier'"):
                proc.barrier(timeout=3600)
            proc.barrier()
        else:
            while clock() < 3700 * 10**9:
                futex_wait(np.zeros(1, np.int64), 0, 0, 10**12)
            proc.barrier()
        return clock() > 3600 * 10**9

    started = time.monotonic()
    with smp.emulated(2, **how) as machine:
        assert machine.run(program).results == [True, True]
    assert time.monotonic() - started < 3600


# Deadlocks and endless runs.


@anyhow
def test_a_deadlock_lists_the_streams_with_their_waits_lines_and_times(how: How) -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        if proc.rank:
            futex_wait(words.view, 0, 0, EVER)
        proc.barrier()

    with smp.emulated(2, **how) as machine:
        with pytest.raises(DeadlockError) as caught:
            machine.run(program, machine.zeros(1, np.int64))
        lines = str(caught.value).splitlines()
        line = program.__code__.co_firstlineno
        assert lines[0] == "deadlock: all 2 streams wait for something that no stream can do any more"
        assert lines[1].split() == ["processor", "stream", "waits", "in", "at", "since"]
        assert set(lines[2]) == {"-"}
        assert re.fullmatch(rf"0 +0 +barrier +{re.escape(__file__)}:{line + 3} +[\d,]+ ns", lines[3])
        assert re.fullmatch(rf"1 +0 +futex_wait +{re.escape(__file__)}:{line + 2} +[\d,]+ ns", lines[4])
        assert machine.run(lambda proc: proc.reduce(1)).results == [2, 2]


def test_a_deadlock_over_cells_names_operation_and_cell_and_leaves_cells_usable() -> None:
    def program(proc: smp.Processor, cells: Any) -> None:
        cells.readfe(proc.rank)

    with smp.emulated(2) as machine:
        cells = machine.cells(2)
        with pytest.raises(DeadlockError, match=r"1 +0 +readfe\(1\) +.*test_emulated.py:\d+ "):
            machine.run(program, cells)
        cells.writeef(0, 1)
        cells.writeef(1, 1)
        machine.run(program, cells)
        assert [cells.peek(i)[0] for i in (0, 1)] == [False, False]
        with pytest.raises(DeadlockError, match="this wait would not end"):
            cells.readfe(0)


def test_a_lost_wake_up_is_reported_at_once() -> None:
    """Sleepers on the host look again after a while; emulated sleepers do not."""

    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        if proc.rank == 0:
            while load(words.view, 0) == 0:
                futex_wait(words.view, 0, 0, EVER)
        else:
            store(words.view, 0, 1)  # and does not wake the sleeper

    with smp.emulated(2, schedule=[0, 0]) as machine, pytest.raises(DeadlockError, match=r"the only stream left|all 2"):
        machine.run(program, machine.zeros(1, np.int64))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_without_a_step_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="limit"):
        smp.emulated(2, limit=limit)


def test_endless_steps_close_the_machine() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        while load(words.view, 0) == 0:
            pause()

    with smp.emulated(2, limit=1_000) as machine:
        words = machine.zeros(1, np.int64)
        with pytest.raises(LivelockError, match=r"the run has not ended after 1,000 steps; .*test_emulated.py:\d+"):
            machine.run(program, words)
        with pytest.raises(MachineClosed, match="ended in the middle"):
            machine.run(program, words)


def test_processors_that_do_not_notice_a_failure_are_ended() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        assert proc.rank == 0
        while load(words.view, 0) == 0:
            pause()

    with smp.emulated(2) as machine:
        with pytest.raises(ProcessorRaised, match="AssertionError") as caught:
            machine.run(program, machine.zeros(1, np.int64))
        assert any("did not stop" in note for note in caught.value.__notes__)


# Virtual time.


def cost(primitive: Callable[..., Any]) -> int:
    return int(getattr(Charges(), primitive.__name__))


add = atomics.fetch_add  # fetch_add of smp.compiled takes cells too


def test_the_clock_advances_by_the_charges_of_the_primitives() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> int:
        start = clock()
        for k in range(10):
            load(words.view, 0)
            store(words.view, 0, k)
            compare_exchange(words.view, 0, k, 0)
        return clock() - start - Charges().clock

    with smp.emulated(1) as machine:
        (took,) = machine.run(program, machine.zeros(1, np.int64)).results
    assert took == 10 * (cost(load) + cost(store) + cost(compare_exchange))


def test_a_woken_processor_goes_on_later_than_its_waker() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> int:
        if proc.rank == 0:
            while load(words.view, 0) == 0:
                futex_wait(words.view, 0, 0, EVER)
            return clock()
        for _ in range(10_000):
            load(words.view, 1)
        store(words.view, 0, 1)
        before = clock()
        futex_wake(words.view, 0, 1)
        return before

    with smp.emulated(2, schedule="clock") as machine:
        woken, waker = machine.run(program, machine.zeros(2, np.int64)).results
    assert woken > waker > 10_000 * cost(load)


def test_local_loops_and_copies_cost_a_tenth_of_a_nanosecond_per_byte() -> None:
    @smp.local
    def total(a: Any) -> float:
        s = 0.0
        for x in a:
            s += x
        return s

    def program(proc: smp.Processor, numbers: smp.GlobalArray) -> float:
        with proc.superstep() as step:
            local = step.copy_in(numbers)
            step.compute()
            return total(local)

    with smp.emulated(1, schedule="clock") as machine:
        run = machine.run(program, machine.full(10_000, 0.5))
    assert run.results == [5_000.0]
    (row,) = run.steps
    assert row["copy_in"] == pytest.approx(8e-6, abs=1e-6)
    assert row["compute"] == pytest.approx(8e-6, abs=1e-6)
    assert row["copy_out"] < 1e-6


def test_machines_of_one_process_may_charge_differently() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> tuple[int, float]:
        start = clock()
        for k in range(10):
            store(words.view, 0, k)
        took = clock() - start
        with proc.superstep() as step:
            step.copy_in(words)
        return took, proc.reduce(0)

    dear = Charges(store=800, clock=0, copied_byte=2.5)
    with smp.emulated(1) as usual, smp.emulated(1, charges=dear) as other, smp.emulated(1, charges=Charges()) as same:
        runs = [machine.run(program, machine.zeros(1000, np.int64)) for machine in (usual, other, same, usual)]
    assert [run.results[0][0] for run in runs] == [100, 8000, 100, 100]
    copied = [int(run.steps["copy_in"][0] * 1e9 + 0.5) for run in runs]
    assert copied[1] - copied[0] == 20_000 - 800
    assert copied[2] == copied[3] == copied[0]


def test_wake_ups_and_loops_are_charged_by_the_machine() -> None:
    @smp.local
    def nothing(a: Any) -> None:
        pass

    def program(proc: smp.Processor, words: smp.GlobalArray) -> int:
        nothing(np.zeros(1000, np.uint8))
        if proc.rank == 0:
            while load(words.view, 0) == 0:
                futex_wait(words.view, 0, 0, EVER)
        else:
            store(words.view, 0, 1)
            futex_wake(words.view, 0, 1)
        return clock()

    free = dict.fromkeys(PRIMITIVES, 0)
    dear = Charges(**free, woken=70_000, clock=3, looped_byte=5)
    with smp.emulated(2, schedule=[], charges=dear) as machine:  # processor 0 begins
        woken, waker = machine.run(program, machine.zeros(1, np.int64)).results
    assert (woken, waker) == (70_000 + 5_000 + 3, 5_000 + 3)


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        ({"load": -1}, ValueError, "the charge load must be a whole number of ns, 0 or more, not -1"),
        ({"store": 0.5}, TypeError, "the charge store must be a whole number of ns, 0 or more, not 0.5"),
        (
            {"looped_byte": float("nan")},
            ValueError,
            "the charge looped_byte must be a number of ns, 0 or more, not nan",
        ),
        ({"copied_byte": "1"}, TypeError, "the charge copied_byte must be a number of ns, 0 or more, not '1'"),
    ],
)
def test_invalid_charges_are_refused(wrong: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        Charges(**wrong)
    assert str(caught.value) == text
    with pytest.raises(TypeError, match="charges must be an object of the class Charges, not 3"):
        smp.emulated(1, charges=3)  # type: ignore[arg-type]


def test_a_stream_loop_is_interpreted_primitive_by_primitive() -> None:
    @smp.stream
    def count(words: Any, n: int) -> None:
        for _ in range(n):
            fetch_add(words, 0, 1)

    with smp.emulated(2, trace=True) as machine:
        words = machine.zeros(1, np.int64)
        machine.run(lambda proc, w: count(w.view, 10), words)
        assert words[0] == 20
        mine = [rank for rank, _, name, where in machine.trace if name == "fetch_add" and __file__ in where]
    assert mine.count(0) == mine.count(1) == 10
    assert mine != sorted(mine)  # the processors alternated


def test_under_the_clock_a_slower_processor_makes_fewer_steps() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> int:
        if proc.rank == 0:
            for _ in range(100):
                add(words.view, 1, 1)
            store(words.view, 0, 1)
        looks = 0
        while load(words.view, 0) == 0:
            looks += 1
        return looks

    with smp.emulated(2, schedule="clock") as machine:
        looks = machine.run(program, machine.zeros(2, np.int64)).results[1]
    assert looks == pytest.approx(100 * cost(add) / cost(load), rel=0.02)


# Edge cases.


def test_invalid_options_are_refused() -> None:
    with pytest.raises(ValueError, match="processors must be from 1 to 4096"):
        smp.emulated(0)
    with pytest.raises(ValueError, match="schedule must be 'seeded', 'clock' or a sequence"):
        smp.emulated(1, schedule="random")
    with pytest.raises(TypeError, match="schedule must be 'seeded', 'clock' or a sequence"):
        smp.emulated(1, schedule=[None])  # type: ignore[list-item]
    with smp.emulated(2, schedule=[9]) as machine, pytest.raises(ScheduleError, match="choice 0 of the schedule is 9"):
        machine.run(lambda proc: proc.barrier())
    with smp.emulated(1) as machine, pytest.raises(MachineError, match="trace=True"):
        _ = machine.trace


def test_the_host_has_no_trace(machines: Machines) -> None:
    with pytest.raises(Unsupported, match="run at the same time"):
        _ = machines(2).trace


def test_a_closed_machine_says_so_and_its_arrays_remain_usable() -> None:
    machine = smp.emulated(2)
    numbers = machine.array([1, 2])
    assert repr(machine) == "<emulated machine of 2 processors, ready>"
    machine.close()
    assert "closed" in repr(machine)
    assert numbers[1] == 2
    with pytest.raises(MachineClosed, match=r"open a new one with smp\.emulated"):
        machine.run(lambda proc: None)


def test_machines_leave_nothing_behind_even_without_garbage_collection(nothing_left: None) -> None:
    gc.collect()
    gc.disable()
    try:
        before = segments()
        for seed in range(20):
            with smp.emulated(3, seed=seed) as machine:
                machine.run(busy, machine.zeros(1, np.int64))
        del machine
        assert segments() == before
    finally:
        gc.enable()


def test_a_program_may_open_an_emulated_machine() -> None:
    def program(proc: smp.Processor) -> Any:
        with smp.emulated(2, seed=proc.rank) as inner:
            inside = inner.run(lambda p: p.reduce(p.rank + 1)).results
        return proc.reduce(inside[0])

    with smp.emulated(2) as machine:
        assert machine.run(program).results == [6, 6]


def test_ctrl_c_ends_a_run(script: Any) -> None:
    import signal

    process = script("""
        import numpy as np, smp
        from smp.compiled import load, pause
        def program(proc, words):
            print("up", flush=True)
            while load(words.view, 0) == 0:
                pause()
        with smp.emulated(2) as machine:
            try:
                machine.run(program, machine.zeros(1, np.int64))
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=20)[0]


@pytest.mark.parametrize("schedule", ["seeded", "clock"])
def test_a_machine_may_have_many_processors(schedule: str) -> None:
    with smp.emulated(200, schedule=schedule) as machine:
        assert machine.run(lambda proc: proc.reduce(proc.rank)).results == [19_900] * 200
