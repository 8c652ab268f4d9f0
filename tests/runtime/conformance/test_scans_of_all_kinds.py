"""Exclusive, reverse and segmented scans, segmented reductions, and scans along a vector, on all kinds of machines."""

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp import ARRAY, ELEMENT, NONE
from smp._runtime.program.collectives.stage import LEAST
from smp.errors import CollectiveMismatch, ProcessorRaised

Machines = Callable[[int], smp.Machine]
LONG = LEAST // 4


def passed(op: Any, values: list[Any], edges: list[int], reverse: bool = False) -> tuple[list[Any], list[Any]]:
    """Return what arrives at each processor, None for the identity, and its inclusive result, step by step."""
    order = range(len(values) - 1, -1, -1) if reverse else range(len(values))
    arriving: list[Any] = [None] * len(values)
    results: list[Any] = [None] * len(values)
    carry = None
    for place, rank in enumerate(order):
        edge = NONE if place == 0 else edges[rank + 1] if reverse else edges[rank]
        arriving[rank] = None if edge == ELEMENT else carry
        results[rank] = values[rank] if arriving[rank] is None else op(arriving[rank], values[rank])
        carry = values[rank] if edge == ARRAY else results[rank]
    return arriving, results


def total_of(op: Any, values: list[Any], edges: list[int], rank: int) -> Any:
    """Return the total of the segment of a processor, found by going to its ends."""
    first = max(k for k in range(rank + 1) if k == 0 or edges[k] != NONE)
    last = min(k for k in range(rank, len(values)) if k + 1 == len(values) or edges[k + 1] != NONE)
    result = values[first]
    for k in range(first + 1, last + 1):
        result = op(result, values[k])
    return result


def test_the_worked_examples(machines: Machines) -> None:
    """Sixteen processors with boundaries at 0, 4, 8 and 12."""

    def program(proc: smp.Processor) -> list[int]:
        mine, found = 1 + proc.rank // 4, []
        for kind in (ELEMENT, ARRAY):
            proc.segment(kind if proc.rank % 4 == 0 else NONE)
            assert proc.segment() == (kind if proc.rank % 4 == 0 else NONE)
            found.append(proc.scan(mine, exclusive=True))
        proc.segment(NONE)
        found.append(proc.scan(mine, exclusive=True))
        found.append(proc.reduce(mine, segments=ARRAY if proc.rank % 4 == 0 else None))
        return found

    element, array, plain, totals = zip(*machines(16).run(program).results, strict=True)
    assert element == (0, 1, 2, 3, 0, 2, 4, 6, 0, 3, 6, 9, 0, 4, 8, 12)
    assert array == (0, 1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12, 4, 8, 12)
    assert plain == tuple(np.cumsum([0, *(1 + rank // 4 for rank in range(15))]).tolist())
    assert totals == (4,) * 4 + (8,) * 4 + (12,) * 4 + (16,) * 4


@pytest.mark.parametrize(
    ("processors", "n"), [*each(2, [(p, 1) for p in (1, 2, 3, 4, 5)]), *each(5, [(p, LONG) for p in (3, 1, 2, 4, 5)])]
)
def test_all_boundaries_in_both_directions(machines: Machines, processors: int, n: int) -> None:
    settings = list(itertools.product((NONE, ELEMENT, ARRAY), repeat=processors))
    op = np.bitwise_xor if n > 1 else np.add
    values = [np.full(n, 1 << (3 * rank)) for rank in range(processors)]

    def program(proc: smp.Processor) -> list[int]:
        found, mine = [], values[proc.rank]
        for edges in settings:
            given = {"op": op, "segments": edges[proc.rank]}
            for reverse in (False, True):
                for exclusive in (False, True):
                    result = proc.scan(mine, exclusive=exclusive, reverse=reverse, **given)
                    assert len(np.unique(result)) == 1
                    found.append(int(result[-1]))
            found.append(int(proc.reduce(mine, **given)[-1]))
        return found

    results = machines(processors).run(program).results
    numbers = [int(value[0]) for value in values]
    one = operator.xor if n > 1 else operator.add
    expected: list[list[int]] = [[] for _ in range(processors)]
    for edges in settings:
        for reverse in (False, True):
            arriving, inclusive = passed(one, numbers, list(edges), reverse)
            for rank in range(processors):
                expected[rank] += [inclusive[rank], 0 if arriving[rank] is None else arriving[rank]]
        for rank in range(processors):
            expected[rank].append(total_of(one, numbers, list(edges), rank))
    assert results == expected


DTYPES = ["b1", "i1", "i8", "u1", "u4", "f4", "f8", "c16"]
OPERATORS = [np.add, np.multiply, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor]
LOGICAL = [np.logical_and, np.logical_or, np.logical_xor]
IDENTITIES: dict[Any, Any] = {np.add: 0, np.multiply: 1, np.bitwise_or: 0, np.bitwise_xor: 0}
IDENTITIES |= {np.logical_and: True, np.logical_or: False, np.logical_xor: False}


def least_or_largest(op: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return op is np.minimum
    if dtype.kind == "f":
        return np.inf if op is np.minimum else -np.inf
    return np.iinfo(dtype).max if op is np.minimum else np.iinfo(dtype).min


def identity(op: Any, dtype: np.dtype[Any]) -> Any:
    if op in (np.minimum, np.maximum):
        return least_or_largest(op, dtype)
    if op is np.bitwise_and:
        return np.invert(np.zeros((), dtype))
    return IDENTITIES[op]


def accepted(op: Any, dtype: np.dtype[Any]) -> bool:
    try:
        op.resolve_dtypes((dtype, dtype, None))
    except TypeError:
        return False
    return not (op in (np.minimum, np.maximum) and dtype.kind == "c")


def drawn(dtype: str, n: int, rank: int) -> Any:
    made = np.random.default_rng([n, rank]).standard_normal(n) * 50
    with np.errstate(all="ignore"):
        return made.astype(dtype)


@pytest.mark.parametrize("dtype", each(5, DTYPES))
def test_every_operator_forwards_and_backwards_with_and_without_the_own_value(machines: Machines, dtype: str) -> None:
    kind = np.dtype(dtype)
    lengths = (3, LONG // kind.itemsize * 8)
    operators = [op for op in (*OPERATORS, *LOGICAL) if accepted(op, kind)]
    ways = list(itertools.product(operators, lengths, (False, True), (False, True)))

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for op, n, exclusive, reverse in ways:
            result = proc.scan(drawn(dtype, n, proc.rank), op, exclusive=exclusive, reverse=reverse)
            found.append((str(result.dtype), result.tobytes()))
        return found

    results = machines(3).run(program).results
    with np.errstate(all="ignore"):
        for rank in range(3):
            for (op, n, exclusive, reverse), (found, octets) in zip(ways, results[rank], strict=True):
                values = [drawn(dtype, n, other) for other in range(3)]
                if op in LOGICAL:
                    values = [value.astype(bool) for value in values]
                arriving, inclusive = passed(op, values, [NONE] * 3, reverse)
                expected = arriving[rank] if exclusive else inclusive[rank]
                if expected is None:
                    expected = np.full(n, identity(op, kind), values[0].dtype)
                assert (found, octets) == (str(expected.dtype), expected.tobytes()), (op, n, exclusive, reverse)


def affine(first: Any, second: Any) -> Any:
    """Compose two maps x -> a x + b: associative, not commutative."""
    return np.stack([first[..., 0] * second[..., 0], first[..., 1] * second[..., 0] + second[..., 1]], -1)


def test_functions_are_scanned_with_a_given_identity(machines: Machines) -> None:
    maps = [np.array([rank + 2, rank + 1]) for rank in range(3)]

    def program(proc: smp.Processor) -> list[Any]:
        ways = itertools.product((False, True), (False, True))
        return [
            proc.scan(maps[proc.rank], affine, exclusive=one, reverse=other, identity=7 if one else None).tolist()
            for one, other in ways
        ]

    results = machines(3).run(program).results
    for rank in range(3):
        expected = []
        for exclusive, reverse in itertools.product((False, True), (False, True)):
            arriving, inclusive = passed(affine, maps, [NONE] * 3, reverse)
            value = arriving[rank] if exclusive else inclusive[rank]
            expected.append([7, 7] if value is None else value.tolist())
        assert results[rank] == expected


def test_numbers_stay_numbers(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        found = [proc.scan(2, exclusive=True), proc.scan(2.5, np.maximum, exclusive=True)]
        found += [proc.scan(np.float32(1.5), reverse=True), proc.scan(np.uint8(200), np.bitwise_and, exclusive=True)]
        return [(type(each), each) for each in found]

    first, second = machines(2).run(program).results
    assert first == [(int, 0), (float, -np.inf), (np.float32, 3.0), (np.uint8, 255)]
    assert second == [(int, 2), (float, 2.5), (np.float32, 1.5), (np.uint8, 200)]


def test_processors_without_a_boundary_need_not_say_so(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        given = {"segments": ELEMENT} if proc.rank == 1 else {}
        return [proc.reduce(10**proc.rank, **given), proc.scan(10**proc.rank, **given)]

    assert machines(3).run(program).results == [[1, 1], [110, 10], [110, 110]]


PARTS = [[2, 4, 4], [3, 0, 5], [0, 0, 4], [0, 0, 0], [1, 200, 7], [200, 1, 0], [70, 65, 64]]


def part(n: int, seed: Any) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    starts = draw.random(n) < (0.02, 0.3, 0.9)[n % 3]
    if n == 4:  # a segment begins inside
        starts[:] = False, True, False, False
    return draw.integers(-9, 9, n), starts


def along(whole: Any, starts: Any, op: Any, exclusive: bool, reverse: bool, empty: Any) -> list[Any]:
    """Scan a whole vector, element by element."""
    n = len(whole)
    result: list[Any] = [None] * n
    carry: Any = None
    for k in range(n - 1, -1, -1) if reverse else range(n):
        if (k + 1 < n and starts[k + 1]) if reverse else starts[k]:
            carry = None
        inclusive = whole[k] if carry is None else op(carry, whole[k])
        result[k] = (empty if carry is None else carry) if exclusive else inclusive
        carry = inclusive
    return result


@pytest.mark.parametrize("lengths", PARTS)
def test_a_scan_along_a_vector_is_that_of_the_whole(machines: Machines, lengths: list[int]) -> None:
    ways = list(itertools.product((np.add, np.maximum, operator.mul), (False, True), (False, True), (False, True)))

    def program(proc: smp.Processor) -> list[Any]:
        values, starts = part(lengths[proc.rank], [7, proc.rank])
        found = []
        for op, exclusive, reverse, segmented in ways:
            found.append(
                proc.scan(
                    values if op is not operator.mul else np.sign(values) | 1,
                    op,
                    exclusive=exclusive,
                    reverse=reverse,
                    segments=starts if segmented else None,
                    identity=-100 if exclusive else None,
                    along=True,
                ).tolist()
            )
        return found

    results = machines(3).run(program).results
    parts = [part(n, [7, rank]) for rank, n in enumerate(lengths)]
    whole, starts = (np.concatenate([each[k] for each in parts]) for k in (0, 1))
    for k, (op, exclusive, reverse, segmented) in enumerate(ways):
        values = (whole if op is not operator.mul else np.sign(whole) | 1).tolist()
        one = {np.add: operator.add, np.maximum: max, operator.mul: operator.mul}[op]
        edges = starts if segmented else np.zeros(len(whole), bool)
        expected = along(values, edges, one, exclusive, reverse, -100)
        assert [x for rank in range(3) for x in results[rank][k]] == expected, ways[k]


def test_a_long_vector_is_scanned_as_numpy_accumulates_it(machines: Machines) -> None:
    lengths = [1_000_000, 0, 300_001]

    def program(proc: smp.Processor) -> tuple[bool, bool]:
        whole = np.random.default_rng(3).integers(0, 1 << 40, sum(lengths))
        mine = slice(sum(lengths[: proc.rank]), sum(lengths[: proc.rank + 1]))
        buffer = whole[mine].copy()
        total = proc.scan(buffer, along=True, out=buffer)
        backwards = proc.scan(whole[mine], np.maximum, along=True, reverse=True)
        return (
            total is buffer and bool((total == np.cumsum(whole)[mine]).all()),
            bool((backwards == np.maximum.accumulate(whole[::-1])[::-1][mine]).all()),
        )

    assert machines(3).run(program).results == [(True, True)] * 3


def test_positions_of_a_radix_sort(machines: Machines) -> None:
    """Counts of digits, scanned in the order of the digits and the processors, are positions of a stable sort."""
    digits = [np.random.default_rng(rank).integers(0, 16, 50 + rank) for rank in range(3)]

    def program(proc: smp.Processor) -> list[int]:
        mine = digits[proc.rank]
        counts = np.bincount(mine, minlength=16)
        totals = proc.reduce(counts)
        next_one = np.concatenate(([0], np.cumsum(totals)[:-1])) + proc.scan(counts, exclusive=True)
        positions = []
        for digit in mine:
            positions.append(int(next_one[digit]))
            next_one[digit] += 1
        return positions

    found = list(itertools.chain.from_iterable(machines(3).run(program).results))
    order = np.argsort(np.concatenate(digits), kind="stable")
    assert np.argsort(found).tolist() == order.tolist()


def test_sums_of_floats_have_the_same_bits_in_every_repeat(machines: Machines) -> None:
    given = [1e16, 1.0, -1e16]

    def program(proc: smp.Processor) -> set[tuple[float, ...]]:
        mine = given[proc.rank]
        vector = np.array([mine, 0.1, 1.0])
        return {(proc.reduce(mine), proc.scan(mine, exclusive=True), *proc.scan(vector, along=True)) for _ in range(50)}

    results = machines(3).run(program).results
    assert [len(each) for each in results] == [1, 1, 1]
    totals, before, *_ = zip(*(each.pop() for each in results), strict=True)
    assert totals == ((1e16 + 1.0) - 1e16,) * 3
    assert before == (0.0, 1e16, 1e16 + 1.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"exclusive": True, "op": operator.add}, "none is known of add for float64: give identity="),
        ({"exclusive": True, "op": np.subtract}, "none is known of subtract"),
        ({"segments": 1}, r"segments= of scan must be smp.NONE, smp.ELEMENT or smp.ARRAY, not 1"),
        ({"along": True, "segments": [True]}, r"a boolean array of the length of the part, 2, not bool\[1\]"),
        ({"along": True, "segments": np.zeros(2)}, r"not float64\[2\]"),
        ({"along": True, "segments": ELEMENT}, "must be a boolean array"),
        ({"op": 3}, "needs an operator of two arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_any_work(
    machines: Machines, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(lambda proc: proc.scan(np.zeros(2), **given))


def test_an_identity_of_another_kind_and_a_vector_of_two_dimensions_are_refused(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match=r"identity 0\.5 is not a number of int64"):
        machines(2).run(lambda proc: proc.scan(3, operator.add, exclusive=True, identity=0.5))
    with pytest.raises(ProcessorRaised, match=r"takes a one-dimensional part of it, not \[2, 2\]"):
        machines(2).run(lambda proc: proc.scan(np.zeros((2, 2)), along=True))
    with pytest.raises(ProcessorRaised, match=r"segment must be smp\.NONE"):
        machines(2).run(lambda proc: proc.segment(2))


def test_scans_that_differ_end_the_run(machines: Machines) -> None:
    with pytest.raises(CollectiveMismatch, match=r"scan\(add, exclusive\) of int64.*\n?.*scan\(add, reverse\)"):
        machines(2).run(lambda proc: proc.scan(1, exclusive=proc.rank == 0, reverse=proc.rank == 1))
    with pytest.raises(CollectiveMismatch, match="along a vector of float64"):
        machines(2).run(lambda proc: proc.scan(np.zeros(2, [np.float64, np.float32][proc.rank]), along=True))
