"""Failures on all kinds of machines: each is reported with its processor and place, and the machine stays usable."""

from collections.abc import Callable
from typing import Any

import pytest

import smp
from smp.errors import Aborted, MachineClosed, NotPicklable, ProcessorRaised

Machines = Callable[[int], smp.Machine]


class Own(Exception):
    """An exception that holds more than a text."""

    def __init__(self, number: int) -> None:
        super().__init__(f"number {number}")
        self.number = number

    def __reduce__(self) -> Any:
        return Own, (self.number,)


def at_once(proc: smp.Processor, rank: int) -> None:
    if proc.rank == rank:
        raise Own(7)
    proc.barrier()


def in_a_superstep(proc: smp.Processor, rank: int) -> None:
    with proc.superstep("first"):
        pass
    with proc.superstep("second") as step:
        step.compute()
        if proc.rank == rank:
            raise Own(7)


@pytest.mark.parametrize(
    ("fail", "line", "where"),
    [(at_once, 2, ""), (in_a_superstep, 6, ", in the compute phase of superstep 1 ('second')")],
)
@pytest.mark.parametrize("processors", [1, 3])
def test_an_exception_is_reported_with_its_place(
    machines: Machines, processors: int, fail: Callable[[smp.Processor, int], None], line: int, where: str
) -> None:
    machine, rank = machines(processors), processors - 1
    with pytest.raises(ProcessorRaised) as caught:
        machine.run(fail, rank)
    place = f"{__file__}:{fail.__code__.co_firstlineno + line}{where}"
    assert str(caught.value) == f"processor {rank} of {processors} raised Own: number 7 at {place}"
    assert caught.value.rank == rank
    assert isinstance(caught.value.__cause__, Own)
    assert caught.value.__cause__.number == 7
    assert f"On processor {rank}:" in "".join(caught.value.__notes__)
    assert machine.run(lambda proc: proc.reduce(1)).results == [processors] * processors


def test_a_program_may_raise_aborted_itself(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            raise Aborted("my own")
        proc.barrier()

    with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised Aborted: my own"):
        machines(2).run(program)


def test_all_processors_may_raise(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match=r"processor \d of 3 raised ZeroDivisionError"):
        machines(3).run(lambda proc: 1 // 0)
    assert machines(3).run(lambda proc: proc.gather(proc.rank)).results == [[0, 1, 2]] * 3


def test_arguments_and_results_that_cannot_be_pickled_are_refused(machines: Machines) -> None:
    with pytest.raises(NotPicklable, match="argument 0"):
        machines(2).run(lambda proc, x: None, open(__file__))  # noqa: SIM115
    with pytest.raises(ProcessorRaised, match="the program's result cannot be sent back"):
        machines(2).run(lambda proc: (one for one in ()))


@pytest.mark.parametrize("kind", ["host", "emulated", "messages"])
def test_a_machine_that_is_closed_says_so(kinds: dict[str, Callable[[int], smp.Machine]], kind: str) -> None:
    with kinds[kind](2) as machine:
        assert repr(machine) == f"<{kind} machine of 2 processors, ready>"
    with pytest.raises(MachineClosed, match=r"is closed: close\(\) was called or its with block has ended"):
        machine.run(lambda proc: None)
    with pytest.raises(MachineClosed):
        machine.zeros(3)
