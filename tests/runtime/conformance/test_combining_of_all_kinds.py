"""Reductions, scans and broadcasts of short and long arrays, with the same bits on all kinds of machines."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp._runtime.program.collectives.stage import LEAST
from smp.errors import CollectiveMismatch, ProcessorRaised

Machines = Callable[[int], smp.Machine]
INTEGERS = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
DTYPES = [*INTEGERS, "f4", "f8", "c8", "c16"]
OPERATORS = [np.add, np.multiply, np.minimum, np.maximum, np.bitwise_xor, np.logical_and, np.subtract, np.true_divide]
LONG = 2 * LEAST + 24  # bytes: for two processors and more


def values(dtype: str, n: int, rank: int) -> Any:
    drawn = np.random.default_rng([n, rank]).standard_normal(n) * 10.0 ** (rank % 3)
    with np.errstate(all="ignore"):
        return (drawn * 100).astype(dtype) if dtype in INTEGERS else drawn.astype(dtype)


def folded(op: Any, arrays: list[Any]) -> Any:
    if op is np.logical_and:  # truth values, also where there is one value only
        arrays = [array.astype(bool) for array in arrays]
    with np.errstate(all="ignore"):
        return functools.reduce(op, arrays)


def accepts(op: Any, dtype: str) -> bool:
    try:
        op.resolve_dtypes((np.dtype(dtype), np.dtype(dtype), None))
    except TypeError:
        return False
    return True


@pytest.mark.filterwarnings("ignore:.* encountered in divide")
@pytest.mark.parametrize("dtype", each(3, DTYPES))
def test_every_operator_has_the_bits_of_a_fold_in_rank_order(machines: Machines, dtype: str) -> None:
    lengths = [1, 7, LONG // np.dtype(dtype).itemsize]
    chosen = [op for op in OPERATORS if accepts(op, dtype)]

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for op in chosen:
            for n in lengths:
                mine = values(dtype, n, proc.rank)
                found += [proc.reduce(mine, op), proc.scan(mine, op)]
        return [(str(each.dtype), each.tobytes()) for each in found]

    results = machines(3).run(program).results
    for rank in range(3):
        expected = []
        for op in chosen:
            for n in lengths:
                arrays = [values(dtype, n, other) for other in range(3)]
                expected += [folded(op, arrays), folded(op, arrays[: rank + 1])]
        assert results[rank] == [(str(each.dtype), each.tobytes()) for each in expected]


def test_lengths_around_the_limit_may_follow_one_another(machines: Machines) -> None:
    lengths = [0, 1, *(LEAST // 8 + k for k in (-5, -4, -3, -1, 0, 1)), 30_000, 5, 20_000, 30_001, LEAST // 8]

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for n in lengths:
            mine = np.arange(n) * (proc.rank + 1.0)
            found += [proc.reduce(mine).tolist(), proc.scan(mine, np.maximum).tolist()]
            found.append(proc.broadcast(mine if proc.rank == 1 else None, root=1).tolist())
        return found

    expected: list[Any] = []
    first, second = ([np.arange(n) * (rank + 1.0) for n in lengths] for rank in (0, 1))
    results = machines(2).run(program).results
    for rank in (0, 1):
        expected = []
        for one, two in zip(first, second, strict=True):
            expected += [(one + two).tolist(), (two if rank else one).tolist(), two.tolist()]
        assert results[rank] == expected


@pytest.mark.parametrize("n", [10, LONG])
def test_a_result_is_put_into_out_which_may_be_the_value(machines: Machines, n: int) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        mine, out = np.full((n, 2), proc.rank + 1), np.zeros((n, 2), np.int64)
        assert proc.reduce(mine, out=out) is out
        assert proc.scan(mine, out=mine) is mine
        return [out.sum().item(), mine.sum().item(), proc.reduce(mine, lambda a, b: a + 2 * b).sum().item()]

    assert machines(2).run(program).results == [[6 * n, 2 * n, 14 * n], [6 * n, 6 * n, 14 * n]]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ([0.0], r"out= of reduce must be a NumPy array, not a list"),
        (np.zeros(3, np.float32), r"must be a writeable array of float64\[3\], like the value, not of float32\[3\]"),
        (np.zeros(4), r"must be a writeable array of float64\[3\], like the value, not of float64\[4\]"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(machines: Machines, out: Any, said: str) -> None:
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(lambda proc: proc.reduce(np.zeros(3), out=out))


def test_long_arrays_that_do_not_match_are_reported_by_their_collective(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        proc.reduce(np.zeros(LONG + proc.rank))

    for _ in range(2):  # without a stage, and with one
        with pytest.raises(CollectiveMismatch, match=rf"processor 1: reduce\(add\) of float64\[{LONG + 1}\] at"):
            machines(2).run(program)


def test_roots_may_follow_one_another(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for k in range(60):
            root = k % proc.size
            got = proc.broadcast(np.full(LONG // 8 + k % 3, k) if proc.rank == root else None, root)
            found.append((len(got), int(got.min()), int(got.max())))
            if k % 4 == 0:
                proc.reduce(got)
        return found

    assert machines(3).run(program).results == [[(LONG // 8 + k % 3, k, k) for k in range(60)]] * 3


@pytest.mark.parametrize("n", [3, LONG])
def test_a_result_of_another_kind_does_not_go_into_out(machines: Machines, n: int) -> None:
    with pytest.raises(ProcessorRaised, match="Cannot cast"):
        machines(2).run(lambda proc: proc.reduce(np.ones(n, np.int64), np.true_divide, out=np.ones(n, np.int64)))


def changing(a: Any, b: Any) -> Any:
    b += a
    return b


def test_a_function_may_return_an_argument_and_may_not_change_the_values_of_others(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        last = proc.reduce(np.full(4, proc.rank), lambda a, b: b)
        for k in range(4):
            proc.reduce(np.full(4, 10 + k))
        return list(last.tolist())

    assert machines(3).run(program).results == [[2] * 4] * 3
    with pytest.raises(ProcessorRaised, match="read-only"):
        machines(2).run(lambda proc: proc.reduce(np.arange(3), changing))
