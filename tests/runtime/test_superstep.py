"""Supersteps: the values that they read and write, their counts and records, and the uses that they refuse."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.machines import Machines
from support.sampled import examples

import smp
from smp._runtime.program.records.recorded import Repeat
from smp._runtime.program.run import Run
from smp._runtime.program.steps import LIMIT, SPAN, STEP, Packed, Recorder, joined
from smp.errors import PhaseError, ProcessorRaised


def failing(machine: smp.Machine, program: Callable[..., Any], *args: Any) -> BaseException:
    """Return the exception that ends a program."""
    with pytest.raises(ProcessorRaised) as caught:
        machine.run(program, *args)
    cause = caught.value.__cause__
    assert cause is not None
    return cause


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_reads_see_the_values_before_the_writes_of_the_same_superstep(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    shared = machine.array(np.arange(100))

    def program(proc: smp.Processor, shared: smp.GlobalArray) -> bool:
        right = True
        for k in range(20):
            with proc.superstep() as step:
                seen = step.copy_in(shared)
                step.copy_out(shared, ..., seen + 1)
                step.copy_out(shared, proc.block(100), seen[proc.block(100)] + 1)
            right &= bool((seen == np.arange(100) + k).all())
        return right

    assert machine.run(program, shared).results == [True] * processors
    np.testing.assert_array_equal(shared[:], np.arange(100) + 20)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.int32, np.uint8])
def test_overlapping_writes_leave_one_of_the_values_whole(machines: Machines, dtype: type) -> None:
    machine = machines(4)
    shared = machine.zeros(5000, dtype)
    patterns = np.array([0x00, 0x55, 0xAA, 0xFF], np.uint8)
    values = np.array([np.full(np.dtype(dtype).itemsize, pattern).view(dtype)[0] for pattern in patterns])

    def program(proc: smp.Processor, shared: smp.GlobalArray) -> int:
        strange = 0
        for _ in range(20):
            with proc.superstep() as step:
                step.copy_out(shared, ..., np.full(5000, values[proc.rank]))
            with proc.superstep() as step:
                seen = step.copy_in(shared)
            alike = [seen.view(np.uint8).reshape(5000, -1) == pattern for pattern in patterns]
            strange += int((~np.any([same.all(axis=1) for same in alike], axis=0)).sum())
        return strange

    assert machine.run(program, shared).results == [0] * 4


def by_step(run: Run, column: str) -> list[list[int]]:
    """Return a column of run.steps with a row for each superstep and a number for each processor."""
    size = len(run.results)
    return [list(map(int, row)) for row in run.steps[column].reshape(-1, size)]


@pytest.mark.parametrize("processors", [1, 3])
def test_a_transpose_is_counted_exactly(machines: Machines, processors: int) -> None:
    machine, n = machines(processors), 12
    a = machine.array(np.arange(float(n * n)).reshape(n, n))
    b = machine.zeros((n, n))

    def transpose(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
        mine = proc.block(len(a))
        with proc.superstep("transpose") as step:
            rows = step.copy_in(a, mine)
            step.copy_out(b, (slice(None), mine), rows.T)

    run = machine.run(transpose, a, b)
    np.testing.assert_array_equal(b[:], a[:].T)
    assert by_step(run, "reads") == by_step(run, "writes") == [[n * n // processors] * processors]
    assert by_step(run, "bytes_read") == by_step(run, "bytes_written") == [[8 * n * n // processors] * processors]
    assert set(run.steps["label"]) == {"transpose"}


@pytest.mark.parametrize("processors", [2, 4])
def test_an_all_to_all_is_counted_exactly(machines: Machines, processors: int) -> None:
    """Processor r sends r + s + 1 elements to processor s."""
    machine = machines(processors)
    boxes = machine.zeros((processors, processors, 2 * processors), np.int32)

    def exchange(proc: smp.Processor, boxes: smp.GlobalArray) -> int:
        with proc.superstep("send") as step:
            for other in range(proc.size):
                length = proc.rank + other + 1
                step.copy_out(boxes, (proc.rank, other, slice(length)), np.full(length, proc.rank + 1))
        with proc.superstep("receive") as step:
            came = [step.copy_in(boxes, (other, proc.rank, slice(proc.rank + other + 1))) for other in range(proc.size)]
        return sum(int(part.sum()) for part in came)

    run = machine.run(exchange, boxes)
    ranks = range(processors)
    lengths = [sum(r + s + 1 for s in ranks) for r in ranks]
    assert run.results == [sum((r + s + 1) * (s + 1) for s in ranks) for r in ranks]
    assert by_step(run, "writes") == [lengths, [0] * processors]
    assert by_step(run, "reads") == [[0] * processors, lengths]
    assert by_step(run, "bytes_written") == [[4 * n for n in lengths], [0] * processors]


@pytest.mark.parametrize("processors", [1, 3, 7])
def test_a_stencil_is_counted_exactly(machines: Machines, processors: int) -> None:
    machine, rows, columns, sweeps = machines(processors), 21, 10, 4
    start = np.random.default_rng(0).random((rows + 2, columns))
    grid = machine.array(start)

    def relax(proc: smp.Processor, grid: smp.GlobalArray) -> None:
        mine = proc.block(rows)
        for _ in range(sweeps):
            with proc.superstep("relax") as step:
                around = step.copy_in(grid, slice(mine.start, mine.stop + 2))
                step.compute()
                step.copy_out(grid, slice(mine.start + 1, mine.stop + 1), (around[:-2] + around[2:]) / 2)

    run = machine.run(relax, grid)
    wanted = start.copy()
    for _ in range(sweeps):
        wanted[1:-1] = (wanted[:-2] + wanted[2:]) / 2
    np.testing.assert_array_equal(grid[:], wanted)
    each = rows // processors
    assert by_step(run, "reads") == [[(each + 2) * columns] * processors] * sweeps
    assert by_step(run, "writes") == [[each * columns] * processors] * sweeps


SHAPE = (4, 3, 5)


def indices() -> st.SearchStrategy[Any]:
    """Return indices of every kind for an array of SHAPE: basic, integer arrays, masks, lists, and mixtures."""
    axis = [st.integers(-n, n - 1) for n in SHAPE]
    lists = [st.lists(one, max_size=4) for one in axis]
    mixed = st.tuples(st.slices(4), lists[1].map(lambda x: np.array(x, np.intp)), st.slices(5))
    masks = st.one_of(
        hnp.arrays(np.bool_, SHAPE), hnp.arrays(np.bool_, SHAPE[:1]), hnp.arrays(np.bool_, SHAPE[:2]), st.booleans()
    )
    return st.one_of(
        hnp.basic_indices(SHAPE, allow_newaxis=True),
        hnp.integer_array_indices(SHAPE),
        hnp.integer_array_indices(SHAPE[:2], dtype=np.dtype(np.int8)),
        lists[0].map(lambda x: np.array(x, np.intp)),
        st.tuples(axis[0], st.just(Ellipsis), axis[2]),
        st.tuples(lists[0].filter(bool), st.just(slice(None)), st.just(0)),
        mixed,
        masks,
    )


@settings(deadline=None, max_examples=examples(150))
@given(index=indices(), data=st.data())
@example(index=(), data=None)
@example(index=None, data=None)
def test_every_index_reads_and_writes_as_in_numpy(machines: Machines, index: Any, data: Any) -> None:
    machine = machines(1)
    values = np.arange(60, dtype=np.int32).reshape(SHAPE)
    part = values[index]
    new = -1 - np.arange(part.size, dtype=np.int16).reshape(part.shape)
    source, target = machine.array(values), machine.array(values)

    def program(proc: smp.Processor, source: smp.GlobalArray, target: smp.GlobalArray) -> Any:
        with proc.superstep() as step:
            seen = step.copy_in(source, index)
            out = np.empty_like(seen)
            same = step.copy_in(source, index, out=out) is out
            step.copy_out(target, index, new)
        kept = seen.copy()
        seen[...] = 0  # a private copy: the global array does not change
        return kept, out, same

    run = machine.run(program, source, target)
    seen, out, same = run.results[0]
    wanted = values.copy()
    wanted[index] = new
    np.testing.assert_array_equal(seen, part, strict=True)
    np.testing.assert_array_equal(out, part, strict=True)
    assert same
    np.testing.assert_array_equal(source[:], values)
    np.testing.assert_array_equal(target[:], wanted)
    assert by_step(run, "reads") == [[2 * part.size]]
    assert by_step(run, "writes") == [[part.size]]
    assert by_step(run, "bytes_read") == [[8 * part.size]]
    assert by_step(run, "bytes_written") == [[4 * part.size]]


WHOLE = st.sampled_from([np.int64, np.int32, np.uint16, np.int8])


@settings(deadline=None, max_examples=examples(60))
@given(
    index=hnp.arrays(WHOLE, st.sampled_from([(), (0,), (9,), (3, 4)]), elements=st.integers(0, 19)),
    negative=st.booleans(),
)
def test_integer_arrays_index_one_dimension_as_in_numpy(machines: Machines, index: np.ndarray, negative: bool) -> None:
    """The pattern of the Random family has its own code, which checks the bounds and gathers no element twice."""
    machine = machines(1)
    index = index - index.dtype.type(20) if negative and index.dtype.kind == "i" else index
    values = np.arange(20) * 1.5
    source, target = machine.array(values), machine.array(values)

    def program(proc: smp.Processor, source: smp.GlobalArray, target: smp.GlobalArray) -> Any:
        with proc.superstep() as step:
            seen = step.copy_in(source, index)
            out = step.copy_in(source, index, out=np.empty(index.shape))
            step.copy_out(target, index, -seen)
        return seen, out

    run = machine.run(program, source, target)
    np.testing.assert_array_equal(run.results[0][0], values[index])
    np.testing.assert_array_equal(run.results[0][1], values[index])
    wanted = values.copy()
    wanted[index] = -values[index]
    np.testing.assert_array_equal(target[:], wanted)
    assert by_step(run, "writes") == [[index.size]]


RECORD = np.dtype([("key", np.int32), ("value", np.float64), ("name", "U5")])


@pytest.mark.parametrize(
    ("dtype", "element"),
    [
        ("U7", "ab"),
        ("S7", b"ab"),
        (">i4", 258),
        ("M8[ms]", np.datetime64("2020-01-01", "ms")),
        ("m8[s]", np.timedelta64(3, "s")),
        ("?", True),
        ("c16", 1 - 2j),
        (RECORD, (1, 2.5, "xyz")),
        ("f2", 0.5),
    ],
)
def test_one_element_keeps_its_dtype_and_counts_its_bytes(pair: smp.Machine, dtype: Any, element: Any) -> None:
    array = pair.zeros(3, dtype)
    array[1] = element

    def program(proc: smp.Processor) -> Any:
        with proc.superstep() as step:
            seen = step.copy_in(array, 1)
            if proc.rank == 0:
                step.copy_out(array, 2, seen)
        return seen, seen.dtype.str

    run = pair.run(program)
    seen, kind = run.results[0]
    assert kind == array.dtype.str
    assert seen.shape == ()
    assert seen == array.view[1] == array.view[2]
    assert by_step(run, "bytes_read") == [[array.dtype.itemsize] * 2]
    assert by_step(run, "bytes_written") == [[array.dtype.itemsize, 0]]


def test_fields_of_records_are_read_and_written(pair: smp.Machine) -> None:
    array = pair.zeros(4, RECORD)

    def program(proc: smp.Processor) -> Any:
        with proc.superstep() as step:
            keys = step.copy_in(array, "key")
            if proc.rank == 0:
                step.copy_out(array, "value", [1.0, 2.0, 3.0, 4.0])
                step.copy_out(array, 3, (7, 8.0, "last"))
        return keys

    run = pair.run(program)
    assert run.results[1].dtype == np.int32
    assert array.view.tolist() == [(0, 1.0, ""), (0, 2.0, ""), (0, 3.0, ""), (7, 8.0, "last")]
    assert by_step(run, "bytes_read") == [[16, 16]]
    assert by_step(run, "bytes_written") == [[32 + RECORD.itemsize, 0]]


@pytest.mark.parametrize(
    ("index", "values"),
    [
        (..., 7),
        (..., [1, 2, 3]),
        (..., [[1], [2]]),
        (..., np.ones((1, 1, 2, 3))),
        ((0, slice(None)), np.arange(3)[None]),
        ((slice(None), [0, 2]), [[1, 2]]),
        (np.array([[True, False, True], [False, True, False]]), [5, 6, 7]),
        ((), 3),
        (slice(0, 0), np.zeros((0, 3))),
        (slice(0, 0), 4),
    ],
)
def test_values_are_broadcast_as_in_numpy(pair: smp.Machine, index: Any, values: Any) -> None:
    array = pair.zeros((2, 3), np.float32)

    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_out(array, index, values)

    pair.run(program)
    wanted = np.zeros((2, 3), np.float32)
    wanted[index] = values
    np.testing.assert_array_equal(array[:], wanted)


@pytest.mark.parametrize(
    ("index", "values", "kind", "text"),
    [
        (..., np.zeros((3, 2)), ValueError, r"values of shape \(3, 2\) into 6 elements of shape \(2, 3\)"),
        (..., np.zeros(2), ValueError, r"values of shape \(2,\) into 6 elements of shape \(2, 3\)"),
        (0, np.zeros((2, 3)), ValueError, r"values of shape \(2, 3\) into 3 elements of shape \(3,\)"),
        ((0, 0), np.zeros(2), ValueError, r"values of shape \(2,\) into 1 elements of shape \(\)"),
        (..., 1j, TypeError, "copy_out of complex128 into a global array of float32: convert with astype first"),
        (..., "x", TypeError, "copy_out of <U1 into a global array of float32: convert with astype first"),
        (..., None, TypeError, "copy_out of object into a global array of float32"),
        (2, 0, IndexError, "index 2 is out of bounds for axis 0 with size 2"),
        ((0, 0, 0), 0, IndexError, "too many indices"),
        (1.5, 0, IndexError, "only integers, slices"),
        (np.ones(3, bool), 0, IndexError, "boolean index did not match"),
    ],
)
def test_values_and_indices_that_do_not_fit_are_refused_at_once(
    pair: smp.Machine, index: Any, values: Any, kind: type[Exception], text: str
) -> None:
    array = pair.full((2, 3), 5, np.float32)

    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_out(array, ..., 9)
            step.copy_out(array, index, values)

    with pytest.raises(kind, match=text):
        raise failing(pair, program)
    assert (array[:] == 5).all()  # nothing has been written yet


@pytest.mark.parametrize("index", [5, -6, np.array([0, 5]), np.array([-6, 0]), np.array([[1], [99]], np.uint8)])
def test_an_index_out_of_bounds_is_refused(pair: smp.Machine, index: Any) -> None:
    array = pair.zeros(5)

    def writes(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_out(array, index, 0)

    def reads(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in(array, index)

    def reads_into(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in(array, index, out=np.empty(np.shape(index)))

    for program in (writes, reads, reads_into):
        with pytest.raises(IndexError, match="out of bounds"):
            raise failing(pair, program)


def test_python_integers_are_accepted_if_their_values_fit(pair: smp.Machine) -> None:
    array = pair.zeros(3, np.uint8)

    def program(proc: smp.Processor, values: Any) -> None:
        with proc.superstep() as step:
            step.copy_out(array, ..., values)

    pair.run(program, 255)
    assert array[:].tolist() == [255] * 3
    pair.run(program, [1, 2, 3])
    assert array[:].tolist() == [1, 2, 3]
    for values in (256, -1, [0, 1, 300]):
        with pytest.raises(OverflowError):
            raise failing(pair, program, values)
    with pytest.raises(TypeError, match="copy_out of int64 into a global array of uint8"):
        raise failing(pair, program, np.arange(3))


@pytest.mark.parametrize(
    "out",
    [np.empty(4), np.empty((5, 1)), np.empty(5, np.float32), np.empty(5, np.int64)],
)
@pytest.mark.parametrize("index", [slice(None), np.arange(5)])
def test_out_must_agree_in_shape_and_dtype(pair: smp.Machine, out: np.ndarray, index: Any) -> None:
    array = pair.zeros(5)

    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in(array, index, out=out)

    text = rf"copy_in of float64\[5\] into out={out.dtype}{re.escape(str(list(out.shape)))}: shape and dtype must agree"
    with pytest.raises(ValueError, match=text):
        raise failing(pair, program)


def test_a_value_that_is_changed_before_the_end_is_written_as_changed(pair: smp.Machine) -> None:
    """copy_out keeps values by reference, as its documentation says."""
    array = pair.zeros(2)

    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            mine = np.array([1.0])
            step.copy_out(array, [proc.rank], mine)
            mine[0] = 2.0

    pair.run(program)
    assert array[:].tolist() == [2.0, 2.0]


PHASES: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "copy_in after compute": (
        lambda proc, step, a: (step.compute(), step.copy_in(a)),
        r"step.copy_in in the compute phase of superstep 1 \('second'\): it belongs to the copy-in phase",
    ),
    "copy_in_by after compute": (
        lambda proc, step, a: (step.compute(), step.copy_in_by(len, a)),
        r"step.copy_in_by in the compute phase of superstep 1",
    ),
    "compute twice": (
        lambda proc, step, a: (step.compute(), step.compute()),
        r"step.compute in the compute phase of superstep 1",
    ),
    "compute after copy_out": (
        lambda proc, step, a: (step.copy_out(a, 0, 0), step.compute()),
        r"step.compute comes after a step.copy_out in superstep 1 \('second'\): first all reads, then step.compute",
    ),
    "copy_in after copy_out": (
        lambda proc, step, a: (step.copy_out(a, 0, 0), step.copy_in(a)),
        r"step.copy_in comes after a step.copy_out in superstep 1",
    ),
    "copy_out after the end": (
        lambda proc, step, a: (step.__exit__(None, None, None), step.copy_out(a, 0, 0)),
        r"step.copy_out in the ended phase of superstep 1 \('second'\): it belongs to the compute phase",
    ),
    "one inside another": (
        lambda proc, step, a: proc.superstep("inner").__enter__(),
        r"superstep 2 \('inner'\) begins inside superstep 1: supersteps must follow one another",
    ),
    "a second time": (
        lambda proc, step, a: (step.__exit__(None, None, None), step.__enter__()),
        r"superstep 1 \('second'\) begins a second time",
    ),
    "indexing": (
        lambda proc, step, a: a[0],
        r"processor [01] accesses a global array outside a superstep; use step.copy_in and step.copy_out, which are "
        r"counted, or array.view, which is not",
    ),
    "assignment": (lambda proc, step, a: a.__setitem__(0, 1), "accesses a global array outside a superstep"),
    "conversion": (lambda proc, step, a: np.asarray(a), "accesses a global array outside a superstep"),
    "iteration": (lambda proc, step, a: list(a), "accesses a global array outside a superstep"),
    "as values": (lambda proc, step, a: step.copy_out(a, ..., a), "accesses a global array outside a superstep"),
}


@pytest.mark.parametrize("what", PHASES)
def test_an_access_outside_its_phase_is_refused(pair: smp.Machine, what: str) -> None:
    act, text = PHASES[what]
    array = pair.zeros(3)

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep("first"):
            pass
        with proc.superstep("second") as step:
            act(proc, step, array)

    with pytest.raises(PhaseError, match=text):
        raise failing(pair, program, array)


def test_a_superstep_that_all_processors_leave_by_an_exception_is_over(pair: smp.Machine) -> None:
    array = pair.zeros(3)

    def program(proc: smp.Processor) -> int:
        for _ in range(3):
            try:
                with proc.superstep("given up") as step:
                    step.copy_out(array, ..., 1)
                    raise KeyError
            except KeyError:
                pass
        with proc.superstep("next") as step:
            return int(step.copy_in(array).sum())

    run = pair.run(program)
    assert run.results == [0, 0]
    assert run.steps["label"].tolist() == ["next", "next"]
    assert run.steps["step"].tolist() == [3, 3]


def test_loops_copy_and_return_their_counts(pair: smp.Machine) -> None:
    """The loops find the places of their reads and writes on the way, and return the counts."""
    walk = pair.array(np.array([3, 0, 1, 4, 2], np.int32))
    marks = pair.zeros(5, np.float64)

    def follow(successor: np.ndarray, marked: np.ndarray, start: int, path: np.ndarray) -> int:
        at = start
        for k in range(len(path)):
            path[k] = at
            at = successor[at]
        return len(path)

    def mark(marked: np.ndarray, path: np.ndarray, value: float) -> np.int64:
        marked[path] = value
        return np.int64(len(path))

    def program(proc: smp.Processor) -> Any:
        path = np.zeros(2 + proc.rank, np.int64)
        with proc.superstep("walk") as step:
            count = step.copy_in_by(follow, (walk, marks), proc.rank, path)
            step.compute()
            step.copy_out_by(mark, marks, path, 1.0 + proc.rank)
        return count, path.tolist()

    run = pair.run(program)
    assert run.results == [(2, [0, 3]), (3, [1, 0, 3])]
    assert by_step(run, "reads") == [[2, 3]]
    assert by_step(run, "bytes_read") == [[8, 12]]
    assert by_step(run, "writes") == [[2, 3]]
    assert by_step(run, "bytes_written") == [[16, 24]]
    assert marks[1] == 2
    assert marks[2] == 0


def test_a_loop_returns_the_length_of_its_chain_of_dependent_reads(pair: smp.Machine) -> None:
    array = pair.zeros(10)

    def program(proc: smp.Processor) -> Any:
        with proc.superstep("walk") as step:
            got = step.copy_in_by(lambda a: (7, 2 + proc.rank), array)
            step.copy_in_by(lambda a: (4, 4), array)
            step.copy_in_by(lambda a: 5, array)
        return got

    run = pair.run(program)
    assert run.results == [(7, 2), (7, 3)]
    assert by_step(run, "reads") == [[16, 16]]
    assert by_step(run, "chain") == [[6, 7]]
    assert run.summary()["chain"].tolist() == [7]


def test_the_bytes_that_loops_read_are_counted_separately(pair: smp.Machine) -> None:
    array = pair.zeros(10, np.int32)

    def program(proc: smp.Processor) -> None:
        with proc.superstep("both") as step:
            step.copy_in(array)
            step.copy_in_by(lambda a: 3 + proc.rank, array)
            step.copy_in_by(lambda a: (2, 1), array)

    run = pair.run(program)
    assert by_step(run, "bytes_read") == [[60, 64]]
    assert by_step(run, "loop_bytes") == [[20, 24]]
    assert run.summary()[["loop_bytes", "m_loop_bytes"]].tolist() == [(24, 44)]


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        ((3, 4), ValueError, "a chain of 4 reads, more than the 3 elements that it read"),
        ((3,), TypeError, r"number of elements that it read, or a pair of that number and the chain, not \(3,\)"),
        ((3, -1), TypeError, "the loop must return the number of elements that it read, not -1"),
        ((3, 1.0), TypeError, "the loop must return the number of elements that it read, not 1.0"),
    ],
)
def test_an_impossible_chain_is_refused(pair: smp.Machine, returned: Any, error: type[Exception], message: str) -> None:
    array = pair.zeros(3)

    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in_by(lambda a: returned, array)

    with pytest.raises(error, match=message):
        raise failing(pair, program)


@pytest.mark.parametrize("returned", [None, -1, 1.0, True, "3"])
def test_a_loop_that_returns_no_count_is_refused(pair: smp.Machine, returned: Any) -> None:
    array = pair.zeros(3)

    def reads(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in_by(lambda a: returned, array)

    def writes(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_out_by(lambda a: returned, array)

    for program, verb in ((reads, "read"), (writes, "wrote")):
        with pytest.raises(
            TypeError, match=f"the loop must return the number of elements that it {verb}, not {returned!r}"
        ):
            raise failing(pair, program)


def test_an_array_that_is_not_global_is_refused(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        with proc.superstep() as step:
            step.copy_in(np.zeros(3))

    with pytest.raises(
        TypeError, match=r"the array must be a global array, not a ndarray; make one with machine\.array or proc\.arr"
    ):
        raise failing(pair, program)


def test_steps_and_timeline_agree(machines: Machines) -> None:
    machine = machines(3)
    shared = machine.zeros(1000)

    def program(proc: smp.Processor) -> None:
        import time

        for k in range(4):
            with proc.superstep(f"round {k % 2}") as step:
                step.copy_in(shared)
                if proc.rank == k % 3:
                    time.sleep(0.002)
                step.compute()
                if k % 2:
                    step.copy_out(shared, proc.block(1000), k)

    run = machine.run(program)
    assert run.steps.dtype == STEP
    assert run.dropped == 0
    assert run.steps["step"].tolist() == [k for k in range(4) for _ in range(3)]
    assert run.steps["rank"].tolist() == [0, 1, 2] * 4
    assert run.steps["label"].tolist() == [f"round {k % 2}" for k in range(4) for _ in range(3)]
    spans = run.timeline()
    assert spans.dtype == SPAN
    assert len(spans) == 3 * len(run.steps)
    assert (spans["start"] <= spans["end"]).all()
    assert (spans["waited"] >= 0).all()
    assert (spans["waited"] <= spans["end"] - spans["start"]).all()
    for rank in range(3):
        own = spans[spans["rank"] == rank]
        assert own["phase"].tolist() == ["copy_in", "compute", "copy_out"] * 4
        assert (own["start"][1:] >= own["end"][:-1]).all()
        seconds = own["end"] - own["start"]
        for k, phase in enumerate(("copy_in", "compute", "copy_out")):
            np.testing.assert_allclose(run.steps[run.steps["rank"] == rank][phase], seconds[k::3], rtol=0, atol=1e-15)
    for step, phase in itertools.product(range(4), ("copy_in", "compute", "copy_out")):
        same = spans[(spans["step"] == step) & (spans["phase"] == phase)]
        last_came = (same["end"] - same["waited"]).max()
        assert (same["end"] >= last_came - 1e-6).all()  # no processor leaves a phase before all have reached its end
    assert (spans["end"].max() - spans["start"].min()) <= run.wall
    spans["start"] = 0  # the timeline is a copy, so the run does not change
    assert (run.timeline()["start"] > 0).all()


def test_long_and_unusual_labels_are_recorded(pair: smp.Machine) -> None:
    labels = ["x" * 50, "", "Übergrößenträger", "a\0b", 7]

    def program(proc: smp.Processor) -> None:
        for label in labels:
            with proc.superstep(label):
                pass

    assert pair.run(program).steps["label"][::2].tolist() == ["x" * 32, "", "Übergrößenträger", "a\0b", "7"]


@given(limit=st.integers(1, 6), counts=st.lists(st.integers(0, 10), min_size=1, max_size=4))
def test_supersteps_beyond_the_limit_are_only_counted(limit: int, counts: list[int]) -> None:
    recorders = [Recorder(limit) for _ in counts]
    for recorder, count in zip(recorders, counts, strict=True):
        for k in range(count):
            recorder.add(k, f"label {k}", (1, 2, 8, 16, 64, 0, 0), [float(k + i / 10) for i in range(7)])
    steps, spans, dropped = joined([Packed(*recorder.packed()) for recorder in recorders])
    assert dropped == max(0, max(counts) - limit)
    assert len(steps) == sum(min(count, limit) for count in counts)
    assert len(spans) == 3 * len(steps)
    assert all(row["label"] == f"label {row['step']}" for row in steps)
    run = Run([None] * len(counts), [Repeat([recorder.packed() for recorder in recorders], 1.0)])
    assert ("further supersteps were not recorded" in str(run)) == (dropped > 0)


@pytest.mark.slow
def test_a_run_records_supersteps_up_to_the_limit(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        for _ in range(LIMIT + 5):
            with proc.superstep():
                pass

    run = machines(1).run(program)
    assert run.dropped == 5
    assert len(run.steps) == LIMIT
    assert "5 further supersteps were not recorded" in str(run)


def test_a_run_without_supersteps_has_no_rows(pair: smp.Machine) -> None:
    run = pair.run(lambda proc: None)
    assert (len(run.steps), len(run.timeline()), run.dropped) == (0, 0, 0)
