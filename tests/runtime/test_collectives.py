"""Collectives compared with a serial fold, and the errors of processors that disagree on the collective."""

import functools
import operator
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Machines
from support.sampled import examples

import smp
from smp._runtime.shared_memory.layout import SLOT
from smp.errors import CollectiveMismatch, NotPicklable, ProcessorRaised

Program = Callable[..., Any]


def odd_one_out(mine: Program, others: Program) -> Program:
    """Return a program in which the last processor runs ``mine`` and every other one runs ``others``."""

    def program(proc: smp.Processor) -> None:
        (mine if proc.rank == proc.size - 1 else others)(proc)

    return program


MISMATCHES: dict[str, tuple[Program, Program, str, str]] = {
    "kind": (lambda p: p.barrier(), lambda p: p.reduce(1), "barrier", r"reduce\(add\) of int64\[\]"),
    "shape": (
        lambda p: p.reduce(np.zeros(3)),
        lambda p: p.reduce(np.zeros(4)),
        r"reduce\(add\) of float64\[3\]",
        r"reduce\(add\) of float64\[4\]",
    ),
    "type": (
        lambda p: p.scan(np.int32(1)),
        lambda p: p.scan(np.int64(1)),
        r"scan\(add\) of int32\[\]",
        r"scan\(add\) of int64\[\]",
    ),
    "operator": (
        lambda p: p.reduce(1, np.maximum),
        lambda p: p.reduce(1, np.minimum),
        r"reduce\(maximum\) of int64\[\]",
        r"reduce\(minimum\) of int64\[\]",
    ),
    "root": (lambda p: p.broadcast(1, 0), lambda p: p.broadcast(1, 1), r"broadcast\(root=0\)", r"broadcast\(root=1\)"),
    "allocation": (
        lambda p: p.zeros(4),
        lambda p: p.zeros(5),
        r"allocation of float64\[4\]",
        r"allocation of float64\[5\]",
    ),
    "return": (lambda p: None, lambda p: p.barrier(), "return from the program", "barrier"),
}


def stepping(label: str) -> Program:
    def program(proc: smp.Processor) -> None:
        with proc.superstep(label):
            pass

    return program


MISMATCHES["superstep"] = (
    stepping("left"),
    stepping("right"),
    "copy-in of superstep 'left'",
    "copy-in of superstep 'right'",
)


@pytest.mark.parametrize("processors", [2, 3])
@pytest.mark.parametrize("what", MISMATCHES)
def test_collectives_that_do_not_match_raise_on_all(machines: Machines, processors: int, what: str) -> None:
    machine = machines(processors)
    mine, others, said, said_by_others = MISMATCHES[what]
    with pytest.raises(CollectiveMismatch) as caught:
        machine.run(odd_one_out(mine, others))
    first, *lines, last = str(caught.value).splitlines()
    assert first == "the processors do not take part in the same collective:"
    assert last.startswith("all must call the same collectives, in the same order")
    assert len(lines) == processors
    for rank, line in enumerate(lines):
        words = said if rank == processors - 1 else said_by_others
        assert re.fullmatch(rf"  processor {rank}: {words} at {re.escape(__file__)}:\d+.*", line), line
    assert machine.run(lambda proc: proc.reduce(1)).results == [processors] * processors


def test_a_mismatch_names_the_line_of_each_processor(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            proc.barrier()
        else:
            proc.gather(0)

    line = program.__code__.co_firstlineno
    with pytest.raises(CollectiveMismatch) as caught:
        pair.run(program)
    assert f"processor 0: barrier at {__file__}:{line + 2}" in str(caught.value)
    assert f"processor 1: gather at {__file__}:{line + 4}" in str(caught.value)


def test_a_mismatch_with_a_compiled_loop_is_reported(pair: smp.Machine) -> None:
    from smp.compiled import barrier

    @smp.stream
    def meet(sync: Any) -> None:
        barrier(sync)

    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            meet(proc.sync)
        else:
            proc.reduce(1)

    with pytest.raises(CollectiveMismatch, match=r"processor 0: barrier in a compiled loop at .*\n.*reduce\(add\)"):
        pair.run(program)


def test_a_mismatch_before_a_compiled_loop_names_the_open_collective(pair: smp.Machine) -> None:
    from smp.compiled import barrier

    @smp.stream
    def meet(sync: Any) -> None:
        barrier(sync)

    def program(proc: smp.Processor) -> None:
        first = proc.split.any(True)
        second = (proc.split.any if proc.rank else proc.split.all)(True)
        if proc.rank == 0:
            meet(proc.sync)
        first.wait()
        second.wait()

    pair.run(lambda proc: meet(proc.sync))  # compiles; a processor that compiles for long is killed before it answers
    with pytest.raises(CollectiveMismatch, match=r"processor 0: all at .*\n.*processor 1: any at "):
        pair.run(program)


@pytest.mark.parametrize("processors", [2, 3])
def test_collectives_work_back_to_back_with_rotating_roots(machines: Machines, processors: int) -> None:
    rounds = 10_000 if processors == 2 else 2_500

    def program(proc: smp.Processor) -> int:
        wrong = 0
        for k in range(0, rounds, 4):
            root = k // 4 % proc.size
            wrong += proc.broadcast((k, proc.rank), root) != (k, root)
            wrong += proc.reduce(k + proc.rank) != proc.size * k + proc.size * (proc.size - 1) // 2
            wrong += proc.gather((k, proc.rank)) != [(k, rank) for rank in range(proc.size)]
            wrong += proc.scan(k, np.add) != k * (proc.rank + 1)
        return wrong

    assert machines(processors).run(program).results == [0] * processors


def test_collectives_carry_blocks_longer_than_a_slot_between_short_ones(machines: Machines) -> None:
    """The slots are used in turn, several times for one long block."""

    def program(proc: smp.Processor) -> bool:
        right = True
        for k in range(1, 8):
            mine = bytes([proc.rank + k]) * (SLOT * k // (proc.rank + 1))
            right &= proc.gather(mine) == [bytes([r + k]) * (SLOT * k // (r + 1)) for r in range(proc.size)]
            right &= proc.broadcast(mine, 1) == bytes([1 + k]) * (SLOT * k // 2)
            right &= proc.reduce(k) == k * proc.size
            right &= bool((proc.reduce(np.full(SLOT // 4, k)) == k * proc.size).all())
        return right

    assert machines(3).run(program).results == [True] * 3


@pytest.mark.parametrize("length", [SLOT - 9, SLOT - 8, SLOT - 7, 2 * (SLOT - 8), 2 * (SLOT - 8) + 1])
def test_reduce_accepts_blocks_around_the_length_of_a_slot(pair: smp.Machine, length: int) -> None:
    data = np.arange(length).astype(np.uint8)

    def program(proc: smp.Processor) -> bool:
        return bool((proc.reduce(data, np.bitwise_or) == data).all())

    assert pair.run(program).results == [True, True]


def test_collectives_work_on_one_processor(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        proc.barrier()
        made = [proc.broadcast("x"), proc.reduce(3), proc.scan(2.5), proc.gather(None)]
        with proc.superstep() as step:
            step.copy_out(proc.zeros(3), 1, 5)
        return made

    assert machines(1).run(program).results == [["x", 3, 2.5, [None]]]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5)])
def test_collectives_accept_arrays_without_elements(machines: Machines, shape: tuple[int, ...]) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        nothing = np.zeros(shape, np.float32)
        return [proc.reduce(nothing), proc.scan(nothing, np.maximum), proc.gather(nothing)[1], proc.broadcast(nothing)]

    for results in machines(3).run(program).results:
        assert all(part.shape == shape and part.dtype == np.float32 for part in results)


def test_collectives_leave_their_data_unchanged_and_return_private_results(pair: smp.Machine) -> None:
    """In place equals out of place: a result may be modified, and may be assigned to the data that was given."""

    def program(proc: smp.Processor) -> list[Any]:
        data = np.array([1.0, 2.0]) * (proc.rank + 1)
        kept = data.copy()
        first = proc.reduce(data)
        scanned = proc.scan(data, lambda a, b: b)
        unchanged = bool((data == kept).all())
        data[:] = proc.reduce(data)
        same = bool((data == first).all())
        first[:] = 0
        scanned[:] = 0
        for whole in proc.gather(kept):
            whole[:] = 0
        return [unchanged, same, proc.reduce(kept).tolist()]

    assert pair.run(program).results == [[True, True, [3.0, 6.0]]] * 2


OPERATORS = {
    "integers": (np.add, np.multiply, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd),
    "fractions": (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.hypot, np.logaddexp),
    "complex": (np.add, np.multiply),
    "truth": (np.logical_and, np.logical_or, np.logical_xor, np.add),
}
DTYPES = {
    "integers": (np.int8, np.uint16, np.int32, np.int64, np.uint64),
    "fractions": (np.float32, np.float64),
    "complex": (np.complex64, np.complex128),
    "truth": (np.bool_,),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, np.ufunc, np.ndarray]:
    """Draw a number of processors, an operator, and an array with a row of data for each processor."""
    kind = draw(st.sampled_from(sorted(OPERATORS)))
    size = draw(st.sampled_from([1, 2, 3, 5, 8, 13]))
    op, dtype = draw(st.sampled_from(OPERATORS[kind])), np.dtype(draw(st.sampled_from(DTYPES[kind])))
    shape = draw(st.sampled_from([(), (1,), (7,), (2, 3), (1000,)]))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "truth":
        data = random.random((size, *shape)) < 0.5
    elif kind == "integers":
        span = np.iinfo(dtype)
        data = random.integers(span.min, span.max, (size, *shape), dtype, endpoint=True)
    else:
        data = random.normal(0, 1, (size, *shape)) * 10.0 ** random.integers(-30, 30, (size, *shape))
        data = np.where(random.random(data.shape) < 0.05, random.choice([np.nan, np.inf, -0.0], data.shape), data)
        if kind == "complex":
            data = data + 1j * random.normal(0, 1, data.shape)
    return size, op, data.astype(dtype)


def folded(op: np.ufunc, rows: Any) -> Any:
    """Return the fold that the collectives promise: from the first to the last row, in the order of the ranks."""
    with np.errstate(all="ignore"):
        return functools.reduce(op, list(rows))


@settings(deadline=None, max_examples=examples(60))
@given(case=cases())
def test_reduce_and_scan_equal_the_serial_fold_bit_for_bit(machines: Machines, case: tuple[int, Any, Any]) -> None:
    size, op, data = case

    def program(proc: smp.Processor) -> list[Any]:
        mine = data[proc.rank]
        with np.errstate(all="ignore"):
            return [proc.reduce(mine, op), proc.reduce(mine, op), proc.scan(mine, op), proc.gather(mine)]

    wanted = folded(op, data)
    for rank, (once, again, scanned, all_of_it) in enumerate(machines(size).run(program).results):
        upto = folded(op, data[: rank + 1])
        assert (once.dtype, np.shape(once)) == (wanted.dtype, np.shape(wanted))
        assert once.tobytes() == again.tobytes() == np.asarray(wanted).tobytes()
        assert scanned.tobytes() == np.asarray(upto).tobytes()
        assert np.array(all_of_it).tobytes() == data.tobytes()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("length", [10_000, 10_002, 10_003])
def test_parts_of_arrays_have_the_bits_of_the_whole(pair: smp.Machine, length: int, dtype: Any) -> None:
    """At the end of an array, NumPy gives some products that are not numbers another sign than elsewhere."""
    rows = np.empty((2, length), dtype)
    rows.real, rows.imag = [[np.nan], [1]], [[1], [-np.nan]]

    def program(proc: smp.Processor) -> tuple[Any, Any]:
        with np.errstate(all="ignore"):
            return proc.reduce(rows[proc.rank], np.multiply), proc.scan(rows[proc.rank], np.multiply)

    for rank, (whole, upto) in enumerate(pair.run(program).results):
        assert whole.tobytes() == folded(np.multiply, rows).tobytes()
        assert upto.tobytes() == folded(np.multiply, rows[: rank + 1]).tobytes()


@pytest.mark.filterwarnings("error")
def test_integers_wrap_around_as_in_numpy_arrays(pair: smp.Machine) -> None:
    most = np.iinfo(np.int64).max

    def program(proc: smp.Processor) -> list[Any]:
        import warnings

        warnings.simplefilter("error")
        return [proc.reduce(np.int64(most)), proc.reduce(np.array([most])).tolist(), proc.reduce(np.int8(127))]

    assert pair.run(program).results == [[-2, [-2], -2]] * 2


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    ("op", "fits", "exceeds"),
    [
        (np.add, (2**62, 2**62 - 1), (2**62, 2**62 + 1)),
        (np.add, (-(2**62), -(2**62)), (-(2**62), -(2**62) - 1)),
        (np.multiply, (2**32, -(2**31)), (2**32, 2**31)),
    ],
)
def test_python_integers_do_not_wrap_around(
    pair: smp.Machine, times: int, op: np.ufunc, fits: tuple[int, int], exceeds: tuple[int, int]
) -> None:
    def program(proc: smp.Processor, mine: tuple[int, int], scans: bool) -> list[int]:
        for _ in range(times - 1):  # from the second time on, machine code combines them
            _ = proc.scan(1, op) if scans else proc.reduce(1, op)
        return [proc.scan(mine[proc.rank], op) if scans else proc.reduce(mine[proc.rank], op)]

    whole = op(*map(np.int64, fits)).item()
    assert pair.run(program, fits, False).results == [[whole], [whole]]
    assert pair.run(program, fits, True).results == [[fits[0]], [whole]]
    for scans in (False, True):
        with pytest.raises(
            ProcessorRaised, match=r"OverflowError: .* of Python integers on 2 processors gives a number of"
        ):
            pair.run(program, exceeds, scans)


def test_a_python_integer_of_more_than_64_bits_is_refused(pair: smp.Machine) -> None:
    for value in (2**63, 2**70, -(2**63) - 1):
        with pytest.raises(
            ProcessorRaised, match="OverflowError: reduce takes a Python integer of at most 63 bits and"
        ):
            pair.run(lambda proc, value: proc.reduce(value), value)
    assert pair.run(lambda proc: proc.reduce(-(2**62))).results == [-(2**63)] * 2


def test_operands_are_combined_in_the_order_of_the_ranks(machines: Machines) -> None:
    """The operator, a product of matrices, does not commute."""
    random = np.random.default_rng(3)
    factors = random.integers(-3, 4, (4, 2, 2))

    def program(proc: smp.Processor) -> list[Any]:
        mine = factors[proc.rank]
        return [proc.reduce(mine, np.matmul), proc.scan(mine, operator.matmul)]

    for rank, (product, partial) in enumerate(machines(4).run(program).results):
        np.testing.assert_array_equal(product, np.linalg.multi_dot(list(factors)))
        np.testing.assert_array_equal(partial, functools.reduce(np.matmul, factors[: rank + 1]))


def test_a_reduced_number_keeps_its_type(pair: smp.Machine) -> None:
    names = ["int", "float", "complex", "bool", "int8", "float32", "ndarray", "ndarray"]

    def types(proc: smp.Processor) -> list[str]:
        ops = [np.add] * 3 + [np.logical_or] + [np.add] * 4
        given = (1, 2.5, 1j, True, np.int8(3), np.float32(1), np.array(4), np.array([1, 2]))
        return [type(proc.reduce(value, op)).__name__ for value, op in zip(given, ops, strict=True)]

    assert pair.run(types).results == [names, names]


def test_anything_that_can_be_pickled_can_be_broadcast_and_gathered(pair: smp.Machine) -> None:
    array = pair.array(np.arange(3))

    def program(proc: smp.Processor) -> list[Any]:
        add = proc.broadcast(lambda x: x + 1)
        shared = proc.broadcast(array if proc.rank == 0 else None)
        shared.view[proc.rank] = 7
        proc.barrier()
        return [add(1), shared.view.tolist(), proc.gather({proc.rank: None})]

    assert pair.run(program).results[1] == [2, [7, 7, 2], [{0: None}, {1: None}]]


def test_an_object_that_holds_a_processor_is_not_sent(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        proc.broadcast(lambda x: x + proc.rank)

    with pytest.raises(ProcessorRaised, match=f"processor 0 cannot be sent to another process.* at {__file__}:[0-9]+"):
        pair.run(program)


@pytest.mark.parametrize("root", [-1, 2, 17])
def test_a_root_that_is_not_a_processor_is_refused(pair: smp.Machine, root: int) -> None:
    with pytest.raises(
        ProcessorRaised, match=rf"ValueError: root {root} is not a processor: ranks begin at 0 and are below 2"
    ):
        pair.run(lambda proc: proc.broadcast(1, root))


def test_invalid_operands_and_operators_are_refused(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match="reduce works on numbers and arrays of numbers, not on a dict"):
        pair.run(lambda proc: proc.reduce({}))
    with pytest.raises(ProcessorRaised, match=r"scan needs an operator of two arguments, such as np\.add, not 'sum'"):
        pair.run(lambda proc: proc.scan(1, "sum"))
    with pytest.raises(ProcessorRaised) as caught:
        pair.run(lambda proc: proc.gather(sys.stderr))
    assert isinstance(caught.value.__cause__, NotPicklable)


def test_an_operator_without_a_name_matches_on_all_processors(pair: smp.Machine) -> None:
    """The text of a partial function contains an address, which differs between processes."""

    def program(proc: smp.Processor) -> int:
        if proc.rank == 0:
            [object() for _ in range(1000)]
        return int(proc.reduce(np.array(1), functools.partial(lambda c, a, b: a + b + c, 10)))

    assert pair.run(program).results == [12, 12]
