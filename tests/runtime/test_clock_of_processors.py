"""Clocks: one time for all processors, in Python and in loops; measured times; seeds of random numbers; exits."""

import sys
import time
from typing import Any

import numpy as np
import pytest
from support.machines import Emulated, Machines

import smp
from smp import compiled
from smp.perturb import carried, counted


@pytest.fixture(params=["host", "emulated"])
def machine(request: pytest.FixtureRequest, machines: Machines, emulated: Emulated) -> smp.Machine:
    return machines(2) if request.param == "host" else emulated(2)


@smp.stream
def nanoseconds(words: Any) -> int:
    compiled.load(words, 0)
    return compiled.clock()


def test_loops_and_programs_read_the_same_clock(machine: smp.Machine) -> None:
    def program(proc: smp.Processor, words: Any) -> list[tuple[float, float, float]]:
        return [(proc.clock(), nanoseconds(words.view) * 1e-9, proc.clock()) for _ in range(100)]

    for results in machine.run(program, machine.zeros(1, np.int64)).results:
        times = np.array(results).ravel()
        assert (np.diff(times) >= -1e-8).all()  # the numbers of nanoseconds are rounded
        assert times[-1] > times[0]


def test_states_and_timeline_have_the_time_of_the_clock(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[float]:
        times = [proc.clock()]
        proc.state("first")
        times.append(proc.clock())
        with proc.superstep("step"):
            times.append(proc.clock())
        times.append(proc.clock())
        return times

    run = machine.run(program)
    for rank, (before, after, inside, later) in enumerate(run.results):
        state = run.states[run.states["rank"] == rank][0]
        assert before <= state["start"] <= after
        assert state["end"] >= later
        spans = run.timeline()
        spans = spans[spans["rank"] == rank]
        assert after <= spans["start"].min() <= inside
        assert inside <= spans["end"].max() <= later


def test_no_processor_leaves_before_the_origin_of_a_reset_clock(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[float]:
        times = []
        for _ in range(20):
            proc.reset_clock()
            times.append(proc.clock())
        return times

    assert (np.array(machine.run(program).results) >= 0.0).all()


@smp.stream
def stamp_and_check(cells: Any, rank: int, rounds: int) -> int:
    """Send times there and back; return how many arrived before they were sent."""
    wrong = 0
    for _ in range(rounds):
        if rank == 0:
            compiled.writeef(cells, 0, compiled.clock())
        wrong += compiled.readfe(cells, 1 - rank) > compiled.clock()
        if rank == 1:
            compiled.writeef(cells, 1, compiled.clock())
    return wrong


@pytest.mark.parametrize("rounds", [5_000, pytest.param(500_000, marks=pytest.mark.slow)])
def test_no_time_arrives_before_it_was_sent(machines: Machines, rounds: int) -> None:
    def program(proc: smp.Processor, cells: Any) -> int:
        return stamp_and_check(cells, proc.rank, rounds)

    machine = machines(2)
    assert machine.run(program, machine.cells(2, padded=True)).results == [0, 0]


def test_no_virtual_time_arrives_before_it_was_sent(emulated: Emulated) -> None:
    machine = emulated(2)
    cells = machine.cells(2)
    assert machine.run(lambda proc, cells: stamp_and_check(cells, proc.rank, 200), cells).results == [0, 0]


def test_no_clock_in_python_is_behind_a_time_that_another_processor_has_sent(machine: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Any) -> bool:
        seen = []
        for _ in range(300):
            if proc.rank == 0:
                cells.writeef(0, proc.clock())
            sent = cells.readfe(1 - proc.rank)
            seen.append(sent <= proc.clock())
            if proc.rank == 1:
                cells.writeef(1, proc.clock())
        return all(seen)

    assert machine.run(program, machine.cells(2, np.float64)).results == [True, True]


def test_the_time_of_nothing_is_0_within_the_step_of_the_clock(machines: Machines) -> None:
    """A step is the time between two looks at the clock.  Another process can disturb a measurement, not all three."""

    def program(proc: smp.Processor) -> tuple[float, list[float]]:
        nothing = [proc.elapsed(proc.clock()) for _ in range(10_000)]
        looks = [proc.clock() for _ in range(10_001)]
        return float(np.median(np.diff(looks))), nothing

    seen = []
    for _ in range(3):
        ((step, nothing),) = machines(1).run(program).results
        assert min(nothing) >= 0.0
        seen.append((np.median(nothing) / step, np.mean(np.array(nothing) < 2 * step)))
        if seen[-1][0] < 0.5 and seen[-1][1] >= 0.99:
            return
    pytest.fail(f"median in steps, and share below two steps: {seen}")


def test_elapsed_is_the_time_since_its_start_and_never_negative(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[float, float, float, float]:
        start = proc.clock()
        for _ in range(1_000):
            compiled.clock()
        time.sleep(1e-3)
        least = proc.clock() - start
        measured = proc.elapsed(start)
        most = proc.clock() - start
        return least, measured, most, proc.elapsed(proc.clock() + 1.0)

    for least, measured, most, future in machine.run(program).results:
        assert 0.9 * least <= measured <= most
        assert future == 0.0


def test_elapsed_is_exact_in_virtual_time(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> tuple[float, float]:
        start = proc.clock()
        for _ in range(5):
            compiled.clock()
        return proc.elapsed(start), proc.elapsed(proc.clock())

    assert emulated(1).run(program).results == [(pytest.approx(5 * 20e-9), 0.0)]


# Seeds of random numbers.


def draw(proc: smp.Processor) -> int:
    return int(proc.random.integers(1 << 60))


def test_each_run_on_the_host_has_a_fresh_seed_and_each_repeat_the_same(pair: smp.Machine) -> None:
    runs = [pair.run(draw) for _ in range(3)]
    assert len({run.seed for run in runs}) == 3
    assert len({number for run in runs for number in run.results}) == 6
    again = pair.run(draw, seed=runs[0].seed, warmup=2, repeat=2)
    assert (again.results, again.seed) == (runs[0].results, runs[0].seed)


def test_an_emulated_machine_repeats_its_random_numbers() -> None:
    seen = {}
    for seed in (0, 0, 7):
        with smp.emulated(2, seed=seed) as machine:
            first, second = machine.run(draw), machine.run(draw)
            assert first.results == second.results == seen.setdefault(seed, first.results)
            assert first.seed == seed
            assert machine.run(draw, seed=9).seed == 9
    assert seen[0] != seen[7]


def test_all_schedules_have_the_same_random_numbers_as_an_emulated_machine() -> None:
    def program(proc: smp.Processor, words: Any) -> int:
        compiled.fetch_add(words, 0, 1)
        number = draw(proc)
        compiled.fetch_add(words, 0, 1)
        return number

    with smp.emulated(2) as machine:
        expected = machine.run(draw).results
    given: Any = {"setup": lambda machine: np.zeros(1, np.int64)}
    found = smp.explore(program, 2, check=lambda run, words: run.results == expected, limit=100, **given)
    assert found.failure is None
    assert found.schedules > 1
    replayed = smp.replay((1,), program, 2, **given)
    assert (replayed.results, replayed.seed) == (expected, 0)


def test_seeds_of_any_size_and_all_ranks_give_different_numbers(machines: Machines) -> None:
    """Numbers whose words are those of a shorter number, with zeros or the rank behind them, are other seeds."""
    seeds = [0, 1, 1 << 32, (1 << 32) + 1, 1 << 64, (1 << 200) + 1]
    numbers = [number for seed in seeds for number in machines(2).run(draw, seed=seed).results]
    assert len(set(numbers)) == 2 * len(seeds)


def with_seed(proc: smp.Processor, n: int, seed: Any = -1) -> tuple[Any, int]:
    return seed, draw(proc)


def test_a_program_with_a_parameter_seed_gets_the_seed_of_the_run(pair: smp.Machine) -> None:
    numbers = pair.run(draw, seed=4).results
    for program in (with_seed, carried(with_seed, pair)):
        assert pair.run(program, 1, seed=4).results == [(4, number) for number in numbers]
    assert pair.run(with_seed, 1, 2, seed=4).results == [(2, number) for number in numbers]
    assert [given for given, _ in pair.run(with_seed, 1).results] == [-1, -1]
    for other in (-3, "of its own kind"):
        run = pair.run(with_seed, 1, seed=other)
        assert [given for given, _ in run.results] == [other, other]
        assert run.seed >= 0


@pytest.mark.parametrize(
    ("seed", "kind", "text"),
    [
        (-1, ValueError, "seed must be a whole number, 0 or more, not -1"),
        (1.0, TypeError, r"seed must be a whole number, 0 or more, not 1\.0"),
        (True, TypeError, "seed must be a whole number, 0 or more, not True"),
        ("x", TypeError, "seed must be a whole number, 0 or more, not 'x'"),
    ],
)
def test_seeds_that_are_not_valid_are_refused(pair: smp.Machine, seed: Any, kind: type, text: str) -> None:
    with pytest.raises(kind, match=text):
        pair.run(draw, seed=seed)
    with pytest.raises(kind, match=text):
        smp.emulated(2, seed=seed)


# Exits with code 0; see also the conformance tests.


def leave_early(proc: smp.Processor) -> int:
    if proc.rank == 0:
        proc.exit()
    return proc.rank


def test_a_program_that_is_counted_can_exit(machine: smp.Machine) -> None:
    with counted():
        assert machine.run(leave_early).results == [None, 1]
    run = machine.run(leave_early, counters=True)
    assert run.results == [None, 1]
    assert None not in run.hardware


def test_an_explored_program_can_exit() -> None:
    found = smp.explore(leave_early, 2, check=lambda run: run.results == [None, 1], limit=10)
    assert found.failure is None


def test_the_exit_code_of_a_thread_is_raised_by_its_result(machine: smp.Machine) -> None:
    def program(proc: smp.Processor) -> str:
        with proc.streams(1) as pool:
            pool.start(proc.exit, 0).result()
        return "not reached"

    assert machine.run(program).results == [None, None]


def test_the_end_by_sys_exit_is_that_of_exit(machine: smp.Machine) -> None:
    assert machine.run(lambda proc: sys.exit()).results == [None, None]
    with pytest.raises(smp.ProcessorRaised, match="SystemExit: so long"):
        machine.run(lambda proc: sys.exit("so long"))
