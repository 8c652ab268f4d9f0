"""States, clocks, random numbers and the ends of programs, on all kinds of machines."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp import compiled

Machines = Callable[[int], smp.Machine]


def test_states_are_recorded_from_the_first_change_to_the_end(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[str]:
        proc.barrier()
        if proc.rank == 1:
            return []
        seen = [proc.state("count")]
        with proc.state("sort") as before:
            seen.append(before)
        seen.append(proc.state("idle"))
        return [*map(str, seen)]

    run = machines(3).run(program)
    assert run.results == [["busy", "count", "count"], [], ["busy", "count", "count"]]
    for rank, states in ((0, ["count", "sort", "count", "idle"]), (1, []), (2, ["count", "sort", "count", "idle"])):
        rows = run.states[run.states["rank"] == rank]
        assert rows["state"].tolist() == states
        assert (rows["start"][1:] == rows["end"][:-1]).all()
        assert (rows["start"] <= rows["end"]).all()
    assert len(machines(3).run(lambda proc: proc.rank).states) == 0


def test_clocks_that_are_reset_have_the_same_origin_in_the_barrier(machines: Machines) -> None:
    def program(proc: smp.Processor, late: int) -> tuple[float, float, float]:
        for _ in range(2_000 if proc.rank == late else 0):
            compiled.clock()  # takes time, also in virtual time
        before = proc.clock()
        proc.reset_clock()
        first = compiled.clock() * 1e-9
        now = proc.clock()
        last = compiled.clock() * 1e-9
        return before, first - now, last - now

    for late in range(3):
        run = machines(3).run(program, late)
        before, low, high = np.array(run.results).T
        error = 1e-8 + 2 * run.clock_error  # nodes have clocks of their own
        assert low.max() <= high.min() + error  # there is an origin in all intervals
        assert high.min() + error >= before.max()  # which is not before the last arrival


def test_processors_that_reset_the_clock_and_others_that_do_not_are_named(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        proc.reset_clock() if proc.rank == 1 else proc.barrier()

    with pytest.raises(smp.CollectiveMismatch, match="processor 1: reset_clock at"):
        machines(2).run(program)


def test_random_numbers_follow_from_the_seed_and_the_rank(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        return [int(proc.random.integers(1 << 60)) for _ in range(3)]

    run = machines(3).run(program, seed=5)
    children = np.random.SeedSequence(5).spawn(3)
    assert run.results == [np.random.default_rng(child).integers(1 << 60, size=3).tolist() for child in children]
    assert run.seed == 5
    fresh = machines(3).run(program)
    assert machines(3).run(program, seed=fresh.seed).results == fresh.results != run.results


def test_a_processor_that_exits_with_0_waits_for_the_others(machines: Machines) -> None:
    def program(proc: smp.Processor) -> int:
        def deeper() -> None:
            if proc.rank == 1:
                proc.exit()

        deeper()
        return proc.rank

    assert machines(3).run(program).results == [0, None, 2]
    assert machines(3).run(program, counters=True).results == [0, None, 2]

    def unequal(proc: smp.Processor) -> None:
        if proc.rank == 1:
            proc.exit(0)
        proc.barrier()

    with pytest.raises(smp.CollectiveMismatch, match=r"processor 1: return from the program at"):
        machines(2).run(unequal)


@pytest.mark.parametrize("code", [1, 3, -1])
def test_another_code_ends_all_processors_and_is_named(machines: Machines, code: int) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 2:
            proc.exit(code)
        proc.barrier()

    machine = machines(3)
    with pytest.raises(
        smp.ProcessorRaised, match=rf"^processor 2 of 3 raised SystemExit: {code} at .*{__file__}"
    ) as caught:
        machine.run(program)
    assert isinstance(caught.value.__cause__, SystemExit)
    assert caught.value.__cause__.code == code
    assert machine.run(lambda proc: proc.reduce(1)).results == [3] * 3


def test_an_assertion_on_one_processor_ends_all_with_its_text(machines: Machines) -> None:
    def program(proc: smp.Processor, values: list[int]) -> None:
        assert sum(values) == proc.size, f"the sum is {sum(values)}"
        proc.barrier()

    def only_one(proc: smp.Processor) -> None:
        program(proc, [1] * proc.size if proc.rank != 1 else [4])

    with pytest.raises(smp.ProcessorRaised, match="processor 1 of 3 raised AssertionError: the sum is 4") as caught:
        machines(3).run(only_one)
    assert isinstance(caught.value.__cause__, AssertionError)


@pytest.mark.parametrize("code", ["1", 1.5, None])
def test_a_code_that_is_no_whole_number_is_refused(machines: Machines, code: Any) -> None:
    with pytest.raises(smp.ProcessorRaised, match=r"raised TypeError: .* cannot be interpreted as an integer"):
        machines(1).run(lambda proc: proc.exit(code))
