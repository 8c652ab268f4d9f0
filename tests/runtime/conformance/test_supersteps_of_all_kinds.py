"""Supersteps on all kinds of machines: every kind of index, the counts, and the accesses that are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp
from smp.errors import PhaseError, ProcessorRaised

Machines = Callable[[int], smp.Machine]

SHAPE = (4, 3, 5)
EVEN = np.arange(60).reshape(SHAPE) % 2 == 0
INDICES: list[tuple[tuple[int, ...], Any]] = [
    *(((11,), index) for index in (..., 3, -1, slice(2, 9), slice(None, None, 3), slice(9, 1, -2), slice(4, 4), None)),
    ((11,), np.array([3, 3, -1, 0])),
    ((11,), np.array([[1, 2], [-3, 4]], np.int8)),
    ((11,), np.array([], np.intp)),
    ((11,), [7, 1]),
    ((11,), np.arange(11) % 3 == 0),
    ((11,), np.zeros(11, bool)),
    ((11,), True),
    *((SHAPE, index) for index in ((), 2, (1, 2, 3), (-1, ..., 0), (slice(1, 3), slice(None, None, -1)), (..., None))),
    (SHAPE, (np.array([0, 3]), slice(None), np.array([4, 1]))),
    (SHAPE, (np.array([[0], [2]]), np.array([1, 0]))),
    (SHAPE, (slice(None), [0, 2], slice(0, 5, 2))),
    (SHAPE, (1, np.array([True, False, True]), slice(2, None))),
    (SHAPE, EVEN),
    (SHAPE, EVEN[:, :, 0]),
    ((), ()),
    ((), ...),
    ((), True),
    ((0, 3), ...),
    ((0, 3), (slice(None), 1)),
    ((2,), slice(0, 1)),  # fewer elements than processors
]


@pytest.mark.parametrize(("shape", "index"), INDICES, ids=lambda value: str(value).replace("\n", " ")[:40])
def test_every_index_reads_and_writes_as_in_numpy(machines: Machines, shape: tuple[int, ...], index: Any) -> None:
    """Processor 1 reads and writes; the others only take part in the superstep."""
    machine, values = machines(3), np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    part = values[index]
    new = -1 - np.arange(part.size, dtype=np.int16).reshape(part.shape)
    source, target = machine.array(values), machine.array(values)

    def program(proc: smp.Processor, source: smp.GlobalArray, target: smp.GlobalArray) -> Any:
        with proc.superstep("indexed") as step:
            if proc.rank != 1:
                return None
            seen = step.copy_in(source, index)
            out = np.empty_like(seen)
            same = step.copy_in(source, index, out=out) is out
            step.compute()
            step.copy_out(target, index, new)
        kept, seen[...] = seen.copy(), 0  # a private copy: the global array does not change
        return kept, out, same

    run = machine.run(program, source, target)
    seen, out, same = run.results[1]
    wanted = values.copy()
    wanted[index] = new
    np.testing.assert_array_equal(seen, part, strict=True)
    np.testing.assert_array_equal(out, part, strict=True)
    assert same
    np.testing.assert_array_equal(source[:] if shape else source[()], values)
    np.testing.assert_array_equal(target[:] if shape else target[()], wanted)
    assert run.steps["reads"].tolist() == [0, 2 * part.size, 0]
    assert run.steps["writes"].tolist() == [0, part.size, 0]
    assert run.steps["bytes_read"].tolist() == [0, 8 * part.size, 0]
    assert run.steps["bytes_written"].tolist() == [0, 4 * part.size, 0]


@pytest.mark.parametrize("processors", [1, 2, 5])
def test_reads_see_the_values_before_the_writes_of_the_same_superstep(machines: Machines, processors: int) -> None:
    machine = machines(processors)
    shared = machine.array(np.arange(20))

    def program(proc: smp.Processor, shared: smp.GlobalArray) -> bool:
        right = True
        for k in range(6):
            with proc.superstep() as step:
                seen = step.copy_in(shared)
                step.copy_out(shared, ..., seen + 1)
            right &= bool((seen == np.arange(20) + k).all())
        return right

    assert machine.run(program, shared).results == [True] * processors
    np.testing.assert_array_equal(shared[:], np.arange(20) + 6)


def test_values_written_by_one_processor_are_read_by_another_in_the_next_superstep(machines: Machines) -> None:
    """This also holds for distant parts of an array, some of which each processor has written."""
    machine = machines(5)
    shared = machine.zeros((5, 40), np.int64)

    def program(proc: smp.Processor, shared: smp.GlobalArray) -> bool:
        right = True
        for k in range(8):
            with proc.superstep() as step:
                before = step.copy_in(shared, proc.rank)
                step.compute()
                for other in range(proc.size):
                    step.copy_out(shared, (other, slice(8 * proc.rank, 8 * proc.rank + 8)), 10 * k + proc.rank)
            wanted = np.repeat(10 * (k - 1) + np.arange(proc.size), 8) if k else np.zeros(40)
            right &= bool((before == wanted).all())
        return right

    assert all(machine.run(program, shared).results)


def test_values_are_broadcast_and_converted(machines: Machines) -> None:
    machine = machines(3)
    shared = machine.zeros((3, 4))

    def program(proc: smp.Processor, shared: smp.GlobalArray) -> None:
        with proc.superstep() as step:
            step.compute()
            if proc.rank == 0:
                step.copy_out(shared, 0, 7)
                step.copy_out(shared, (slice(1, 3), slice(None, None, 2)), [[1], [2]])
                step.copy_out(shared, (2, slice(1, None, 2)), np.float32([0.5, 0.25]))

    machine.run(program, shared)
    assert shared[:].tolist() == [[7, 7, 7, 7], [1, 0, 1, 0], [2, 0.5, 2, 0.25]]


def test_fields_of_records_are_read_and_written(machines: Machines) -> None:
    machine = machines(2)
    records = machine.zeros(3, [("key", np.int32), ("value", np.float64)])

    def program(proc: smp.Processor, records: smp.GlobalArray) -> Any:
        with proc.superstep() as step:
            step.compute()
            if proc.rank == 0:
                step.copy_out(records, "value", [1.5, 2.5, 3.5])
            else:
                step.copy_out(records, "key", [4, 5, 6])
        with proc.superstep() as step:
            return step.copy_in(records, "key").tolist(), step.copy_in(records, 2).tolist()

    assert machine.run(program, records).results == [([4, 5, 6], (6, 3.5))] * 2


def transpose(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
    mine = proc.block(len(a))
    with proc.superstep("transpose") as step:
        rows = step.copy_in(a, mine)
        step.compute()
        step.copy_out(b, (slice(None), mine), rows.T)


def all_to_all(proc: smp.Processor, a: smp.GlobalArray, b: smp.GlobalArray) -> None:
    with proc.superstep("send") as step:
        step.compute()
        for other in range(proc.size):
            step.copy_out(b, (other, slice(proc.rank, None, proc.size)), proc.rank)
    with proc.superstep("receive") as step:
        step.copy_in(b, proc.rank)
        step.copy_in(a, np.flatnonzero(np.arange(len(a)) % proc.size == proc.rank))


@pytest.mark.parametrize("program", [transpose, all_to_all])
def test_the_counts_are_the_same_on_all_kinds_of_machines(
    each_kind: Callable[[int], dict[str, smp.Machine]], program: Callable[..., None]
) -> None:
    counts, results = {}, {}
    for kind, machine in each_kind(3).items():
        a, b = machine.array(np.arange(81.0).reshape(9, 9)), machine.zeros((9, 9))
        run = machine.run(program, a, b)
        assert run.kind == kind
        counts[kind] = run.summary()[["step", "label", "hr", "hw", "m", "hr_bytes", "hw_bytes", "m_bytes"]].tolist()
        results[kind] = b[:].tolist()
        for name in ("far_reads", "far_writes", "messages"):  # no processor is on another node
            assert not run.steps[name].any()
            assert not run.summary()[name].any()
        assert not run.summary()["m_far"].any()
    assert counts["emulated"] == counts["messages"] == counts["host"]
    assert results["emulated"] == results["messages"] == results["host"]
    assert counts["host"][0][:5] == ((0, "transpose", 27, 27, 162) if program is transpose else (0, "send", 0, 9, 27))


REFUSED: dict[str, tuple[Callable[[smp.Processor, smp.GlobalArray], Any], type[BaseException], str]] = {
    "copy-in": (lambda proc, a: copied_in(proc, a, 11), IndexError, "index 11 is out of bounds for axis 0 with size 8"),
    "copy-in, by an array": (lambda proc, a: copied_in(proc, a, np.array([0, -9])), IndexError, "index -9 is out of"),
    "copy-out": (lambda proc, a: copied_out(proc, a, 8, 0), IndexError, "index 8 is out of bounds"),
    "copy-out, by an array": (lambda proc, a: copied_out(proc, a, np.array([9]), 0), IndexError, "9 is out of bounds"),
    "too many": (lambda proc, a: copied_out(proc, a, (0, 0), 0), IndexError, "too many indices"),
    "shape": (lambda proc, a: copied_out(proc, a, slice(3), [1, 2]), ValueError, "shape (2,) into 3 elements"),
    "type": (lambda proc, a: copied_out(proc, a, 0, 1j), TypeError, "copy_out of complex128 into a global array"),
    "no array": (
        lambda proc, a: copied_in(proc, np.zeros(3), 0),
        TypeError,
        "the array must be a global array, not a ndarray",
    ),
    "direct": (lambda proc, a: a[0], PhaseError, "accesses a global array outside a superstep"),
}


def copied_in(proc: smp.Processor, array: Any, index: Any) -> None:
    with proc.superstep("read") as step:
        step.copy_in(array, index)


def copied_out(proc: smp.Processor, array: Any, index: Any, values: Any) -> None:
    with proc.superstep("write") as step:
        step.compute()
        step.copy_out(array, index, values)


@pytest.mark.parametrize("what", REFUSED)
def test_an_access_that_is_refused_is_reported_with_its_line(machines: Machines, what: str) -> None:
    machine, (refused, error, text) = machines(2), REFUSED[what]
    array = machine.zeros(8)

    helper = {"copy-in": copied_in, "no array": copied_in, "direct": refused}.get(what.split(",")[0], copied_out)
    phase = {copied_in: "copy-in", copied_out: "compute"}.get(helper)
    label = "read" if phase == "copy-in" else "write"

    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        if proc.rank == 1:
            refused(proc, array)
        with proc.superstep(label):  # the others are in it
            pass

    with pytest.raises(ProcessorRaised) as caught:
        machine.run(program, array)
    assert text in str(caught.value)
    assert isinstance(caught.value.__cause__, error)
    line = helper.__code__.co_firstlineno + {copied_in: 2, copied_out: 3}.get(helper, 0)
    where = f", in the {phase} phase of superstep 0 ('{label}')" if phase else ""
    assert str(caught.value).endswith(f" at {__file__}:{line}{where}")


def test_a_copy_in_after_compute_is_refused(machines: Machines) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        with proc.superstep("late") as step:
            step.compute()
            step.copy_in(array)

    machine = machines(2)
    line = program.__code__.co_firstlineno + 3
    with pytest.raises(ProcessorRaised, match=r"step.copy_in in the compute phase of superstep 0") as caught:
        machine.run(program, machine.zeros(2))
    assert f"{__file__}:{line}, in the compute phase of superstep 0 ('late')" in str(caught.value)
