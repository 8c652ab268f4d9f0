"""The operations of a failing schedule: each call of smp with its words, values and result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp._runtime.exploring.outcome import LINES
from smp.compiled import compare_exchange, fetch_add, load, readfe, store, writeef


def said(program: Callable[..., Any], processors: int = 1, **options: Any) -> list[str]:
    """Return the operations of a program's failing schedule without their places."""
    found = smp.explore(program, processors, 1, **options)
    assert found.failure is not None
    return [f"{rank}.{stream} {words}" for rank, stream, words, _ in found.failure.operations]


def words_and_cells(machine: smp.Machine) -> tuple[Any, ...]:
    return machine.zeros(4, np.int64), machine.cells(2, np.int64)


def test_cells_and_atomics_are_shown_with_names_values_and_results() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        cells.writeef(0, 7)
        cells.readfe(0, timeout=1.0)
        view = words.view
        store(view, 1, 5)
        compare_exchange(view, 1, 5, 6)
        assert load(view, 1) == 5

    assert said(program, setup=words_and_cells) == [
        "0.0 writeef(cells[0], 7)",
        "0.0 readfe(cells[0], 1.0) -> 7",
        "0.0 store(words[1], 5)",
        "0.0 compare_exchange(words[1], 5, 6) -> 5",
        "0.0 load(words[1]) -> 6",
    ]


@smp.stream
def _sum(cells: Any, words: Any, n: int) -> int:
    total = 0
    for k in range(n):
        writeef(cells, k, k)
        total += readfe(cells, k) + fetch_add(words, k, 1)
    return total


def test_operations_in_loops_are_those_of_the_loop() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        assert _sum(cells, words.view, 1) == 1

    assert said(program, setup=words_and_cells) == [
        "0.0 writeef(cells[0], 0)",
        "0.0 readfe(cells[0]) -> 0",
        "0.0 fetch_add(words[0], 1) -> 0",
    ]


def test_accesses_of_plain_python_are_shown() -> None:
    def program(proc: smp.Processor, pair: tuple[Any, Any]) -> None:
        first, second = pair
        part = first[1:]
        part[0] += 7
        second[:, 1] = 3.0
        total = second.sum()
        second += 1
        assert second.shape == (), total

    assert said(program, setup=lambda machine: ((np.zeros(4, np.int64), np.zeros((2, 2))),)) == [
        "0.0 part[0] -> 0",
        "0.0 part[0] = 7",
        "0.0 pair[1][:, 1] = 3.0",
        "0.0 total = second.sum()",
        "0.0 second += 1",
    ]


def test_an_operation_with_others_in_between_has_two_lines() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        if proc.rank == 0:
            assert cells.readfe(1) == 0
        else:
            cells.writeef(1, 5)

    assert said(program, 2, setup=words_and_cells) == [
        "0.0 readfe(cells[1])  begins",
        "1.0 writeef(cells[1], 5)",
        "0.0 readfe(cells[1]) -> 5",
    ]


def test_supersteps_and_collectives_are_shown() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep("double") as step:
            mine = step.copy_in(array, slice(0, 2))
            step.copy_out(array, 1, 2 * int(mine[0]))
        assert proc.reduce(3) == 2

    assert said(program, setup=lambda machine: machine.array(np.arange(1, 5))) == [
        "0.0 copy_in(array[0:2]) -> [1, 2]",
        "0.0 copy_out(array[1], 2)",
        "0.0 end of step",
        "0.0 reduce(3) -> 3",
    ]


def test_a_deadlock_shows_the_operations_that_do_not_return() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        cells.readfe(proc.rank)

    assert said(program, 2, setup=words_and_cells) == [
        "0.0 readfe(cells[0])  does not return",
        "1.0 readfe(cells[1])  does not return",
    ]


def test_a_race_shows_where_it_ends_the_run() -> None:
    def program(proc: smp.Processor, words: Any) -> None:
        words[proc.rank // 2] = proc.rank

    lines = said(program, 2, setup=lambda machine: np.zeros(2, np.int64))
    assert lines == ["0.0 words[0] = 0", "1.0 words[0] = 1  ends the run"]


def test_an_operation_that_raises_says_so() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        try:
            cells.writeef(1, 5)
            cells.writeef(1, 6, timeout=0)
        except smp.WaitTimeout:
            raise LookupError from None

    lines = said(program, setup=words_and_cells)
    assert lines == ["0.0 writeef(cells[1], 5)", "0.0 writeef(cells[1], 6, 0)  raises"]


def test_streams_have_numbers_if_a_processor_has_several() -> None:
    def program(proc: smp.Processor, words: Any, cells: smp.Cells) -> None:
        proc.team.start(cells.writeef, 0, 4)
        assert cells.readfe(0) == 0

    found = smp.explore(program, 1, 1, streams=2, setup=words_and_cells)
    assert "  processor 0.0  readfe(cells[0]) -> 4" in str(found)


def test_names_of_what_the_program_makes_are_those_of_its_variables() -> None:
    def program(proc: smp.Processor) -> None:
        own = proc.cells(1, np.float64)
        values = proc.array(np.arange(3))
        own.writeef(0, 2.5)
        assert load(values.view, 2) == 0

    assert said(program)[-2:] == ["0.0 writeef(own[0], 2.5)", "0.0 load(values[2]) -> 2"]


@pytest.mark.parametrize("races", [True, False])
def test_a_result_has_at_most_sixty_lines_and_the_whole_has_all(races: bool) -> None:
    def program(proc: smp.Processor, words: Any) -> None:
        for k in range(100):
            fetch_add(words, 0, k)
        raise LookupError("\n".join(map(str, range(50))))

    found = smp.explore(program, 1, setup=lambda machine: np.zeros(1, np.int64), races=races)
    assert found.failure is not None
    for what in (found, found.failure):
        lines = str(what).splitlines()
        assert len(lines) == LINES
        assert lines[-1].split()[:5] == ["processor", "0", "fetch_add(words[0],", "99)", "->"]
        whole = what.whole().splitlines()
        assert len([line for line in whole if "fetch_add" in line]) == 100
        shown = [line for line in lines if "fetch_add" in line]
        assert f"  ... {100 - len(shown)} earlier lines, which whole() has as well" in lines


def test_a_deadlock_of_many_streams_has_at_most_sixty_lines() -> None:
    found = smp.explore(lambda proc, cells: cells.readfe(proc.rank), 90, 0, setup=lambda machine: machine.cells(90))
    for what in (found, found.failure):
        assert len(str(what).splitlines()) <= LINES


def test_a_profiler_of_the_caller_is_kept() -> None:
    import sys

    def profile(*_: object) -> None:
        return

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        smp.explore(
            lambda proc, words: store(words, 0, 1), 1, setup=lambda m: np.zeros(1, np.int64), check=lambda *_: 0
        )
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)
