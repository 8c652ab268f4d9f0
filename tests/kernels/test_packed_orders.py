"""The orders found by packed words: compared with NumPy, on keys that differ in any bits, in any layout."""

import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from support.keys_of_types import needs_vectors
from support.sampled import examples

from smp._runtime.loops import machine_code
from smp._runtime.loops.compiler import numba
from smp.kernels.sorting import functions
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.functions import argsort
from smp.kernels.sorting.keys import DTYPES, images, rule_of, unsigned
from smp.kernels.sorting.orders import at_once, fast, packed
from smp.kernels.sorting.orders.packed import argsort_packed, packing_of

Array = NDArray[Any]
LONG = [dtype for dtype in DTYPES if dtype.itemsize == 8]


@pytest.fixture(autouse=True)
def short_chunks_on_several_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a handful of keys go to several streams, and let runs of more than a few be long."""
    monkeypatch.setattr(packed, "CHUNK", 8)
    monkeypatch.setattr(packed, "STREAM_BYTES", 64)


def assert_order(order: Array, keys: Array) -> None:
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))
    np.testing.assert_array_equal(keys[order], np.sort(keys))


def of_bits(mapped: Array, dtype: np.dtype[Any]) -> Array:
    return mapped.astype(np.uint64).view(dtype)


@st.composite
def clustered(draw: st.DrawFn, dtype: np.dtype[Any]) -> Array:
    """Draw 64-bit keys around a few bit patterns, some of which differ only in low or only in middle bits."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    low, width = draw(st.integers(0, 40)), draw(st.integers(0, 20))
    number = st.tuples(st.sampled_from(centres), st.integers(0, 2**width - 1))
    drawn = draw(st.lists(number, max_size=200))
    return of_bits(np.array([(a ^ (b << low)) % 2**64 for a, b in drawn], np.uint64), dtype)


def laid_out(keys: Array, layout: str) -> Array:
    if layout == "strided":
        return np.repeat(keys, 3)[1::3]
    if layout == "other byte order":
        return keys.astype(keys.dtype.newbyteorder())
    made = keys[::-1].copy()[::-1] if layout == "reversed" else keys.copy()
    made.flags.writeable = layout != "read-only"
    return made


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_any_keys_are_ordered(dtype: np.dtype[Any], data: st.DataObject) -> None:
    element = arrays.from_dtype(dtype)
    few = st.lists(element, min_size=1, max_size=4).flatmap(st.sampled_from)
    drawn = [arrays.arrays(dtype, st.integers(0, 200), elements=each) for each in (element, few)]
    keys = data.draw(st.one_of(*drawn, *([clustered(dtype)] if dtype.itemsize == 8 else [])))
    layouts = ["plain", "strided", "reversed", "read-only", "other byte order"]
    given = laid_out(keys, data.draw(st.sampled_from(layouts)))
    before = given.copy()
    assert_order(argsort(given, algorithm="packed", threads=data.draw(st.integers(1, 4))), given)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(
    ("width", "by_vectors", "octets", "n"), [(64, True, 4, 1280), (32, False, 8, 7168), (64, False, 4, 2560)]
)
def test_keys_are_packed_from_a_length_on_that_depends_on_the_cpu(
    width: int, by_vectors: bool, octets: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "width", lambda: width)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: by_vectors)
    taken = list[int]()
    monkeypatch.setattr(at_once, "argsort_packed", lambda keys, streams: taken.append(len(keys)) or np.argsort(keys))
    keys = np.random.default_rng(0).integers(0, 2**31 - 1, n).astype(f"i{octets}")
    assert_order(argsort(keys[1:]), keys[1:])
    assert taken == []
    assert_order(argsort(keys), keys)
    assert taken == [n]


@needs_vectors
@pytest.mark.parametrize("name", ["survey", "pack", "unpack"])
def test_loops_over_all_keys_read_and_write_whole_vectors(name: str) -> None:
    """They did not while they counted from the beginning of a block: then no place is known to be positive."""
    numba()
    from numba.core.caching import NullCache

    bits, rule, words = np.arange(1000, dtype=np.uint64), rule_of(np.dtype(np.int64)), np.empty(1000, np.uint64)
    packing = packed.Packing(*map(np.uint64, (0, 0, 10, 0)))
    args: Any = {"survey": (rule,), "pack": (rule, packing, words), "unpack": (np.uint64(10),)}[name]
    loop = getattr(packed, name)
    while hasattr(loop, "__wrapped__"):
        loop = loop.__wrapped__
    made = machine_code.dispatcher(loop)
    made._cache = NullCache()  # machine code from disk cannot be listed
    made(bits, 0, 1000, *args)
    code, _, _ = next(iter(made.inspect_asm().values())).partition("_ZN7cpython")
    assert re.search(r"\tv\w+\t.*(\(.*\), .*%[yz]mm|%[yz]mm\d+, .*\()", code), "whole vectors are read or written"
    assert not re.search("gather|scatter", code)


@pytest.mark.parametrize("more", [-1, 0])
def test_all_streams_take_part_in_the_light_steps_for_many_keys(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "WORTH_ALL", 1000)
    taken, pack = list[int](), packed.pack
    monkeypatch.setattr(packed, "pack", lambda *args: taken.append(args[2] - args[1]) or pack(*args))
    keys = np.random.default_rng(0).random(1000 + more)
    assert_order(fast.argsort_fast(keys, 2, "packed"), keys)
    assert taken == ([999] if more else [500, 500])
    taken.clear()
    assert_order(argsort(keys, algorithm="packed", threads=2), keys)
    assert len(taken) == 2, "a caller that names the form and a number of threads gets them"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("by_vectors", [True, False])
def test_special_keys_are_ordered(dtype: np.dtype[Any], by_vectors: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if by_vectors and not vectors.has_vectors():
        pytest.skip("the CPU has neither AVX-512 nor AVX2")
    monkeypatch.setattr(vectors, "beat_numpy", lambda: by_vectors)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        some = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, limits.max, limits.min, limits.tiny, 1.0, 1 + limits.eps]
    else:
        whole = np.iinfo(dtype)
        some = [whole.min, whole.max, 0, 1, whole.max - 1, whole.min + 1]
    keys = np.random.default_rng(0).permutation(np.repeat(np.array(some, dtype), 300))
    for n in (0, 1, 2, 3, 9, 100, len(keys)):
        for streams in (1, 3):
            assert_order(argsort_packed(keys[:n], streams), keys[:n])


@pytest.mark.parametrize("dtype", LONG, ids=str)
@pytest.mark.parametrize("width", [1, 2, 5, 11, 12])
def test_keys_that_differ_only_in_dropped_bits_are_ordered(dtype: np.dtype[Any], width: int) -> None:
    """Two far keys make the range so wide that the lowest 12 bits of 4,000 keys have no room in a word."""
    rng = np.random.default_rng(width)
    lowest = rng.integers(0, 1 << width, 4000).astype(np.uint64)
    for clusters in (1, 3, 1500):
        middle = np.uint64(1 << 62) + (rng.integers(0, clusters, 4000).astype(np.uint64) << np.uint64(40))
        bits = middle | lowest
        bits[[7, 11]] = 1, 2**63 + 2**62 - 3
        keys = of_bits(bits, dtype)
        packing = packing_of(bits, rule_of(dtype), 2)
        assert packing is not None
        assert packing.dropped > 0
        for streams in (1, 2, 5):
            assert_order(argsort_packed(keys, streams), keys)


@pytest.mark.parametrize("many", [3, 4000])
def test_runs_of_every_length_meet_the_ends_of_blocks_and_of_chunks(many: int) -> None:
    rng = np.random.default_rng(many)
    for seed in range(30):
        lengths = np.random.default_rng(seed).integers(1, 20, 40)
        high = np.repeat(np.arange(40), lengths)
        keys = (high.astype(np.uint64) << np.uint64(57)) | rng.integers(0, many, len(high)).astype(np.uint64)
        keys = rng.permutation(np.append(keys, np.uint64(2**64 - 1)))
        for streams in (1, 2, 3, 7):
            assert_order(argsort_packed(keys, streams), keys)


def test_the_number_of_runs_in_a_chunk_is_limited_by_the_bits_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """With places of 32 bits, of which all are dropped from the keys, words have no bits for the number of a run."""
    monkeypatch.setattr(packed, "CHUNK", 64)
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(50, dtype=np.uint64), 4) << np.uint64(58) | rng.integers(0, 9, 200).astype(np.uint64)
    rule = rule_of(np.dtype(np.uint64))
    for place, dropped in ((32, 32), (31, 32), (30, 31), (8, 8)):
        packing = packed.Packing(*map(np.uint64, (0, dropped, place, dropped)))
        words = np.empty(200, np.uint64)
        packed.pack(keys, 0, 200, rule, packing, words)
        words.sort()
        packed._finish(words, keys, rule, packing, 2, 2)
        assert_order(words.view(np.int64), keys)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_images_are_those_of_keys(dtype: np.dtype[Any]) -> None:
    keys = np.random.default_rng(0).integers(0, 256, 40 * dtype.itemsize, np.uint8).view(dtype)
    bits, rule = keys.view(unsigned(dtype)), rule_of(dtype)
    words = np.empty(len(keys), np.uint64)
    packed.pack(bits, 0, len(bits), rule, packed.Packing(*map(np.uint64, (0, 0, 0, 0))), words)
    np.testing.assert_array_equal(words & ~np.uint64(63) & rule[4], images(keys) & ~unsigned(dtype).type(63))


def test_bits_that_are_alike_in_all_keys_take_no_room() -> None:
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 1000, 10_000).astype(np.float64)
    rule = rule_of(whole.dtype)
    packing = packing_of(whole.view(np.uint64), rule, 2)
    assert packing is not None
    assert packing.dropped == 0
    assert packing.down > 30
    narrow = rng.integers(-(2**49), 2**49, 10_000)
    packing = packing_of(narrow.view(np.uint64), rule_of(narrow.dtype), 2)
    assert packing is not None
    assert packing.dropped == 0
    assert packing_of(np.full(100, 7, np.uint64), rule_of(np.dtype(np.uint64)), 2) is None


def test_equal_keys_keep_their_order_of_words() -> None:
    """This is not promised to callers, but follows from the place in each word."""
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        keys = rng.integers(0, 50, 3000).astype(dtype)
        np.testing.assert_array_equal(argsort_packed(keys, 2), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_auto_packs_and_takes_parts_for_few_distinct_keys(
    dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def noted(module: ModuleType, name: str) -> None:
        function = getattr(module, name)

        def call(*args: Any) -> Any:
            taken.append(name)
            return function(*args)

        monkeypatch.setattr(module, name, call)

    noted(fast, "argsort_packed")
    noted(fast, "partition")
    noted(at_once, "argsort_packed")
    for module in (at_once, functions):
        monkeypatch.setattr(module, "counts_few", lambda: False)
    rng, n, worth = np.random.default_rng(0), fast.WORTH_PARTING, fast.worth_packing(np.dtype(dtype).itemsize)
    together = np.where(rng.random(n) < 0.1, 1, 10**9 + 64 * rng.integers(0, 9, n))  # nine share a cell
    for keys, way in (
        (rng.integers(0, 10**6, n), "argsort_packed"),
        (rng.integers(0, 16, n), "partition"),
        (rng.integers(0, 16, n - 1), "argsort_packed"),
        (together, "argsort_packed"),
        (rng.integers(0, 9, worth), "argsort_packed"),
    ):
        given = keys.astype(dtype)
        assert_order(argsort(given), given)
        assert taken == [way]
        taken.clear()
    given = rng.integers(0, 9, worth - 1).astype(dtype)
    assert_order(argsort(given), given)
    assert taken == []
