"""Flags, which processors raise and lower at any time, and the question whether one is up."""

import numpy as np
import pytest
from numpy.typing import NDArray
from support.machines import CPUS, Machines, guarded

import smp
from smp.compiled import any_flag, fetch_add, pause


def test_all_flags_are_up_when_a_program_starts(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[bool, ...]:
        first = proc.any_flag()
        proc.barrier()
        before, again = proc.flag(False), proc.flag(False)
        proc.barrier()
        down = proc.any_flag()
        proc.barrier()
        raised = proc.flag(proc.rank == 1)
        proc.barrier()
        return first, before, again, down, raised, proc.any_flag()

    for _ in range(2):
        assert pair.run(program).results == [(True, True, False, False, False, True)] * 2


def test_a_flag_is_one_truth_value(pair: smp.Machine) -> None:
    with pytest.raises(smp.errors.ProcessorRaised, match=r"proc\.flag takes one truth value, not an array"):
        pair.run(lambda proc: proc.flag(np.ones(2)))


def lower_and_ask(proc: smp.Processor) -> bool:
    proc.flag(False)
    return proc.any_flag()


def test_the_answers_under_all_schedules_are_those_of_some_order() -> None:
    """Of two processors that lower their flags and then ask, the one that lowers last sees no flag."""
    seen: set[tuple[bool, ...]] = set()

    def check(run: smp.Run) -> bool:
        seen.add(tuple(run.results))
        return True

    found = smp.explore(lower_and_ask, 2, check=check)
    assert found.complete
    assert seen == {(True, False), (False, True), (False, False)}


@smp.stream
def work(sync: NDArray[np.int64], left: NDArray[np.int64]) -> int:
    """Take units of work as long as there are any, and return how many were taken."""
    taken = 0
    while fetch_add(left, 0, -1) > 0:
        taken += 1
    return taken


@smp.stream
def idle(sync: NDArray[np.int64]) -> None:
    while any_flag(sync):
        pause()


@pytest.mark.parametrize("options", [{"processors": 2}, {"processors": 4 * CPUS, "start": "fork"}])
def test_processors_agree_that_no_work_is_left(machines: Machines, options: dict[str, object]) -> None:
    def program(proc: smp.Processor, left: smp.GlobalArray) -> int:
        taken = work(proc.sync, left.view)
        proc.flag(False)
        idle(proc.sync)
        assert left.view[0] <= 0
        return taken

    with guarded(machines(**options)) as machine:
        assert sum(machine.run(program, machine.full(1, 10_000, np.int64)).results) == 10_000
