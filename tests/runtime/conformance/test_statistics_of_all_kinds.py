"""Statistics of the processors on all kinds of machines: dtypes, segments, bits, a second median, and errors."""

import itertools
import math
import re
import statistics
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.sampled import campaigns, each

import smp
from smp.errors import CollectiveMismatch, ProcessorRaised

Machines = Callable[[int], smp.Machine]
STATISTICS = ["min", "max", "mean", "variance", "median"]
DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">i4", ">f8"]
INT64 = np.iinfo(np.int64)


def all_of(proc: smp.Processor, x: Any, segments: smp.Boundary | None = None) -> list[Any]:
    return [getattr(proc, name)(x, segments) for name in STATISTICS]


def expected(numbers: list[Any]) -> list[Any]:
    """Return the statistics of finite numbers, computed with exact fractions."""
    exact = [Fraction(*x.as_integer_ratio()) for x in numbers]
    middle = statistics.mean(exact)
    spread = statistics.variance(exact) if len(exact) > 1 else 0.0
    return [min(numbers), max(numbers), float(middle), float(spread), statistics.median_low(numbers)]


def values(dtype: str, size: int) -> Any:
    """Return a number for each processor, with the limits of the dtype among them."""
    drawn = np.random.default_rng(size).permutation([-3, 0, 2, 7, 100])[:size]
    made = (drawn / 7 if np.dtype(dtype).kind == "f" else drawn).astype(dtype)
    if made.dtype.kind in "iu" and size > 2:
        made[:2] = np.iinfo(made.dtype).max, np.iinfo(made.dtype).min
    return made


@pytest.mark.parametrize("processors", each(2, [1, 2, 3, 4, 5]))
def test_statistics_of_every_dtype_are_exact(machines: Machines, processors: int) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for dtype in DTYPES:
            mine = values(dtype, proc.size)[proc.rank : proc.rank + 1].reshape(())
            found += [all_of(proc, mine[()]), all_of(proc, mine)]
        return found

    results = machines(processors).run(program).results
    for found in results:
        assert repr(found) == repr(results[0])
    for dtype, *given in zip(DTYPES, results[0][::2], results[0][1::2], strict=True):
        right = expected([x if dtype == "g" else x.item() for x in values(dtype, processors)])
        scalar = np.dtype(dtype).type
        for found in given:
            assert found == right
            assert [type(x) for x in found] == [scalar, scalar, float, float, scalar]


@pytest.mark.parametrize("processors", [1, 2, 3])
def test_python_numbers_give_python_numbers(machines: Machines, processors: int) -> None:
    cases: list[list[Any]] = [
        [True, False, True],
        [5, -3, 10**6],
        [INT64.max, INT64.max, INT64.min],
        [0.5, -1e150, 1e-300],
        [1e9, 1e9 + 1, 1e9 + 2],
        [1e16, 1e16 + 2, 1e16 + 4],
    ]

    def program(proc: smp.Processor) -> list[Any]:
        return [all_of(proc, case[proc.rank]) for case in cases]

    for results in machines(processors).run(program).results:
        for case, found in zip(cases, results, strict=True):
            kind = type(case[0])
            assert found == expected(case[:processors])
            assert [type(x) for x in found] == [kind, kind, float, float, kind]


@pytest.mark.parametrize("processors", each(2, [1, 2, 3, 4]))
def test_every_segment_has_its_own_statistics(machines: Machines, processors: int) -> None:
    """All boundaries of up to 4 processors, of which both kinds begin a segment."""
    cases = list(itertools.product(smp.Boundary, repeat=processors))
    numbers = [0.1, 4.0, -2.5, 1e16][:processors]

    def program(proc: smp.Processor) -> list[Any]:
        mine = numbers[proc.rank]
        return [all_of(proc, mine, None if case[proc.rank] == smp.NONE else case[proc.rank]) for case in cases]

    right: list[list[Any]] = [[] for _ in range(processors)]
    for case in cases:
        starts = [0, *(rank for rank in range(1, processors) if case[rank] != smp.NONE), processors]
        for start, stop in itertools.pairwise(starts):
            for rank in range(start, stop):
                right[rank].append(expected(numbers[start:stop]))
    assert machines(processors).run(program).results == right


def test_a_nan_stays_in_its_segment_and_infinities_are_compared(machines: Machines) -> None:
    given = [1.0, math.nan, 2.0, math.inf, 3.0]
    edges = [smp.NONE, smp.NONE, smp.ELEMENT, smp.NONE, smp.NONE]

    def program(proc: smp.Processor) -> list[Any]:
        found = [np.float32(x) for x in all_of(proc, np.float32(given[proc.rank]), edges[proc.rank])]
        return [str(x) for x in found]

    results = machines(5).run(program).results
    assert results == [["nan"] * 5] * 2 + [["2.0", "inf", "inf", "nan", "3.0"]] * 3


def test_the_bits_are_those_of_every_kind_and_repeat(each_kind: Callable[[int], dict[str, smp.Machine]]) -> None:
    given = [1e16, 1.0, -1e16, -0.0, 0.1]

    def program(proc: smp.Processor) -> list[bytes]:
        return [struct.pack("5d", *all_of(proc, given[proc.rank])) for _ in range(10)]

    found = {bits for machine in each_kind(5).values() for each in machine.run(program).results for bits in each}
    assert found == {struct.pack("5d", *expected(given))}


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_statistic_is_one_exchange_of_a_word_of_each_processor(machines: Machines, statistic: str) -> None:
    def program(proc: smp.Processor) -> None:
        getattr(proc, statistic)(np.float32(proc.rank))

    rows = machines(3).run(program).collectives
    assert rows[["name", "times", "reads", "writes"]].tolist() == [(statistic, 1, 3, 1)] * 3


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_statistic_takes_one_barrier(statistic: str) -> None:
    def program(proc: smp.Processor) -> Any:
        plain, calls = proc._port.synchronise, []
        proc._port.synchronise = lambda *args: calls.append(plain(*args))
        getattr(proc, statistic)(proc.rank)
        proc._port.synchronise = plain
        return len(calls)

    with smp.host(2) as machine:
        assert machine.run(program).results == [1, 1]


def published(proc: smp.Processor, x: float) -> tuple[float, int]:
    """Return the median by the algorithm of the source (figure 6-2), and the number of its global operations.

    Its loop ends at ceil(n/2), so that of two middle values the smaller one results, as its manual says.  The source
    does not say what is the smallest value above the average if no value is: here it is the largest value.
    """
    target, average = math.ceil(proc.size / 2), proc.reduce(x) / proc.size
    p, operations = proc.reduce(x if x > average else math.inf, np.minimum), 3
    if p == math.inf:
        p, operations = proc.reduce(x, np.maximum), 4
    count, too_small = proc.count(x <= p), False
    while count != target:
        if too_small and count > target:
            break
        too_small = count < target
        if too_small:
            p = proc.reduce(x if x > p else math.inf, np.minimum)
        else:
            p = proc.reduce(x if x < p else -math.inf, np.maximum)
        count, operations = proc.count(x <= p), operations + 2
    return p, operations


@pytest.mark.parametrize("processors", [1, 2, 3, 4, *campaigns(5, 6)])
def test_the_published_median_agrees(machines: Machines, processors: int) -> None:
    """All multisets of up to 6 numbers, each in a random order, and random floats."""
    rng = np.random.default_rng(processors)
    cases = [
        rng.permutation(case).astype(float) for case in itertools.combinations_with_replacement(range(4), processors)
    ]
    cases += [rng.standard_cauchy(processors) for _ in range(50)]

    def program(proc: smp.Processor) -> list[Any]:
        return [(proc.median(x), *published(proc, x)) for x in (case[proc.rank].item() for case in cases)]

    results = machines(processors).run(program).results
    operations = []
    for case, *found in zip(cases, *results, strict=True):
        assert len(set(found)) == 1
        median, by_published, number = found[0]
        assert median == by_published == sorted(case)[(processors - 1) // 2]
        operations.append(number)
    print(
        f"published median of {processors}: {np.mean(operations):.1f} global operations, {min(operations)} to "
        f"{max(operations)}, in {len(cases)} cases; proc.median: 1"
    )
    assert min(operations) >= 3
    assert max(operations) <= 4 + 2 * processors  # from the average it passes each value at most once


REFUSED: dict[str, tuple[Any, str]] = {
    "complex": (1j, r"{} takes a real number, not a complex128: give its real or its imaginary part"),
    "complex64": (np.complex64(1), r"{} takes a real number, not a complex64: give its real"),
    "array": (np.zeros(3), r"{} takes one number of each processor, not an array of shape \(3,\): reduce it along an"),
    "one element": (np.zeros((1, 1)), r"not an array of shape \(1, 1\): reduce it along an axis of your own first"),
    "no element": ([], r"not an array of shape \(0,\)"),
    "string": ("1", r"{} takes a real number, such as an int or a float, not a str_"),
    "object": (Fraction(1, 3), r"{} takes a real number, such as an int or a float, not a Fraction"),
    "none": (None, r"{} takes a real number, such as an int or a float, not a NoneType"),
    "string array": (np.array("1"), r"{} takes a real number, such as an int or a float, not a str_"),
    "date": (np.datetime64("2020-01-01"), r"{} takes a real number, such as an int or a float, not a datetime64"),
    "long int": (2**63, r"{} takes a Python int of at most 64 bits with its sign, not one of 64 bits and a sign"),
    "longer int": (-(2**100), r"not one of 101 bits and a sign: give np.uint64\(x\) or float\(x\) on all processors"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_values_are_refused_before_the_exchange(machines: Machines, what: str) -> None:
    x, said = REFUSED[what]

    def program(proc: smp.Processor) -> list[str]:
        found = []
        for name in STATISTICS if proc.rank == 0 else []:
            with pytest.raises((TypeError, ValueError)) as caught:
                getattr(proc, name)(x)
            found.append(str(caught.value))
        proc.barrier()  # the other processor is here: processor 0 has begun no exchange
        return found

    for name, text in zip(STATISTICS, machines(2).run(program).results[0], strict=True):
        assert re.search(said.format(name), text), text


@pytest.mark.parametrize("segments", [True, 1, "ELEMENT", [smp.ELEMENT]])
def test_only_a_boundary_is_taken_for_segments(machines: Machines, segments: Any) -> None:
    for name in STATISTICS:
        with pytest.raises(ProcessorRaised, match=rf"segments= of {name} must be smp.NONE, smp.ELEMENT or smp.ARRAY"):
            machines(2).run(lambda proc, name=name: getattr(proc, name)(1, segments))


MISMATCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any], str, str]] = {
    "statistic": (lambda p: p.min(1), lambda p: p.max(1), "min of int64[]", "max of int64[]"),
    "dtype": (lambda p: p.mean(1), lambda p: p.mean(1.0), "mean of int64[]", "mean of float64[]"),
    "width": (
        lambda p: p.median(np.uint64(1)),
        lambda p: p.median(np.int64(1)),
        "median of uint64[]",
        "median of int64[]",
    ),
    "reduction": (lambda p: p.variance(1), lambda p: p.reduce(1), "variance of int64[]", "reduce(add) of int64[]"),
}


@pytest.mark.parametrize("what", MISMATCHES)
def test_statistics_that_do_not_match_are_reported(machines: Machines, what: str) -> None:
    mine, others, said, said_by_others = MISMATCHES[what]
    with pytest.raises(CollectiveMismatch) as caught:
        machines(2).run(lambda proc: (mine if proc.rank == 1 else others)(proc))
    assert f"processor 0: {said_by_others} at" in str(caught.value)
    assert f"processor 1: {said} at" in str(caught.value)
