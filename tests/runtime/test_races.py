"""`smp.explore` finds planted races without a check, and reports none in their right twins."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sampled import each

import smp
from smp._runtime.exploring.exploration import Exploration
from smp._runtime.memory.overlaps import Overlaps
from smp._runtime.memory.races import READ, WRITE, Races
from smp.compiled import exchange, fetch_add, load, pause, store
from smp.errors import RaceError

Words = Any


class Pair(NamedTuple):
    """A program with a race, if it is called with ``right=False``; and what it needs besides its words."""

    program: Callable[..., Any]
    cells: bool


PAIRS: dict[str, Pair] = {}


def planted(cells: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def planted(program: Callable[..., Any]) -> Callable[..., Any]:
        PAIRS[program.__name__] = Pair(program, cells)
        return program

    return planted


@planted()
def an_update_is_lost(proc: smp.Processor, w: Words, right: bool) -> None:
    if right:
        fetch_add(w, 0, 1)
    else:
        w[0] += 1


@planted()
def data_are_published_by_a_plain_flag(proc: smp.Processor, w: Words, right: bool) -> None:
    data, flag = 0, 1
    if proc.rank == 0:
        w[data] = 7
        if right:
            store(w, flag, 1)
        else:
            w[flag] = 1
    elif load(w, flag) if right else w[flag]:
        assert w[data] == 7


@planted()
def a_barrier_is_missing(proc: smp.Processor, w: Words, right: bool) -> None:
    w[proc.rank] = 1
    if right:
        proc.barrier()
    assert w[1 - proc.rank] in (0, 1)


@planted()
def a_place_is_checked_and_then_taken(proc: smp.Processor, w: Words, right: bool) -> None:
    taken, count = 0, 1
    if right:
        mine = exchange(w, taken, 1) == 0
    else:
        mine = w[taken] == 0
        if mine:
            w[taken] = 1
    if mine:
        fetch_add(w, count, 1)


@planted()
def something_is_made_once_behind_a_plain_flag(proc: smp.Processor, w: Words, right: bool) -> None:
    """Double-checked initialisation, whose first look needs a load."""
    there, lock, value = 0, 1, 2
    if (load(w, there) if right else w[there]) == 0:
        while exchange(w, lock, 1):
            pause()
        if (load(w, there) if right else w[there]) == 0:
            w[value] = 5
            if right:
                store(w, there, 1)
            else:
                w[there] = 1
        store(w, lock, 0)
    assert w[value] == 5


@planted(cells=True)
def a_record_is_torn(proc: smp.Processor, w: Words, cells: smp.Cells, right: bool) -> None:
    if right:
        cells.readfe(0)
    if proc.rank == 0:
        w[0:2] = 7
    else:
        assert w[0] == w[1]
    if right:
        cells.writeef(0, 0)


@planted(cells=True)
def a_lock_is_given_back_too_early(proc: smp.Processor, w: Words, cells: smp.Cells, right: bool) -> None:
    cells.readfe(0)
    if not right:
        cells.writeef(0, 0)
    w[0] += 1
    if right:
        cells.writeef(0, 0)


@planted()
def a_thread_is_not_waited_for(proc: smp.Processor, w: Words, right: bool) -> None:
    if proc.rank:
        return

    def work() -> None:
        w[0] = 3

    with proc.streams(1) as pool:
        thread = pool.start(work)
        if right:
            thread.result()
        w[1] = w[0]


@planted()
def a_message_does_not_wait_for_the_data(proc: smp.Processor, w: Words, right: bool) -> None:
    came: list[int] = []
    note = proc.handler(lambda message, value: came.append(value))
    if proc.rank == 0:
        if right:
            w[0] = 5
        proc.send(1, note, 0)
        if not right:
            w[0] = 5
    else:
        proc.wait_until(lambda: bool(came))
        assert w[0] in (0, 5)


@planted()
def a_sum_is_read_before_all_have_added(proc: smp.Processor, w: Words, right: bool) -> None:
    w[proc.rank] = proc.rank
    if right:
        proc.reduce(1)
    if proc.rank == 0:
        w[2] = w[0:2].sum()


def setup_of(pair: Pair) -> Callable[[smp.Machine], Any]:
    def setup(machine: smp.Machine) -> Any:
        words = np.zeros(4, np.int64)
        if not pair.cells:
            return words
        cells = machine.cells(1)
        cells.writeef(0, 0)
        return words, cells

    return setup


def explored(name: str, right: bool, **options: Any) -> Exploration:
    pair = PAIRS[name]
    return smp.explore(lambda proc, *args: pair.program(proc, *args, right), 2, setup=setup_of(pair), **options)


@pytest.mark.parametrize("name", PAIRS)
def test_a_planted_race_is_found_with_both_lines_and_processors(name: str) -> None:
    found = explored(name, right=False)
    assert found.failure is not None, str(found)
    assert isinstance(found.failure.error, RaceError), str(found.failure)
    said = str(found.failure.error)
    code = PAIRS[name].program.__code__
    assert said.count(f"{__file__}:") == 2
    assert all(int(part.split(".")[0].split(",")[0]) >= code.co_firstlineno for part in said.split(f"{__file__}:")[1:])
    assert "of int64[4]" in said
    pair = PAIRS[name]
    with pytest.raises(RaceError, match=r"a race on element \[\d\]"):
        smp.replay(found, lambda proc, *args: pair.program(proc, *args, False), 2, setup=setup_of(pair))


@pytest.mark.parametrize("name", each(2, PAIRS))
def test_its_right_twin_is_not_reported(name: str) -> None:
    found = explored(name, right=True)
    assert found.failure is None, str(found.failure)
    assert found.unseen == ()


def test_without_a_look_for_races_each_access_is_a_step() -> None:
    found = explored("an_update_is_lost", False, races=False, check=lambda run, w: w[0] == 2)
    assert found.failure is not None
    assert isinstance(found.failure.error, smp.CheckFailed)
    steps = [(rank, name) for rank, _, name, _ in found.failure.steps]
    assert steps == [(1, "read"), (0, "read"), (0, "write"), (1, "write")]
    right = explored("an_update_is_lost", True, races=False, check=lambda run, w: w[0] == 2)
    assert (right.failure, right.complete) == (None, True)


def whole(proc: smp.Processor, w: Words) -> None:
    w += 1


def test_an_update_of_a_whole_array_is_a_read_and_a_write() -> None:
    found = smp.explore(
        whole, 2, setup=lambda machine: np.zeros(4, np.int64), races=False, check=lambda run, w: (w == 2).all()
    )
    assert found.failure is not None
    assert [name for _, _, name, _ in found.failure.steps] == ["read", "read", "write", "write"]


def test_copies_of_supersteps_are_accesses() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        if proc.rank == 0:
            array.view[3] = 1  # the other processor may copy it at the same time
        with proc.superstep() as step:
            step.copy_in(array, slice(2 * (1 - proc.rank), None))

    found = smp.explore(program, 2, setup=lambda machine: machine.zeros(4, np.int64))
    assert found.failure is not None
    assert "element [3] of int64[4]" in str(found.failure.error)


def test_fields_of_a_record_are_apart() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray, same: bool) -> None:
        array.view["x" if same or proc.rank else "y"][1] = 1

    def setup(machine: smp.Machine) -> smp.GlobalArray:
        return machine.zeros(2, [("x", "i8"), ("y", "i4")])

    assert smp.explore(lambda proc, a: program(proc, a, False), 2, setup=setup).failure is None
    found = smp.explore(lambda proc, a: program(proc, a, True), 2, setup=setup)
    assert found.failure is not None
    assert "element [1]" in str(found.failure.error)


@pytest.mark.parametrize(
    ("mine", "races"),
    [
        (lambda w, rank: w[rank::2], False),
        (lambda w, rank: w.reshape(2, 3).T[:, rank], False),
        (lambda w, rank: w[[rank, 5 - rank]], None),
        (lambda w, rank: w[rank : rank + 2], True),
        (lambda w, rank: w.view(np.int32)[2 * rank : 2 * rank + 1], False),
        (lambda w, rank: w.view(np.int32)[rank : rank + 1], True),
        (lambda w, rank: w[::-1][rank], None),
    ],
)
def test_parts_of_an_array_race_only_if_they_overlap(mine: Callable[[Any, int], Any], races: bool | None) -> None:
    """Two halves of one element count as the same element. A part that is a copy (None) is only read."""

    def program(proc: smp.Processor, w: Words) -> None:
        part = mine(w, proc.rank)
        if races is not None:
            part[:] = 1

    found = smp.explore(program, 2, setup=lambda machine: np.zeros(6, np.int64))
    assert (found.failure is not None) == bool(races), str(found)


OVERLAPS = [0, slice(1, 3), [2, 0], ..., np.array([True, False, True, False])]


@pytest.mark.parametrize("index", OVERLAPS)
@pytest.mark.parametrize("kind", ["explore", "seeded", "clock", "cm5", "powerchallenge"])
def test_two_copies_to_the_same_element_in_a_superstep_are_an_error(index: Any, kind: str) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            step.copy_out(array, index if proc.rank else slice(0, 2), proc.rank)

    line = program.__code__.co_firstlineno + 2
    elements = r"2 elements, from \[0\] to \[1\]," if index is ... else r"element \[[01]\]"
    said = rf"processors \d and \d write {elements} of int64\[4\] in one superstep, at (.*:{line}) and at \1:"
    if kind == "explore":
        found = smp.explore(program, 2, 0, setup=lambda machine: machine.zeros(4, np.int64))
        assert found.failure is not None
        assert isinstance(found.failure.error, RaceError)
        assert re.search(said, str(found.failure.error))
        return
    options = {"schedule": kind} if kind in ("seeded", "clock") else {"machine": kind}
    with smp.emulated(2, **options) as machine, pytest.raises(smp.ProgramError, match=said):
        machine.run(program, machine.zeros(4, np.int64))


@given(st.data())
def test_copies_are_reported_if_and_only_if_two_processors_write_an_element(data: st.DataObject) -> None:
    """Three processors, some supersteps; the oracle counts the writers of each element."""
    size = data.draw(st.integers(1, 12))
    stretch = st.tuples(st.integers(0, size), st.integers(0, size), st.integers(1, 3)).map(lambda t: slice(*t))
    parts = st.one_of(stretch, st.lists(st.integers(0, size - 1), max_size=4).map(lambda k: np.array(k, np.int64)))
    plan = data.draw(st.lists(st.lists(st.lists(parts, max_size=2), min_size=3, max_size=3), min_size=1, max_size=3))

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        for superstep in plan:
            with proc.superstep() as step:
                for part in superstep[proc.rank]:
                    step.copy_out(array, part, proc.rank)

    def overlaps(superstep: list[list[Any]]) -> bool:
        writers = np.zeros(size, np.int64)
        for mine in superstep:
            wrote = np.zeros(size, bool)
            for part in mine:
                wrote[part] = True
            writers += wrote
        return bool((writers > 1).any())

    with smp.emulated(3) as machine:
        array = machine.zeros(size, np.int64)
        if any(map(overlaps, plan)):
            with pytest.raises(smp.ProgramError, match="in one superstep"):
                machine.run(program, array)
        else:
            machine.run(program, array)


def test_copies_of_single_elements_need_no_map() -> None:
    overlaps, array = Overlaps(), np.zeros((2, 3))
    for rank, index in enumerate([(0, 0), (0, 1), 1]):
        overlaps.write(array, index, np.array(rank), rank, 0, None)
    assert [part._map for part in overlaps._arrays.values()] == [None]
    array[1, 2] = 2.0
    with pytest.raises(RaceError, match=r"processors 2 and 3 write element \[1, 2\]"):
        overlaps.write(array, (1, slice(2, 3)), np.array([[5.0]]), 3, 0, None)  # NumPy drops the extra axis


def test_copies_of_the_same_value_are_no_race() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            step.copy_out(array, slice(0, 2 + proc.rank), np.nan)

    found = smp.explore(program, 2, 1, setup=lambda machine: machine.zeros(4))
    assert found.failure is None, str(found.failure)


def test_a_new_run_forgets_the_copies_of_the_one_before() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray, writer: int) -> None:
        with proc.superstep() as step:
            if proc.rank == writer:
                step.copy_out(array, 0, 1)

    with smp.emulated(2) as machine:
        array = machine.zeros(4, np.int64)
        for writer in (0, 1, 0):
            machine.run(program, array, writer, repeat=2)


STORE, LOAD = "store", "load"


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from((STORE, LOAD, READ, WRITE)), st.integers(0, 2)), max_size=30)
)
def test_clocks_find_the_races_that_a_search_of_all_steps_before_finds(steps: list[tuple[int, Any, int]]) -> None:
    """The oracle keeps for each stream the numbers of all steps before its next one: its own, and those that it saw."""
    races = Races()
    before: dict[int, set[int]] = {stream: set() for stream in (1, 2, 3)}
    word: set[int] = set()
    for stream in before:
        races.starts(stream, None)
    for number, (stream, what, unit) in enumerate(steps):
        if what == STORE:
            races.order(stream, 8, acquires=False, releases=True, replaces=True)
            word = set(before[stream])
        elif what == LOAD:
            races.order(stream, 8, acquires=True, releases=False, replaces=False)
            before[stream] |= word
        else:
            expected = any(
                other != stream and at == unit and {one, what} in ({WRITE}, {READ, WRITE}) and k not in before[stream]
                for k, (other, one, at) in enumerate(steps[:number])
            )
            found = races.access(stream, 0, 3, np.array([unit]), what, "line")
            assert (found is not None) == expected
            if found:
                return
            before[stream].add(number)
