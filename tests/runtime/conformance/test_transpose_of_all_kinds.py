"""The transpose on all kinds of machines: parts of one length and of different ones, against NumPy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._runtime.program.collectives.relay import SHORT, WINDOW
from smp.errors import CollectiveMismatch, ProcessorRaised

Machines = Callable[[int], smp.Machine]
RECORD = np.dtype([("key", "i8"), ("value", "f4", 3), ("name", "S3")], align=True)
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", "c8", "c16", ">f8", "U2", "M8[s]"]


def everything(size: int, n: int) -> Any:
    """Return the parts of all processors for all: no two numbers are equal."""
    return np.arange(size * size * n).reshape(size, size, n)


def transposed(proc: smp.Processor, lengths: Sequence[int]) -> list[bool]:
    """Transpose arrays of several lengths, one after the other, and compare each result with NumPy's."""
    found = []
    for n in lengths:
        whole = everything(proc.size, n)
        got = proc.transpose(whole[proc.rank])
        found.append(np.array_equal(got, whole.swapaxes(0, 1)[proc.rank]))
    return found


@pytest.mark.parametrize("processors", [1, 2, 3, 4])
def test_processors_get_their_parts(machines: Machines, processors: int) -> None:
    """Lengths around those from which parts take further rounds."""
    slot, window = SHORT // 8 // processors, WINDOW // 8 // max(processors - 1, 1)
    lengths = [0, 1, 2, 100_000, 7, slot, slot + 1, window, window + 1, window - 1, slot - 1, 3 * window + 5, 0, 1000]
    results = machines(processors).run(transposed, lengths).results
    assert results == [[True] * len(lengths)] * processors


@pytest.mark.parametrize("processors", [5, 6, 7, 8, 9])
def test_many_processors_get_their_parts(processors: int) -> None:
    with smp.emulated(processors) as machine:
        assert machine.run(transposed, [0, 1, 3, 1000, 20_000]).results == [[True] * 5] * processors


def test_more_processors_than_cpus_get_their_parts() -> None:
    with smp.host(7, start="fork") as machine:
        assert machine.run(transposed, [3, 30_000, 1]).results == [[True] * 3] * 7


def drawn(dtype: Any, rank: int) -> Any:
    """Return 3 parts of shape (4, 2) for each of 3 processors."""
    numbers = np.random.default_rng(rank).integers(0, 100, (3, 4, 2))
    if dtype != RECORD:
        return numbers.astype(dtype)
    records = np.zeros(numbers.shape, RECORD)
    records["key"], records["value"], records["name"] = numbers, numbers[..., None] / [1, 2, 3], numbers.astype("S3")
    return records


def test_elements_of_all_dtypes_stay_as_they_are(machines: Machines) -> None:
    dtypes = [*DTYPES, RECORD]

    def program(proc: smp.Processor) -> list[Any]:
        return [
            (proc.transpose(mine), proc.transpose(list(mine))) for mine in (drawn(each, proc.rank) for each in dtypes)
        ]

    for rank, found in enumerate(machines(3).run(program).results):
        for dtype, (got, parts) in zip(dtypes, found, strict=True):
            expected = np.stack([drawn(dtype, source)[rank] for source in range(3)])
            assert got.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(got, expected)
            for part, right in zip(parts, expected, strict=True):
                assert part.dtype == np.dtype(dtype)
                np.testing.assert_array_equal(part, right)


@pytest.mark.parametrize("n", [1, 10, 100_000])
def test_two_transposes_are_the_identity(machines: Machines, n: int) -> None:
    def program(proc: smp.Processor) -> list[bool]:
        mine = np.random.default_rng(proc.rank).standard_normal((proc.size, n))
        parts = [np.repeat(row[: n // (target + 1)], proc.rank) for target, row in enumerate(mine)]
        again = proc.transpose(proc.transpose(parts))
        same = [np.array_equal(one, other) for one, other in zip(parts, again, strict=True)]
        return [*same, np.array_equal(proc.transpose(proc.transpose(mine)), mine)]

    assert machines(3).run(program).results == [[True] * 4] * 3


LENGTHS = st.sampled_from([0, 0, 1, 2, 30, SHORT // 16, SHORT // 4, 40_000])


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 4).flatmap(lambda p: st.lists(st.lists(LENGTHS, min_size=p, max_size=p), min_size=p, max_size=p)))
def test_parts_of_different_lengths_arrive(machines: Machines, lengths: list[list[int]]) -> None:
    """Row i has the lengths of the parts that processor i sends."""

    def part(source: int, target: int) -> Any:
        return 1000 * source + target + np.arange(2 * lengths[source][target], dtype=np.float32).reshape(-1, 2)

    def program(proc: smp.Processor) -> list[bool]:
        got = proc.transpose([part(proc.rank, target) for target in range(proc.size)])
        return [np.array_equal(each, part(source, proc.rank)) for source, each in enumerate(got)]

    size = len(lengths)
    assert machines(size).run(program).results == [[True] * size] * size


def test_one_processor_may_send_everything_to_one_other(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        n = 500_000 if proc.rank == 2 else 0
        parts = [np.arange(n if target == 0 else 0) for target in range(proc.size)]
        return [int(each.sum()) for each in proc.transpose(parts)]

    assert machines(3).run(program).results == [[0, 0, 500_000 * 499_999 // 2], [0] * 3, [0] * 3]


def test_parts_keep_their_shape_even_without_elements(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        return [
            each.shape for each in proc.transpose([np.zeros((proc.rank + 2 * to, 0, 3)) for to in range(proc.size)])
        ]

    assert machines(2).run(program).results == [[(0, 0, 3), (1, 0, 3)], [(2, 0, 3), (3, 0, 3)]]


@pytest.mark.parametrize("n", [3, 70_000])
def test_a_result_is_put_into_out_which_may_overlap_the_data(machines: Machines, n: int) -> None:
    def program(proc: smp.Processor) -> list[bool]:
        whole = everything(proc.size, n)
        right, found = whole[:, proc.rank], []
        for _ in range(3):  # so that rows that are read late would be seen
            mine, out = whole[proc.rank].copy(), np.zeros((proc.size, n), np.int64)
            found += [proc.transpose(mine, out=out) is out, np.array_equal(out, right)]
            found += [
                np.array_equal(mine, whole[proc.rank]),
                proc.transpose(mine, mine) is mine,
                np.array_equal(mine, right),
            ]
            strided = np.zeros((n, proc.size), np.int64).T
            found += [proc.transpose(np.asfortranarray(whole[proc.rank]), strided) is strided]
            found += [np.array_equal(strided, right)]
            buffer = np.concatenate([whole[proc.rank].ravel(), [0]])
            later = buffer[1:].reshape(proc.size, n)
            found += [proc.transpose(buffer[:-1].reshape(proc.size, n), later) is later, np.array_equal(later, right)]
        return found

    assert machines(3).run(program).results == [[True] * 27] * 3


def test_a_result_is_an_array_of_its_own(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        first = proc.transpose(np.array([1, 2]))
        parts = proc.transpose([np.array([1]), np.array([2, 3])])
        for k in range(4):
            proc.transpose(np.array([k, k]))[:] = 9
        first += 1
        parts[0] += 1
        return [first.tolist(), [each.tolist() for each in parts]]

    assert machines(2).run(program).results == [[[2, 2], [[2], [1]]], [[3, 3], [[3, 4], [2, 3]]]]


def test_a_transpose_counts_what_goes_to_and_comes_from_others(
    each_kind: Callable[[int], dict[str, smp.Machine]],
) -> None:
    def program(proc: smp.Processor) -> None:
        proc.transpose(np.zeros((3, 4, 5), np.int16))
        with proc.superstep("inside"):
            proc.transpose([np.zeros(10 ** (proc.rank + 1))] * 3)

    for machine in each_kind(3).values():
        run = machine.run(program)
        rows = run.collectives
        assert rows["name"].tolist() == ["transpose"] * 3
        assert rows["times"].tolist() == [1] * 3
        for words, octets in (("reads", "bytes_read"), ("writes", "bytes_written")):
            assert (rows[words] == 2 * 20).all()
            assert (rows[octets] == 2 * 20 * 2).all()
        assert run.steps["reads"].tolist() == [1100, 1010, 110]
        assert run.steps["writes"].tolist() == [20, 200, 2000]


MISMATCHES: dict[str, tuple[Any, Any, str, str]] = {
    "shape": (np.zeros((2, 3)), np.zeros((2, 4)), "float64[2, 3]", "float64[2, 4]"),
    "long": (np.zeros((2, 90_000)), np.zeros((2, 3)), "float64[2, 90000]", "float64[2, 3]"),
    "dtype": (np.zeros(2), np.zeros(2, np.int8), "float64[2]", "int8[2]"),
    "list": ([np.zeros(1)] * 2, np.zeros((2, 1)), "parts of float64[]", "float64[2, 1]"),
    "dtype of a list": ([np.zeros(1)] * 2, [np.zeros(1, "f4")] * 2, "parts of float64[]", "parts of float32[]"),
    "shape of a list": ([np.zeros((1, 3))] * 2, [np.zeros((1, 2))] * 2, "parts of float64[3]", "parts of float64[2]"),
}


@pytest.mark.parametrize("what", MISMATCHES)
def test_transposes_that_do_not_match_are_reported(machines: Machines, what: str) -> None:
    machine, (first, second, said, said_by_other) = machines(2), MISMATCHES[what]
    with pytest.raises(CollectiveMismatch) as caught:
        machine.run(lambda proc: proc.transpose(second if proc.rank else first))
    for rank, line in enumerate(str(caught.value).splitlines()[1:3]):
        assert line.startswith(f"  processor {rank}: transpose of {(said, said_by_other)[rank]} at {__file__}:"), line
    assert machine.run(transposed, [3, 40_000]).results == [[True] * 2] * 2


OBJECTS = np.array([None, None])
BAD: list[tuple[Any, dict[str, Any], str]] = [
    (np.zeros((3, 2)), {}, r"ValueError: transpose on 2 processors needs an array of shape \(2, .* float64\[3, 2\]"),
    (5, {}, r"ValueError: .* not int64\[\]"),
    (OBJECTS, {}, "TypeError: transpose works on arrays of numbers, records or text, not on an array of object"),
    (np.zeros(2, np.dtype([])), {}, r"TypeError: .* not on an array of \[\]"),
    ([np.zeros(2)], {}, "ValueError: transpose on 2 processors needs a list of 2 arrays, .* not of 1"),
    ([1, 2], {}, r"ValueError: .* the part for processor 0 is int64\[\]"),
    ([np.zeros(2), OBJECTS], {}, "TypeError: .* not on an array of object"),
    ([np.zeros(2), np.zeros(2, "i4")], {}, r"the part for processor 1 is int32\[2\], .* processor 0 float64\[2\]"),
    ([np.zeros((2, 1)), np.zeros(2)], {}, r"the part for processor 1 is float64\[2\], .* processor 0 float64\[2, 1\]"),
    ([np.zeros(2)] * 2, {"out": np.zeros((2, 2))}, "TypeError: out= of transpose goes with an array"),
    (np.zeros((2, 1)), {"out": [0, 0]}, "TypeError: out= of transpose must be a NumPy array, not a list"),
    (np.zeros((2, 1)), {"out": np.zeros(2)}, r"must be a writeable array of float64\[2, 1\], .* not of float64\[2\]"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "options", "said"), BAD)
def test_bad_input_is_refused(machines: Machines, data: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(lambda proc: proc.transpose(data, **options))


def test_an_out_that_cannot_be_written_is_refused(machines: Machines) -> None:
    with pytest.raises(ProcessorRaised, match="must be a writeable array"):
        machines(2).run(lambda proc: proc.transpose(np.zeros(2), np.broadcast_to(0.0, 2)))


def test_a_global_array_is_refused_with_an_alternative(machines: Machines) -> None:
    machine = machines(2)
    with pytest.raises(ProcessorRaised, match=r"use step\.copy_in and step\.copy_out"):
        machine.run(lambda proc, array: proc.transpose(array), machine.zeros((2, 3)))
