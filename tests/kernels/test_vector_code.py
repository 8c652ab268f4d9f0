"""Vector code of sorting, against its definitions and NumPy's sort."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.keys_of_types import Keys, drawn, every_type, needs_vectors, same
from support.sampled import campaigns

import smp
from smp._runtime.loops.compiler import numba
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.by_vectors.vectors import (
    GROUP_BYTES,
    MOST_VECTORS,
    before,
    count_equal,
    lanes_of,
    sort_few,
    split_group,
    split_some,
    split_vector,
    store_equal,
)


@smp.local
def split_one(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    return split_vector(source, at, keys, left, right, pivot)


@smp.local
def split_several(source: Keys, at: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    return split_group(source, at, keys, left, right, pivot)


@smp.local
def split_first(source: Keys, at: int, count: int, keys: Keys, left: int, right: int, pivot: Any) -> int:
    return split_some(source, at, count, keys, left, right, pivot)


@smp.local
def sort_some(keys: Keys, first: int, count: int) -> None:
    sort_few(keys, first, keys, first, count)


@smp.local
def sort_from(source: Keys, at: int, keys: Keys, first: int, count: int) -> None:
    sort_few(source, at, keys, first, count)


@smp.local
def count_some(bits: Keys, at: int, value: Any) -> int:
    return count_equal(bits, at, value)


@smp.local
def store_some(bits: Keys, at: int, value: Any, order: Keys, place: int, index: int) -> int:
    return store_equal(bits, at, value, order, place, index)


@smp.local
def before_all(keys: Keys, made: Keys) -> None:
    for k in range(len(keys)):
        made[k] = before(keys[k])


@needs_vectors
@every_type
def test_vector_code_splits_as_its_definition_does(dtype: np.dtype[Any]) -> None:
    keys = drawn(dtype, 64)
    lanes = vectors.split_lanes_of(keys)
    keys = keys[: 4 * lanes]
    for pivot in (*keys[:lanes], keys[~(keys != keys)].max()):
        for source in (keys, drawn(dtype, lanes + 3, 7)):
            ours, defined = keys.copy(), keys.copy()
            count = split_one(source, 3, ours, 0, 4 * lanes, pivot)
            assert count == split_vector(source, 3, defined, 0, 4 * lanes, pivot)
            done = [*range(count), *range(3 * lanes + count, 4 * lanes)]
            assert ours[done].tobytes() == defined[done].tobytes()
            assert ours[lanes : 3 * lanes].tobytes() == keys[lanes : 3 * lanes].tobytes()


@every_type
def test_no_number_lies_between_a_key_and_the_one_before_it(dtype: np.dtype[Any]) -> None:
    keys = drawn(dtype, 200)
    made = np.empty_like(keys)
    before_all(keys, made)
    assert same(made, np.array([before(key) for key in keys]))
    if dtype.kind == "f":
        assert same(made, np.nextafter(keys, dtype.type(-np.inf)))
    else:
        least = np.iinfo(dtype).min
        assert [int(key) for key in made] == [max(least, int(key) - 1) for key in keys]
        ends = np.array([least, least + 1, np.iinfo(dtype).max], dtype)
        assert [int(before(key)) for key in ends] == [least, least, np.iinfo(dtype).max - 1]


@needs_vectors
@every_type
def test_vector_code_splits_groups_as_their_definition_does(dtype: np.dtype[Any]) -> None:
    group = GROUP_BYTES // dtype.itemsize
    keys = drawn(dtype, 3 * group)
    for pivot in (*keys[:20], keys[~(keys != keys)].max()):
        for at in (0, group, 2 * group):  # in the places that are written first, between them, and in the last ones
            ours, defined = keys.copy(), keys.copy()
            count = split_several(ours, at, ours, 0, 3 * group, pivot)
            assert count == split_group(defined, at, defined, 0, 3 * group, pivot)
            done = [*range(count), *range(2 * group + count, 3 * group)]
            assert ours[done].tobytes() == defined[done].tobytes()


@needs_vectors
@every_type
def test_vector_code_splits_some_keys_of_a_vector_and_changes_no_place_behind_them(dtype: np.dtype[Any]) -> None:
    lanes = vectors.split_lanes_of(drawn(dtype, 1))
    source, places = drawn(dtype, lanes + 3, 5), drawn(dtype, 6 * lanes, 6)
    for count in range(1, lanes + 1):
        for pivot in source[~(source != source)]:
            ours, defined = places.copy(), places.copy()
            first = split_first(source, 3, count, ours, lanes, 4 * lanes, pivot)
            assert first == split_some(source, 3, count, defined, lanes, 4 * lanes, pivot)
            done = [*range(lanes), *range(lanes, lanes + first), *range(4 * lanes - count + first, 6 * lanes)]
            assert ours[done].tobytes() == defined[done].tobytes()


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_vector_code_finds_the_keys_that_equal_a_value_in_any_set_of_lanes(kind: Any) -> None:
    lanes = lanes_of(np.empty(0, np.int64))
    for value in (kind(0), kind(np.iinfo(kind).max), kind(5)):
        for chosen in range(1 << lanes):
            bits = np.full(lanes + 6, value)  # also in the lanes before and behind
            bits[3 : 3 + lanes] = [value if chosen >> lane & 1 else value ^ kind(1 << lane) for lane in range(lanes)]
            ours, defined = np.full(3 * lanes, -1), np.full(3 * lanes, -1)
            count = store_some(bits, 3, value, ours, lanes, 1 << 40)
            assert count == store_equal(bits, 3, value, defined, lanes, 1 << 40) == chosen.bit_count()
            np.testing.assert_array_equal(ours[: lanes + count], defined[: lanes + count])
            assert (ours[2 * lanes :] == -1).all()


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_vector_code_counts_the_keys_of_a_group_that_equal_a_value(kind: Any) -> None:
    group, rng = GROUP_BYTES // np.dtype(kind).itemsize, np.random.default_rng(0)
    for values in (1, 2, 9):
        bits = rng.integers(np.iinfo(kind).max - values + 1, np.iinfo(kind).max, 3 * group, kind, endpoint=True)
        for at in (0, 1, 2 * group):
            for value in (bits[at], kind(np.iinfo(kind).max), kind(0)):
                found = count_some(bits, at, value)
                assert found == count_equal(bits, at, value) == bits[at : at + group].tolist().count(value)


@needs_vectors
@every_type
def test_the_network_reads_one_array_and_writes_another(dtype: np.dtype[Any]) -> None:
    most = MOST_VECTORS * vectors.width() // dtype.itemsize
    for count in (0, 1, 8, most // 2 + 3, most):
        source, keys = drawn(dtype, count + 20, count), drawn(dtype, count + 30, 1)
        expected = keys.copy()
        expected[4 : 4 + count] = np.sort(source[9 : 9 + count])
        before_, behind = source[:9].tobytes(), source[9 + count :].tobytes()
        sort_from(source, 9, keys, 4, count)
        assert same(keys, expected)
        assert (source[:9].tobytes(), source[9 + count :].tobytes()) == (before_, behind)


@needs_vectors
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_network_keeps_every_zero_and_every_nan(dtype: Any) -> None:
    """Zeros of both signs are equal, and come in any order; NaN comes last, wherever it was."""
    most, rng = MOST_VECTORS * vectors.width() // np.dtype(dtype).itemsize, np.random.default_rng(0)
    for count in range(1, most + 1):
        keys = rng.choice(np.array([-1, -0.0, 0.0, 1, np.inf, -np.inf, np.nan], dtype), count)
        bits = f"u{keys.itemsize}"
        found = keys.copy()
        sort_some(found, 0, count)
        assert same(found, np.sort(keys))
        assert sorted(found.view(bits)) == sorted(keys.view(bits))


@needs_vectors
@every_type
def test_the_network_sorts_any_number_of_keys_and_touches_no_others(dtype: np.dtype[Any]) -> None:
    most = MOST_VECTORS * vectors.width() // dtype.itemsize
    around = {2**k + d for k in range(3, 7) for d in (-1, 0, 1)}
    for count in {*range(0, most, 7), *(count for count in around if count < most), most - 1, most}:
        keys = drawn(dtype, count + 20, count)
        expected = keys.copy()
        expected[9 : 9 + count].sort()
        sort_some(keys, 9, count)
        assert same(keys, expected)


@needs_vectors
@pytest.mark.parametrize("vectors_", [1, 4, 8])
def test_the_network_sorts_all_zeros_and_ones_that_are_ordered_in_two_halves(vectors_: int) -> None:
    """A network that merges all of these merges any keys, by the zero-one principle."""
    n = vectors_ * vectors.width() // 8
    for a in range(n // 2 + 1):
        for b in range(n // 2 + 1):
            keys = np.array([0] * a + [1] * (n // 2 - a) + [0] * b + [1] * (n // 2 - b))
            sort_some(keys, 0, n)
            assert keys.sum() == n - a - b
            assert not np.any(np.diff(keys) < 0)


@needs_vectors
@pytest.mark.parametrize("dtype", [np.uint32, np.float64])
def test_vectors_that_the_network_keeps_on_the_stack_do_not_cross_cache_lines(dtype: Any) -> None:
    @numba().njit  # type: ignore[untyped-decorator]
    def few(keys: NDArray[Any]) -> None:
        sort_few(keys, 0, keys, 0, len(keys))

    few(np.zeros(9, dtype))
    code = next(iter(few.inspect_asm().values()))
    width = vectors.width()
    register = {64: "zmm", 32: "ymm"}[width]
    _, _, network = code.partition(f"andq\t$-{width}, %rsp")
    places = re.findall(rf"vmov\w+\s+%{register}\d+, (-?\d*)\(%rsp\)", network.partition("retq")[0])
    assert places
    assert {int(place or 0) % width for place in places} == {0}


OTHER_WIDTH = """
import numpy as np, sys
from smp.kernels.sorting.by_vectors import vectors

width = int(sys.argv[1])
vectors.width = lambda: width
from smp.kernels.sorting.by_vectors.blocks import split_block
from smp.kernels.sorting.orders.values import argsort_values
from test_vector_code import sort_some
from support.keys_of_types import DTYPES, drawn, same

for dtype in DTYPES[:: int(sys.argv[2])]:
    for count in (1, 9, 33, 16 * width // dtype.itemsize):
        keys = drawn(dtype, count, count)
        found = keys.copy()
        sort_some(found, 0, count)
        assert same(found, np.sort(keys)), (dtype, count)
    if width == 32:
        keys = drawn(dtype, 1001)
        pivot = np.sort(keys)[300]
        middle = split_block(keys, 0, 1001, pivot)
        assert (keys[:middle] <= pivot).all() and not (keys[middle:] <= pivot).any(), dtype
    keys = np.repeat(drawn(dtype, 5), 99)[np.random.default_rng(0).permutation(495)]
    order = argsort_values(keys)
    assert same(np.sort(order), np.arange(495)) and same(keys[order], np.sort(keys)), dtype
print("done")
"""


@needs_vectors
@pytest.mark.parametrize("step", [3, *campaigns(1)])
def test_vectors_of_the_other_width_split_sort_and_order_as_well(step: int, tmp_path: Path) -> None:
    """With AVX-512, this runs the code for AVX2; without it, the network of the longer vectors, in two registers each.

    The width is in no key of machine code, so there is an empty folder for it.
    """
    folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "SMP_CACHE_DIR": str(tmp_path), "PYTHONPATH": folders}
    command = [sys.executable, "-c", OTHER_WIDTH, str(96 - vectors.width()), str(step)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr
