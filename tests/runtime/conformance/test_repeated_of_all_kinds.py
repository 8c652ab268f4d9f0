"""Short reductions and scans that a program asks for again: the same results as the first time, for other values."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp import ELEMENT, NONE
from smp.errors import CollectiveMismatch, ProcessorRaised

Machines = Callable[[int], smp.Machine]
DTYPES = ["b1", "i4", "i8", "u8", "f4", "f8", ">f8", ">i8", "c16"]
OPERATORS = [np.add, np.multiply, np.maximum, np.logical_or]
TIMES = 8  # more than there are sets of slots


def value(dtype: str, shape: Any, rank: int, time: int) -> Any:
    drawn = np.random.default_rng([rank, time]).standard_normal(shape) * 1e3
    with np.errstate(all="ignore"):
        return np.asarray(drawn).astype(dtype)


def native(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("="))


def expected(op: Any, arrays: list[Any], dtype: Any) -> Any:
    if op is np.logical_or:
        arrays = [array.astype(bool) for array in arrays]
    if not arrays:
        return np.full_like(value(dtype, (), 0, 0), 0 if op is not np.multiply else 1)
    with np.errstate(all="ignore"):
        return functools.reduce(op, arrays)


@pytest.mark.parametrize("shape", [(), (8,), (2, 3), (0,)])
@pytest.mark.parametrize("dtype", each(2, DTYPES))
def test_every_repeat_has_the_bits_of_a_fold(machines: Machines, dtype: str, shape: Any) -> None:
    chosen = [op for op in OPERATORS if not (op is np.maximum and dtype == "c16")]

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for time in range(TIMES):
            mine = value(dtype, shape, proc.rank, time)
            for op in chosen:
                same = op is not np.logical_or or dtype == "b1"
                out = np.empty_like(mine) if same and time % 2 and shape else None
                total = proc.reduce(mine, op, out=out)
                assert out is None or total is out
                found += [np.array(total), np.array(proc.scan(mine, op)), np.array(proc.scan(mine, op, reverse=True))]
        return [native(each).tobytes() for each in found]

    results = machines(3).run(program).results
    for rank in range(3):
        oracle = []
        for time in range(TIMES):
            arrays = [value(dtype, shape, other, time) for other in range(3)]
            for op in chosen:
                for part in (arrays, arrays[: rank + 1], arrays[: rank - 1 if rank else None : -1]):
                    oracle.append(native(np.asarray(expected(op, part, dtype))).tobytes())
        assert results[rank] == oracle


def test_exclusive_scans_begin_with_the_identity_each_time(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        return [proc.scan(np.full(2, proc.rank + time + 0.5), exclusive=True).tolist() for time in range(TIMES)]

    for rank, found in enumerate(machines(3).run(program).results):
        assert found == [[sum(other + time + 0.5 for other in range(rank))] * 2 for time in range(TIMES)]


def test_numbers_stay_numbers(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        values: list[Any] = [3, -1, 2**61, 2.5, -0.0, 1e308]
        return [proc.reduce(each) for _ in range(3) for each in values]

    for found in machines(3).run(program).results:
        assert found == [9, -3, 3 * 2**61, 7.5, 0.0, float("inf")] * 3
        assert [type(each) for each in found] == [int, int, int, float, float, float] * 3


def test_a_boundary_on_one_processor_is_seen_by_all(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        kinds = [NONE, NONE, ELEMENT, NONE, NONE, ELEMENT, NONE, NONE]
        return [proc.reduce(1, segments=kind if proc.rank == 2 and kind != NONE else None) for kind in kinds]

    whole, left, right = [4] * 8, [4, 4, 2, 4, 4, 2, 4, 4], [4, 4, 2, 4, 4, 2, 4, 4]
    assert machines(4).run(program).results == [left, left, right, right]
    assert whole != left


def test_the_result_belongs_to_the_caller(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        found = [proc.reduce(np.full(3, float(time))) for time in range(TIMES)]
        found[0][:] = -1.0
        return [each.tolist() for each in found]

    for found in machines(2).run(program).results:
        assert found == [[-1.0] * 3, *([2.0 * time] * 3 for time in range(1, TIMES))]


def test_a_wrong_out_and_another_shape_are_refused_also_when_repeated(machines: Machines) -> None:
    def wrong_out(proc: smp.Processor) -> None:
        for _ in range(2):
            proc.reduce(np.zeros(4))
        proc.reduce(np.zeros(4), out=np.zeros(5))

    def other_shape(proc: smp.Processor) -> None:
        for _ in range(2):
            proc.reduce(np.zeros(4))
        proc.reduce(np.zeros(4 + proc.rank))

    with pytest.raises(ProcessorRaised, match="out= of reduce must be a writeable array"):
        machines(2).run(wrong_out)
    with pytest.raises(CollectiveMismatch, match=r"float64\[4\]"):
        machines(2).run(other_shape)


def test_the_accesses_of_all_repeats_are_counted(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        for _ in range(TIMES):
            proc.reduce(np.zeros(4))

    def calls(run: smp.Run) -> list[int]:
        return [int(row["times"]) for row in run.collectives if row["name"].startswith("reduce")]

    assert set(calls(machines(2).run(program))) == {TIMES}


def sent(seed: int) -> tuple[int, Any]:
    """Return a root and a value: a short or long array of one of a few dtypes and shapes, or an object."""
    rng = np.random.default_rng(seed)
    shape = [(), (8,), (2, 3), (0,), (9_000,), (8_000,)][int(rng.integers(6))]
    dtype = ["f8", ">f8", "i4", "b1", "c8"][int(rng.integers(5))]
    with np.errstate(all="ignore"):
        array = np.asarray(rng.standard_normal(shape) * 100).astype(dtype)
    return int(rng.integers(3)), [array, array, array, ("text", seed), seed, None][int(rng.integers(6))]


def test_broadcasts_of_all_sizes_follow_each_other(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        wrong, kept = [], []
        for seed in range(120):
            root, value = sent(seed)
            if isinstance(value, np.ndarray) and seed % 3 == 0:
                found = proc.broadcast(value if proc.rank == root else None, root, out=np.empty_like(value))
            else:
                found = proc.broadcast(value if proc.rank == root else None, root)
            kept.append(found)
            if seed % 7 == 0:
                proc.reduce(np.full(8, -1.0))  # in the same slots
        for seed, found in enumerate(kept):  # at the end: later broadcasts must not have changed them
            value = sent(seed)[1]
            array = isinstance(value, np.ndarray)
            same = type(found) is type(value) and (np.array_equal(found, value) if array else found == value)
            if not same or (array and found.dtype != value.dtype):
                wrong.append(seed)
        return wrong

    assert machines(3).run(program).results == [[], [], []]
