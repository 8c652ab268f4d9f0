"""`smp.explore(..., reduction=True)` runs few schedules, and reaches what an exploration without it reaches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._runtime.loops.atomics import futex_wait
from smp.compiled import compare_exchange, exchange, fetch_add, load, pause, store, wake
from smp.errors import DeadlockError, RaceError

EVER = 1 << 62
Operation = tuple[str, int, int]
Program = list[list[Operation]]


def words(count: int = 16) -> Callable[[smp.Machine], Any]:
    return lambda machine: np.zeros(count, np.int64)


def schedules(program: Callable[..., Any], processors: int, bound: int | None = None, **options: Any) -> int:
    """Return the number of schedules of a program that must have no failure."""
    found = smp.explore(program, processors, bound, setup=words(), reduction=True, **options)
    assert found.failure is None, str(found)
    assert found.complete
    return found.schedules


# Counts that are known from the literature, or in closed form.


@pytest.mark.parametrize("bound", [None, 0, 2])
def test_stores_to_different_words_have_one_schedule(bound: int | None) -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for k in range(4):
            store(w, 4 * proc.rank + k, 1)

    assert schedules(program, 3, bound) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_each_reader_comes_before_or_after_the_writer(count: int) -> None:
    """The readers of Abdulla and others, Optimal dynamic partial order reduction, section 2."""

    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 0:
            store(w, 0, 1)
        else:
            load(w, proc.rank)
            load(w, 0)

    assert schedules(program, count + 1) == 2**count


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_last_zero_has_the_published_number_of_schedules(count: int) -> None:
    """The program ``lastzero`` of Abdulla and others, section 8; source sets run no redundant schedule of it."""

    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 0:
            i = count
            while load(w, i):
                i -= 1
        else:
            store(w, proc.rank, load(w, proc.rank - 1) + 1)

    assert schedules(program, count + 1) == (count + 3) * 2 ** (count - 2)


@pytest.mark.parametrize(("processors", "expected"), [(11, 1), (12, 8)])
def test_the_indexer_has_schedules_only_where_entries_collide(processors: int, expected: int) -> None:
    """The program of Flanagan and Godefroid, Dynamic partial-order reduction, section 5."""
    size, most = 128, 4

    def program(proc: smp.Processor, w: Any) -> None:
        for m in range(1, most + 1):
            message = m * 11 + proc.rank
            at = message * 7 % size
            while compare_exchange(w, at, 0, message) != 0:
                at = (at + 1) % size

    found = smp.explore(program, processors, None, setup=words(size), reduction=True)
    assert (found.failure, found.complete, found.schedules) == (None, True, expected)


def test_dependent_steps_have_all_their_schedules() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        for _ in range(3):
            fetch_add(w, 0, 1)

    assert schedules(program, 2) == 20


def test_streams_of_a_processor_see_the_same_with_reduction() -> None:
    def body(w: Any, k: int) -> None:
        store(w, 2 + k, load(w, 0))
        store(w, 0, k)

    def program(proc: smp.Processor, w: Any) -> None:
        with proc.streams(2) as team:
            for k in (1, 2):
                team.start(body, w, k)

    def outcomes(reduction: bool) -> set[Any]:
        seen = set()

        def note(run: smp.Run, w: Any) -> None:
            seen.add(tuple(w))

        smp.explore(program, 1, 1, streams=2, setup=words(), check=note, reduction=reduction)
        return seen

    assert outcomes(True) == outcomes(False)
    assert len(outcomes(True)) > 1


# What is dependent.


def test_accesses_in_a_compiled_loop_depend_on_all_others_of_the_array() -> None:
    def program(proc: smp.Processor, w: Any) -> int:
        load(w, 8 + proc.rank)
        return first(w) if proc.rank else put(w)

    seen = set()
    found = smp.explore(program, 2, None, setup=words(), check=lambda run, w: seen.add(run.results[1]), reduction=True)
    assert found.complete
    assert seen == {0, 7}


@smp.local
def first(w: Any) -> int:
    return int(w[0])


@smp.local
def put(w: Any) -> int:
    w[0] = 7
    return 0


def test_accesses_through_raw_memory_depend_on_all_steps() -> None:
    def program(proc: smp.Processor, w: Any) -> int:
        raw = np.frombuffer(w.data, np.int64)
        load(w, 8 + proc.rank)
        if proc.rank == 0:
            raw[0] = 7
        return int(raw[0])

    seen = set()
    smp.explore(program, 2, None, setup=words(), check=lambda run, w: seen.add(run.results[1]), reduction=True)
    assert seen == {0, 7}


def test_copies_of_supersteps_depend_on_accesses_of_their_elements() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> int:
        with proc.superstep() as step:
            if proc.rank:
                return int(step.copy_in(array)[0])
            array.view[1] = 5
            array.view[0] = 7
        return 0

    seen = set()
    smp.explore(
        program,
        2,
        2,
        setup=lambda machine: machine.zeros(2, np.int64),
        check=lambda run, array: seen.add(run.results[1]),
        races=False,
        reduction=True,
    )
    assert seen == {0, 7}


def test_a_deadline_and_a_wake_up_are_both_tried() -> None:
    def program(proc: smp.Processor, w: Any) -> int:
        if proc.rank == 0:
            store(w, 0, 1)
            return int(wake(w, 0, 1))
        futex_wait(w, 0, 0, 1_000)
        return int(load(w, 0))

    seen = set()
    smp.explore(program, 2, None, setup=words(), check=lambda run, w: seen.add(tuple(run.results)), reduction=True)
    assert seen == {(0, 0), (0, 1), (1, 1)}


# What is said of the result.


def three(proc: smp.Processor, w: Any) -> None:
    for _ in range(3):
        fetch_add(w, 0, 1)


def test_the_text_says_what_the_bound_leaves_out() -> None:
    found = smp.explore(three, 2, 1, setup=words(), reduction=True)
    assert (found.failure, found.complete, found.bound) == (None, False, 1)
    assert found.left_out > 0
    assert f"at most 1 preemption; {found.left_out} choices with more were left out" in str(found)


def test_the_first_failure_has_the_fewest_preemptions() -> None:
    """The program fails only if processor 0 is interrupted twice."""

    def program(proc: smp.Processor, w: Any) -> None:
        if proc.rank == 0:
            seen = [load(w, 0) for _ in range(3)]
            assert seen != [0, 1, 2]
        else:
            for _ in range(2):
                fetch_add(w, 0, 1)

    found = smp.explore(program, 2, 4, setup=words(), reduction=True)
    assert found.failure is not None
    assert (found.failure.preemptions, found.bound) == (3, 2)
    assert smp.explore(program, 2, 2, setup=words(), reduction=True).failure is None


def test_the_limit_counts_redundant_schedules_too() -> None:
    found = smp.explore(three, 3, None, setup=words(), reduction=True, limit=50)
    assert found.schedules <= 50
    assert not found.complete
    assert "not all schedules" in str(found)


def test_a_race_is_found_with_its_schedule() -> None:
    def program(proc: smp.Processor, w: Any) -> None:
        store(w, 1 + proc.rank, 1)
        w[0] += 1

    for bound in (None, 0, 2):
        found = smp.explore(program, 2, bound, setup=words(), reduction=True)
        assert found.failure is not None
        assert isinstance(found.failure.error, RaceError)
        with pytest.raises(RaceError):
            smp.replay(found, program, 2, setup=words())


# Random programs reach the same outcomes with and without reduction.

KINDS = [
    ["load", "store", "add"],
    ["load", "store", "exchange", "compare", "copy"],
    ["load", "store", "pause", "spin", "copy"],
    ["wait", "wake", "load", "store"],
    ["sleep", "wake", "load"],
    ["try_full", "try_empty", "load", "store"],
    ["full", "empty"],
    ["read", "write", "load"],
    ["read", "write", "increment"],
    ["barrier", "load", "store"],
]


def carried_out(program: Program, proc: smp.Processor, w: Any, cells: Any) -> tuple[int, ...]:
    """Carry out the operations of a processor, and return what they have seen."""
    seen: list[Any] = []
    own = proc.rank + 1
    for name, a, b in program[proc.rank]:
        if name == "load":
            seen.append(load(w, a))
        elif name == "store":
            store(w, a, own)
        elif name == "add":
            seen.append(fetch_add(w, a, 1))
        elif name == "exchange":
            seen.append(exchange(w, a, own))
        elif name == "compare":
            seen.append(compare_exchange(w, a, 0, own))
        elif name == "copy":
            store(w, b, load(w, a) + 1)
        elif name == "pause":
            pause()
        elif name == "spin":
            for _ in range(2):
                if load(w, a):
                    break
                pause()
        elif name == "wait":
            futex_wait(w, a, 0, 1_000)
        elif name == "sleep":
            futex_wait(w, a, 0, EVER)
        elif name == "wake":
            store(w, a, 1)
            seen.append(wake(w, a, 1))
        elif name == "read":
            seen.append(w[a])
        elif name == "write":
            w[a] = own
        elif name == "increment":
            w[a] += 1
        elif name == "full":
            cells.writeef(a, own)
        elif name == "empty":
            seen.append(cells.readfe(a))
        elif name == "try_full":
            seen.append(cells.try_writeef(a, own))
        elif name == "try_empty":
            seen += cells.try_readfe(a)
        else:
            proc.barrier()
    return tuple(map(int, seen))


def outcomes(program: Program, bound: int | None, races: bool, reduction: bool, limit: int) -> Any:
    """Return an exploration and all outcomes that were seen."""
    seen = set()
    found = smp.explore(
        lambda proc, w, cells: carried_out(program, proc, w, cells),
        len(program),
        bound,
        setup=lambda machine: (np.zeros(3, np.int64), machine.cells(3)),
        check=lambda run, w, cells: seen.add((*run.results, tuple(w))),
        races=races,
        reduction=reduction,
        limit=limit,
    )
    return found, seen


@st.composite
def programs(draw: st.DrawFn) -> tuple[Program, bool]:
    """Draw a program, and whether its plain accesses are looked at for races."""
    kinds = draw(st.sampled_from(KINDS))
    word = st.integers(0, 1)
    operations = st.lists(st.tuples(st.sampled_from(kinds), word, word), min_size=1, max_size=3)
    return draw(st.lists(operations, min_size=2, max_size=3)), "read" not in kinds


def compare(program: Program, races: bool, limit: int) -> None:
    for bound in (None, 0, 1, 2):
        plain, wanted = outcomes(program, bound, races, False, limit)
        if plain.failure is None and plain.schedules == limit:
            return
        reduced, seen = outcomes(program, bound, races, True, limit)
        if bound is None and plain.failure is not None and reduced.failure is None and not reduced.complete:
            continue  # the deepest choices come first, and the failure only after more schedules than the limit
        assert (plain.failure is None) == (reduced.failure is None)
        if plain.failure is None:
            assert seen == wanted
            assert reduced.schedules <= plain.schedules or bound is not None
        else:
            assert isinstance(plain.failure.error, DeadlockError)
            assert isinstance(reduced.failure.error, DeadlockError)
            if bound is not None:
                assert reduced.failure.preemptions == plain.failure.preemptions


def test_a_failure_may_come_late_without_a_bound() -> None:
    """The plain search comes to it as its 118th schedule; the reduced one goes deep first, unless it has a bound."""
    filled = [("empty", 1, 0), ("full", 1, 0), ("full", 0, 0)], [("full", 1, 0)] * 2, [("empty", 0, 0), ("empty", 1, 0)]
    compare([list(each) for each in filled], races=True, limit=150)


def test_any_deadline_may_be_over_first() -> None:
    """If only the first one could be over, a wait would depend on steps that do not touch its word."""
    program = [("wait", 0, 0), ("wake", 0, 0)], [("wait", 0, 0), ("load", 0, 0)]
    compare([list(each) for each in program], races=True, limit=400)


@settings(max_examples=25, deadline=None)
@given(programs())
def test_random_programs_have_the_same_outcomes(drawn: tuple[Program, bool]) -> None:
    compare(*drawn, limit=400)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(programs())
def test_many_random_programs_have_the_same_outcomes(drawn: tuple[Program, bool]) -> None:
    compare(*drawn, limit=5_000)
