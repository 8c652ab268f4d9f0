"""Copies of a superstep that overlap, on all kinds of machines: found with ``check=True``, and only those."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp._runtime.program.records.checked import CheckedCopies, Copy

Machines = Callable[[int], smp.Machine]
SIDES = (3, 4)
MASK = np.eye(*SIDES, dtype=bool)


@pytest.mark.parametrize(
    ("index", "elements"),
    [
        ((0, 1), "element [0, 1]"),
        ((0, slice(None)), "4 elements, from [0, 0] to [0, 3],"),
        (MASK, "3 elements, from [0, 0] to [2, 2],"),
        (([2, 0], [-1, 2]), "2 elements, from [0, 2] to [2, 3],"),
        ((..., -1), "3 elements, from [0, 3] to [2, 3],"),
    ],
)
def test_overlapping_copies_are_reported_with_their_lines_and_elements(
    machines: Machines, index: Any, elements: str
) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            if proc.rank == 1:
                step.copy_out(array, ..., 7.0)
            elif proc.rank == 2:
                step.copy_out(array, index, 8.0)

    machine = machines(3)
    array = machine.zeros(SIDES)
    line = program.__code__.co_firstlineno
    with pytest.raises(smp.ProgramError) as failed:
        machine.run(program, array, check=True)
    said = str(failed.value)
    assert "RaceError" in said
    found = re.search(r"processors (\d) and (\d) write (.*) of float64\[3, 4\] in one superstep, at (.*) and at", said)
    assert found is not None, said
    assert {found[1], found[2]} == {"1", "2"}
    assert found[3] == elements
    assert f":{line + 3}" in said
    assert f":{line + 5}" in said


def test_copies_of_fields_overlap_only_in_the_same_field(machines: Machines) -> None:
    machine = machines(2)
    pairs = machine.zeros(3, [("a", "i4"), ("b", "f8")])

    def program(proc: smp.Processor, pairs: smp.GlobalArray, field: str) -> None:
        with proc.superstep() as step:
            step.copy_out(pairs, "a" if proc.rank else field, proc.rank + 1)

    machine.run(program, pairs, "b", check=True)
    assert pairs[:].tolist() == [(2, 1.0)] * 3
    with pytest.raises(smp.ProgramError, match="field 'a'"):
        machine.run(program, pairs, "a", check=True)


def test_copies_of_different_supersteps_and_arrays_do_not_overlap(machines: Machines) -> None:
    machine = machines(2)
    arrays = [machine.zeros(4, np.int64), machine.zeros(4, np.int64)]

    def program(proc: smp.Processor, arrays: list[smp.GlobalArray]) -> None:
        for k in range(4):
            with proc.superstep() as step:
                step.copy_out(arrays[(proc.rank + k) % 2], ..., proc.rank)
        with proc.superstep() as step:
            step.copy_in(arrays[0])

    machine.run(program, arrays, check=True)
    assert [array[:].tolist() for array in arrays] == [[1] * 4, [0] * 4]


def test_a_copy_that_was_given_up_is_forgotten(machines: Machines) -> None:
    machine = machines(2)
    array = machine.zeros(2, np.int64)

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        try:
            with proc.superstep() as step:
                step.copy_out(array, ..., proc.rank)
                raise LookupError
        except LookupError:
            pass
        with proc.superstep() as step:
            step.copy_out(array, proc.rank, 5)

    machine.run(program, array, check=True)
    assert array[:].tolist() == [5, 5]


def test_check_must_not_be_meant_for_the_program(machines: Machines) -> None:
    with pytest.raises(TypeError, match=r"check= is an option of machine\.run"):
        machines(2).run(lambda proc, check: None, check=True)


SIZE = 12
parts = st.one_of(
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE), st.sampled_from((1, 2, 3, -1))).map(lambda t: slice(*t)),
    st.lists(st.integers(-SIZE, SIZE - 1), max_size=4).map(lambda k: np.array(k, np.int64)),
    st.integers(-SIZE, SIZE - 1),
    st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array),
)
copies = st.lists(st.tuples(st.integers(0, 1), parts), max_size=2)


@settings(max_examples=examples(40))
@given(plan=st.lists(st.lists(copies, min_size=3, max_size=3), min_size=1, max_size=3))
def test_copies_are_reported_if_and_only_if_two_processors_write_an_element(machines: Machines, plan: Any) -> None:
    """The oracle counts the writers of each element of two arrays."""

    def program(proc: smp.Processor, arrays: list[smp.GlobalArray]) -> None:
        for superstep in plan:
            with proc.superstep() as step:
                for which, part in superstep[proc.rank]:
                    step.copy_out(arrays[which], part, proc.rank)

    def overlaps(superstep: Any) -> bool:
        writers = np.zeros((2, SIZE), np.int64)
        for mine in superstep:
            wrote = np.zeros((2, SIZE), bool)
            for which, part in mine:
                wrote[which, part] = True
            writers += wrote
        return bool((writers > 1).any())

    machine = machines(3)
    arrays = [machine.zeros(SIZE, np.int64), machine.zeros(SIZE, np.int64)]
    if any(map(overlaps, plan)):
        with pytest.raises(smp.ProgramError, match="in one superstep"):
            machine.run(program, arrays, check=True)
    else:
        machine.run(program, arrays, check=True)


def test_copies_that_cannot_overlap_are_not_exchanged() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> int:
        sent: list[Any] = []
        exchange = CheckedCopies._exchange

        def counted(self: CheckedCopies, mine: list[Any]) -> list[list[Any]]:
            sent.extend(one for one in mine if isinstance(one, Copy))
            return exchange(self, mine)

        CheckedCopies._exchange = counted  # type: ignore[method-assign]
        try:
            for columns in (slice(None), slice(1, 3)):
                with proc.superstep() as step:
                    mine = proc.block(6)
                    step.copy_out(array, (mine, columns), np.ones((mine.stop - mine.start, 4))[:, columns])
        finally:
            CheckedCopies._exchange = exchange  # type: ignore[method-assign]
        return len(sent)

    with smp.host(2) as machine:
        assert machine.run(program, machine.zeros((6, 4)), check=True).results == [0, 0]
