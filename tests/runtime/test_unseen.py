"""`smp.explore` does not vouch for accesses that it cannot see, and sees all others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import smp
from smp._runtime.memory.races import WRITE
from smp._runtime.memory.witness import Witness, Witnessed, plain
from smp.compiled import fetch_add, load, store
from smp.errors import RaceError, Unsupported

ALL = "\nthese are all schedules of the program"


def zeros(machine: smp.Machine) -> Any:
    return machine.zeros(4, np.int64)


def unseen(program: Callable[..., Any], setup: Callable[..., Any] = zeros, **options: Any) -> list[tuple[str, str]]:
    """Return the array and the kind of access at each unseen place.

    Each place must be a line of this file and be named in the text of the exploration.
    """
    found = smp.explore(program, 2, None, setup=setup, **options)
    assert found.failure is None, str(found)
    assert found.complete
    assert str(found).endswith(ALL) == (not found.unseen)
    for one in found.unseen:
        name, line = one.where.rsplit(":", 1)
        assert name == __file__
        assert int(line) >= program.__code__.co_firstlineno
        assert f"  {one.where}  {one.array} by {one.by}" in str(found).splitlines()
    return [(one.array, one.by) for one in found.unseen]


class Shared(NamedTuple):
    words: Any
    name: str


@pytest.mark.parametrize(
    "setup",
    [
        lambda machine: ([np.zeros(1)],),
        lambda machine: {"words": np.zeros(1)},
        lambda machine: ((np.zeros(1), 3),),
        lambda machine: (Shared(np.zeros(1), "name"),),
    ],
)
def test_arrays_are_found_in_tuples_lists_and_dicts(setup: Callable[..., Any]) -> None:
    def program(proc: smp.Processor, shared: Any) -> None:
        shared["words" if isinstance(shared, dict) else 0][0] = 1

    found = smp.explore(program, 2, setup=setup)
    assert found.failure is not None
    assert isinstance(found.failure.error, RaceError)
    assert "element [0] of float64[1]" in str(found.failure.error)


def test_cells_atomics_barriers_and_supersteps_leave_no_unseen_accesses() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray, words: Any, cells: smp.Cells) -> None:
        fetch_add(array.view, 0, 1)
        part = words[1:]  # no access yet
        store(part.reshape(-1), 0, load(words, 0) + len(words) + part.size)
        cells.writexf(proc.rank, 1)
        made = proc.zeros(4)
        with proc.superstep() as step:
            local = step.copy_in(array)
            step.copy_out(made, slice(2 * proc.rank, 2 * proc.rank + 2), local[:2])
        with proc.superstep() as step:  # in a later superstep, the part of the other processor
            step.copy_out(made, 2 * (1 - proc.rank), 7)

    def setup(machine: smp.Machine) -> Any:
        array = machine.full(4, 3, np.int64)
        array.view[1] = 5  # no processor runs yet
        return array, np.zeros(3, np.int64), machine.cells(2)

    found = smp.explore(program, 2, 0, setup=setup, check=lambda run, array, words, cells: words.sum() > 0)
    assert found.failure is None, str(found)
    assert found.unseen == ()


def test_the_claim_of_a_bounded_exploration_names_unseen_accesses_too() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> int:
        fetch_add(array.view, 0, 1)
        return total(array.view) + int(fetch_add(array.view, 0, 1))

    found = smp.explore(program, 2, 0, setup=zeros)
    assert not found.complete
    claim = str(found).splitlines()
    assert claim[1] == "these are all schedules with at most 0 preemptions; others have more"
    assert claim[2].startswith("other accesses could not be seen")
    assert len(claim) == 4


def test_a_failed_exploration_keeps_its_unseen_places() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        total(array.view)
        store(array.view, 0, load(array.view, 0) + 1)

    found = smp.explore(program, 2, setup=zeros, check=lambda run, array: array[0] == 2)
    assert found.failure is not None
    assert [one.by for one in found.unseen] == ["the compiled loop total"]
    assert len(str(found).splitlines()) == 2 + 4


def test_access_through_raw_memory_is_named() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        memoryview(array.view.data)[0]

    assert unseen(program) == [("int64[4]", ".data")]


@smp.local
def count_up(view: Any) -> int:
    view[0] += 1
    return 1


@smp.local
def total(view: Any) -> int:
    found = 0
    for value in view:
        found += value
    return len(view)


@smp.stream
def plainly(words: Any) -> None:
    fetch_add(words, 0, 1)
    words[1] = 2


def test_accesses_inside_a_compiled_loop_are_not_seen() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        count_up(array.view[1:])
        count_up(view=array.view)
        count_up(np.zeros(4, np.int64))

    assert (
        unseen(program, check=lambda run, array: array[0] == array[1] == 2)
        == [("int64[4]", "the compiled loop count_up")] * 2
    )


def test_a_stream_loop_is_interpreted_and_its_own_line_is_named() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        plainly(array.view)

    found = smp.explore(program, 2, setup=zeros)
    assert found.failure is not None
    line = plainly.__wrapped__.__code__.co_firstlineno + 3  # type: ignore[attr-defined]
    assert str(found.failure.error).count(f"{__file__}:{line}") == 2


def test_accesses_inside_loops_of_a_superstep_are_not_seen_either() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            step.copy_in_by(total, array)
            step.copy_out_by(count_up, array)

    found = smp.explore(program, 2, 0, setup=zeros)
    assert {one.by for one in found.unseen} == {"the compiled loop total", "the compiled loop count_up"}


def test_a_function_compiled_by_numba_alone_is_refused() -> None:
    compiled = numba.njit(lambda view: view.size)

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        compiled(array.view)

    found = smp.explore(program, 2, setup=zeros)
    assert found.failure is not None
    assert isinstance(found.failure.error.__cause__, Unsupported)
    assert "compile it with smp.stream" in str(found.failure.error)


# A witnessed array behaves like a plain one, and no access to it goes unnoticed.


def alter(w: Any) -> Any:
    w += 1
    assert isinstance(w, np.ndarray)
    return w[0]


USES: list[Callable[[Any], Any]] = [
    lambda w: w[1],
    lambda w: w[[0, 2]],
    lambda w: w[w > 2],
    lambda w: alter(w),
    lambda w: w.__setitem__(slice(1, 3), 7),
    lambda w: w + 1,
    lambda w: np.arange(4) + w,
    lambda w: -w,
    lambda w: w == 3,
    lambda w: 3 in w,
    lambda w: w.sum() + w.max(),
    lambda w: w.fill(5),
    lambda w: np.add(w, 1, out=w),
    lambda w: np.add(np.zeros(4, np.int64), w),
    lambda w: np.concatenate([w, w]),
    lambda w: np.sort(w),
    lambda w: np.copyto(w, 3),
    lambda w: np.array(w),
    lambda w: np.asarray(w).__iadd__(1),
    lambda w: np.frombuffer(w.data, np.int64).copy(),
    lambda w: list(w),
    lambda w: sorted(w),
    lambda w: w.tolist(),
    lambda w: float(w.mean()),
    lambda w: str(w) + repr(w) + f"{w}",
    lambda w: w[1:].T.reshape(3, 1)[2, 0],
    lambda w: w.view(np.uint64)[2],
    lambda w: w.real[1],
    lambda w: setattr(w, "flat", 3),
    lambda w: w.flat[1],
    lambda w: np.eye(4)[w],
    lambda w: [0, 1, 2, 3, 4, 5][w[0]],
    lambda w: np.zeros(4).__setitem__(..., w),
    lambda w: w.astype(float),
    lambda w: np.arange(4) @ w,
    lambda w: w.argsort()[::-1],
    lambda w: np.maximum.reduce(w),
    lambda w: np.where(w > 2, w, 0),
]


HIDDEN = {".data", ".flat", "NumPy"}


@pytest.mark.parametrize("k", range(len(USES)))
def test_a_use_of_a_witnessed_array_is_seen_and_has_its_usual_result(k: int) -> None:
    array, twin = np.array([3, 1, 2, 0]), np.array([3, 1, 2, 0])
    witness, kinds = seen()
    shown = witness.shown(array)
    witness.on = True
    found, wanted = USES[k](shown), USES[k](twin)
    witness.on = False
    changed, hidden = not np.array_equal(twin, [3, 1, 2, 0]), {one.by for one in witness.places}
    assert hidden <= HIDDEN
    assert kinds or hidden
    assert (WRITE in kinds) == changed or hidden
    assert np.array_equal(array, twin)
    assert plain(found) is array if type(found) is Witnessed else type(found) is type(wanted)
    assert np.array_equal(plain(found), wanted)


def seen() -> tuple[Witness, list[int]]:
    """Return a witness, and the list to which it adds the kinds of the accesses that it sees."""
    witness, kinds = Witness(), list[int]()
    witness.step = kinds.append
    return witness, kinds


def test_taking_the_shape_or_a_part_of_an_array_is_not_an_access() -> None:
    witness, kinds = seen()
    shown = witness.shown(np.zeros((2, 3)))
    witness.on = True
    assert (len(shown), shown.shape, shown.T.shape, np.shape(shown), shown.dtype) == (2, (2, 3), (3, 2), (2, 3), float)
    assert isinstance(shown[1].reshape(3, 1), np.ndarray)
    assert not hasattr(shown, "nothing")
    assert (witness.places, kinds) == ((), [])


def test_accesses_by_setup_and_check_are_not_noted() -> None:
    def setup(machine: smp.Machine) -> Any:
        array = machine.zeros(2)
        array.view[:] = 1
        return array

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        proc.barrier()

    assert unseen(program, setup, check=lambda run, array: array.view.sum() == 2 and array[0] == 1) == []
